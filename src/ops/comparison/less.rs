//! Less-1: whether elements of the first input are less.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/less-1.html>

use super::compare::Relation;
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Less;

impl Relation for Less {
    #[inline(always)]
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool {
        a < b
    }

    fn decided(a: ValueRange, b: ValueRange) -> Option<bool> {
        interval::less(a, b)
    }
}
