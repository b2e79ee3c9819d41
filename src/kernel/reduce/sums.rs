//! Sums and what is made of them.
//!
//! Sums of floats are kept in `f64` (those of `f64` compensated), and rounded once.

use std::marker::PhantomData;

use super::compensated::{Compensated, finish_sum};
use super::fold::Elementwise;
use super::folds::{Folds, Kept};
use super::halves::Halves;
use super::scalar::{Map, Pair, Scalar};

/// The sum; integers wrap.
pub(crate) const SUM: Folds = Folds {
    f32: Kept::Wide(&Elementwise::<Mapped<Sum>>::NEW),
    f64: Kept::Wide(&Compensated::<Sum>::NEW),
    i64: Kept::Same(&Elementwise::<Sum>::NEW),
    u64: Kept::Same(&Elementwise::<Sum>::NEW),
    // Additions that wrap lose nothing the narrow type can show.
    i32: Some(&Elementwise::<Sum>::NEW),
    f16: Some(&Halves::<Sum, ALL>::NEW),
};

/// The arithmetic mean; integers are rounded towards zero.
pub(crate) const MEAN: Folds = Folds {
    f32: Kept::Wide(&Elementwise::<Mapped<Mean>>::NEW),
    f64: Kept::Wide(&Compensated::<Mean>::NEW),
    i64: Kept::Wide(&Elementwise::<Mean>::NEW),
    u64: Kept::Wide(&Elementwise::<Mean>::NEW),
    i32: None,
    f16: Some(&Halves::<Mean, ALL>::NEW),
};

/// The sum of absolute values; integers wrap.
pub(crate) const L1: Folds = Folds {
    f32: Kept::Wide(&Elementwise::<Mapped<Absolute>>::NEW),
    f64: Kept::Wide(&Compensated::<Absolute>::NEW),
    i64: Kept::Same(&Elementwise::<Absolute>::NEW),
    u64: Kept::Same(&Elementwise::<Sum>::NEW),
    i32: Some(&Elementwise::<Absolute>::NEW),
    f16: Some(&Halves::<Absolute, { ALL >> 1 }>::NEW),
};

/// The square root of the sum of squares; integers are rounded down.
pub(crate) const L2: Folds = Folds {
    f32: Kept::Wide(&Elementwise::<Mapped<Square>>::NEW),
    f64: Kept::Wide(&Compensated::<Square>::NEW),
    i64: Kept::Wide(&Elementwise::<Square>::NEW),
    u64: Kept::Wide(&Elementwise::<Square>::NEW),
    i32: None,
    f16: None,
};

/// All bits of an `f16`; the uppermost is the sign.
const ALL: u16 = u16::MAX;

/// A sum of elements.
pub(crate) struct Sum;

struct Mean;

struct Absolute;

struct Square;

impl Map for Sum {
    #[inline(always)]
    fn map(x: f64) -> f64 {
        x
    }
}

#[allow(clippy::cast_precision_loss)] // no memory holds 2^53 elements
impl Map for Mean {
    #[inline(always)]
    fn map(x: f64) -> f64 {
        x
    }

    fn finish(sum: f64, count: usize) -> f64 {
        sum / count as f64
    }
}

impl Map for Absolute {
    #[inline(always)]
    fn map(x: f64) -> f64 {
        x.abs()
    }
}

impl Map for Square {
    #[inline(always)]
    fn map(x: f64) -> f64 {
        x * x
    }

    fn finish(sum: f64, _count: usize) -> f64 {
        sum.sqrt()
    }
}

/// A sum of what a [`Map`] makes of floats.
pub(crate) struct Mapped<M>(PhantomData<M>);

impl<M: Map> Scalar<f32, f64> for Mapped<M> {
    /// Adds nothing, even to a negative zero.
    const IDENTITY: f64 = -0.0;

    #[inline(always)]
    fn push(acc: f64, x: f32) -> f64 {
        acc + M::map(x.into())
    }

    #[inline(always)]
    fn merge(a: f64, b: f64) -> f64 {
        a + b
    }

    fn finish(acc: f64, count: usize) -> f64 {
        if count == 0 {
            0.0
        } else {
            M::finish(acc, count)
        }
    }
}

impl<M: Map> Scalar<f64, Pair> for Mapped<M> {
    const IDENTITY: Pair = Pair::EMPTY;

    #[inline(always)]
    fn push(acc: Pair, x: f64) -> Pair {
        acc.plus(Pair::exact(M::map(x)))
    }

    #[inline(always)]
    fn merge(a: Pair, b: Pair) -> Pair {
        a.plus(b)
    }

    fn finish(acc: Pair, count: usize) -> Pair {
        finish_sum::<M>(acc, count)
    }
}

macro_rules! wrapping {
    ($S:ty, |$x:ident| $map:expr, $($T:ty),+) => {$(
        impl Scalar<$T, $T> for $S {
            const IDENTITY: $T = 0;

            #[inline(always)]
            fn push(acc: $T, $x: $T) -> $T {
                acc.wrapping_add($map)
            }

            #[inline(always)]
            fn merge(a: $T, b: $T) -> $T {
                a.wrapping_add(b)
            }
        }
    )+};
}

wrapping!(Sum, |x| x, i32, i64, u64);
wrapping!(Absolute, |x| x.wrapping_abs(), i32, i64);

/// Exact sums, which wider accumulators hold in two's complement.
macro_rules! exact {
    ($($T:ty),+) => {$(
        impl Scalar<$T, u128> for Mean {
            const IDENTITY: u128 = 0;

            #[inline(always)]
            fn push(acc: u128, x: $T) -> u128 {
                acc.wrapping_add(x as u128)
            }

            #[inline(always)]
            fn merge(a: u128, b: u128) -> u128 {
                a.wrapping_add(b)
            }

            fn finish(acc: u128, count: usize) -> u128 {
                if count == 0 {
                    return 0;
                }
                let sum = acc.cast_signed();
                i64::try_from(sum).map_or_else(
                    |_| (sum / count as i128).cast_unsigned(),
                    // Several times as fast.
                    |sum| (sum / count as i64) as u128,
                )
            }
        }

        impl Scalar<$T, u128> for Square {
            const IDENTITY: u128 = 0;

            /// The root of a sum beyond the end does not fit the element type anyway.
            #[inline(always)]
            fn push(acc: u128, x: $T) -> u128 {
                let size = u128::from(x.abs_diff(0));
                acc.saturating_add(size.wrapping_mul(size))
            }

            #[inline(always)]
            fn merge(a: u128, b: u128) -> u128 {
                a.saturating_add(b)
            }

            fn finish(acc: u128, _count: usize) -> u128 {
                acc.isqrt()
            }
        }
    )+};
}

exact!(i64, u64);
