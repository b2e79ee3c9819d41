//! Round-5: the nearest whole number.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/round-5.html>

use serde::{Deserialize, Serialize};

use crate::kernel::map::each;
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integers};
use crate::tensor::ValueRange;

/// What becomes of a number in the middle of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The even one.
    #[default]
    HalfToEven,
    /// The one farther from zero.
    HalfAwayFromZero,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Round {
    mode: Mode,
}

impl Function for Round {
    const INTEGERS: Integers = Integers::Exact;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        match self.mode {
            Mode::HalfToEven => math::round_half_even(x),
            Mode::HalfAwayFromZero => math::round_half_away(x),
        }
    }

    fn block<T: Real>(&self, x: &[T], out: &mut [T]) {
        match self.mode {
            Mode::HalfToEven => each(
                x,
                out,
                #[inline(always)]
                |x| math::round_half_even(x),
            ),
            Mode::HalfAwayFromZero => each(
                x,
                out,
                #[inline(always)]
                |x| math::round_half_away(x),
            ),
        }
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        x
    }
}
