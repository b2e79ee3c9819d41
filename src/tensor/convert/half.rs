//! f16 to f32 and back, a slice at a time: by the processor's instructions where it has some, else in
//! loops the compiler vectorises.

use half::f16;

use crate::tensor::simd::vectorize_mut;

/// The bits of an f32 by which the exponents of f16 are smaller.
const BIAS: u32 = 112 << 23;
/// The least bits of an f32 that are a normal number of f16, and the least beyond its numbers.
const LEAST: u32 = 113 << 23;
const BEYOND: u32 = 143 << 23;
const INFINITY: u32 = 255 << 23;
/// What a NaN has set that signals nothing.
const QUIET: u32 = 1 << 22;

/// The same number.
#[inline(always)]
pub(crate) fn wide(half: f16) -> f32 {
    let bits = u32::from(half.to_bits());
    let (sign, rest) = (bits << 16 & 1 << 31, (bits & 0x7fff) << 13);
    // A number below the normal ones is a mantissa: taking away the leading one normalises it.
    let small = f32::from_bits(rest + LEAST) - f32::from_bits(LEAST);
    let normal = rest + BIAS;
    let special = if rest > BEYOND - BIAS { QUIET } else { 0 } | rest | INFINITY;
    let rest = if rest < 1 << 23 {
        small.to_bits()
    } else if rest < BEYOND - BIAS {
        normal
    } else {
        special
    };
    f32::from_bits(sign | rest)
}

#[inline(always)]
fn narrow(x: f32) -> f16 {
    let bits = x.to_bits();
    let (sign, rest) = (bits >> 16 & 0x8000, bits & !(1 << 31));
    // The last bit of a half and a bit is that of the least f16: the addition rounds to it.
    let small = (f32::from_bits(rest) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    let even = rest.wrapping_add(0xfff + (rest >> 13 & 1));
    let normal = (even.wrapping_sub(BIAS) >> 13).min(0x7c00);
    let nan = 0x7e00 | rest >> 13 & 0x3ff;
    let rest = if rest > INFINITY {
        nan
    } else if rest < LEAST {
        small
    } else {
        normal
    };
    f16::from_bits((sign | rest) as u16)
}

/// Widens as many elements as there are in both.
pub(super) fn widen(from: &[f16], to: &mut [f32]) {
    let done = vectors::widen(from, to);
    vectorize_mut(
        #[inline(always)]
        || {
            for (to, &from) in to[done..].iter_mut().zip(&from[done..]) {
                *to = wide(from);
            }
        },
    );
}

/// Narrows as many elements as there are in both, each to the nearest, ties to even.
pub(super) fn narrow_slice(from: &[f32], to: &mut [f16]) {
    let done = vectors::narrow(from, to);
    vectorize_mut(
        #[inline(always)]
        || {
            for (to, &from) in to[done..].iter_mut().zip(&from[done..]) {
                *to = narrow(from);
            }
        },
    );
}

/// The instructions for a vector of elements; both answer how many elements they have done.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use bytemuck::must_cast;
    use half::f16;
    use pulp::{Arch, NullaryFnOnce};

    use crate::tensor::simd::{F16c, machine};

    /// A conversion of elements in vectors of `N`; answers how many they are.
    struct Each<'a, A, B, F, const N: usize>(&'a [A], &'a mut [B], F);

    impl<A: Copy, B, F: Fn([A; N]) -> [B; N], const N: usize> NullaryFnOnce for Each<'_, A, B, F, N> {
        type Output = usize;

        #[inline(always)]
        fn call(self) -> usize {
            let Self(from, to, convert) = self;
            let (from, to) = (from.as_chunks().0, to.as_chunks_mut().0);
            for (to, &from) in to.iter_mut().zip(from) {
                *to = convert(from);
            }
            N * from.len().min(to.len())
        }
    }

    pub(super) fn widen(from: &[f16], to: &mut [f32]) -> usize {
        match machine() {
            Arch::V4(simd) => simd.vectorize(Each::<_, _, _, 16>(
                from,
                to,
                #[inline(always)]
                |halves| must_cast(simd.avx512f._mm512_cvtph_ps(must_cast(halves))),
            )),
            Arch::V3(_) => F16c::try_new().map_or(0, |simd| {
                simd.vectorize(Each::<_, _, _, 8>(
                    from,
                    to,
                    #[inline(always)]
                    |halves| simd.widen(must_cast(halves)),
                ))
            }),
            _ => 0,
        }
    }

    pub(super) fn narrow(from: &[f32], to: &mut [f16]) -> usize {
        match machine() {
            Arch::V4(simd) => simd.vectorize(Each::<_, _, _, 16>(
                from,
                to,
                #[inline(always)]
                |numbers| must_cast(simd.avx512f._mm512_cvtps_ph::<0>(must_cast(numbers))),
            )),
            Arch::V3(_) => F16c::try_new().map_or(0, |simd| {
                simd.vectorize(Each::<_, _, _, 8>(
                    from,
                    to,
                    #[inline(always)]
                    |numbers| must_cast(simd.narrow(numbers)),
                ))
            }),
            _ => 0,
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    use half::f16;

    pub(super) fn widen(_: &[f16], _: &mut [f32]) -> usize {
        0
    }

    pub(super) fn narrow(_: &[f32], _: &mut [f16]) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: f32, b: f32) -> bool {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }

    /// The slice functions, the loop alone, and the crate for one number agree.
    #[test]
    #[cfg_attr(miri, ignore = "all numbers of 16 bits")]
    fn every_half() {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let mut out = vec![1f32; all.len()];
        widen(&all, &mut out);
        for (&half, &x) in all.iter().zip(&out) {
            assert!(same(x, half.to_f32()), "{:x}", half.to_bits());
            assert!(same(wide(half), half.to_f32()), "{:x}", half.to_bits());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "all numbers of 16 bits")]
    fn halves_and_what_lies_between() {
        let mut numbers = Vec::new();
        for half in (0..=u16::MAX).map(f16::from_bits) {
            let bits = half.to_f32().to_bits();
            // Around the number and around the middle to the next.
            for middle in [bits, bits + (1 << 12)] {
                for by in [-1, 0, 1] {
                    numbers.push(f32::from_bits(middle.wrapping_add_signed(by)));
                }
            }
        }
        numbers.extend([
            1e-8,
            -1e-8,
            1e-45,
            65519.0,
            65520.0,
            1e30,
            f32::MAX,
            -f32::MAX,
            5.9e-8,
        ]);
        let mut out = vec![f16::ONE; numbers.len()];
        narrow_slice(&numbers, &mut out);
        for (&x, &half) in numbers.iter().zip(&out) {
            let expected = f16::from_f32(x);
            for found in [half, narrow(x)] {
                let nans = found.is_nan() && expected.is_nan();
                assert!(found.to_bits() == expected.to_bits() || nans, "{x:e}");
            }
        }
    }
}
