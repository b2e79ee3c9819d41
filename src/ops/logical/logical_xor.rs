//! LogicalXor-1, -2, Xor-1: whether exactly one of two elements is true.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/logical/logical-xor-1.html>
//!
//! One operation under three names: the runtime writes LogicalXor with opset 2, old files say Xor.

use super::binary::Function;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogicalXor;

impl Function for LogicalXor {
    #[inline(always)]
    fn apply(a: bool, b: bool) -> bool {
        a != b
    }
}
