//! Quotients of integers, and remainders of divisions.

use num_traits::PrimInt;
use num_traits::ops::wrapping::{WrappingAdd, WrappingMul, WrappingSub};

use super::real::Real;
use super::simd::vectorize_mut;
use super::zip::each_pair;
use crate::tensor::ElementType;

/// An integer that arithmetic is computed in. What does not fit wraps.
pub(crate) trait Integer: PrimInt + WrappingAdd + WrappingSub + WrappingMul {
    /// The quotient rounded towards zero; 0 for a division by zero.
    fn quotient(self, by: Self) -> Self;

    /// The remainder `self - by * quotient`.
    #[inline(always)]
    fn remainder(self, by: Self, quotient: Self) -> Self {
        self.wrapping_sub(&by.wrapping_mul(&quotient))
    }

    /// Whether rounding such a quotient down takes one from what was rounded towards zero.
    #[inline(always)]
    fn is_above(remainder: Self, by: Self) -> bool {
        !remainder.is_zero() & ((remainder < Self::zero()) != (by < Self::zero()))
    }

    /// The quotient rounded down; 0 for a division by zero.
    #[inline(always)]
    fn quotient_down(self, by: Self) -> Self {
        let quotient = self.quotient(by);
        let above = Self::is_above(self.remainder(by, quotient), by);
        let down = quotient.wrapping_sub(&Self::one());
        if above & !by.is_zero() {
            down
        } else {
            quotient
        }
    }
}

impl Integer for i32 {
    #[inline(always)]
    fn quotient(self, by: Self) -> Self {
        /// Added to an integer, its last bits are those of the sum.
        const BITS: f64 = (3u64 << 51) as f64;
        // `f64` holds both, and a quotient that is no integer lies further from one than it rounds:
        // vectors have no division of integers.
        let quotient = (f64::from(self) / f64::from(by)).trunc();
        #[allow(clippy::cast_possible_truncation)]
        let bits = (quotient + BITS).to_bits() as Self;
        if by == 0 { 0 } else { bits }
    }
}

macro_rules! quotient {
    ($($T:ty),+) => {$(
        impl Integer for $T {
            #[inline(always)]
            fn quotient(self, by: Self) -> Self {
                if by == 0 { 0 } else { self.wrapping_div(by) }
            }
        }
    )+};
}

quotient!(i64, u64);

/// Remainders of integers: as [`floats`]. No divisor is zero.
pub(crate) fn integers<T: Integer, const FLOOR: bool>(a: &[T], b: &[T], out: &mut [T]) {
    each_pair(
        a,
        b,
        out,
        #[inline(always)]
        |a, b| {
            let rest = a.remainder(b, a.quotient(b));
            if FLOOR && T::is_above(rest, b) {
                // Of opposite signs: their sum is between them.
                rest.wrapping_add(&b)
            } else {
                rest
            }
        },
    );
}

/// The exact remainder `a - b * q`, where `q` is the quotient rounded down if `FLOOR`, otherwise
/// towards zero. A remainder of zero has the sign of the divisor, or of the dividend.
pub(crate) fn floats<T: Real, const FLOOR: bool>(a: &[T], b: &[T], out: &mut [T]) {
    let fast = T::TYPE == ElementType::F32
        && vectorize_mut(
            #[inline(always)]
            || narrow(a, b, out),
        );
    if !fast {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = a % b;
        }
    }
    if !FLOOR {
        return;
    }
    vectorize_mut(
        #[inline(always)]
        || round_down(b, out),
    );
}

/// The remainders of divisions rounded down, from those rounded towards zero.
#[inline(always)]
fn round_down<T: Real>(b: &[T], out: &mut [T]) {
    for (out, &b) in out.iter_mut().zip(b) {
        let rest = *out;
        let other_sign = (rest < T::zero()) != (b < T::zero());
        *out = if rest.is_zero() {
            rest.copysign(b)
        } else if other_sign {
            rest + b
        } else {
            rest
        };
    }
}

/// The remainders of divisions towards zero in `f64`, which are exact for `f32` if quotients are
/// not too large; whether they are.
#[inline(always)]
fn narrow<T: Real>(a: &[T], b: &[T], out: &mut [T]) -> bool {
    /// A quotient of two `f32` below this that is no integer lies further from one than `f64`
    /// rounds; and its product with the divisor is exact.
    const MOST: f64 = (1u64 << 27) as f64;
    /// Adding this rounds to an integer.
    const ROUND: f64 = (3u64 << 51) as f64;
    let mut exact = true;
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        let (a, b) = (a.wide().abs(), b.wide().abs());
        let quotient = a / b;
        let near = (quotient + ROUND) - ROUND;
        let down = if near > quotient { near - 1.0 } else { near };
        *out = T::of(a - down * b);
        // False for NaN as well.
        exact &= (quotient < MOST) & (b <= f64::from(f32::MAX));
    }
    for (out, &a) in out.iter_mut().zip(a) {
        *out = out.copysign(a);
    }
    exact
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = f32> {
        prop_oneof![
            any::<u32>().prop_map(f32::from_bits),
            (-1000i32..1000).prop_map(|x| x as f32 / 8.0),
            (-100f32..100.0),
        ]
    }

    proptest! {
        #[test]
        fn like_c_and_python(a in number(), b in number()) {
            let mut out = [0f32];
            floats::<f32, false>(&[a], &[b], &mut out);
            let rest = a % b;
            prop_assert!(out[0].to_bits() == rest.to_bits() || rest.is_nan() && out[0].is_nan(), "{a} {b}");
            floats::<f32, true>(&[a], &[b], &mut out);
            let expected = if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest };
            prop_assert!(out[0] == expected || expected.is_nan() && out[0].is_nan(), "{a} {b}");
            // A whole block is exact even if one pair of it needs the slow way.
            let mut pair = [0f32; 2];
            floats::<f32, false>(&[a, 7.5], &[b, 2.0], &mut pair);
            prop_assert_eq!(pair[1], 1.5);
        }

        #[test]
        fn integers_like_the_definition(
            a in prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX), -99i32..99],
            b in prop_oneof![any::<i32>(), -9i32..9],
        ) {
            prop_assert_eq!(a.quotient(b), a.checked_div(b).unwrap_or(a.wrapping_mul(b)));
            prop_assume!(b != 0);
            let mut out = [0];
            integers::<i32, false>(&[a], &[b], &mut out);
            prop_assert_eq!(i64::from(out[0]), i64::from(a) % i64::from(b));
            integers::<i32, true>(&[a], &[b], &mut out);
            let down = a.quotient_down(b);
            let (a, b) = (i64::from(a), i64::from(b));
            let floor = a.div_euclid(b) - i64::from(b < 0 && a.rem_euclid(b) != 0);
            prop_assert_eq!(i64::from(out[0]), a - b * floor);
            #[allow(clippy::cast_possible_truncation)] // that of the lowest number and -1 wraps
            let floor = floor as i32;
            prop_assert_eq!(down, floor);
        }
    }
}
