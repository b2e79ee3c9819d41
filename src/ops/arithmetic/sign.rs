//! Sign-1: -1, 0 or 1, as the number is negative, zero or positive.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/sign-1.html>
//!
//! NaN stays.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::unary::{Function, Integer, Integers};
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Sign {}

impl Function for Sign {
    const INTEGERS: Integers = Integers::Exact;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        let one = T::one();
        let x = if x > T::zero() { one } else { x };
        if x < T::zero() { -one } else { x }
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, x: T) -> T {
        let (zero, one) = (T::zero(), T::one());
        if x > zero {
            one
        } else if x < zero {
            zero - one
        } else {
            zero
        }
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        ValueRange {
            min: x.min.signum(),
            max: x.max.signum(),
            symbol: None,
        }
    }
}
