//! Loops compiled for the vectors of the machine they run on, and memory asked for ahead.

pub(crate) use crate::tensor::simd::{arch, vectorize, vectorize_mut, vectorize_streaming};

/// Asks for the memory of the element `position` after one, to be read or written soon. A position
/// outside does no harm.
#[inline(always)]
pub(crate) fn prefetch<T>(data: *const T, position: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        let place = data.wrapping_add(position);
        sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, position);
}
