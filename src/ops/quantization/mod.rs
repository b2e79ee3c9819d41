//! Category `quantization` of the specification.

mod fake_convert;
mod fake_quantize;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<fake_convert::FakeConvert>("FakeConvert", &[13]),
    def::<fake_quantize::FakeQuantize>("FakeQuantize", &[1]),
];
