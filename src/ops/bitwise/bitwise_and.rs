//! BitwiseAnd-13: the bits that both elements have.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/bitwise/bitwise-and-13.html>

use super::binary::{Bits, Function};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BitwiseAnd;

impl Function for BitwiseAnd {
    const BOOLEAN: bool = true;

    #[inline(always)]
    fn apply<T: Bits>(a: T, b: T, _: u32) -> T {
        a & b
    }
}
