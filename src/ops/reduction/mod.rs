//! Category `reduction` of the specification.

mod axes;
mod reduce;
mod reduce_sum;

use crate::op::{OpDef, def};
use reduce::Reduce;

pub(super) const OPS: &[OpDef] = &[def::<Reduce<reduce_sum::Sum>>("ReduceSum", &[1])];
