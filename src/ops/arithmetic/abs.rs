//! Abs-1: the absolute value.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/abs-1.html>
//!
//! That of the lowest integer wraps to itself.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::interval;
use crate::ops::unary::{Function, Integer, Integers};
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Abs {}

impl Function for Abs {
    const INTEGERS: Integers = Integers::Exact;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        x.abs()
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, x: T) -> T {
        if x < T::zero() { x.wrapping_neg() } else { x }
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        let negative = interval::subtract(ValueRange::exact(0), x);
        interval::maximum(interval::maximum(x, negative), ValueRange::exact(0))
    }
}
