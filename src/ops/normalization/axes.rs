//! What the operations of the category share: data of floats, and axes given as a tensor.

use crate::op::{Input, OpError, Output, Outputs, bail, ensure, normalize_axes};
use crate::tensor::convert::try_i64;
use crate::tensor::{Few, Tensor};

/// The output of an operation that keeps type and shape of its data, which are floats.
pub(super) fn infer_like(data: &Input<'_>) -> Result<Outputs, OpError> {
    let ty = data.element_type;
    ensure!(
        ty.is_float() || !ty.is_static(),
        "data must be floats, got {ty}"
    );
    Ok(Output::single(ty, data.shape.clone().into_owned()))
}

/// Data and axes.
pub(super) fn data_and_axes<'a, 'b>(
    inputs: &'b [Input<'a>],
) -> Result<[&'b Input<'a>; 2], OpError> {
    match inputs {
        [data, axes] => Ok([data, axes]),
        _ => bail!("expected 2 inputs (data, axes), got {}", inputs.len()),
    }
}

/// Checks what is known of the axes.
///
/// # Errors
/// When they are not integers, out of range, or, where they must be unique, not so.
pub(super) fn check(data: &Input<'_>, axes: &Input<'_>, unique: bool) -> Result<(), OpError> {
    axes.expect_integer("axes")?;
    if let (Some(axes), Some(rank)) = (axes.ints(), data.rank()) {
        let distinct = normalize_axes(&axes, rank)?;
        ensure!(
            !unique || distinct.len() == axes.len(),
            "axes must be unique, got {axes:?} for rank {rank}"
        );
    }
    Ok(())
}

/// Which of the `rank` axes are named.
pub(super) fn mask(axes: &[i64], rank: usize) -> Result<Few<bool>, OpError> {
    let mut mask = Few::from_elem(false, rank);
    for axis in normalize_axes(axes, rank)? {
        mask[axis] = true;
    }
    Ok(mask)
}

/// Which of the `rank` axes a tensor names.
pub(super) fn mask_of(axes: &Tensor, rank: usize) -> Result<Few<bool>, OpError> {
    mask(&try_i64(axes)?, rank)
}
