//! Sums of `f16`, read where they lie.
//!
//! Making an `f64` of each number takes much longer than reading it. A number of 11 bits times a power of two up
//! to the 14th is an integer that 32 bits hold, with room for the sum of many. So there are two sums, one of
//! the numbers with small exponents and one of those with large ones, and both are exact.

use std::marker::PhantomData;

use half::f16;
use pulp::NullaryFnOnce;

use super::fold::Fold;
use super::scalar::{Accumulator, Map, Scalar};
use super::sums::Mapped;
use crate::tensor::convert::wide;
use crate::tensor::simd::{machine, vectorize};

/// Numbers that are worked on side by side.
pub(super) const LANES: usize = 32;
/// Rows of them whose sum is exact, as that of their `f64` is.
const BLOCK: usize = 256;
/// Rows that are added to sums together.
const GROUP: usize = 8;
/// The exponent of the last bit of the least numbers.
const LAST: i32 = -24;
/// A negative zero adds nothing, even to a negative zero.
const NOTHING: f16 = f16::NEG_ZERO;
const EMPTY: f64 = -0.0;

type Row = [f16; LANES];
type Sums = [f64; LANES];

/// Adds up, of each element, what the bits `KEPT` are. `M` makes the result of the sum.
pub(super) struct Halves<M, const KEPT: u16>(PhantomData<M>);

impl<M, const KEPT: u16> Halves<M, KEPT> {
    pub(super) const NEW: Self = Self(PhantomData);
}

/// How numbers are added up exactly, if none is infinite or NaN.
trait Exact: Copy {
    /// The sum of at most [`BLOCK`] rows, in units of the last bit of the least numbers.
    fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64>;

    /// Adds the sum of each column to what there is, or does nothing.
    fn add<const KEPT: u16>(self, sums: &mut Sums, rows: [&Row; GROUP]) -> Option<()>;
}

/// Not at all.
#[derive(Clone, Copy)]
struct No;

impl Exact for No {
    fn total<const KEPT: u16>(self, _: &[Row]) -> Option<i64> {
        None
    }

    fn add<const KEPT: u16>(self, _: &mut Sums, _: [&Row; GROUP]) -> Option<()> {
        None
    }
}

/// Adds the sum of rows, in loops that the compiler makes vectors of.
#[inline(always)]
fn add_each<'a, const KEPT: u16>(sums: &mut Sums, rows: impl IntoIterator<Item = &'a Row>) {
    let mut all = [EMPTY; LANES];
    for row in rows {
        // Twice as many in a vector as of f64.
        let mut floats = [0f32; LANES];
        for (x, half) in floats.iter_mut().zip(row) {
            *x = wide(f16::from_bits(half.to_bits() & KEPT));
        }
        for (sum, x) in all.iter_mut().zip(floats) {
            *sum += f64::from(x);
        }
    }
    for (sum, all) in sums.iter_mut().zip(all) {
        *sum += all;
    }
}

#[inline(always)]
fn is_nothing<const KEPT: u16>(half: f16) -> bool {
    half.to_bits() & KEPT == NOTHING.to_bits()
}

#[inline(always)]
fn sum_of_rows<F: Exact, const KEPT: u16>(how: F, rows: &[Row]) -> f64 {
    let nothing = || {
        rows.as_flattened()
            .iter()
            .all(|&half| is_nothing::<KEPT>(half))
    };
    match how.total::<KEPT>(rows) {
        Some(0) if nothing() => EMPTY,
        #[allow(clippy::cast_precision_loss)] // of a few thousand numbers of 40 bits
        Some(units) => units as f64 * f64::powi(2.0, LAST),
        None => {
            let mut sums = [EMPTY; LANES];
            add_each::<KEPT>(&mut sums, rows);
            sums.iter().fold(EMPTY, |all, sum| all + sum)
        }
    }
}

#[inline(always)]
fn sum_of_run<F: Exact, const KEPT: u16>(how: F, data: &[f16]) -> f64 {
    let (rows, rest) = data.as_chunks::<LANES>();
    let mut sum = EMPTY;
    for rows in rows.chunks(BLOCK) {
        sum += sum_of_rows::<F, KEPT>(how, rows);
    }
    if !rest.is_empty() {
        let mut row = [NOTHING; LANES];
        row[..rest.len()].copy_from_slice(rest);
        sum += sum_of_rows::<F, KEPT>(how, &[row]);
    }
    sum
}

