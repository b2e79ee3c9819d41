//! GRUCell-3, GRUSequence-5: gated recurrent units, one step and along sequences.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/gru-cell-3.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/gru-sequence-5.html>
//!
//! With `linear_before_reset` there are four biases: z, r, that of the input and that of the state
//! of gate h.

use super::recurrent::{Direction, Function, Recurrent, functions, recurrent};
use crate::kernel::recurrent::{Activation, Kind};
use crate::op::OpError;

fn kind(activations: &[Function], linear_before_reset: bool) -> Result<Kind, OpError> {
    Ok(Kind::Gru {
        functions: functions(activations, [Activation::Sigmoid, Activation::Tanh])?,
        linear_before_reset,
    })
}

recurrent! {
    /// One step.
    GruCell { linear_before_reset: bool }
}

impl GruCell {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        let kind = kind(&self.activations, self.linear_before_reset)?;
        Ok(self.with(kind, None))
    }
}

recurrent! {
    /// All steps of sequences.
    GruSequence { direction: Direction, linear_before_reset: bool }
}

impl GruSequence {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        let kind = kind(&self.activations, self.linear_before_reset)?;
        Ok(self.with(kind, Some(self.direction)))
    }
}
