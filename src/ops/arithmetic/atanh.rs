//! Atanh-4: the inverse of the hyperbolic tangent.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/atanh-3.html>
//!
//! Integers become the lowest of their type from -1 down, and the highest from 1 up.

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::{each, map};
use crate::kernel::math;
use crate::op::{Elementwise, Input, Io, Op, OpError, Outputs};
use crate::ops::floats::in_real;
use crate::ops::interval;
use crate::ops::unary::{self, Integer, Integers};
use crate::tensor::Tensor;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Atanh {}

impl Op for Atanh {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        unary::infer(inputs, Integers::Exact)
    }

    #[allow(clippy::cast_possible_truncation)] // the bounds fit
    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ty = io.outputs[0].element_type();
        if ty.is_float() {
            in_real!(ty, T => map::<T, T>(io.inputs[0], &mut io.outputs[0], &|x, out| {
                each(x, out, #[inline(always)] |x| math::atanh(x));
            }));
            return Ok(());
        }
        let (input, out) = (io.inputs[0], &mut io.outputs[0]);
        let (lowest, highest) = interval::bounds(ty);
        match lane(ty) {
            Some(Lane::U64) => integers(input, out, [0, u64::MAX]),
            Some(Lane::I64) => integers(input, out, [lowest, highest]),
            _ => integers(input, out, [lowest as i32, highest as i32]),
        }
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

impl Elementwise for Atanh {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each(
            inputs[0],
            out,
            #[inline(always)]
            |x| math::atanh(x),
        );
    }
}

fn integers<T: Integer>(input: &Tensor, out: &mut Tensor, [lowest, highest]: [T; 2]) {
    map::<T, T>(input, out, &|x, out| {
        each(
            x,
            out,
            #[inline(always)]
            |x| {
                let y = if x > T::zero() { highest } else { x };
                if x < T::zero() { lowest } else { y }
            },
        );
    });
}
