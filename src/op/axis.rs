//! Axes as operations are given them: negative ones count from the end.

use smallvec::smallvec;

use super::{Input, OpError, bail, ensure};
use crate::tensor::convert::one_i64;
use crate::tensor::{Dimension, Few, PartialShape, Tensor};

/// The axis that `axis` means in a tensor of this rank.
///
/// # Errors
/// When it is not in `-rank..rank`.
pub(crate) fn normalize_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let counted = if axis < 0 {
        usize::try_from(axis.unsigned_abs())
            .ok()
            .and_then(|back| rank.checked_sub(back))
    } else {
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    };
    match counted {
        Some(axis) => Ok(axis),
        None => bail!("axis {axis} is out of range for rank {rank}"),
    }
}

/// The axis that a tensor of one number means in a tensor of this rank.
///
/// # Errors
/// When it is not one integer, or not in `-rank..rank`.
pub(crate) fn axis_of(axis: &Tensor, rank: usize) -> Result<usize, OpError> {
    if axis.element_type().is_integer()
        && axis.shape().rank() <= 1
        && let Some(axis) = one_i64(axis)
    {
        return normalize_axis(axis, rank);
    }
    match Input::of(axis).int_scalar("axis")? {
        Some(axis) => normalize_axis(axis, rank),
        None => bail!("the axis is not known"),
    }
}

/// The axes there are in a tensor of this rank, negative ones included.
pub(crate) fn allowed_axes(rank: Option<usize>) -> Option<(i64, i64)> {
    let rank = i64::try_from(rank?).ok()?;
    Some((-rank, rank - 1))
}

/// The indices there are along an axis, negative ones included if they count `from_end`.
pub(crate) fn allowed_indices(
    data: &Input<'_>,
    axis: &Input<'_>,
    from_end: bool,
) -> Option<(i64, i64)> {
    let dims = data.shape.dims()?;
    let axis = normalize_axis(*axis.ints()?.first()?, dims.len()).ok()?;
    // Of an interval only the smallest size is there for certain.
    let size = i64::try_from(dims[axis].min()).ok()?;
    Some((if from_end { -size } else { 0 }, size - 1))
}

/// The axes, sorted, each once.
///
/// # Errors
/// When one is not in `-rank..rank`.
pub(crate) fn normalize_axes(axes: &[i64], rank: usize) -> Result<Few<usize>, OpError> {
    let mut axes = axes
        .iter()
        .map(|&axis| normalize_axis(axis, rank))
        .collect::<Result<Few<_>, _>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(axes)
}

/// Checks that every one of `order` is a different axis below its length.
///
/// # Errors
/// When it is no permutation.
pub(crate) fn permutation(order: &[i64]) -> Result<Few<usize>, OpError> {
    let mut seen: Few<bool> = smallvec![false; order.len()];
    order
        .iter()
        .map(|&axis| {
            let index = usize::try_from(axis).ok().filter(|&i| i < seen.len());
            let Some(index) = index else {
                bail!("axis {axis} of the order is not in 0..{}", seen.len());
            };
            ensure!(!seen[index], "axis {axis} is twice in the order");
            seen[index] = true;
            Ok(index)
        })
        .collect()
}

/// The shape as far as it is the same whichever axis of the data it is computed for.
///
/// # Errors
/// That of the last axis, when no axis will do.
pub(crate) fn any_axis(
    data: &[Dimension],
    shape: impl Fn(usize) -> Result<Vec<Dimension>, OpError>,
) -> Result<PartialShape, OpError> {
    let mut error = OpError::new("the data is a scalar, which has no axis");
    let mut all: Option<Vec<Dimension>> = None;
    for axis in 0..data.len() {
        match shape(axis) {
            Ok(dims) => {
                all = Some(match all {
                    None => dims,
                    Some(all) => all.iter().zip(dims).map(|(a, b)| a.union(b)).collect(),
                });
            }
            Err(e) => error = e,
        }
    }
    all.map(|dims| dims.into_iter().collect()).ok_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_both_ends() {
        assert_eq!(normalize_axis(-3, 3), Ok(0));
        assert_eq!(normalize_axis(2, 3), Ok(2));
        for axis in [3, -4, i64::MIN, i64::MAX] {
            assert!(normalize_axis(axis, 3).is_err(), "{axis}");
        }
        assert!(normalize_axis(0, 0).is_err());
        assert_eq!(normalize_axes(&[2, -3, 0], 3), Ok(smallvec![0, 2]));
        assert_eq!(permutation(&[2, 0, 1]), Ok(smallvec![2, 0, 1]));
        assert!(permutation(&[0, 0]).is_err());
        assert!(permutation(&[-1, 0]).is_err());
    }
}
