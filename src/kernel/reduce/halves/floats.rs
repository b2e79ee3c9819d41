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
use crate::kernel::simd::{prefetch_after, widen_near};

/// Vectors into which numbers of `f16` are converted.
pub(super) trait Widen: Copy {
    type Vectors: Simd;

    fn vectors(self) -> Self::Vectors;

    /// A vector of a row, of which the bits `KEPT` count.
    fn vector<const KEPT: u16>(self, row: &Row, i: usize) -> <Self::Vectors as Simd>::f32s;
}

/// Vectors that are added up before the sum's bits are moved elsewhere.
const FEW: usize = 4;
/// Bytes ahead of which numbers are asked for.
const AHEAD: usize = 16 << 10;
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

impl<F: Copy> Parts<F> {
    #[inline(always)]
    fn new<S: Simd<f32s = F>>(simd: S, [large, rest]: [f32; 2]) -> Self {
        Self {
            large: simd.splat_f32s(large),
            rest: simd.splat_f32s(rest),
        }
    }

    /// Adds a vector of a row.
    #[inline(always)]
    fn add<W: Widen, const KEPT: u16>(&mut self, floats: Floats<W>, row: &Row, i: usize)
    where
        W::Vectors: Simd<f32s = F>,
    {
        let Floats { how, one, minus } = floats;
        let simd = how.vectors();
        let (one, minus) = (simd.splat_f32s(one), simd.splat_f32s(minus));
        let x = how.vector::<KEPT>(row, i);
        let next = simd.add_f32s(self.large, x);
        let multiple = simd.mul_add_f32s(self.large, minus, next);
        let left = simd.mul_add_f32s(multiple, minus, x);
        self.rest = simd.mul_add_f32s(left, one, self.rest);
        self.large = next;
    }
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

    /// Adds those of at most [`FEW`] vectors.
    #[inline(always)]
    fn add<W: Widen, const KEPT: u16>(&mut self, floats: Floats<W>, rows: &[Row])
    where
        W::Vectors: Simd<u32s = U>,
    {
        let simd = floats.how.vectors();
        let mut parts = Parts::new(simd, [MIDDLE, LOW_MIDDLE]);
        for row in rows {
            for i in 0..Floats::<W>::VECTORS {
                parts.add::<W, KEPT>(floats, row, i);
            }
        }
        let large = simd.transmute_u32s_f32s(parts.large);
        self.large = simd.add_u32s(self.large, large);
        self.seen = simd.or_u32s(self.seen, large);
        let rest = simd.transmute_u32s_f32s(parts.rest);
        self.rest = simd.add_u32s(self.rest, rest);
    }
}

impl<W: Widen> Floats<W> {
    /// Vectors of a row.
    const VECTORS: usize = LANES / <W::Vectors as Simd>::F32_LANES;

    pub(super) fn new(how: W) -> Self {
        Self {
            how,
            one: black_box(1.0),
            minus: black_box(-1.0),
        }
    }
}

impl<W: Widen> Exact for Floats<W> {
    #[inline(always)]
    fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64> {
        let simd = self.how.vectors();
        let mut bits = Bits::new(simd);
        let mut chunks = rows.chunks_exact(FEW / Self::VECTORS);
        let mut count = chunks.len();
        let asks = widen_near();
        for chunk in &mut chunks {
            if asks {
                prefetch_after(chunk, AHEAD);
            }
            bits.add::<W, KEPT>(self, chunk);
        }
        if !chunks.remainder().is_empty() {
            bits.add::<W, KEPT>(self, chunks.remainder());
            count += 1;
        }
        // What is no finite number makes no finite sum.
        let Bits { large, rest, seen } = bits;
        let finite = |&bits: &u32| bits & EXPONENT == MIDDLE.to_bits() & EXPONENT;
        if !cast_slice(&[seen]).iter().all(finite) {
            return None;
        }
        let since = |bits: u32, middle: f32| {
            let from = middle.to_bits().wrapping_mul(count as u32);
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
            let mut parts = Parts::new(simd, [GROUP_MIDDLE, -0.0]);
            for row in rows {
                parts.add::<W, KEPT>(self, row, i);
            }
            let Parts { large, rest } = parts;
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
            let halves: __m128i = must_cast(row.as_chunks::<8>().0[i]);
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
            let halves: __m256i = must_cast(row.as_chunks::<16>().0[i]);
            let halves = self.avx2._mm256_and_si256(halves, must_cast([KEPT; 16]));
            cast(self.avx512f._mm512_cvtph_ps(halves))
        }
    }
}
