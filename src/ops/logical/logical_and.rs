//! LogicalAnd-1: whether both elements are true.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/logical/logical-and-1.html>

use super::binary::Function;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogicalAnd;

impl Function for LogicalAnd {
    #[inline(always)]
    fn apply(a: bool, b: bool) -> bool {
        a && b
    }
}
