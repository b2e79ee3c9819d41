//! Mish-4: `x * tanh(ln(1 + exp(x)))`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/mish-4.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Mish {}

impl Function for Mish {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        let two = T::one() + T::one();
        // Beyond, the factor is 1; e is squared.
        let e = math::exp(if x > T::of(40.0) { T::of(40.0) } else { x });
        let n = e * (e + two);
        x * (n / (n + two))
    }
}
