//! BitwiseRightShift-15: the bits shifted to the right.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/bitwise/bitwise-right-shift-15.html>
//!
//! What the document leaves undefined: a number of shifts that is negative, or not less than the bits
//! of the type, shifts all bits out, as in NumPy: zero remains, or -1 of
//! a negative number.

use super::binary::{Bits, Function};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BitwiseRightShift;

impl Function for BitwiseRightShift {
    const BOOLEAN: bool = false;

    #[inline(always)]
    fn apply<T: Bits>(a: T, b: T, bits: u32) -> T {
        a.right(b, bits)
    }
}
