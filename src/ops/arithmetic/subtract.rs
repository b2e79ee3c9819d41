//! Subtract-1: the difference of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/subtract-1.html>
//!
//! Integers wrap in their own type.

use super::binary::{Float, Function, Integer};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subtract;

impl Function for Subtract {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        a - b
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.wrapping_sub(&b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::subtract(a, b)
    }
}
