//! Category `logical` of the specification.

mod binary;
mod logical_and;
pub(super) mod logical_not;
mod logical_or;
mod logical_xor;

use crate::op::{OpDef, def};
use binary::Binary;

pub(super) const OPS: &[OpDef] = &[
    def::<Binary<logical_and::LogicalAnd>>("LogicalAnd", &[1]),
    def::<logical_not::LogicalNot>("LogicalNot", &[1]),
    def::<Binary<logical_or::LogicalOr>>("LogicalOr", &[1]),
    def::<Binary<logical_xor::LogicalXor>>("LogicalXor", &[1, 2]),
    def::<Binary<logical_xor::LogicalXor>>("Xor", &[1]),
];
