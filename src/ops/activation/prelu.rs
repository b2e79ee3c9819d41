//! PReLU-1: the number, or its product with a slope if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/prelu-1.html>
//!
//! A slope of one dimension with as many elements as `data` has channels (its second dimension)
//! belongs to the channels; any other is broadcast to `data` by NumPy's rule.

use serde::{Deserialize, Serialize};

use crate::kernel::zip::zip;
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::broadcast::broadcast;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure, merge_types};
use crate::ops::floats::in_real;
use crate::ops::unary::{Integers, expect_type, like};
use crate::tensor::{Shape, Tensor};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct PRelu {}

impl Op for PRelu {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, slope] = inputs else {
            bail!("expected 2 inputs (data, slope), got {}", inputs.len());
        };
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        ensure!(
            slope.rank() != Some(0),
            "slope must have at least 1 dimension, got a scalar"
        );
        ensure!(
            by_channel(data, slope) || fits(data, slope),
            "slope of shape {} can be broadcast neither to data of shape {} nor to its channels",
            slope.shape,
            data.shape
        );
        Ok(like(&Input {
            element_type: ty,
            ..data.clone()
        }))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, slope], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs and an output");
        };
        let (slope, at) = aligned(data, slope)?;
        let inputs = [(*data, 0), (&slope, at)];
        in_real!(out.element_type(), T => zip::<T, T>(inputs, out, &|x, slope, out| {
            for ((out, &x), &slope) in out.iter_mut().zip(x).zip(slope) {
                *out = if x < 0.0 { x * slope } else { x };
            }
        }));
        Ok(())
    }
}

/// Whether the slope may be one for each channel.
fn by_channel(data: &Input<'_>, slope: &Input<'_>) -> bool {
    match (data.shape.dims(), slope.shape.dims()) {
        (Some([_, channels, ..]), Some([count])) => channels.compatible(*count),
        (None, Some([_])) | (_, None) => true,
        _ => false,
    }
}

/// Whether the slope may be broadcast to the shape of the data, leaving that as it is but for
/// leading dimensions of 1.
fn fits(data: &Input<'_>, slope: &Input<'_>) -> bool {
    let Ok(shape) = broadcast(&data.shape, &slope.shape, AutoBroadcastSpec::default()) else {
        return false;
    };
    let (Some(dims), Some(data_dims)) = (shape.dims(), data.shape.dims()) else {
        return true;
    };
    let (extra, dims) = dims.split_at(dims.len() - data_dims.len());
    extra.iter().all(|dim| dim.contains(1))
        && dims
            .iter()
            .zip(data_dims)
            .all(|(&dim, &own)| dim.compatible(own))
}

/// The slope, without leading dimensions of 1 that the data lacks, and the axis where it begins.
fn aligned(data: &Tensor, slope: &Tensor) -> Result<(Tensor, usize), OpError> {
    let (rank, shape) = (data.shape().rank(), slope.shape());
    if rank > 1 && shape.rank() == 1 && shape[0] == data.shape()[1] {
        return Ok((slope.clone(), 1));
    }
    let extra = shape.rank().saturating_sub(rank);
    let slope = slope.with_shape(Shape::from(&shape[extra..]))?;
    let at = rank - slope.shape().rank();
    Ok((slope, at))
}
