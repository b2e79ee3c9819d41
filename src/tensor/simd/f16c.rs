//! Conversions between `f16` and `f32` by instructions.
//!
//! Processors with AVX-512 have them, and those with AVX2 in F16C, of which pulp knows whether it is there
//! but not what it does: the two calls here are what this crate adds. [`half`] has a safe twin of each.

use pulp::{Arch, Scalar128b, WithSimd};

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::F16c;

/// A machine that cannot convert has no such value.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum F16c {}

/// Vectors that convert by instructions, or where a machine has none for its longest vectors, portable ones.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // there is no such value
pub(crate) enum Converting {
    F16c(F16c),
    Other(Arch),
}

impl Converting {
    /// Those of a machine.
    pub(crate) fn of(arch: Arch) -> Self {
        match arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V3(_) => F16c::try_new().map_or(Self::Other(Arch::Scalar), Self::F16c),
            other => Self::Other(other),
        }
    }

    pub(crate) fn arch(self) -> Arch {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::F16c(simd) => Arch::V3(simd.v3()),
            #[cfg(not(target_arch = "x86_64"))]
            Self::F16c(none) => match none {},
            Self::Other(arch) => arch,
        }
    }

    /// Calls one of two operations compiled for the vectors: the one that is made of what converts, or
    /// the other, for vectors that do by themselves or not at all.
    pub(crate) fn dispatch<T, A, B>(
        self,
        of: T,
        with: impl FnOnce(F16c, T) -> A,
        without: impl FnOnce(T) -> B,
    ) -> A::Output
    where
        A: WithSimd,
        B: WithSimd<Output = A::Output>,
    {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::F16c(simd) => simd.call(with(simd, of)),
            #[cfg(target_arch = "x86_64")]
            Self::Other(Arch::V4(simd)) => pulp::Simd::vectorize(simd, without(of)),
            #[cfg(target_arch = "aarch64")]
            Self::Other(Arch::Neon(simd)) => pulp::Simd::vectorize(simd, without(of)),
            #[cfg(not(target_arch = "x86_64"))]
            Self::F16c(none) => with(none, of).with_simd(Scalar128b),
            Self::Other(_) => without(of).with_simd(Scalar128b),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph};

    use bytemuck::must_cast;
    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, WithSimd};

    pulp::simd_type!({
        /// The proof that a processor has F16C, and all that [`V3`] proves.
        #[allow(missing_docs)]
        pub(crate) struct F16c {
            sse: f!("sse"),
            sse2: f!("sse2"),
            fxsr: f!("fxsr"),
            sse3: f!("sse3"),
            ssse3: f!("ssse3"),
            sse4_1: f!("sse4.1"),
            sse4_2: f!("sse4.2"),
            popcnt: f!("popcnt"),
            avx: f!("avx"),
            avx2: f!("avx2"),
            bmi1: f!("bmi1"),
            bmi2: f!("bmi2"),
            fma: f!("fma"),
            lzcnt: f!("lzcnt"),
            f16c: f!("f16c"),
        }
    });

    impl F16c {
        /// The vectors of AVX2.
        #[inline(always)]
        pub(crate) fn v3(self) -> V3 {
            V3 {
                sse: self.sse,
                sse2: self.sse2,
                fxsr: self.fxsr,
                sse3: self.sse3,
                ssse3: self.ssse3,
                sse4_1: self.sse4_1,
                sse4_2: self.sse4_2,
                popcnt: self.popcnt,
                avx: self.avx,
                avx2: self.avx2,
                bmi1: self.bmi1,
                bmi2: self.bmi2,
                fma: self.fma,
                lzcnt: self.lzcnt,
            }
        }

        /// Calls `op` compiled for the vectors of AVX2 and for F16C. Elsewhere a conversion is a call.
        pub(crate) fn call<F: WithSimd>(self, op: F) -> F::Output {
            struct Call<F>(F16c, F);

            impl<F: WithSimd> NullaryFnOnce for Call<F> {
                type Output = F::Output;

                #[inline(always)]
                fn call(self) -> F::Output {
                    self.1.with_simd(self.0.v3())
                }
            }

            self.vectorize(Call(self, op))
        }

        /// The same numbers.
        #[inline(always)]
        pub(crate) fn widen(self, halves: [u8; 16]) -> [f32; 8] {
            // SAFETY: `self` proves that the processor has AVX and F16C.
            #[allow(unsafe_code)]
            must_cast(unsafe { _mm256_cvtph_ps(must_cast(halves)) })
        }

        /// The nearest numbers of `f16`, the even one of two as near.
        #[inline(always)]
        pub(crate) fn narrow(self, numbers: [f32; 8]) -> [u8; 16] {
            const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
            // SAFETY: `self` proves that the processor has AVX and F16C.
            #[allow(unsafe_code)]
            must_cast(unsafe { _mm256_cvtps_ph::<NEAREST>(must_cast(numbers)) })
        }

        /// The same as `f32`.
        #[inline(always)]
        pub(crate) fn round(self, numbers: [f32; 8]) -> [f32; 8] {
            self.widen(self.narrow(numbers))
        }
    }
}
