//! Tan-1: the tangent.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/tan-1.html>
//!
//! Values of integers are rounded to the nearest.

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Tan {}

impl Function for Tan {
    const INTEGERS: Integers = Integers::Rounded;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::tan(x)
    }

    fn block<T: Real>(&self, x: &[T], out: &mut [T]) {
        math::tan_block(x, out);
    }
}
