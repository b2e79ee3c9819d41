//! How signals are cut into frames: what STFT and ISTFT share.

use crate::kernel::real::Real;
use crate::kernel::scratch::try_vec;
use crate::op::{Input, OpError, bail, ensure};
use crate::ops::floats::real;
use crate::tensor::{Dimension, Tensor};

/// Size of frames and distance between their beginnings, as far as they are known.
pub(super) struct Frames {
    pub(super) size: Option<usize>,
    pub(super) step: Option<usize>,
}

fn positive(input: &Input<'_>, what: &str) -> Result<Option<usize>, OpError> {
    input.expect_scalar(what)?;
    let Some(value) = input.int_scalar(what)? else {
        return Ok(None);
    };
    match usize::try_from(value) {
        Ok(size @ 1..) => Ok(Some(size)),
        _ => bail!("{what} is {value}, expected a positive number"),
    }
}

/// Reads both numbers, and checks the window.
pub(super) fn frames(
    window: &Input<'_>,
    size: &Input<'_>,
    step: &Input<'_>,
) -> Result<Frames, OpError> {
    window.expect_1d("window")?;
    let size = positive(size, "frame_size")?;
    let step = positive(step, "frame_step")?;
    let allowed = Dimension::range(1, size);
    if let Some([length]) = window.shape.dims() {
        ensure!(
            allowed.compatible(*length),
            "the window has {length} values, expected {allowed}"
        );
    }
    Ok(Frames { size, step })
}

/// Size and step for evaluation, and the window with zeros around it.
pub(super) fn known<T: Real>(
    window: &Tensor,
    size: &Tensor,
    step: &Tensor,
) -> Result<(usize, usize, Vec<T>), OpError> {
    let inputs = [window, size, step].map(Input::of);
    let Frames {
        size: Some(size),
        step: Some(step),
    } = frames(&inputs[0], &inputs[1], &inputs[2])?
    else {
        bail!("frame_size and frame_step must be known");
    };
    let window = real::<T>(window)?;
    let window = window.as_slice::<T>()?;
    let mut padded = try_vec(T::zero(), size)?;
    padded[(size - window.len()) / 2..][..window.len()].copy_from_slice(window);
    Ok((size, step, padded))
}
