//! Category `condition` of the specification.

mod bucketize;
mod nonzero;
mod select;

use crate::op::{OpDef, def};
use crate::ops::infrastructure::IF;

pub(super) const OPS: &[OpDef] = &[
    def::<bucketize::Bucketize>("Bucketize", &[3]),
    IF,
    def::<nonzero::NonZero>("NonZero", &[3]),
    def::<select::Select>("Select", &[1]),
];
