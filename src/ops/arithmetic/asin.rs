//! Asin-1: the inverse of the sine.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/asin-1.html>
//!
//! Values of integers are rounded to the nearest, as the CPU plugin does; the document does not say.

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Asin {}

impl Function for Asin {
    const INTEGERS: Integers = Integers::Rounded;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::asin(x)
    }
}
