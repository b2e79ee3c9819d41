//! LessEqual-1: whether elements of the first input are less or equal.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/lessequal-1.html>

use super::compare::Relation;
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LessEqual;

impl Relation for LessEqual {
    #[inline(always)]
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool {
        a <= b
    }

    fn decided(a: ValueRange, b: ValueRange) -> Option<bool> {
        interval::less(b, a).map(|less| !less)
    }
}
