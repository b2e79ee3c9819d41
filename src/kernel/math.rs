//! Functions of floats beyond the arithmetic of IEEE 754, in one place: what they cost and how
//! exact they are is decided here.

use super::real::Real;

/// The exponential function.
pub(crate) fn exp<T: Real>(x: T) -> T {
    x.exp()
}

/// The natural logarithm.
pub(crate) fn ln<T: Real>(x: T) -> T {
    x.ln()
}

/// The hyperbolic tangent.
pub(crate) fn tanh<T: Real>(x: T) -> T {
    x.tanh()
}

/// `1 / (1 + exp(-x))`.
pub(crate) fn sigmoid<T: Real>(x: T) -> T {
    T::one() / (T::one() + exp(-x))
}

/// `x` to the power `y`.
pub(crate) fn pow<T: Real>(x: T, y: T) -> T {
    x.powf(y)
}

/// Sine and cosine.
pub(crate) fn sin_cos<T: Real>(x: T) -> (T, T) {
    x.sin_cos()
}
