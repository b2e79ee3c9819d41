//! Swish-4: `x * sigmoid(beta * x)`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/swish-4.html>

use serde::{Deserialize, Serialize};

use crate::kernel::map::{each, each_sum};
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::kernel::zip::each_pair;
use crate::op::{Added, Elementwise, Input, Io, Op, OpError, Outputs, bail, merge_types};
use crate::ops::floats::in_real;
use crate::ops::unary::{Integers, expect_type, like, map_floats, number};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Swish {}

impl Op for Swish {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        let data = match inputs {
            [data] => data,
            [data, beta] => {
                beta.expect_scalar("beta")?;
                data
            }
            _ => bail!("expected 1 or 2 inputs (data, beta), got {}", inputs.len()),
        };
        Ok(like(&Input {
            element_type: ty,
            ..data.clone()
        }))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => match io.inputs {
            [_, beta] => {
                let beta: T = number(beta);
                map_floats::<T>(io, #[inline(always)] move |x| swish(x, beta));
            }
            _ => map_floats::<T>(io, #[inline(always)] move |x| swish(x, 1.0)),
        });
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

impl Elementwise for Swish {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        match *inputs {
            [x, beta] => each_pair(
                x,
                beta,
                out,
                #[inline(always)]
                |x, beta| swish(x, beta),
            ),
            _ => each(
                inputs[0],
                out,
                #[inline(always)]
                |x| swish(x, 1.0),
            ),
        }
    }

    fn takes_sums(&self) -> bool {
        true
    }

    fn compute_sums(&self, added: Added<'_>, elements: &mut [f32]) {
        each_sum(
            elements,
            added,
            #[inline(always)]
            |x| swish(x, 1.0),
        );
    }
}

#[inline(always)]
fn swish<T: Real>(x: T, beta: T) -> T {
    x * math::sigmoid(beta * x)
}
