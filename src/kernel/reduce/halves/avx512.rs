//! Sums of `f16` in vectors of AVX-512.

use std::arch::x86_64::{__m256i, __m512d, __m512i};

use bytemuck::must_cast;
use pulp::cast;
use pulp::x86::V4;

use super::{
    APART, Exact, FEW, GROUP, INFINITY, LANES, LARGE, LAST, MANTISSA, Row, SIGN, Sums, is_nothing,
};

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
