//! ReduceLogicalOr-1: whether any element over axes is true. The data is boolean.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-logical-or-1.html>
//!
//! None of no elements is true.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, MAX};
use crate::ops::interval;
use crate::tensor::ElementType;

/// The largest of booleans.
#[derive(Debug, Default)]
pub(super) struct LogicalOr;

impl Reduction for LogicalOr {
    const FOLDS: Folds = MAX;

    const EXPECTED: &'static str = "boolean";

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |ty| interval::bounds(ty).0,
        fold: |_, a, b| interval::maximum(a, b),
        finish: |any, _| any,
    });

    fn accepts(ty: ElementType) -> bool {
        ty == ElementType::Boolean
    }
}
