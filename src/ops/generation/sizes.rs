//! Shapes given as inputs.

use crate::op::{Input, OpError, ensure};
use crate::tensor::{Dimension, ElementType};

/// The dimensions that a list gives, as far as they are known; `None` if not even their number is.
pub(super) fn sizes(input: &Input<'_>, name: &str) -> Result<Option<Vec<Dimension>>, OpError> {
    expect_index(input, name)?;
    let count = input.rank_given(name)?;
    let Some(ranges) = input.ranges() else {
        return Ok(count.map(|count| vec![Dimension::dynamic(); count]));
    };
    for range in &*ranges {
        ensure!(
            range.max >= 0,
            "{name} has {}, expected sizes of 0 or more",
            range.max
        );
    }
    Ok(Some(ranges.iter().map(|r| r.to_dimension()).collect()))
}

/// Checks that the elements are `i32` or `i64` (or not known).
pub(super) fn expect_index(input: &Input<'_>, name: &str) -> Result<(), OpError> {
    let ty = input.element_type;
    ensure!(
        matches!(
            ty,
            ElementType::I32 | ElementType::I64 | ElementType::Dynamic
        ),
        "{name} must be i32 or i64, got {ty}"
    );
    Ok(())
}
