//! Identity: the input as it is.
//!
//! <https://onnx.ai/onnx/operators/onnx__Identity.html>

use serde::Serialize;

use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail};

/// The input as it is.
#[derive(Debug, Serialize)]
pub(in crate::onnx) struct Identity {}

impl Op for Identity {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [input] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let shape = input.shape.clone().into_owned();
        Ok(Output::single(input.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        io.outputs[0] = io.inputs[0].clone();
        Ok(())
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}
