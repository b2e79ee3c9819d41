//! Gelu-2, Gelu-7: the number times the part of a standard normal distribution below it.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/gelu-7.html>
//!
//! Gelu-2 has no attribute. In Gelu-7 `approximation_mode` chooses an approximation by `tanh`.

use serde::{Deserialize, Serialize};

use crate::kernel::map::{each, each_sum};
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::op::Terms;
use crate::ops::unary::{Function, Integers};

/// How the distribution is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// As it is defined.
    #[default]
    Erf,
    /// By a hyperbolic tangent near to it.
    Tanh,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Gelu {
    approximation_mode: Mode,
}

impl Function for Gelu {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        match self.approximation_mode {
            Mode::Erf => exact(x),
            Mode::Tanh => approximate(x),
        }
    }

    fn block<T: Real>(&self, x: &[T], out: &mut [T]) {
        match self.approximation_mode {
            Mode::Erf => each(
                x,
                out,
                #[inline(always)]
                |x| exact(x),
            ),
            Mode::Tanh => each(
                x,
                out,
                #[inline(always)]
                |x| approximate(x),
            ),
        }
    }

    fn sums(&self, terms: Terms<'_, '_>) {
        match self.approximation_mode {
            Mode::Erf => each_sum(
                terms,
                #[inline(always)]
                |x| exact(x),
            ),
            Mode::Tanh => each_sum(
                terms,
                #[inline(always)]
                |x| approximate(x),
            ),
        }
    }
}

/// The form with `erf` loses all digits of negative numbers; this one none.
#[inline(always)]
fn exact<T: Real>(x: T) -> T {
    x * math::normal_cdf(x)
}

/// `(1 + tanh(u)) / 2` is `sigmoid(2 * u)`, which keeps the digits of negative numbers.
#[inline(always)]
fn approximate<T: Real>(x: T) -> T {
    let twice = T::of(2.0 * (2.0 / std::f64::consts::PI).sqrt());
    x * math::sigmoid(twice * (x + T::of(0.044_715) * x * x * x))
}

/// Gelu-2.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Gelu2 {}

impl Function for Gelu2 {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        exact(x)
    }
}
