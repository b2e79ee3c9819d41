//! Sums of `f16` in vectors of AVX2.

use std::arch::x86_64::{__m128i, __m256d, __m256i};

use bytemuck::must_cast;
use pulp::cast;
use pulp::x86::V3;

use super::{
    APART, EMPTY, Exact, FEW, GROUP, INFINITY, LARGE, LAST, MANTISSA, Row, SIGN, Sums, is_nothing,
};

/// Numbers of a vector.
const HALF: usize = 16;

/// What to multiply the bits of the mantissa by, for sixteen exponents: the low byte of each, then the high one.
/// The first has no high byte: nothing is looked up where an index is zero.
type Factors = [[u8; HALF]; 2];

/// Those of small numbers and of large ones.
const FACTORS: [Factors; 2] = {
    let mut factors = [[[0; HALF]; 2]; 2];
    let mut i = 0;
    while i < HALF {
        let small: u16 = if i == 0 { 1 } else { 1 << (i - 1) };
        // The last one is that of what is no number.
        let large: u16 = if i == HALF - 1 { 0 } else { 1 << i };
        let mut k = 0;
        while k < 2 {
            let bytes = [small, large][k].to_le_bytes();
            (factors[k][0][i], factors[k][1][i]) = (bytes[0], bytes[1]);
            k += 1;
        }
        i += 1;
    }
    factors
};

/// Added to an index below sixteen, this leaves its low four bits as they are, and the others choose nothing,
/// as they do in the byte above.
const CHOSEN: u16 = 0x8070;

/// Sums of two numbers in each lane.
#[derive(Clone, Copy)]
struct Lanes {
    small: __m256i,
    large: __m256i,
    /// The largest without its sign.
    most: __m256i,
}

#[inline(always)]
fn all(x: u16) -> __m256i {
    must_cast([x; HALF])
}

/// The same bytes in both halves.
#[inline(always)]
fn twice(bytes: [u8; HALF]) -> __m256i {
    must_cast([bytes; 2])
}

impl Lanes {
    #[inline(always)]
    fn new() -> Self {
        let zero = all(0);
        Self {
            small: zero,
            large: zero,
            most: zero,
        }
    }

    #[inline(always)]
    fn add<const KEPT: u16>(&mut self, V3 { avx2, .. }: V3, bits: __m256i) {
        let bits = avx2._mm256_and_si256(bits, all(KEPT));
        let size = avx2._mm256_and_si256(bits, all(!SIGN));
        self.most = avx2._mm256_max_epu16(self.most, size);
        // Numbers below the normal ones have no leading one.
        let normal = avx2._mm256_and_si256(bits, all(MANTISSA));
        let normal = avx2._mm256_or_si256(normal, all(MANTISSA + 1));
        let mantissa = avx2._mm256_min_epu16(size, normal);
        let mantissa = avx2._mm256_sign_epi16(mantissa, bits);
        let exponent = avx2._mm256_srli_epi16::<10>(size);
        let product = Self::product(avx2, exponent, FACTORS[0], mantissa);
        self.small = avx2._mm256_add_epi32(self.small, product);
        let exponent = avx2._mm256_xor_si256(exponent, all(LARGE as u16));
        let product = Self::product(avx2, exponent, FACTORS[1], mantissa);
        self.large = avx2._mm256_add_epi32(self.large, product);
    }

    /// The sum of two products each, of mantissas with the factors of exponents below sixteen.
    #[inline(always)]
    fn product(
        avx2: pulp::core_arch::x86::Avx2,
        exponent: __m256i,
        [low, high]: Factors,
        mantissa: __m256i,
    ) -> __m256i {
        let index = avx2._mm256_add_epi16(exponent, all(CHOSEN));
        let low = avx2._mm256_shuffle_epi8(twice(low), index);
        let index = avx2._mm256_slli_epi16::<8>(index);
        let high = avx2._mm256_shuffle_epi8(twice(high), index);
        avx2._mm256_madd_epi16(mantissa, avx2._mm256_or_si256(low, high))
    }

    #[inline(always)]
    fn finite(&self, V3 { avx2, .. }: V3) -> Option<()> {
        let beyond = avx2._mm256_cmpgt_epi16(self.most, all(INFINITY - 1));
        (avx2._mm256_movemask_epi8(beyond) == 0).then_some(())
    }

