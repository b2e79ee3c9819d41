//! What operations on indices share.

pub(super) use crate::kernel::gather::out_of_range;
use crate::op::{OpError, ensure};
use crate::tensor::{Dimension, ElementType};

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
