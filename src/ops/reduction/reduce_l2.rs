//! ReduceL2-4: the square root of the sum of squares over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-l2-4.html>
//!
//! Sums of floats are accumulated as those of ReduceSum. Roots of integers are those of exact sums,
//! rounded down. Without axes the data is passed on as it is, signs included: so the specification
//! says.

use super::reduce::Reduction;
use crate::kernel::reduce::{self, Folds};

/// The Euclidean norm.
#[derive(Debug, Default)]
pub(super) struct L2;

impl Reduction for L2 {
    const FOLDS: Folds = reduce::L2;
}
