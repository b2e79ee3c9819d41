//! HardSigmoid-1: `max(0, min(1, alpha * x + beta))`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/hard-sigmoid-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::kernel::zip::each_triple;
use crate::op::{Elementwise, Input, Io, Op, OpError, Outputs, bail, merge_types};
use crate::ops::floats::in_real;
use crate::ops::unary::{Integers, clamp, expect_type, like, map_floats, number};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct HardSigmoid {}

impl Op for HardSigmoid {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, alpha, beta] = inputs else {
            bail!(
                "expected 3 inputs (data, alpha, beta), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        alpha.expect_scalar("alpha")?;
        beta.expect_scalar("beta")?;
        Ok(like(&Input {
            element_type: ty,
            ..data.clone()
        }))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => {
            let (alpha, beta): (T, T) = (number(io.inputs[1]), number(io.inputs[2]));
            map_floats::<T>(io, #[inline(always)] move |x| hard_sigmoid(x, alpha, beta));
        });
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

impl Elementwise for HardSigmoid {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each_triple(
            [inputs[0], inputs[1], inputs[2]],
            out,
            #[inline(always)]
            |x, alpha, beta| hard_sigmoid(x, alpha, beta),
        );
    }
}

#[inline(always)]
fn hard_sigmoid<T: Real>(x: T, alpha: T, beta: T) -> T {
    clamp(alpha * x + beta, T::zero(), T::one())
}
