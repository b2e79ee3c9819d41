//! If-8, Loop-5 and TensorIterator-1: layers that evaluate bodies.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/if-8.html>
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/loop-5.html>
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/tensor-iterator-1.html>
//!
//! They have no attributes. What they mean lies between graphs: inference and evaluation of a
//! graph see to them by their role.

use crate::op::{Input, Op, OpError, Outputs, Role};

/// A layer that evaluates bodies.
#[derive(Debug, Clone)]
pub(super) struct Control(pub(super) Role);

impl Op for Control {
    fn infer(&self, _inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        Err(OpError::new("the layer lacks its bodies"))
    }

    fn is_pure(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        self.0
    }
}
