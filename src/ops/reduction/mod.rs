//! Category `reduction` of the specification.

mod axes;
mod reduce;
mod reduce_l1;
mod reduce_l2;
mod reduce_logical_and;
mod reduce_logical_or;
mod reduce_max;
mod reduce_mean;
mod reduce_min;
mod reduce_prod;
mod reduce_sum;
#[cfg(test)]
mod tests;

use crate::op::{OpDef, def};
use reduce::Reduce;

pub(super) const OPS: &[OpDef] = &[
    def::<Reduce<reduce_l1::L1>>("ReduceL1", &[4]),
    def::<Reduce<reduce_l2::L2>>("ReduceL2", &[4]),
    def::<Reduce<reduce_logical_and::LogicalAnd>>("ReduceLogicalAnd", &[1]),
    def::<Reduce<reduce_logical_or::LogicalOr>>("ReduceLogicalOr", &[1]),
    def::<Reduce<reduce_max::Max>>("ReduceMax", &[1]),
    def::<Reduce<reduce_mean::Mean>>("ReduceMean", &[1]),
    def::<Reduce<reduce_min::Min>>("ReduceMin", &[1]),
    def::<Reduce<reduce_prod::Prod>>("ReduceProd", &[1]),
    def::<Reduce<reduce_sum::Sum>>("ReduceSum", &[1]),
];
