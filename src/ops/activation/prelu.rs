//! PReLU-1: the number, or its product with a slope if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/prelu-1.html>
//!
//! A slope of one dimension with as many elements as `data` has channels (its second dimension)
//! belongs to the channels; any other is broadcast to `data` by NumPy's rule. The document asks for
//! a rank of at least 1, but converters write scalars, so they are taken as well.

use serde::{Deserialize, Serialize};

use crate::kernel::zip::zip;
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, merge_types};
use crate::ops::floats::in_real;
use crate::ops::parameters::{aligned, broadcast_onto};
use crate::ops::unary::{Integers, expect_type};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct PRelu {}

impl Op for PRelu {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, slope] = inputs else {
            bail!("expected 2 inputs (data, slope), got {}", inputs.len());
        };
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        let shape = match by_channel(data, slope) {
            true => data.shape.clone().into_owned(),
            false => broadcast_onto(&data.shape, &slope.shape, "slope", numpy())?,
        };
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, slope], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs and an output");
        };
        let channels = slope.shape().rank() == 1 && data.shape().get(1) == slope.shape().first();
        let (slope, at) = match channels {
            true => ((*slope).clone(), 1),
            false => aligned(data.shape(), slope, numpy())?,
        };
        let inputs = [(*data, 0), (&slope, at)];
        in_real!(out.element_type(), T => zip::<T, T>(inputs, out, &|x, slope, out| {
            for ((out, &x), &slope) in out.iter_mut().zip(x).zip(slope) {
                *out = if x < 0.0 { x * slope } else { x };
            }
        }));
        Ok(())
    }
}

fn numpy() -> AutoBroadcastSpec {
    AutoBroadcastSpec::default()
}

/// Whether the slope may be one for each channel.
fn by_channel(data: &Input<'_>, slope: &Input<'_>) -> bool {
    match (data.shape.dims(), slope.shape.dims()) {
        (Some([_, channels, ..]), Some([count])) => channels.compatible(*count),
        (None, Some([_])) | (_, None) => true,
        _ => false,
    }
}
