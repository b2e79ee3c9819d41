//! What operations that change one string at a time share.

use super::ragged::skips;
use crate::op::{Input, Io, OpError, Output, Outputs, bail};
use crate::ops::strings::{Packed, Strings, expect_type};
use crate::tensor::ElementType;

/// Infers the strings that the first inputs are changed to. If `skipping`, the input after them
/// says which to leave as they are, and is passed on.
///
/// # Errors
/// When the types or shapes of these inputs are wrong; there are that many.
pub(super) fn infer(inputs: &[Input<'_>], skipping: bool) -> Result<Outputs, OpError> {
    Strings::expect(inputs, 0, "strings")?;
    let mut outputs: Outputs = Strings::outputs(&inputs[0].shape).into_iter().collect();
    if skipping {
        let flags = &inputs[3];
        expect_type(flags, ElementType::Boolean, "what to skip")?;
        let shape = flags.shape.clone().into_owned();
        outputs.push(Output::new(ElementType::Boolean, shape));
    }
    Ok(outputs)
}

/// Changes every string that is not to be skipped.
///
/// # Errors
/// When the inputs are wrong, or `change` fails.
pub(super) fn eval(
    io: Io<'_>,
    skipping: bool,
    mut change: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let strings = Strings::of(io.inputs, 0)?;
    let flags = io.inputs.get(3).filter(|_| skipping);
    let skipped = flags.map(|flags| skips(flags, strings.len())).transpose()?;
    let mut changed = Packed::default();
    for (i, string) in strings.iter().enumerate() {
        if skipped.is_some_and(|skipped| skipped[i]) {
            changed.push(string)?;
        } else {
            changed.push_with(|out| change(string, out))?;
        }
    }
    let tensors = changed.into_tensors(io.inputs[0].shape())?;
    let Some((parts, rest)) = io.outputs.split_first_chunk_mut::<3>() else {
        bail!("expected 3 outputs, got {}", io.outputs.len());
    };
    *parts = tensors;
    if let ([output], Some(&flags)) = (rest, flags) {
        *output = flags.clone();
    }
    Ok(())
}
