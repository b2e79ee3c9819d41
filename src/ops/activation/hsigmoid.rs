//! HSigmoid-5: `min(max(x + 3, 0), 6) / 6`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/hsigmoid-5.html>

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers, clamp};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct HSigmoid {}

impl Function for HSigmoid {
    const INTEGERS: Integers = Integers::Refused;
    const TAKES_SUMS: bool = true;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        hard_sigmoid(x)
    }
}

/// A straight line from 0 at -3 to 1 at 3.
#[inline(always)]
pub(super) fn hard_sigmoid<T: Real>(x: T) -> T {
    // A division takes as long as all the rest.
    clamp(x + T::of(3.0), T::zero(), T::of(6.0)) * T::of(1.0 / 6.0)
}
