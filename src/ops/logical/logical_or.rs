//! LogicalOr-1: whether at least one of two elements is true.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/logical/logical-or-1.html>

use super::binary::Function;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogicalOr;

impl Function for LogicalOr {
    #[inline(always)]
    fn apply(a: bool, b: bool) -> bool {
        a || b
    }
}
