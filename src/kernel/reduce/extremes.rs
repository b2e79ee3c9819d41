//! The smallest and the largest element.
//!
//! Of floats, a NaN is only the answer if there is nothing else. The largest of no floats is the
//! lowest finite one, the smallest is infinity, as in OpenVINO's own reference.

use super::fold::Elementwise;
use super::folds::{Folds, Kept};
use super::scalar::Scalar;

/// The smallest element.
pub(crate) const MIN: Folds = Folds {
    f32: Kept::Same(&Elementwise::<Min>::NEW),
    f64: Kept::Same(&Elementwise::<Min>::NEW),
    i64: Kept::Same(&Elementwise::<Min>::NEW),
    u64: Kept::Same(&Elementwise::<Min>::NEW),
    i32: Some(&Elementwise::<Min>::NEW),
    f16: None,
};

/// The largest element.
pub(crate) const MAX: Folds = Folds {
    f32: Kept::Same(&Elementwise::<Max>::NEW),
    f64: Kept::Same(&Elementwise::<Max>::NEW),
    i64: Kept::Same(&Elementwise::<Max>::NEW),
    u64: Kept::Same(&Elementwise::<Max>::NEW),
    i32: Some(&Elementwise::<Max>::NEW),
    f16: None,
};

struct Min;

struct Max;

macro_rules! floats {
    ($S:ty, $beyond:tt, $T:ty, $nothing:expr) => {
        impl Scalar<$T, $T> for $S {
            const IDENTITY: $T = <$T>::NAN;

            const CHOOSES: bool = true;

            #[inline(always)]
            fn push(acc: $T, x: $T) -> $T {
                if (x $beyond acc) | acc.is_nan() { x } else { acc }
            }

            #[inline(always)]
            fn merge(a: $T, b: $T) -> $T {
                Self::push(a, b)
            }

            fn finish(acc: $T, count: usize) -> $T {
                if count == 0 { $nothing } else { acc }
            }
        }
    };
}

floats!(Min, <, f32, f32::INFINITY);
floats!(Min, <, f64, f64::INFINITY);
floats!(Max, >, f32, f32::MIN);
floats!(Max, >, f64, f64::MIN);

macro_rules! integers {
    ($($T:ty),+) => {$(
        impl Scalar<$T, $T> for Min {
            const IDENTITY: $T = <$T>::MAX;

            #[inline(always)]
            fn push(acc: $T, x: $T) -> $T {
                acc.min(x)
            }

            #[inline(always)]
            fn merge(a: $T, b: $T) -> $T {
                a.min(b)
            }
        }

        impl Scalar<$T, $T> for Max {
            const IDENTITY: $T = <$T>::MIN;

            #[inline(always)]
            fn push(acc: $T, x: $T) -> $T {
                acc.max(x)
            }

            #[inline(always)]
            fn merge(a: $T, b: $T) -> $T {
                a.max(b)
            }
        }
    )+};
}

integers!(i32, i64, u64);
