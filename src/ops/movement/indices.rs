//! What operations on indices share.

use crate::op::{OpError, ensure};
use crate::tensor::convert::widen;
use crate::tensor::{Class, Dimension, ElementType, Tensor};

/// The error for the index at a position.
pub(super) fn out_of_range(
    indices: &Tensor,
    position: usize,
    axis: usize,
    size: usize,
    from_end: bool,
) -> OpError {
    let index = if indices.element_type().class() == Some(Class::U64) {
        let mut index = [0u64];
        widen(indices, position, &mut index);
        index[0].to_string()
    } else {
        let mut index = [0i64];
        widen(indices, position, &mut index);
        index[0].to_string()
    };
    let mut rest = position;
    let mut place: Vec<usize> = indices
        .shape()
        .iter()
        .rev()
        .map(|&dim| {
            let i = rest % dim;
            rest /= dim;
            i
        })
        .collect();
    place.reverse();
    let least = if from_end && size > 0 {
        format!("-{size}")
    } else {
        "0".to_owned()
    };
    OpError::new(format!(
        "index {index} at {place:?} is out of range for axis {axis} of size {size}, expected {least}..{size}"
    ))
}

/// The indices there are in each of some dimensions, negative ones included if they count
/// `from_end`.
pub(super) fn allowed_in(dims: &[Dimension], from_end: bool) -> Option<(i64, i64)> {
    // Of an interval only the smallest size is there for certain.
    let size = dims.iter().map(|dim| dim.min()).min()?;
    let size = i64::try_from(size).ok()?;
    Some((if from_end { -size } else { 0 }, size - 1))
}

/// The type of the data and the updates, which must be of one type that can be combined.
///
/// # Errors
/// When it cannot.
pub(super) fn check_reduced(ty: ElementType) -> Result<(), OpError> {
    ensure!(
        ty.is_numeric() || ty == ElementType::Boolean || ty == ElementType::Dynamic,
        "elements of {ty} cannot be reduced"
    );
    Ok(())
}