    /// Adds the sums to others, and begins again.
    #[inline(always)]
    fn move_to(&mut self, V3 { avx2, .. }: V3, units: __m256i) -> __m256i {
        let [a, b]: [__m128i; 2] = cast(self.small);
        let small =
            avx2._mm256_add_epi64(avx2._mm256_cvtepi32_epi64(a), avx2._mm256_cvtepi32_epi64(b));
        let [a, b]: [__m128i; 2] = cast(self.large);
        let large =
            avx2._mm256_add_epi64(avx2._mm256_cvtepi32_epi64(a), avx2._mm256_cvtepi32_epi64(b));
        let large = avx2._mm256_slli_epi64::<{ APART as i32 }>(large);
        (self.small, self.large) = (all(0), all(0));
        avx2._mm256_add_epi64(units, avx2._mm256_add_epi64(small, large))
    }

    /// Whether the sum of a lane may be zero.
    #[inline(always)]
    fn any_zero(&self, V3 { avx2, .. }: V3) -> bool {
        let both = avx2._mm256_or_si256(self.small, self.large);
        avx2._mm256_movemask_epi8(avx2._mm256_cmpeq_epi32(both, all(0))) != 0
    }
}

impl Exact for V3 {
    #[inline(always)]
    fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64> {
        let (mut lanes, mut units) = ([Lanes::new(); 2], all(0));
        for rows in rows.chunks(FEW) {
            for row in rows {
                let [a, b]: [__m256i; 2] = must_cast(*row);
                lanes[0].add::<KEPT>(self, a);
                lanes[1].add::<KEPT>(self, b);
            }
            units = lanes[0].move_to(self, units);
            units = lanes[1].move_to(self, units);
        }
        lanes[0].finite(self)?;
        lanes[1].finite(self)?;
        let units: [i64; 4] = cast(units);
        Some(units.into_iter().sum())
    }

    #[inline(always)]
    fn add<const KEPT: u16>(self, sums: &mut Sums, rows: [&Row; GROUP]) -> Option<()> {
        let V3 { avx, avx2, fma, .. } = self;
        let mut new = [EMPTY; 2 * HALF];
        let mut zero = false;
        for (half, sums) in new.as_chunks_mut::<HALF>().0.iter_mut().enumerate() {
            let (mut low, mut high) = (Lanes::new(), Lanes::new());
            for [a, b] in rows.as_chunks::<2>().0 {
                let a = must_cast::<Row, [__m256i; 2]>(**a)[half];
                let b = must_cast::<Row, [__m256i; 2]>(**b)[half];
                low.add::<KEPT>(self, avx2._mm256_unpacklo_epi16(a, b));
                high.add::<KEPT>(self, avx2._mm256_unpackhi_epi16(a, b));
            }
            low.finite(self)?;
            high.finite(self)?;
            zero |= low.any_zero(self) | high.any_zero(self);
            // Four columns of each eight are in one, four in the other.
            let in_order = |low: __m256i, high: __m256i| -> [__m128i; 4] {
                cast([
                    avx2._mm256_permute2x128_si256::<0x20>(low, high),
                    avx2._mm256_permute2x128_si256::<0x31>(low, high),
                ])
            };
            let small = in_order(low.small, high.small);
            let large = in_order(low.large, high.large);
            let mut vectors = [cast([0.0; 4]); 4];
            for (i, units) in vectors.iter_mut().enumerate() {
                let small = avx._mm256_cvtepi32_pd(small[i]);
                let large = avx._mm256_cvtepi32_pd(large[i]);
                *units = fma._mm256_fmadd_pd(large, cast([f64::from(1 << APART); 4]), small);
            }
            *sums = cast::<[__m256d; 4], _>(vectors);
        }
        if zero {
            let nothing = |i: usize| rows.iter().all(|row| is_nothing::<KEPT>(row[i]));
            if (0..2 * HALF).any(nothing) {
                return None;
            }
        }
        for (sum, units) in sums.iter_mut().zip(new) {
            *sum += units * f64::powi(2.0, LAST);
        }
        Some(())
    }
}
