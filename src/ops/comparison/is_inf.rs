//! IsInf-10: which elements are infinite, of the signs asked for.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/isinf-10.html>

use serde::{Deserialize, Serialize};

use super::classify::{self, Question};
use crate::kernel::real::Real;
use crate::op::{Input, Io, Op, OpError, Outputs};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct IsInf {
    pub(crate) detect_negative: bool,
    pub(crate) detect_positive: bool,
}

impl Default for IsInf {
    fn default() -> Self {
        Self {
            detect_negative: true,
            detect_positive: true,
        }
    }
}

impl Question for IsInf {
    #[inline(always)]
    fn ask<T: Real>(&self, x: T) -> bool {
        x == T::infinity() && self.detect_positive || x == T::neg_infinity() && self.detect_negative
    }
}

impl Op for IsInf {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        classify::infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        classify::eval(self, io);
        Ok(())
    }
}
