//! Exact sums of `f16` in vectors of `f32`.
//!
//! A sum that begins with a large number rounds each addend to a multiple of the sum's last bit. Taken away from
//! the sum after it, the sum before gives this multiple, and taken away from the addend, the multiple gives
//! what was rounded away: both exactly (Dekker, "A floating-point technique for extending the available precision",
//! 1971). Multiples have so few bits then that some of them add up exactly, and so has the rest.

use std::hint::black_box;

use bytemuck::cast_slice;
use pulp::Simd;

use super::{Exact, GROUP, LANES, Row, Sums};

/// Vectors into which numbers of `f16` are converted.
pub(super) trait Widen: Copy {
    type Vectors: Simd;

    fn vectors(self) -> Self::Vectors;

    /// A vector of a row, of which the bits `KEPT` count.
    fn vector<const KEPT: u16>(self, row: &Row, i: usize) -> <Self::Vectors as Simd>::f32s;
}

/// Rows that are added up before the sum's bits are moved elsewhere.
const FEW: usize = 4;
/// A sum of four numbers begins with it and keeps its exponent; its last bit is 2^-4, 2^20 times that of the
/// least number.
const MIDDLE: f32 = 1.5 * (1 << 19) as f32;
const MULTIPLE: u32 = 20;
/// A sum of four rests of at most 2^-5 does so, and its last bit is that of the least number.
const LOW_MIDDLE: f32 = 0.75;
/// A sum of eight numbers keeps the exponent of this. Multiples of its last bit, 2^-3, leave rests of 2^-4 at most, of
/// which eight have no more bits than a number has.
const GROUP_MIDDLE: f32 = 1.5 * (1 << 20) as f32;
const EXPONENT: u32 = 0xff << 23;

/// Adds up numbers as vectors of `f32`.
#[derive(Clone, Copy)]
pub(super) struct Floats<W> {
    how: W,
    /// One and minus one, of which the compiler knows nothing: AMD's processors multiply beside additions.
    one: f32,
    minus: f32,
}

/// Sums of large parts of numbers and of what they leave.
struct Parts<F> {
    large: F,
    rest: F,
}

/// The bits of such sums, added up as integers, and those that any large one had.
struct Bits<U> {
    large: U,
    rest: U,
    seen: U,
}

impl<U: Copy> Bits<U> {
    #[inline(always)]
    fn new<S: Simd<u32s = U>>(simd: S) -> Self {
        let zero = simd.splat_u32s(0);
        Self {
            large: zero,
            rest: zero,
            seen: zero,
        }
    }

    /// Adds those of at most [`FEW`] rows.
    #[inline(always)]
    fn add<W: Widen, const KEPT: u16>(&mut self, how: Floats<W>, rows: &[Row])
    where
        W::Vectors: Simd<u32s = U>,
    {
        let simd = how.how.vectors();
        for i in 0..Floats::<W>::VECTORS {
            let parts = how.parts::<KEPT>(rows, i, [MIDDLE, LOW_MIDDLE]);
            let large = simd.transmute_u32s_f32s(parts.large);
            self.large = simd.add_u32s(self.large, large);
            self.seen = simd.or_u32s(self.seen, large);
            let rest = simd.transmute_u32s_f32s(parts.rest);
            self.rest = simd.add_u32s(self.rest, rest);
        }
    }
}

impl<W: Widen> Floats<W> {
    const VECTORS: usize = LANES / <W::Vectors as Simd>::F32_LANES;

    pub(super) fn new(how: W) -> Self {
        Self {
            how,
            one: black_box(1.0),
            minus: black_box(-1.0),
        }
    }

    /// Adds a vector of each row to sums that begin with `large` and `rest`.
    #[inline(always)]
    fn parts<'a, const KEPT: u16>(
        self,
        rows: impl IntoIterator<Item = &'a Row>,
        i: usize,
        [large, rest]: [f32; 2],
    ) -> Parts<<W::Vectors as Simd>::f32s> {
        let simd = self.how.vectors();
        let (one, minus) = (simd.splat_f32s(self.one), simd.splat_f32s(self.minus));
        let (mut large, mut rest) = (simd.splat_f32s(large), simd.splat_f32s(rest));
        for row in rows {
            let x = self.how.vector::<KEPT>(row, i);
            let next = simd.add_f32s(large, x);
            let multiple = simd.mul_add_f32s(large, minus, next);
            let left = simd.mul_add_f32s(multiple, minus, x);
            rest = simd.mul_add_f32s(left, one, rest);
            large = next;
        }
        Parts { large, rest }
    }
}

