//! SquaredDifference-1: the square of the difference of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/squared-difference-1.html>
//!
//! Integers wrap in their own type.

use super::binary::{Float, Function, Integer};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SquaredDifference;

impl Function for SquaredDifference {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        (a - b) * (a - b)
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        let difference = a.wrapping_sub(&b);
        difference.wrapping_mul(&difference)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::square(interval::subtract(a, b))
    }
}
