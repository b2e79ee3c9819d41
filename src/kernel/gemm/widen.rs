//! Elements of narrow types as vectors of `f32`, without a detour over memory.

use half::f16;
use pulp::Simd;

use super::coded::{is_fast, way};
use super::lanes::Lanes;
use crate::kernel::simd::F16c;
use crate::tensor::convert::wide;

/// How the elements of a panel are stored. Two codes of four bits share a byte: that of a column in
/// the first half of the panel, in the low bits, and that of the same place in the second half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    U4,
    I4,
    U8,
    I8,
    F16,
    Bf16,
}

impl Code {
    /// The bytes of so many elements.
    #[inline(always)]
    pub(super) fn bytes(self, elements: usize) -> usize {
        match self {
            Self::U4 | Self::I4 => elements / 2,
            Self::U8 | Self::I8 => elements,
            Self::F16 | Self::Bf16 => 2 * elements,
        }
    }

    /// Whether the numbers of such codes are made in this [`way`]: rounding may be that of normal numbers where
    /// differences are integers, and models that compute in `f16` have no weights of `bf16`.
    pub(super) const fn comes(self, way: u8) -> bool {
        match self {
            Self::U4 | Self::I4 | Self::U8 | Self::I8 => true,
            Self::F16 => !matches!(way, way::SCALED_NORMAL | way::SHIFTED_NORMAL),
            Self::Bf16 => is_fast(way),
        }
    }

    /// The numbers of a line of codes.
    #[inline(always)]
    fn numbers(self, line: &[u8], out: &mut [f32]) {
        let half = out.len() / 2;
        match self {
            Self::U4 | Self::I4 => {
                let number = |x: u8| match self {
                    Self::U4 => f32::from(x & 15),
                    _ => f32::from((x << 4).cast_signed() >> 4),
                };
                let (low, high) = out.split_at_mut(half);
                for ((low, high), &x) in low.iter_mut().zip(high).zip(line) {
                    (*low, *high) = (number(x), number(x >> 4));
                }
            }
            Self::U8 => {
                for (out, &x) in out.iter_mut().zip(line) {
                    *out = f32::from(x);
                }
            }
            Self::I8 => {
                for (out, &x) in out.iter_mut().zip(line) {
                    *out = f32::from(x.cast_signed());
                }
            }
            Self::F16 => {
                let line: &[f16] = bytemuck::cast_slice(line);
                for (out, &x) in out.iter_mut().zip(line) {
                    *out = wide(x);
                }
            }
            Self::Bf16 => {
                for (out, x) in out.iter_mut().zip(line.as_chunks::<2>().0) {
                    *out = f32::from_bits(u32::from(u16::from_ne_bytes(*x)) << 16);
                }
            }
        }
    }
}

/// The numbers that four bits stand for, without sign and with it.
pub(super) const UNSIGNED: [f32; 16] = [
    0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0,
];
pub(super) const SIGNED: [f32; 16] = [
    0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0,
];

/// A [`Code`] that is known when a loop is compiled.
pub(super) trait Known: Copy {
    const CODE: Code;

    /// What converts `f16`, if vectors do not by themselves.
    #[inline(always)]
    fn f16c(self) -> Option<F16c> {
        None
    }
}

/// A [`Code`] in a loop that is compiled for F16C.
#[derive(Clone, Copy)]
pub(super) struct Converted<C>(pub(super) C, pub(super) F16c);

impl<C: Known> Known for Converted<C> {
    const CODE: Code = C::CODE;

    #[inline(always)]
    fn f16c(self) -> Option<F16c> {
        Some(self.1)
    }
}

macro_rules! known {
    ($($Name:ident => $CODE:ident),+) => {
        $(#[derive(Clone, Copy)]
        pub(super) struct $Name;

        impl Known for $Name {
            const CODE: Code = Code::$CODE;
        })+
    };
}

known!(U4 => U4, I4 => I4, U8 => U8, I8 => I8, Float16 => F16, Bfloat16 => Bf16);

