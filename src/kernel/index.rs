//! The types of outputs that hold indices.

use crate::tensor::Element;

/// A type of indices.
pub(crate) trait Index: Element + Copy {
    /// The index, which fits.
    fn of(index: usize) -> Self;
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // the operations check that it fits
impl Index for i32 {
    fn of(index: usize) -> Self {
        index as i32
    }
}

#[allow(clippy::cast_possible_wrap)] // no size is that large
impl Index for i64 {
    fn of(index: usize) -> Self {
        index as i64
    }
}
