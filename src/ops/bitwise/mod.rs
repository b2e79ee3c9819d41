//! Category `bitwise` of the specification.

mod binary;
mod bitwise_and;
mod bitwise_left_shift;
mod bitwise_not;
mod bitwise_or;
mod bitwise_right_shift;
mod bitwise_xor;

use crate::op::{OpDef, def};
use binary::Binary;

pub(super) const OPS: &[OpDef] = &[
    def::<Binary<bitwise_and::BitwiseAnd>>("BitwiseAnd", &[13]),
    def::<Binary<bitwise_left_shift::BitwiseLeftShift>>("BitwiseLeftShift", &[15]),
    def::<bitwise_not::BitwiseNot>("BitwiseNot", &[13]),
    def::<Binary<bitwise_or::BitwiseOr>>("BitwiseOr", &[13]),
    def::<Binary<bitwise_right_shift::BitwiseRightShift>>("BitwiseRightShift", &[15]),
    def::<Binary<bitwise_xor::BitwiseXor>>("BitwiseXor", &[13]),
];
