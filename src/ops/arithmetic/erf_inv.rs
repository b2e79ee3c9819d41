//! ErfInv-17: the inverse of the error function.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/erfinv-17.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct ErfInv {}

impl Function for ErfInv {
    const INTEGERS: Integers = Integers::Refused;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        math::erf_inv(x)
    }
}
