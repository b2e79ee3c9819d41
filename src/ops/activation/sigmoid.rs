//! Sigmoid-1: `1 / (1 + exp(-x))`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/sigmoid-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Sigmoid {}

impl Function for Sigmoid {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::sigmoid(x)
    }
}