/// The two vectors of a line of codes.
#[inline(always)]
pub(super) fn read<C: Known, S: Simd>(simd: S, code: C, line: &[u8]) -> [S::f32s; 2] {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = x86::read(simd, code, line) {
        return vectors;
    }
    let _ = code;
    let lanes = <f32 as Lanes>::lanes::<S>();
    let mut numbers = [0.0; 64];
    let numbers = &mut numbers[..2 * lanes];
    C::CODE.numbers(line, numbers);
    let (low, high) = numbers.split_at(lanes);
    [f32::load(simd, low), f32::load(simd, high)]
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;

    use bytemuck::{cast, must_cast};
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use super::{Code, Known, SIGNED, UNSIGNED};

    #[inline(always)]
    pub(super) fn read<C: Known, S: Simd>(simd: S, code: C, line: &[u8]) -> Option<[S::f32s; 2]> {
        let any: &dyn Any = &simd;
        if let Some(simd) = any.downcast_ref::<V4>() {
            let [a, b] = wide::<C>(*simd, line)?;
            return Some([cast(a), cast(b)]);
        }
        let [a, b] = narrow(*any.downcast_ref::<V3>()?, code, line)?;
        Some([cast(a), cast(b)])
    }

    /// Two vectors of sixteen numbers.
    #[inline(always)]
    fn wide<C: Known>(simd: V4, line: &[u8]) -> Option<[[f32; 16]; 2]> {
        let f = simd.avx512f;
        match C::CODE {
            Code::U4 | Code::I4 => {
                let table = must_cast(if C::CODE == Code::U4 {
                    UNSIGNED
                } else {
                    SIGNED
                });
                let codes = f._mm512_cvtepu8_epi32(must_cast(*line.first_chunk::<16>()?));
                // Only the low four bits of an index count.
                let high = f._mm512_srli_epi32::<4>(codes);
                Some([
                    must_cast(f._mm512_permutexvar_ps(codes, table)),
                    must_cast(f._mm512_permutexvar_ps(high, table)),
                ])
            }
            Code::U8 | Code::I8 => {
                let (a, b) = line.first_chunk::<32>()?.split_at(16);
                let (a, b) = (*a.first_chunk::<16>()?, *b.first_chunk::<16>()?);
                let (a, b) = match C::CODE {
                    Code::U8 => (
                        f._mm512_cvtepu8_epi32(must_cast(a)),
                        f._mm512_cvtepu8_epi32(must_cast(b)),
                    ),
                    _ => (
                        f._mm512_cvtepi8_epi32(must_cast(a)),
                        f._mm512_cvtepi8_epi32(must_cast(b)),
                    ),
                };
                Some([
                    must_cast(f._mm512_cvtepi32_ps(a)),
                    must_cast(f._mm512_cvtepi32_ps(b)),
                ])
            }
            Code::F16 | Code::Bf16 => {
                let (a, b) = line.first_chunk::<64>()?.split_at(32);
                let (a, b) = (*a.first_chunk::<32>()?, *b.first_chunk::<32>()?);
                if C::CODE == Code::F16 {
                    return Some([
                        must_cast(f._mm512_cvtph_ps(must_cast(a))),
                        must_cast(f._mm512_cvtph_ps(must_cast(b))),
                    ]);
                }
                let a = f._mm512_cvtepu16_epi32(must_cast(a));
                let b = f._mm512_cvtepu16_epi32(must_cast(b));
                Some([
                    must_cast(f._mm512_slli_epi32::<16>(a)),
                    must_cast(f._mm512_slli_epi32::<16>(b)),
                ])
            }
        }
    }

    /// Two vectors of eight numbers.
    #[inline(always)]
    fn narrow<C: Known>(simd: V3, code: C, line: &[u8]) -> Option<[[f32; 8]; 2]> {
        let (avx, avx2) = (simd.avx, simd.avx2);
        match C::CODE {
            Code::U4 | Code::I4 => {
                let codes = u64::from_ne_bytes(*line.first_chunk::<8>()?);
                let codes = avx2._mm256_cvtepu8_epi32(must_cast([codes, 0]));
                let low = avx2._mm256_and_si256(codes, must_cast([15; 8]));
                let high = avx2._mm256_srli_epi32::<4>(codes);
                let (low, high) = if C::CODE == Code::U4 {
                    (low, high)
                } else {
                    let sign = must_cast([8; 8]);
                    let low = avx2._mm256_xor_si256(low, sign);
                    let high = avx2._mm256_xor_si256(high, sign);
                    (
                        avx2._mm256_sub_epi32(low, sign),
                        avx2._mm256_sub_epi32(high, sign),
                    )
                };
                Some([
                    must_cast(avx._mm256_cvtepi32_ps(low)),
                    must_cast(avx._mm256_cvtepi32_ps(high)),
                ])
            }
            Code::U8 | Code::I8 => {
                let (a, b) = line.first_chunk::<16>()?.split_at(8);
                let a = u64::from_ne_bytes(*a.first_chunk::<8>()?);
                let b = u64::from_ne_bytes(*b.first_chunk::<8>()?);
                let (a, b) = match C::CODE {
                    Code::U8 => (
                        avx2._mm256_cvtepu8_epi32(must_cast([a, 0])),
                        avx2._mm256_cvtepu8_epi32(must_cast([b, 0])),
                    ),
                    _ => (
                        avx2._mm256_cvtepi8_epi32(must_cast([a, 0])),
                        avx2._mm256_cvtepi8_epi32(must_cast([b, 0])),
                    ),
                };
                Some([
                    must_cast(avx._mm256_cvtepi32_ps(a)),
                    must_cast(avx._mm256_cvtepi32_ps(b)),
                ])
            }
            Code::Bf16 => {
                let (a, b) = line.first_chunk::<32>()?.split_at(16);
                let (a, b) = (*a.first_chunk::<16>()?, *b.first_chunk::<16>()?);
                let a = avx2._mm256_cvtepu16_epi32(must_cast(a));
                let b = avx2._mm256_cvtepu16_epi32(must_cast(b));
                Some([
                    must_cast(avx2._mm256_slli_epi32::<16>(a)),
                    must_cast(avx2._mm256_slli_epi32::<16>(b)),
                ])
            }
            Code::F16 => {
                let (a, b) = line.first_chunk::<32>()?.split_at(16);
                let (a, b) = (*a.first_chunk::<16>()?, *b.first_chunk::<16>()?);
                let f16c = code.f16c()?;
                Some([f16c.widen(a), f16c.widen(b)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gemm::coded::{OnCodes, With};
    use crate::kernel::simd::Converting;
    use crate::tensor::simd::machines;

    struct Widen<'a>(&'a [u8], &'a mut [f32]);

    impl OnCodes for Widen<'_> {
        #[inline(always)]
        fn run<C: Known, S: Simd>(self, simd: S, code: C) {
            let lanes = <f32 as Lanes>::lanes::<S>();
            let lines = self.0.chunks_exact(4 * lanes);
            for (line, out) in lines.zip(self.1.chunks_exact_mut(2 * lanes)) {
                let [a, b] = read(simd, code, line);
                let (first, second) = out.split_at_mut(lanes);
                f32::store(simd, first, a);
                f32::store(simd, second, b);
            }
        }
    }

    #[test]
    fn all_numbers_of_two_bytes_are_widened() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let expected: Vec<f32> = halves.iter().map(|&x| f32::from(x)).collect();
        let mut found = vec![0.0; halves.len()];
        for arch in machines() {
            let widen = Widen(bytemuck::cast_slice(&halves), &mut found);
            With(Float16, widen).call(Converting::of(arch));
            for (found, expected) in found.iter().zip(&expected) {
                let same = found.to_bits() == expected.to_bits();
                assert!(
                    same || found.is_nan() && expected.is_nan(),
                    "{expected:e} with {arch:?}"
                );
            }
            found.fill(0.0);
        }
    }
}
