//! ReLU-1: the number, or 0 if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/relu-1.html>
//!
//! NaN stays.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::interval;
use crate::ops::unary::{Function, Integer, Integers};
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Relu {}

impl Function for Relu {
    const INTEGERS: Integers = Integers::Exact;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        if x < T::zero() { T::zero() } else { x }
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, x: T) -> T {
        x.max(T::zero())
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        interval::maximum(x, ValueRange::exact(0))
    }
}
