//! Elements at many positions by instructions.
//!
//! AVX-512 has one that reads eight elements. Where it is fast ([`Gathers::preferred`]) it takes 0.65 to 0.9 of the time of
//! a loop over single elements, from tables that a cache near the core holds. pulp has no safe call of it: the
//! one here is what this crate adds.

use super::{is_recent_intel, machine};

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Gathers;

/// A machine that has no such instructions has no such value.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gathers {}

/// How many elements are read together.
pub(crate) const GATHERED: usize = 8;

impl Gathers {
    /// Those of this machine, if elements come faster so than one by one. They do not from processors of AMD, nor from
    /// Intel's before Sapphire Rapids, whose gathers wait, or were made to wait lest they tell what other programs
    /// read.
    #[inline(always)]
    pub(crate) fn preferred() -> Option<Self> {
        Self::of(machine()).filter(|_| is_recent_intel())
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Gathers {
    pub(crate) fn of(_: pulp::Arch) -> Option<Self> {
        None
    }

    pub(crate) fn call<F: pulp::NullaryFnOnce>(self, _: F) -> F::Output {
        match self {}
    }

    pub(crate) fn pick(self, _: &[u32], _: [i64; GATHERED], _: u64) -> [u32; GATHERED] {
        match self {}
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_setzero_si256, _mm512_mask_i64gather_epi32};

    use bytemuck::must_cast;
    use pulp::x86::V4;
    use pulp::{Arch, NullaryFnOnce};

    use super::GATHERED;

    /// The proof that a processor has AVX-512.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Gathers(V4);

    impl Gathers {
        /// Those of some vectors.
        #[inline(always)]
        pub(crate) fn of(arch: Arch) -> Option<Self> {
            match arch {
                Arch::V4(simd) => Some(Self(simd)),
                _ => None,
            }
        }

        /// Calls `f` compiled for these instructions. Elsewhere each of them is a call.
        #[inline(always)]
        pub(crate) fn call<F: NullaryFnOnce>(self, f: F) -> F::Output {
            self.0.vectorize(f)
        }

        /// The elements of a table at indices to which `wrap` is added if they are negative; zeros for those out of range.
        #[inline(always)]
        pub(crate) fn pick(
            self,
            table: &[u32],
            indices: [i64; GATHERED],
            wrap: u64,
        ) -> [u32; GATHERED] {
            let V4 {
                avx512f: avx,
                avx512dq,
                ..
            } = self.0;
            let indices = must_cast(indices);
            let negative = avx512dq._mm512_movepi64_mask(indices);
            let back = must_cast([wrap; GATHERED]);
            let positions = avx._mm512_mask_add_epi64(indices, negative, indices, back);
            let inside =
                avx._mm512_cmplt_epu64_mask(positions, must_cast([table.len() as u64; GATHERED]));
            // SAFETY: `self` proves that the processor has AVX-512; no element is read but those whose bit is set in
            // `inside`, which are positions of the table; and the scale is the size of its elements.
            #[allow(unsafe_code)]
            must_cast(unsafe {
                _mm512_mask_i64gather_epi32::<4>(
                    _mm256_setzero_si256(),
                    inside,
                    positions,
                    table.as_ptr().cast(),
                )
            })
        }
    }
}
