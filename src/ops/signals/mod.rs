//! Category `signals` of the specification.

mod axes;
mod dft;
mod frames;
mod istft;
mod rdft;
mod stft;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<dft::Dft>("DFT", &[7]),
    def::<dft::Idft>("IDFT", &[7]),
    def::<rdft::Irdft>("IRDFT", &[9]),
    def::<istft::Istft>("ISTFT", &[16]),
    def::<rdft::Rdft>("RDFT", &[9]),
    def::<stft::Stft>("STFT", &[15]),
];

#[cfg(test)]
mod tests;
