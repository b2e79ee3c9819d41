//! Sqrt-1: the square root.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/sqrt-1.html>
//!
//! Values of integers are rounded to the nearest.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Sqrt {}

impl Function for Sqrt {
    const INTEGERS: Integers = Integers::Rounded;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        x.sqrt()
    }
}
