//! BitwiseLeftShift-15: the bits shifted to the left.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/bitwise/bitwise-left-shift-15.html>
//!
//! What the document leaves undefined: a number of shifts that is negative, or not less than the bits
//! of the type, shifts all bits out, as in NumPy: zero remains. Bits beyond the type are lost.

use super::binary::{Bits, Function};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BitwiseLeftShift;

impl Function for BitwiseLeftShift {
    const BOOLEAN: bool = false;

    #[inline(always)]
    fn apply<T: Bits>(a: T, b: T, bits: u32) -> T {
        a.left(b, bits)
    }
}
