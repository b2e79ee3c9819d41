//! IsFinite-10: which elements are neither infinite nor NaN.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/isfinite-10.html>

use serde::{Deserialize, Serialize};

use super::classify::{self, Question};
use crate::kernel::real::Real;
use crate::op::{Input, Io, Op, OpError, Outputs};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct IsFinite {}

impl Question for IsFinite {
    #[inline(always)]
    fn ask<T: Real>(&self, x: T) -> bool {
        x.is_finite()
    }
}

impl Op for IsFinite {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        classify::infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        classify::eval(self, io);
        Ok(())
    }
}