#[inline(always)]
fn add_group<F: Exact, const KEPT: u16>(how: F, sums: &mut Sums, rows: [&Row; GROUP]) {
    if how.add::<KEPT>(sums, rows).is_none() {
        add_each::<KEPT>(sums, rows);
    }
}

#[inline(always)]
fn add_rows<F: Exact, const KEPT: u16>(how: F, acc: &mut [f64], data: &[f16], stride: usize) {
    let left = acc.len() % LANES;
    let (acc, last) = acc.split_at_mut(acc.len() - left);
    for group in data.chunks(GROUP * stride) {
        for (i, sums) in acc.as_chunks_mut().0.iter_mut().enumerate() {
            add_group::<F, KEPT>(how, sums, rows_at(group, i * LANES, stride));
        }
        if left == 0 {
            continue;
        }
        let mut sums = [EMPTY; LANES];
        let new = if let Some(before) = (acc.len() + left).checked_sub(LANES) {
            add_group::<F, KEPT>(how, &mut sums, rows_at(group, before, stride));
            &sums[LANES - left..]
        } else {
            let mut rows = [[NOTHING; LANES]; GROUP];
            for (to, row) in rows.iter_mut().zip(group.chunks(stride)) {
                to[..left].copy_from_slice(&row[..left]);
            }
            add_group::<F, KEPT>(how, &mut sums, rows.each_ref());
            &sums[..left]
        };
        for (acc, new) in last.iter_mut().zip(new) {
            *acc += new;
        }
    }
}

/// The rows there are, from a column on.
#[inline(always)]
fn rows_at(group: &[f16], column: usize, stride: usize) -> [&Row; GROUP] {
    let mut rows = [&[NOTHING; LANES]; GROUP];
    for (i, row) in rows.iter_mut().enumerate() {
        let at = group.get(i * stride + column..);
        *row = at.and_then(|at| at.first_chunk()).unwrap_or(*row);
    }
    rows
}

/// Runs of equal length, or rows that begin `stride` apart.
struct Work<'a, F, const KEPT: u16> {
    how: F,
    acc: &'a mut [f64],
    data: &'a [f16],
    stride: Option<usize>,
}

impl<F: Exact, const KEPT: u16> NullaryFnOnce for Work<'_, F, KEPT> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            how,
            acc,
            data,
            stride,
        } = self;
        if let Some(stride) = stride {
            return add_rows::<F, KEPT>(how, acc, data, stride);
        }
        let len = data.len() / acc.len();
        for (acc, run) in acc.iter_mut().zip(data.chunks_exact(len.max(1))) {
            *acc += sum_of_run::<F, KEPT>(how, run);
        }
    }
}

fn work<const KEPT: u16>(acc: &mut [f64], data: &[f16], stride: Option<usize>) {
    #[cfg(target_arch = "x86_64")]
    if let pulp::Arch::V4(how) = machine() {
        return how.vectorize(Work::<_, KEPT> {
            how,
            acc,
            data,
            stride,
        });
    }
    vectorize(Work::<_, KEPT> {
        how: No,
        acc,
        data,
        stride,
    });
}

impl<M: Map, const KEPT: u16> Fold<f16, f64> for Halves<M, KEPT> {
    fn identity(&self) -> f64 {
        EMPTY
    }

    fn runs(&self, acc: &mut [f64], data: &[f16]) {
        work::<KEPT>(acc, data, None);
    }

    fn rows(&self, acc: &mut [f64], data: &[f16], stride: usize) {
        work::<KEPT>(acc, data, Some(stride));
    }

    fn merge(&self, acc: &mut [f64], other: &[f64]) {
        for (acc, &other) in acc.iter_mut().zip(other) {
            *acc += other;
        }
    }

    fn finish(&self, acc: &mut [f64], count: usize) {
        for acc in acc {
            *acc = <Mapped<M> as Scalar<f32, f64>>::finish(*acc, count);
        }
    }
}