impl<W: Widen> Exact for Floats<W> {
    #[inline(always)]
    fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64> {
        let simd = self.how.vectors();
        let mut bits = Bits::new(simd);
        let (fours, others) = rows.as_chunks::<FEW>();
        for four in fours {
            bits.add::<W, KEPT>(self, four);
        }
        let mut count = fours.len();
        if !others.is_empty() {
            bits.add::<W, KEPT>(self, others);
            count += 1;
        }
        // What is no finite number makes no finite sum.
        let Bits { large, rest, seen } = bits;
        let finite = |&bits: &u32| bits & EXPONENT == MIDDLE.to_bits() & EXPONENT;
        if !cast_slice(&[seen]).iter().all(finite) {
            return None;
        }
        let count = (count * Self::VECTORS) as u32;
        let since = |bits: u32, middle: f32| {
            let from = middle.to_bits().wrapping_mul(count);
            i64::from(bits.wrapping_sub(from).cast_signed())
        };
        let (large, rest) = ([large], [rest]);
        let lanes = cast_slice(&large).iter().zip(cast_slice(&rest));
        Some(lanes.fold(0, |units, (&large, &rest)| {
            units + (since(large, MIDDLE) << MULTIPLE) + since(rest, LOW_MIDDLE)
        }))
    }

    #[inline(always)]
    fn add<const KEPT: u16>(self, sums: &mut Sums, rows: [&Row; GROUP]) -> Option<()> {
        let simd = self.how.vectors();
        let middle = simd.splat_f32s(GROUP_MIDDLE);
        let mut new = [0.0; LANES];
        let vectors = new.chunks_exact_mut(<W::Vectors as Simd>::F32_LANES);
        for (i, new) in vectors.enumerate() {
            // Zeros stay negative if no number is another, in the rests as in the difference from the middle.
            let Parts { large, rest } = self.parts::<KEPT>(rows, i, [GROUP_MIDDLE, -0.0]);
            let large = [simd.neg_f32s(simd.sub_f32s(middle, large))];
            let rest = [rest];
            let lanes = cast_slice::<_, f32>(&large)
                .iter()
                .zip(cast_slice::<_, f32>(&rest));
            for (new, (&large, &rest)) in new.iter_mut().zip(lanes) {
                *new = f64::from(large) + f64::from(rest);
            }
        }
        // What is no finite number leaves a rest that is NaN.
        if new.iter().fold(false, |any, new| any | new.is_nan()) {
            return None;
        }
        for (sum, new) in sums.iter_mut().zip(new) {
            *sum += new;
        }
        Some(())
    }
}

mod x86 {
    use std::arch::x86_64::{__m128i, __m256i};

    use bytemuck::must_cast;
    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Row, Widen};
    use crate::tensor::simd::F16c;

    impl Widen for F16c {
        type Vectors = V3;

        #[inline(always)]
        fn vectors(self) -> V3 {
            self.v3()
        }

        #[inline(always)]
        fn vector<const KEPT: u16>(self, row: &Row, i: usize) -> pulp::f32x8 {
            let halves = must_cast::<Row, [__m128i; 4]>(*row)[i];
            let halves = self.v3().sse2._mm_and_si128(halves, must_cast([KEPT; 8]));
            cast(self.widen(must_cast(halves)))
        }
    }

    impl Widen for V4 {
        type Vectors = V4;

        #[inline(always)]
        fn vectors(self) -> V4 {
            self
        }

        #[inline(always)]
        fn vector<const KEPT: u16>(self, row: &Row, i: usize) -> pulp::f32x16 {
            let halves = must_cast::<Row, [__m256i; 2]>(*row)[i];
            let halves = self.avx2._mm256_and_si256(halves, must_cast([KEPT; 16]));
            cast(self.avx512f._mm512_cvtph_ps(halves))
        }
    }
}
