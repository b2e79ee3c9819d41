//! Category `signals` of the specification.

mod axes;
mod dft;
mod rdft;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<dft::Dft>("DFT", &[7]),
    def::<dft::Idft>("IDFT", &[7]),
    def::<rdft::Irdft>("IRDFT", &[9]),
    def::<rdft::Rdft>("RDFT", &[9]),
];

#[cfg(test)]
mod tests;
