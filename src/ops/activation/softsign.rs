//! SoftSign-9: `x / (1 + |x|)`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/softsign-9.html>

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct SoftSign {}

impl Function for SoftSign {
    const INTEGERS: Integers = Integers::Refused;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        x / (T::one() + x.abs())
    }
}
