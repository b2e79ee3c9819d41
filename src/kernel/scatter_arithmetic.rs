//! What a reducing scatter does with two elements.

use super::scatter_mean::Mean;
use crate::tensor::convert::Compute;

/// The arithmetic of reductions.
pub(super) trait Arithmetic: Compute {
    const ONE: Self;
    const LEAST: Self;
    const GREATEST: Self;
    /// A number that leaves every other as it is when it is added to it, and that no sum is unless
    /// one of its terms is.
    const NOTHING: Option<Self>;
    /// Whether some numbers are neither less nor greater than others.
    const HAS_NAN: bool;
    /// A mean of fewer than 2³² terms, and one of any number.
    type Near: Mean<Self>;
    type Far: Mean<Self>;

    /// Whether all bits agree.
    fn same(self, other: Self) -> bool;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// As the reference implementation, which takes the update if one is not a number.
    #[inline(always)]
    fn lesser(self, update: Self) -> Self {
        if self < update { self } else { update }
    }

    /// As [`Arithmetic::lesser`].
    #[inline(always)]
    fn greater(self, update: Self) -> Self {
        if self > update { self } else { update }
    }
}

macro_rules! floats {
    ($($ty:ty, $near:ty, $far:ty);+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1.0;
            const LEAST: Self = <$ty>::NEG_INFINITY;
            const GREATEST: Self = <$ty>::INFINITY;
            const NOTHING: Option<Self> = Some(-0.0);
            const HAS_NAN: bool = true;
            type Near = $near;
            type Far = $far;

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )+};
}

macro_rules! integers {
    ($($ty:ty, $near:ty, $far:ty);+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1;
            const LEAST: Self = <$ty>::MIN;
            const GREATEST: Self = <$ty>::MAX;
            const NOTHING: Option<Self> = None;
            const HAS_NAN: bool = false;
            type Near = $near;
            type Far = $far;

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )+};
}

floats!(f32, [u8; 5], [u64; 2]; f64, [u64; 2], [u64; 2]);
integers!(i32, [i64; 2], [u64; 3]; i64, [u64; 3], [u64; 3]; u64, [u64; 3], [u64; 3]);
