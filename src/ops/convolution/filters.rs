//! What convolutions share: batches, channels and groups of data and filters.

use crate::op::{Input, OpError, ensure, merge_types};
use crate::tensor::{Dimension, ElementType, PartialShape};

/// The common type of data and filters, which are numbers.
pub(super) fn numbers(inputs: &[Input<'_>]) -> Result<ElementType, OpError> {
    let ty = merge_types(inputs)?;
    ensure!(
        ty.is_numeric() || !ty.is_static(),
        "data and filters must be numbers, got {ty}"
    );
    Ok(ty)
}

/// The spatial axes of filters that have `others` axes before them.
pub(super) fn spatial(filters: &PartialShape, others: usize) -> Result<Option<usize>, OpError> {
    let Some(rank) = filters.rank() else {
        return Ok(None);
    };
    ensure!(
        rank > others,
        "filters must have at least {} dimensions, got shape {filters}",
        others + 1
    );
    Ok(Some(rank - others))
}

/// Dimension `axis`, of any size if the rank is not known.
pub(super) fn dim(shape: &PartialShape, axis: usize) -> Dimension {
    let dims = shape.dims().and_then(|dims| dims.get(axis));
    dims.copied().unwrap_or(Dimension::dynamic())
}

/// Checks that the data has the channels that `groups` groups of filters take.
pub(super) fn check_channels(
    data: &PartialShape,
    groups: Dimension,
    channels: Dimension,
) -> Result<(), OpError> {
    let found = dim(data, 1);
    ensure!(
        found.compatible(groups * channels),
        "data has {found} channels, expected {groups} groups of {channels}"
    );
    Ok(())
}
