//! Category `shape` of the specification.

mod reshape;
mod shape_of;
mod squeeze;
mod unsqueeze;

use crate::op::{Io, bail};
use crate::op::{OpDef, OpError, def, fixed};

pub(super) const OPS: &[OpDef] = &[
    def::<reshape::Reshape>("Reshape", &[1]),
    fixed("ShapeOf", &[1], || Box::new(shape_of::ShapeOf::default())),
    def::<shape_of::ShapeOf>("ShapeOf", &[3]),
    fixed("Squeeze", &[1], || Box::new(squeeze::Squeeze::default())),
    def::<squeeze::Squeeze>("Squeeze", &[15]),
    def::<unsqueeze::Unsqueeze>("Unsqueeze", &[1]),
];

/// Output 0 is input 0 under the inferred shape.
fn share(io: &mut Io<'_>) -> Result<(), OpError> {
    let Some(data) = io.inputs.first() else {
        bail!("expected an input, got none");
    };
    io.outputs[0] = data.with_shape(io.outputs[0].shape().clone())?;
    Ok(())
}
