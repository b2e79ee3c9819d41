//! Elu-1: the number, or `alpha * (exp(x) - 1)` if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/elu-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Elu {
    alpha: f64,
}

impl Function for Elu {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        elu(x, T::of(self.alpha))
    }
}

/// The function, for any `alpha`.
#[inline(always)]
pub(super) fn elu<T: Real>(x: T, alpha: T) -> T {
    let curved = alpha * math::exp_m1(x);
    if x > T::zero() { x } else { curved }
}
