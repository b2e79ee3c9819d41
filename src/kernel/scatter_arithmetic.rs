//! What a reducing scatter does with two elements.

use crate::tensor::convert::Compute;

/// The arithmetic of reductions.
pub(super) trait Arithmetic: Compute {
    const ONE: Self;
    const LEAST: Self;
    const GREATEST: Self;
    /// A number that leaves every other as it is when it is added to it, and that no sum is unless
    /// one of its terms is.
    const NOTHING: Option<Self>;
    /// The high part of a sum: integers are added up exactly.
    type High: Clone + Default + std::fmt::Debug;

    /// Whether all bits agree.
    fn same(self, other: Self) -> bool;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Adds to a sum of which `self` is the low part.
    fn add(&mut self, high: &mut Self::High, other: Self);
    /// A sum divided, rounded toward minus infinity if it is an integer.
    fn divide(self, high: Self::High, count: usize) -> Self;

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
    ($($ty:ty),+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1.0;
            const LEAST: Self = <$ty>::NEG_INFINITY;
            const GREATEST: Self = <$ty>::INFINITY;
            const NOTHING: Option<Self> = Some(-0.0);
            type High = ();

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

            #[inline(always)]
            fn add(&mut self, (): &mut (), other: Self) {
                *self += other;
            }

            #[inline(always)]
            fn divide(self, (): (), count: usize) -> Self {
                self / count as $ty
            }
        }
    )+};
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1;
            const LEAST: Self = <$ty>::MIN;
            const GREATEST: Self = <$ty>::MAX;
            const NOTHING: Option<Self> = None;
            type High = i64;

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

            #[inline(always)]
            fn add(&mut self, high: &mut i64, other: Self) {
                let (sum, over) = self.overflowing_add(other);
                // An overflow upward leaves the low part less than it was.
                *high += i64::from(over) * if sum < *self { 1 } else { -1 };
                *self = sum;
            }

            #[inline(always)]
            fn divide(self, high: i64, count: usize) -> Self {
                let sum = (i128::from(high) << <$ty>::BITS) + i128::from(self);
                // A mean lies between the least and the greatest number: it fits.
                sum.div_euclid(count as i128) as $ty
            }
        }
    )+};
}

floats!(f32, f64);
integers!(i32, i64, u64);
