//! ReduceMin-1: the smallest element over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-min-1.html>
//!
//! A NaN is only the result where all elements are. For no elements the specification leaves the
//! result open: here it is the largest number of an integer type, and infinity.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, MIN};
use crate::ops::interval;

/// The smallest element.
#[derive(Debug, Default)]
pub(super) struct Min;

impl Reduction for Min {
    const FOLDS: Folds = MIN;

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |ty| interval::bounds(ty).1,
        fold: |_, a, b| interval::minimum(a, b),
        finish: |smallest, _| smallest,
    });
}
