//! Identity-16: its input.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/identity-16.html>

use serde::{Deserialize, Serialize};

use crate::op::{Input, Moves, Op, OpError, Outputs, bail};
use crate::ops::unary::like;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Identity {}

impl Op for Identity {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        Ok(like(data))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn moves(&self) -> Moves {
        Moves::All
    }

    fn keeps_numbers(&self) -> bool {
        true
    }
}
