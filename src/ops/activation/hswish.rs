//! HSwish-4: `x * min(max(x + 3, 0), 6) / 6`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/hswish-4.html>

use serde::{Deserialize, Serialize};

use super::hsigmoid::hard_sigmoid;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct HSwish {}

impl Function for HSwish {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        x * hard_sigmoid(x)
    }
}
