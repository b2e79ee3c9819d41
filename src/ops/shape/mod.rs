//! Category `shape` of the specification.

mod reshape;
mod shape_of;
mod squeeze;
mod unsqueeze;

use crate::op::{OpDef, def, fixed};

pub(super) const OPS: &[OpDef] = &[
    def::<reshape::Reshape>("Reshape", &[1]),
    fixed("ShapeOf", &[1], || Box::new(shape_of::ShapeOf::default())),
    def::<shape_of::ShapeOf>("ShapeOf", &[3]),
    fixed("Squeeze", &[1], || Box::new(squeeze::Squeeze::default())),
    def::<squeeze::Squeeze>("Squeeze", &[15]),
    def::<unsqueeze::Unsqueeze>("Unsqueeze", &[1]),
];
