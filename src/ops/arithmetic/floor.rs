//! Floor-1: the greatest whole number that is not greater.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/floor-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Floor {}

impl Function for Floor {
    const INTEGERS: Integers = Integers::Exact;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::floor(x)
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        x
    }
}
