//! Selu-1: `lambda` times the number, or times `alpha * (exp(x) - 1)` if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/selu-1.html>

use serde::{Deserialize, Serialize};

use super::elu::elu;
use crate::kernel::real::Real;
use crate::kernel::zip::each_triple;
use crate::op::{Elementwise, Input, Io, Op, OpError, Outputs, bail, ensure, merge_types};
use crate::ops::floats::in_real;
use crate::ops::unary::{Integers, expect_type, like, map_floats, number};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Selu {}

impl Op for Selu {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, alpha, lambda] = inputs else {
            bail!(
                "expected 3 inputs (data, alpha, lambda), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        for (what, input) in [("alpha", alpha), ("lambda", lambda)] {
            input.expect_at_most_1d(what)?;
            ensure!(
                input.shape.elements().contains(1),
                "{what} must be one number, got shape {}",
                input.shape
            );
        }
        Ok(like(&Input {
            element_type: ty,
            ..data.clone()
        }))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => {
            let (alpha, lambda): (T, T) = (number(io.inputs[1]), number(io.inputs[2]));
            map_floats::<T>(io, #[inline(always)] move |x| selu(x, alpha, lambda));
        });
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

impl Elementwise for Selu {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each_triple(
            [inputs[0], inputs[1], inputs[2]],
            out,
            #[inline(always)]
            |x, alpha, lambda| selu(x, alpha, lambda),
        );
    }
}

#[inline(always)]
fn selu<T: Real>(x: T, alpha: T, lambda: T) -> T {
    lambda * elu(x, alpha)
}