impl Accumulator<f16> for f64 {
    fn round(self) -> f16 {
        f16::from_f32(self.round_again())
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512d, __m512i};

    use bytemuck::must_cast;
    use pulp::cast;
    use pulp::x86::V4;

    use super::{Exact, GROUP, LANES, LAST, Row, Sums, is_nothing};

    const SIGN: u16 = 1 << 15;
    const MANTISSA: u16 = (1 << 10) - 1;
    const INFINITY: u16 = 31 << 10;
    /// The exponents of small numbers are less, and their difference from the others'.
    const LARGE: usize = 16;
    const APART: u32 = 15;
    /// So many times two products of 25 bits stay below 2^31.
    const FEW: usize = 32;

    /// What to multiply the bits of the mantissa by, for each sign and exponent: small numbers, then large ones.
    const FACTORS: [[i16; 64]; 2] = {
        let mut factors = [[0; 64]; 2];
        let mut i = 0;
        while i < 64 {
            let sign = if i < 32 { 1 } else { -1 };
            match i % 32 {
                0 => factors[0][i] = sign,
                31 => {}
                small if small < LARGE => factors[0][i] = sign << (small - 1),
                large => factors[1][i] = sign << (large - LARGE),
            }
            i += 1;
        }
        factors
    };

    /// Sums of two numbers in each lane.
    #[derive(Clone, Copy)]
    struct Lanes {
        small: __m512i,
        large: __m512i,
        /// The largest without its sign.
        most: __m512i,
    }

    impl Lanes {
        #[inline(always)]
        fn new() -> Self {
            let zero = cast([0u16; LANES]);
            Self {
                small: zero,
                large: zero,
                most: zero,
            }
        }

        #[inline(always)]
        fn add<const KEPT: u16>(&mut self, simd: V4, bits: __m512i) {
            let V4 {
                avx512f: f,
                avx512bw: w,
                ..
            } = simd;
            let bits = f._mm512_and_si512(bits, cast([KEPT; LANES]));
            let size = f._mm512_and_si512(bits, cast([!SIGN; LANES]));
            self.most = w._mm512_max_epu16(self.most, size);
            // (bits & MANTISSA) | MANTISSA + 1, but numbers below the normal ones have no leading one.
            let normal = f._mm512_ternarylogic_epi32::<0b1111_1000>(
                cast([MANTISSA + 1; LANES]),
                bits,
                cast([MANTISSA; LANES]),
            );
            let mantissa = w._mm512_min_epu16(size, normal);
            let kind = w._mm512_srli_epi16::<10>(bits);
            let [small, large] = FACTORS;
            let [a, b]: [__m512i; 2] = cast(small);
            let small = w._mm512_permutex2var_epi16(a, kind, b);
            let [a, b]: [__m512i; 2] = cast(large);
            let large = w._mm512_permutex2var_epi16(a, kind, b);
            let product = w._mm512_madd_epi16(mantissa, small);
            self.small = f._mm512_add_epi32(self.small, product);
            let product = w._mm512_madd_epi16(mantissa, large);
            self.large = f._mm512_add_epi32(self.large, product);
        }

        #[inline(always)]
        fn finite(&self, V4 { avx512bw: w, .. }: V4) -> Option<()> {
            let beyond = w._mm512_cmpge_epu16_mask(self.most, cast([INFINITY; LANES]));
            (beyond == 0).then_some(())
        }

        /// Adds the sums to others, and begins again.
        #[inline(always)]
        fn move_to(&mut self, V4 { avx512f: f, .. }: V4, units: __m512i) -> __m512i {
            let [a, b]: [__m256i; 2] = cast(self.small);
            let small = f._mm512_add_epi64(f._mm512_cvtepi32_epi64(a), f._mm512_cvtepi32_epi64(b));
            let [a, b]: [__m256i; 2] = cast(self.large);
            let large = f._mm512_add_epi64(f._mm512_cvtepi32_epi64(a), f._mm512_cvtepi32_epi64(b));
            let large = f._mm512_slli_epi64::<APART>(large);
            (self.small, self.large) = (cast([0u16; LANES]), cast([0u16; LANES]));
            f._mm512_add_epi64(units, f._mm512_add_epi64(small, large))
        }

