//! Exp-1: the exponential function.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/exp-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Exp {}

impl Function for Exp {
    const INTEGERS: Integers = Integers::Refused;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::exp(x)
    }
}
