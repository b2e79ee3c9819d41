//! Negative-1: the number with the other sign.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/negative-1.html>
//!
//! For signed types; the lowest integer wraps to itself.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::ops::interval;
use crate::ops::unary::{Function, Integer, Integers};
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Negative {}

impl Function for Negative {
    const INTEGERS: Integers = Integers::Signed;

    #[inline(always)]
    fn real<T: Real>(&self, x: T) -> T {
        -x
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, x: T) -> T {
        x.wrapping_neg()
    }

    fn range(&self, x: ValueRange) -> ValueRange {
        interval::subtract(ValueRange::exact(0), x)
    }
}
