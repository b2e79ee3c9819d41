//! Operations of ONNX that the registry has none for, or only with other rules.

mod cast;
mod composed;
mod gather_elements;
mod guarded;
mod identity;
mod reduce;

use crate::op::{Input, Io, Op, OpDef, OpError, Version, bail, made};
use crate::tensor::Tensor;

pub(super) use cast::{Cast, RoundMode};
pub(super) use composed::{Composed, Steps};
pub(super) use gather_elements::GatherElements;
pub(super) use guarded::{Guard, Guarded};
pub(super) use identity::Identity;
pub(super) use reduce::Reduce;

pub(super) static CAST: OpDef = made::<Cast>("Cast");
pub(super) static COMPOSED: OpDef = made::<Composed>("Composed");
pub(super) static GATHER_ELEMENTS: OpDef = made::<GatherElements>("GatherElements");
pub(super) static GUARDED: OpDef = made::<Guarded>("Guarded");
pub(super) static IDENTITY: OpDef = made::<Identity>("Identity");
pub(super) static REDUCE: OpDef = made::<Reduce>("Reduce");

/// An operation that another one wraps, mostly of the registry, with its row.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) op: Box<dyn Op>,
    pub(super) def: &'static OpDef,
    /// The version of the registry's operation.
    pub(super) version: Option<Version>,
}

impl serde::Serialize for Inner {
    /// The attributes, as the registry's row spells them.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let attributes = self.def.attributes(&*self.op);
        let mut fields = serializer.serialize_struct(self.def.name, attributes.len())?;
        for (name, value) in &attributes {
            fields.serialize_field(name, value)?;
        }
        fields.end()
    }
}

/// Evaluates an operation of one output by itself.
fn apply(op: &dyn Op, inputs: &[&Tensor]) -> Result<Tensor, OpError> {
    let known: Vec<Input<'_>> = inputs.iter().map(|t| Input::of(t)).collect();
    let outputs = op.infer(&known)?;
    let [output] = outputs.as_slice() else {
        bail!("expected 1 output, got {}", outputs.len());
    };
    let Some(shape) = output.shape.to_shape() else {
        bail!("the shape {} does not follow from the inputs", output.shape);
    };
    if op.reshapes() {
        return Ok(inputs[0].with_shape(shape)?);
    }
    let mut outputs = [Tensor::zeros(output.element_type, shape)?];
    op.eval(Io {
        inputs,
        outputs: &mut outputs,
    })?;
    let [output] = outputs;
    Ok(output)
}
