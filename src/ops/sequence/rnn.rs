//! RNNCell-1, RNNSequence-5: plain recurrent networks, one step and along sequences.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/rnn-cell-3.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/rnn-sequence-5.html>
//!
//! The page of the cell counts it as version 3, the runtime as version 1; nothing differs.

use super::recurrent::{Direction, Function, Recurrent, functions, recurrent};
use crate::kernel::recurrent::{Activation, Kind};
use crate::op::OpError;

fn kind(activations: &[Function]) -> Result<Kind, OpError> {
    let [f] = functions(activations, [Activation::Tanh])?;
    Ok(Kind::Rnn(f))
}

recurrent! {
    /// One step.
    RnnCell {}
}

impl RnnCell {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        Ok(self.with(kind(&self.activations)?, None))
    }
}

recurrent! {
    /// All steps of sequences.
    RnnSequence { direction: Direction }
}

impl RnnSequence {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        Ok(self.with(kind(&self.activations)?, Some(self.direction)))
    }
}
