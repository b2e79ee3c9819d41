//! ReduceL1-4: the sum of absolute values over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-l1-4.html>
//!
//! Sums are accumulated as those of ReduceSum. Without axes the data is passed on as it is, signs
//! included: so the specification says.

use super::reduce::Reduction;
use crate::kernel::reduce::{self, Folds};

/// The sum of absolute values.
#[derive(Debug, Default)]
pub(super) struct L1;

impl Reduction for L1 {
    const FOLDS: Folds = reduce::L1;
}
