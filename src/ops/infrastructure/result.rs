//! Result-1: an output of the model.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/result-1.html>

use serde::{Deserialize, Serialize};

use crate::op::{Input, Moves, Op, OpError, Output, Outputs, Role, bail};

/// An output of the model: its input, as it is.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Result {}

impl Op for Result {
    fn infer(&self, inputs: &[Input<'_>]) -> std::result::Result<Outputs, OpError> {
        let [input] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        Ok(Output::single(
            input.element_type,
            input.shape.clone().into_owned(),
        ))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn moves(&self) -> Moves {
        Moves::All
    }

    fn role(&self) -> Role {
        Role::Result
    }
}
