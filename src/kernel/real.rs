//! The floats that numerical kernels compute in.

use num_traits::{Float, FromPrimitive, NumAssign};

use super::gemm::{Lanes, Product};
use super::math::Functions;
use crate::tensor::convert::Compute;

/// `f32`, which also stands for every narrower float, or `f64`.
///
/// Functions beyond the arithmetic of IEEE 754 (`exp`, `tanh`, …) belong to [`super::math`].
pub(crate) trait Real:
    Compute + Float + FromPrimitive + NumAssign + Lanes + Product + Functions
{
    /// The nearest number of this type.
    fn of(x: f64) -> Self;

    /// The number, exactly.
    fn wide(self) -> f64;

    /// The nearest whole number, of two the even one: in one instruction where machines add products. Elsewhere
    /// [`super::math::round_half_even`] may be faster.
    fn round_ties_even(self) -> Self;
}

impl Real for f32 {
    #[allow(clippy::cast_possible_truncation)] // rounds
    fn of(x: f64) -> Self {
        x as f32
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn round_ties_even(self) -> Self {
        self.round_ties_even()
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn round_ties_even(self) -> Self {
        self.round_ties_even()
    }
}
