//! ReduceMean-1: the arithmetic mean over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-mean-1.html>
//!
//! Means of floats are accumulated as sums are. Means of integers are exact, then rounded towards
//! zero. The mean of no elements is zero.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, MEAN};
use crate::ops::interval;
use crate::tensor::ValueRange;

/// The arithmetic mean.
#[derive(Debug, Default)]
pub(super) struct Mean;

impl Reduction for Mean {
    const FOLDS: Folds = MEAN;

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |_| 0,
        fold: |_, a, b| interval::add(a, b),
        finish: |sum, count| match i64::try_from(count) {
            Ok(count) => interval::divide(sum, ValueRange::exact(count), false),
            Err(_) => ValueRange::UNKNOWN,
        },
    });
}
