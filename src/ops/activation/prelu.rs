//! PReLU-1: the number, or its product with a slope if it is negative.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/prelu-1.html>
//!
//! A slope of one dimension with as many elements as `data` has channels (its second dimension)
//! belongs to the channels; any other is broadcast to `data` by NumPy's rule. The document asks for
//! a rank of at least 1, but converters write scalars, so they are taken as well.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::kernel::zip::{each_pair, zip};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{
    Elementwise, Input, Io, Op, OpError, Output, Outputs, Prepared, bail, merge_types,
};
use crate::ops::floats::in_real;
use crate::ops::parameters::{aligned, broadcast_onto};
use crate::ops::unary::{Integers, expect_type};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct PRelu {
    /// Whether the slope is known to be broadcast as NumPy does.
    #[serde(skip)]
    like_numpy: bool,
}

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
            each_pair(x, slope, out, #[inline(always)] |x, slope| leak(x, slope));
        }));
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        self.like_numpy.then_some(self as &dyn Elementwise)
    }

    fn prepare(&self, inputs: &[Input<'_>]) -> Option<Prepared> {
        let [data, slope] = inputs else { return None };
        let (data, slope) = (data.shape.dims()?, slope.shape.dims()?);
        // A slope for channels that lie along the last axis, or of one number, is as NumPy's too.
        let like_numpy = match slope {
            [count] => data.len() <= 2 || count.value() == Some(1),
            _ => true,
        };
        (like_numpy && !self.like_numpy).then(|| Prepared {
            op: Box::new(Self { like_numpy }),
            inputs: [0, 1].into_iter().collect(),
        })
    }
}

impl Elementwise for PRelu {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each_pair(
            inputs[0],
            inputs[1],
            out,
            #[inline(always)]
            |x, slope| leak(x, slope),
        );
    }
}

#[inline(always)]
fn leak<T: Real>(x: T, slope: T) -> T {
    if x < T::zero() { x * slope } else { x }
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
