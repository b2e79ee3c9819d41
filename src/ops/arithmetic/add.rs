//! Add-1: the sum of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/add-1.html>
//!
//! Integers wrap in their own type.

use super::binary::{Float, Function, Integer};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Add;

impl Function for Add {
    const ADDS: bool = true;

    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        a + b
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.wrapping_add(&b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::add(a, b)
    }
}
