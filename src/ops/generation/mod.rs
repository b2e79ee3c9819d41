//! Category `generation` of the specification.

mod eye;
mod multinomial;
mod random_uniform;
mod range;
mod seeds;
mod sizes;

use crate::op::{OpDef, def, fixed};

pub(super) const OPS: &[OpDef] = &[
    def::<eye::Eye>("Eye", &[9]),
    def::<multinomial::Multinomial>("Multinomial", &[13]),
    def::<random_uniform::RandomUniform>("RandomUniform", &[8]),
    fixed("Range", &[1], || Box::new(range::Range1)),
    def::<range::Range>("Range", &[4]),
];
