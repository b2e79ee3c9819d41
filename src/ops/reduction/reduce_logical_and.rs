//! ReduceLogicalAnd-1: whether all elements over axes are true. The data is boolean.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-logical-and-1.html>
//!
//! All of no elements are true.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, MIN};
use crate::ops::interval;
use crate::tensor::ElementType;

/// The smallest of booleans.
#[derive(Debug, Default)]
pub(super) struct LogicalAnd;

impl Reduction for LogicalAnd {
    const FOLDS: Folds = MIN;

    const EXPECTED: &'static str = "boolean";

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |ty| interval::bounds(ty).1,
        fold: |_, a, b| interval::minimum(a, b),
        finish: |all, _| all,
    });

    fn accepts(ty: ElementType) -> bool {
        ty == ElementType::Boolean
    }
}
