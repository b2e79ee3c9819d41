//! ReduceMax-1: the largest element over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-max-1.html>
//!
//! A NaN is only the result where all elements are. For no elements the specification leaves the
//! result open: here it is the lowest number of an integer type, and the lowest finite float.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, MAX};
use crate::ops::interval;

/// The largest element.
#[derive(Debug, Default)]
pub(super) struct Max;

impl Reduction for Max {
    const FOLDS: Folds = MAX;

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |ty| interval::bounds(ty).0,
        fold: |_, a, b| interval::maximum(a, b),
        finish: |largest, _| largest,
    });
}
