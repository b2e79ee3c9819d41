//! Maximum-1: the larger of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/maximum-1.html>
//!
//! The document does not speak of NaN. As in OpenVINO's reference, the first input is the result where
//! the two do not compare: a NaN in it stays, one in the second is passed over.

use super::binary::{Float, Function, Integer};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Maximum;

impl Function for Maximum {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        if a < b { b } else { a }
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.max(b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::maximum(a, b)
    }
}
