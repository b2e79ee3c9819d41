//! BitwiseXor-13: the bits that exactly one of two elements has.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/bitwise/bitwise-xor-13.html>

use super::binary::{Bits, Function};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BitwiseXor;

impl Function for BitwiseXor {
    const BOOLEAN: bool = true;

    #[inline(always)]
    fn apply<T: Bits>(a: T, b: T, _: u32) -> T {
        a ^ b
    }
}
