//! Multiply-1: the product of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/multiply-1.html>
//!
//! Integers wrap in their own type.

use super::binary::{Float, Function, Integer};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Multiply;

impl Function for Multiply {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        a * b
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.wrapping_mul(&b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::multiply(a, b)
    }
}
