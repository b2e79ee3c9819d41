//! ReadValue-3, -6: what the evaluation before left in a variable.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/read-value-6.html>
//!
//! Version 6 may tell the variable's element type and shape, and then needs no initial value.

use serde::{Deserialize, Serialize};

use crate::op::{Input, Op, OpError, Output, Outputs, Role, bail, ensure};
use crate::tensor::{ElementType, PartialShape};

/// What the evaluation before left in a variable, or its initial value.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct ReadValue {
    variable_id: String,
    #[serde(default, skip_serializing_if = "is_dynamic")]
    variable_type: ElementType,
    #[serde(default = "PartialShape::dynamic", skip_serializing_if = "is_unknown")]
    variable_shape: PartialShape,
}

fn is_dynamic(ty: &ElementType) -> bool {
    !ty.is_static()
}

fn is_unknown(shape: &PartialShape) -> bool {
    shape.rank().is_none()
}

impl Op for ReadValue {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (ty, shape) = (self.variable_type, &self.variable_shape);
        let [initial] = inputs else {
            ensure!(
                inputs.is_empty(),
                "expected at most 1 input (initial value), got {}",
                inputs.len()
            );
            ensure!(
                ty.is_static(),
                "a variable without an initial value needs a variable_type"
            );
            return Ok(Output::single(ty, shape.clone()));
        };
        if ty.is_static() && initial.element_type.is_static() && ty != initial.element_type {
            bail!(
                "the variable is of {ty}, its initial value of {}",
                initial.element_type
            );
        }
        ensure!(
            shape.compatible(&initial.shape),
            "the variable has shape {shape}, its initial value {}",
            initial.shape
        );
        let ty = if ty.is_static() {
            ty
        } else {
            initial.element_type
        };
        // A variable of which nothing is told has the type and shape of its initial value.
        let shape = match shape.dims() {
            Some(_) => shape.clone(),
            None => initial.shape.clone().into_owned(),
        };
        Ok(Output::single(ty, shape))
    }

    fn is_pure(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::ReadValue
    }

    fn variable(&self) -> Option<&str> {
        Some(&self.variable_id)
    }
}
