//! Assign-3, -6: a value that the next evaluation finds in a variable.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/assign-6.html>

use serde::{Deserialize, Serialize};

use crate::op::{Input, Op, OpError, Output, Outputs, Role, bail};

/// A value that the next evaluation finds in a variable. The output is the input.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Assign {
    variable_id: String,
}

impl Op for Assign {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [value] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        Ok(Output::single(
            value.element_type,
            value.shape.clone().into_owned(),
        ))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn is_pure(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Assign
    }

    fn variable(&self) -> Option<&str> {
        Some(&self.variable_id)
    }
}
