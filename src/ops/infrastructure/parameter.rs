//! Parameter-1: an input of the model.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/parameter-1.html>

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::Operation;
use crate::op::{Input, Op, OpError, Output, Outputs, Role};
use crate::tensor::{ElementType, PartialShape};

/// An input of the model. A missing `shape` is a scalar, a missing `element_type` is dynamic.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Parameter {
    pub(crate) shape: PartialShape,
    pub(crate) element_type: ElementType,
}

impl Default for Parameter {
    fn default() -> Self {
        Self {
            shape: PartialShape::scalar(),
            element_type: ElementType::Dynamic,
        }
    }
}

impl Parameter {
    /// Puts a Parameter of another type or shape in place of one.
    pub(crate) fn set(operation: &mut Operation, element_type: ElementType, shape: PartialShape) {
        if let Operation::Known { op, .. } = operation {
            let parameter = Self {
                shape,
                element_type,
            };
            *op = Arc::new(parameter);
        }
    }
}

impl Op for Parameter {
    fn infer(&self, _inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        Ok(Output::single(self.element_type, self.shape.clone()))
    }

    fn role(&self) -> Role {
        Role::Parameter
    }
}
