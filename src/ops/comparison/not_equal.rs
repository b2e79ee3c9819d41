//! NotEqual-1: whether elements differ.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/notequal-1.html>

use super::compare::Relation;
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NotEqual;

impl Relation for NotEqual {
    #[inline(always)]
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool {
        a != b
    }

    fn decided(a: ValueRange, b: ValueRange) -> Option<bool> {
        interval::equal(a, b).map(|equal| !equal)
    }
}
