//! Loops compiled for the vectors of the machine they run on.

use std::sync::LazyLock;

use pulp::{Arch, NullaryFnOnce};

/// What this machine has. Asking for each feature again would take longer than a short loop.
static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// The vectors of this machine.
#[inline(always)]
pub(crate) fn arch() -> Arch {
    *ARCH
}

/// Calls `f` compiled for the widest vectors this machine has (AVX-512, AVX2 with FMA, NEON). What
/// `f` calls must be inlined into it to profit; a call costs about a nanosecond, so that blocks of
/// elements are worth one, elements are not.
///
/// The compiler may leave a long closure a function of its own, for the narrowest vectors. A struct
/// whose [`NullaryFnOnce::call`] is marked `#[inline(always)]` never becomes one.
#[inline(always)]
pub(crate) fn vectorize<F: NullaryFnOnce>(f: F) -> F::Output {
    arch().dispatch(f)
}

/// As [`vectorize`], with vectors of at most 32 bytes, for loops that read once through more memory
/// than caches hold: elements seldom begin where a line of a cache does, and where every vector is
/// as long as a line, each would wait for two.
#[inline(always)]
pub(crate) fn vectorize_streaming<F: NullaryFnOnce>(f: F) -> F::Output {
    match arch() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => (*simd).vectorize(f),
        other => other.dispatch(f),
    }
}

/// As [`vectorize`], for a closure that could be called again, marked `#[inline(always)]`: it is never
/// left a function of its own, as it would be behind the adapter that makes an `FnOnce` of it.
#[inline(always)]
pub(crate) fn vectorize_mut<R>(f: impl FnMut() -> R) -> R {
    struct Always<F>(F);

    impl<R, F: FnMut() -> R> NullaryFnOnce for Always<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }

    vectorize(Always(f))
}
