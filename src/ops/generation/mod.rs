//! Category `generation` of the specification.

mod range;

use crate::op::{OpDef, def, fixed};

pub(super) const OPS: &[OpDef] = &[
    fixed("Range", &[1], || Box::new(range::Range1)),
    def::<range::Range>("Range", &[4]),
];
