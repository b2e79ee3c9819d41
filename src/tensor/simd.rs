//! Loops compiled for the vectors of the machine they run on.

mod f16c;

use std::sync::LazyLock;

use pulp::{Arch, NullaryFnOnce};

pub(crate) use f16c::{Converting, F16c};

/// What this machine has. Asking for each feature again would take longer than a short loop.
static MACHINE: LazyLock<Arch> = LazyLock::new(|| {
    let name = std::env::var(VECTORS).unwrap_or_default();
    pretended(&name).unwrap_or_default()
});

/// An environment variable that has a machine pretend to be a lesser one: `portable`, which any machine
/// can be, or `avx2`. Tests compare what they give; who wonders about a number may do so too.
const VECTORS: &str = "OVIR_VECTORS";

fn pretended(name: &str) -> Option<Arch> {
    match name {
        "portable" => Some(Arch::Scalar),
        #[cfg(target_arch = "x86_64")]
        "avx2" => pulp::x86::V3::try_new().map(Arch::V3),
        _ => None,
    }
}

/// The vectors of this machine.
///
/// Loops that the compiler vectorises give the same bits whatever these are. Those written for vectors
/// of a length may not: they take `kernel::simd::arch`.
#[inline(always)]
pub(crate) fn machine() -> Arch {
    *MACHINE
}

/// Every set of vectors that this machine has.
#[cfg(test)]
pub(crate) fn machines() -> Vec<Arch> {
    let mut all = vec![Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        all.extend(pulp::x86::V3::try_new().map(Arch::V3));
        all.extend(pulp::x86::V4::try_new().map(Arch::V4));
    }
    #[cfg(not(target_arch = "x86_64"))]
    all.push(Arch::new());
    all
}

/// Calls `f` compiled for the widest vectors this machine has (AVX-512, AVX2 with FMA, NEON). What
/// `f` calls must be inlined into it to profit; a call costs about a nanosecond, so that blocks of
/// elements are worth one, elements are not.
///
/// The compiler may leave a long closure a function of its own, for the narrowest vectors. A struct
/// whose [`NullaryFnOnce::call`] is marked `#[inline(always)]` never becomes one.
#[inline(always)]
pub(crate) fn vectorize<F: NullaryFnOnce>(f: F) -> F::Output {
    machine().dispatch(f)
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
