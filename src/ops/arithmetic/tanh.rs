//! Tanh-1: the hyperbolic tangent.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/tanh-1.html>
//!
//! Values of integers are rounded to the nearest.

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Tanh {}

impl Function for Tanh {
    const INTEGERS: Integers = Integers::Rounded;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::tanh(x)
    }
}
