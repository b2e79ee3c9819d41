//! The product.

use super::fold::Elementwise;
use super::folds::{Folds, Kept};
use super::scalar::{Number, Scalar};

/// The product; that of `f32` is kept in `f64`, integers wrap.
pub(crate) const PRODUCT: Folds = Folds {
    f32: Kept::Wide(&Elementwise::<Product>::NEW),
    f64: Kept::Same(&Elementwise::<Product>::NEW),
    i64: Kept::Same(&Elementwise::<Product>::NEW),
    u64: Kept::Same(&Elementwise::<Product>::NEW),
    i32: Some(&Elementwise::<Product>::NEW),
    f16: None,
};

struct Product;

macro_rules! product {
    ($($T:ty, $A:ty, $one:expr;)+) => {$(
        impl Scalar<$T, $A> for Product {
            const IDENTITY: $A = $one;

            #[inline(always)]
            fn push(acc: $A, x: $T) -> $A {
                acc.times(x.into())
            }

            #[inline(always)]
            fn merge(a: $A, b: $A) -> $A {
                a.times(b)
            }
        }
    )+};
}

product!(
    f32, f64, 1.0;
    f64, f64, 1.0;
    i32, i32, 1;
    i64, i64, 1;
    u64, u64, 1;
);
