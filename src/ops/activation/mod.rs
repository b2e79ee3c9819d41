//! Category `activation` of the specification.

mod softmax;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<softmax::LogSoftmax>("LogSoftmax", &[5]),
    def::<softmax::Softmax1>("SoftMax", &[1]),
    def::<softmax::Softmax>("SoftMax", &[8]),
];
