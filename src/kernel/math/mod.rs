//! Functions of floats beyond the arithmetic of IEEE 754, in one place: what they cost and how
//! exact they are is decided here.

mod double;
mod parts;
mod precise;
mod single;
#[cfg(test)]
mod tests;

use super::real::Real;

/// Declares the functions: a trait that each float implements, and names to call them by.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        /// What [`Real`] numbers can do beyond arithmetic.
        pub(crate) trait Functions: Sized {
            $($(#[$doc])* fn $name(x: Self) -> Self;)+

            /// The sine of each number; faster than one by one.
            fn sin_block(x: &[Self], out: &mut [Self]);

            /// The cosine of each number; faster than one by one.
            fn cos_block(x: &[Self], out: &mut [Self]);

            /// The tangent of each number; faster than one by one.
            fn tan_block(x: &[Self], out: &mut [Self]);

            /// `exp(x)` times a power of 2 that is always the same, for an `x` that is not positive:
            /// faster, for sums and shares of them.
            fn exp_share(x: Self) -> Self;

            /// `x` to the power `y`.
            fn power(x: Self, y: Self) -> Self;
        }

        $($(#[$doc])* #[inline(always)]
        pub(crate) fn $name<T: Real>(x: T) -> T {
            <T as Functions>::$name(x)
        })+
    };
}

functions! {
    /// The exponential function.
    exp;
    /// `exp(x) - 1`, exact for small numbers too.
    exp_m1;
    /// The natural logarithm.
    ln;
    /// `ln(1 + x)`, exact for small numbers too.
    ln_1p;
    /// The hyperbolic tangent.
    tanh;
    /// `1 / (1 + exp(-x))`.
    sigmoid;
    /// The error function.
    erf;
    /// The inverse of the error function; NaN beyond -1 and 1.
    erf_inv;
    /// The distribution function of the standard normal distribution.
    normal_cdf;
    /// The sine.
    sin;
    /// The cosine.
    cos;
    /// The tangent.
    tan;
    /// The inverse of the sine.
    asin;
    /// The inverse of the cosine.
    acos;
    /// The inverse of the tangent.
    atan;
    /// The hyperbolic sine.
    sinh;
    /// The hyperbolic cosine.
    cosh;
    /// The inverse of the hyperbolic sine.
    asinh;
    /// The inverse of the hyperbolic cosine.
    acosh;
    /// The inverse of the hyperbolic tangent.
    atanh;
    /// The greatest whole number that is not greater.
    floor;
    /// The smallest whole number that is not smaller.
    ceil;
    /// The nearest whole number; of two, the even one.
    round_half_even;
    /// The nearest whole number; of two, the one farther from zero.
    round_half_away;
}

/// `exp(x)` times a power of 2 that is always the same, for an `x` that is not positive: faster, for
/// sums and shares of them.
#[inline(always)]
pub(crate) fn exp_share<T: Real>(x: T) -> T {
    T::exp_share(x)
}

/// `x` to the power `y`.
#[inline(always)]
pub(crate) fn pow<T: Real>(x: T, y: T) -> T {
    T::power(x, y)
}

/// The tangent of each number; faster than one by one.
pub(crate) fn tan_block<T: Real>(x: &[T], out: &mut [T]) {
    T::tan_block(x, out);
}

/// The sine of each number; faster than one by one.
pub(crate) fn sin_block<T: Real>(x: &[T], out: &mut [T]) {
    T::sin_block(x, out);
}

/// The cosine of each number; faster than one by one.
pub(crate) fn cos_block<T: Real>(x: &[T], out: &mut [T]) {
    T::cos_block(x, out);
}
