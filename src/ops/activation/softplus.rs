//! SoftPlus-4: `ln(exp(x) + 1)`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/softplus-4.html>
//!
//! The document turns to `x` beyond a threshold, so that nothing overflows. The form used here never does;
//! beyond the threshold it gives `x` as well.

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct SoftPlus {}

impl Function for SoftPlus {
    const INTEGERS: Integers = Integers::Refused;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        let above = if x < T::zero() { T::zero() } else { x };
        above + math::ln_1p(math::exp(-x.abs()))
    }
}