        /// Whether the sum of a lane may be zero.
        #[inline(always)]
        fn any_zero(&self, V4 { avx512f: f, .. }: V4) -> bool {
            let both = f._mm512_or_si512(self.small, self.large);
            f._mm512_testn_epi32_mask(both, both) != 0
        }
    }

    impl Exact for V4 {
        #[inline(always)]
        fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64> {
            let (mut lanes, mut units) = (Lanes::new(), cast([0i64; 8]));
            for rows in rows.chunks(FEW) {
                for row in rows {
                    lanes.add::<KEPT>(self, must_cast(*row));
                }
                units = lanes.move_to(self, units);
            }
            lanes.finite(self)?;
            let units: [i64; 8] = cast(units);
            Some(units.into_iter().sum())
        }

        #[inline(always)]
        fn add<const KEPT: u16>(self, sums: &mut Sums, rows: [&Row; GROUP]) -> Option<()> {
            let V4 {
                avx512f: f,
                avx512bw: w,
                ..
            } = self;
            let (mut low, mut high) = (Lanes::new(), Lanes::new());
            for [a, b] in rows.as_chunks::<2>().0 {
                let (a, b) = (must_cast::<Row, _>(**a), must_cast::<Row, _>(**b));
                low.add::<KEPT>(self, w._mm512_unpacklo_epi16(a, b));
                high.add::<KEPT>(self, w._mm512_unpackhi_epi16(a, b));
            }
            low.finite(self)?;
            high.finite(self)?;
            if low.any_zero(self) | high.any_zero(self) {
                let nothing = |i: usize| rows.iter().all(|row| is_nothing::<KEPT>(row[i]));
                if (0..LANES).any(nothing) {
                    return None;
                }
            }
            // Four columns of each eight are in one, four in the other.
            let mut order = [[0u32; 16]; 2];
            for (i, place) in order.as_flattened_mut().iter_mut().enumerate() {
                *place = (i / 8 * 4 + i % 4 + i / 4 % 2 * 16) as u32;
            }
            let in_order = |low: __m512i, high: __m512i| -> [__m256i; 4] {
                let [a, b] = order;
                cast([
                    f._mm512_permutex2var_epi32(low, cast(a), high),
                    f._mm512_permutex2var_epi32(low, cast(b), high),
                ])
            };
            let small = in_order(low.small, high.small);
            let large = in_order(low.large, high.large);
            let mut vectors: [__m512d; 4] = cast(*sums);
            for (i, sum) in vectors.iter_mut().enumerate() {
                let small = f._mm512_cvtepi32_pd(small[i]);
                let large = f._mm512_cvtepi32_pd(large[i]);
                let units = f._mm512_fmadd_pd(large, cast([f64::from(1 << APART); 8]), small);
                *sum = f._mm512_fmadd_pd(units, cast([f64::powi(2.0, LAST); 8]), *sum);
            }
            *sums = cast(vectors);
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sums::Sum;
    use super::*;

    /// The bits of numbers with exponents of a range.
    fn bits(range: std::ops::RangeInclusive<u16>) -> impl Strategy<Value = u16> {
        let number = (range, 0u16..1024, 0u16..2)
            .prop_map(|(exponent, mantissa, sign)| sign << 15 | exponent << 10 | mantissa);
        prop_oneof![9 => number, 1 => Just(0), 1 => Just(1 << 15)]
    }

    /// Numbers whose exponents are up to some difference apart: around eleven the way to add them changes.
    fn numbers(least: usize, most: usize) -> impl Strategy<Value = Vec<f16>> {
        (0u16..31, 0u16..31)
            .prop_map(|(a, b)| a.min(b)..=a.max(b))
            .prop_flat_map(move |range| prop::collection::vec(bits(range), least..=most))
            .prop_map(|bits| bits.into_iter().map(f16::from_bits).collect())
    }

    /// A number in units of the least.
    fn units(half: f16) -> i64 {
        (half.to_f64() * f64::powi(2.0, 24)) as i64
    }

    /// What each way that this machine knows adds to the accumulators.
    fn ways(acc: &[f64], data: &[f16], stride: Option<usize>) -> [Vec<f64>; 2] {
        let mut ways = [acc.to_vec(), acc.to_vec()];
        let [here, loops] = &mut ways;
        work::<{ u16::MAX }>(here, data, stride);
        let acc = loops;
        Work::<_, { u16::MAX }> {
            how: No,
            acc,
            data,
            stride,
        }
        .call();
        ways
    }

    fn exactly(sums: &[f64], expected: &[i64]) -> bool {
        let units = sums.iter().map(|sum| sum * f64::powi(2.0, 24));
        units.eq(expected.iter().map(|&units| units as f64))
    }

    proptest! {
        #[test]
        fn runs(data in numbers(1, 700), runs in 1usize..4) {
            let len = data.len() / runs;
            prop_assume!(len > 0);
            let data = &data[..runs * len];
            let expected: Vec<i64> = data
                .chunks(len)
                .map(|run| run.iter().map(|&x| units(x)).sum::<i64>() + (1 << 24))
                .collect();
            for sums in ways(&vec![1.0; runs], data, None) {
                prop_assert!(exactly(&sums, &expected), "{sums:?} {expected:?}");
            }
        }

        #[test]
        fn rows(data in numbers(900, 1500), width in 1usize..100, gap in 0usize..50, cut: bool) {
            let stride = width + gap;
            let rows = data.len() / stride;
            let end = if cut { (rows - 1) * stride + width } else { rows * stride };
            let mut expected = vec![1i64 << 24; width];
            for row in data[..end].chunks(stride) {
                for (sum, &x) in expected.iter_mut().zip(row) {
                    *sum += units(x);
                }
            }
            for sums in ways(&vec![1.0; width], &data[..end], Some(stride)) {
                prop_assert!(exactly(&sums, &expected), "{sums:?} {expected:?}");
            }
        }

        /// Four numbers with every difference of exponents, of which the last bits count.
        #[test]
        fn last_bits(high in 1u16..31, apart in 9u16..14, mantissas in [0u16..1024, 0..1024, 0..1024, 0..1024]) {
            let low = high.saturating_sub(apart);
            let [a, b, c, d] = mantissas;
            let bits = [high << 10 | a, low << 10 | b | 1, high << 10 | c, high << 10 | d];
            let mut data = [NOTHING; 4 * LANES];
            for (i, bits) in bits.into_iter().enumerate() {
                data[i * LANES + 5] = f16::from_bits(bits);
            }
            let expected = data.iter().map(|&x| units(x)).sum();
            for sums in ways(&[EMPTY], &data, None) {
                prop_assert!(exactly(&sums, &[expected]), "{sums:?} {expected}");
            }
        }
    }

    #[test]
    fn not_finite() {
        let (inf, nan) = (f16::INFINITY, f16::NAN);
        for (some, expected) in [
            (&[inf][..], f64::INFINITY),
            (&[-inf, f16::MAX], -f64::INFINITY),
            (&[inf, -inf], f64::NAN),
            (&[nan, inf], f64::NAN),
            (&[f16::ZERO], 0.0),
            (&[NOTHING], -0.0),
        ] {
            for len in [1, 40, 300] {
                let mut data = vec![NOTHING; len.max(some.len())];
                data[..some.len()].copy_from_slice(some);
                for [sum] in ways(&[EMPTY], &data, None).map(|sums| [sums[0]]) {
                    let same = sum.to_bits() == expected.to_bits();
                    assert!(same || sum.is_nan() && expected.is_nan(), "{some:?} {sum}");
                }
            }
        }
    }

    #[test]
    fn absolute_values_and_means() {
        let data: Vec<f16> = (0..200)
            .map(|i| f16::from_f32(f32::from(i as i16 - 100) / 8.0))
            .collect();
        let mut acc = [EMPTY];
        Halves::<Sum, 0x7fff>::NEW.runs(&mut acc, &data);
        assert_eq!(acc, [1250.0]);
        assert_eq!(
            Accumulator::<f16>::round(1250.0 + 0.5),
            f16::from_f32(1250.0)
        );
    }
}
