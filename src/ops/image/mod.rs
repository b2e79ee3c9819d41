//! Category `image` of the specification.

mod coordinates;
mod grid_sample;
mod interpolate;
mod interpolate_1;
mod resize;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def::<grid_sample::GridSample>("GridSample", &[9]),
    def::<interpolate_1::Interpolate1>("Interpolate", &[1]),
    def_with::<interpolate::Interpolate>("Interpolate", &[4], interpolate::read_4),
    def::<interpolate::Interpolate>("Interpolate", &[11]),
];
