//! FakeQuantize-1: numbers quantised to levels between two limits, as the numbers these stand for.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/quantization/fake-quantize-1.html>
//!
//! Halves are rounded to the even level, as the real runtime does.

use serde::{Deserialize, Serialize};

use crate::kernel::fake_quantize::{elements, fake_quantize};
use crate::op::attrs::{AutoBroadcast, AutoBroadcastSpec, is_zero};
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::elementwise::like_numpy;
use crate::ops::floats::in_real;
use crate::ops::parameters::{aligned, broadcast_onto};
use crate::ops::unary::{Integers, expect_type};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct FakeQuantize {
    levels: u32,
    #[serde(default)]
    auto_broadcast: AutoBroadcast,
    #[serde(
        default,
        rename = "auto_broadcast.auto_broadcast_axis",
        skip_serializing_if = "is_zero"
    )]
    axis: i64,
}

const LIMITS: [&str; 4] = ["input_low", "input_high", "output_low", "output_high"];

impl FakeQuantize {
    fn broadcast(&self) -> AutoBroadcastSpec {
        AutoBroadcastSpec {
            auto_broadcast: self.auto_broadcast,
            axis: self.axis,
        }
    }
}

impl Op for FakeQuantize {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.levels >= 2,
            "levels is {}, expected at least 2",
            self.levels
        );
        let [data, limits @ ..] = inputs else {
            bail!("expected 5 inputs, got none");
        };
        ensure!(
            limits.len() == 4,
            "expected 5 inputs (X, {}), got {}",
            LIMITS.join(", "),
            inputs.len()
        );
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        let mut shape = data.shape.clone().into_owned();
        for (limit, what) in limits.iter().zip(LIMITS) {
            shape = broadcast_onto(&shape, &limit.shape, what, self.broadcast())?;
        }
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, a, b, c, d], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 5 inputs and an output");
        };
        let align = |limit| aligned(data.shape(), limit, self.broadcast());
        let limits = [align(a)?, align(b)?, align(c)?, align(d)?];
        let limits = limits.each_ref().map(|(limit, at)| (limit, *at));
        #[allow(clippy::cast_precision_loss)] // no one has as many levels
        {
            in_real!(out.element_type(), T => fake_quantize::<T>(data, limits, self.levels as T, out));
        }
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        like_numpy(self, self.broadcast())
    }
}

impl Elementwise for FakeQuantize {
    #[allow(clippy::cast_precision_loss)] // no one has as many levels
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        if let [x, limits @ ..] = inputs
            && let Ok(limits) = limits.try_into()
        {
            let limits: &[&[f32]; 4] = limits;
            elements(x, *limits, self.levels as f32 - 1.0, out);
        }
    }
}

#[cfg(test)]
#[path = "fake_quantize_tests.rs"]
mod tests;
