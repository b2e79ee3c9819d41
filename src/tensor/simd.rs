//! Loops compiled for the vectors of the machine they run on.

use pulp::Arch;

/// Calls `f` compiled for the widest vectors this machine has (AVX-512, AVX2 with FMA, NEON). What
/// `f` calls must be inlined into it to profit; a call costs about a nanosecond, so that blocks of
/// elements are worth one, elements are not.
#[inline(always)]
pub(crate) fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(f)
}
