//! Category `arithmetic` of the specification.

mod add;
mod binary;
mod cum_sum;
mod divide;
mod maximum;
mod minimum;
mod modulo;
mod multiply;
mod power;
mod segment_max;
mod squared_difference;
mod subtract;

use crate::op::{OpDef, def};
use binary::Binary;

pub(super) const OPS: &[OpDef] = &[
    def::<Binary<add::Add>>("Add", &[1]),
    def::<cum_sum::CumSum>("CumSum", &[3]),
    def::<divide::Divide>("Divide", &[1]),
    def::<modulo::Modulo<true>>("FloorMod", &[1]),
    def::<Binary<maximum::Maximum>>("Maximum", &[1]),
    def::<Binary<minimum::Minimum>>("Minimum", &[1]),
    def::<modulo::Modulo<false>>("Mod", &[1]),
    def::<Binary<multiply::Multiply>>("Multiply", &[1]),
    def::<power::Power>("Power", &[1]),
    def::<segment_max::SegmentMax>("SegmentMax", &[16]),
    def::<Binary<squared_difference::SquaredDifference>>("SquaredDifference", &[1]),
    def::<Binary<subtract::Subtract>>("Subtract", &[1]),
];
