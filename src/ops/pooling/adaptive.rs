//! AdaptiveAvgPool-8, AdaptiveMaxPool-8: the mean or the largest element of windows that divide the
//! data into as many parts as the second input says.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/pooling/adaptive-avg-pool-8.html>
//!
//! Neighbouring windows overlap where the sizes do not divide. Indices are those within a plane, of
//! equal elements the first; NaN is never the largest.

use serde::{Deserialize, Serialize};

use crate::kernel::pool::{Adaptive, Pooled};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, expect_indices_fit,
};
use crate::ops::floats::{fill, in_real, real};
use crate::ops::window::spatial_rank;
use crate::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor};

/// The means of windows.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct AdaptiveAvgPool {}

/// The largest elements of windows, and their indices.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct AdaptiveMaxPool {
    index_element_type: ElementType,
}

impl Default for AdaptiveMaxPool {
    fn default() -> Self {
        Self {
            index_element_type: ElementType::I64,
        }
    }
}

/// Type and shape of the first output.
fn infer(inputs: &[Input<'_>]) -> Result<Output, OpError> {
    let [data, size] = inputs else {
        bail!(
            "expected 2 inputs (data, output shape), got {}",
            inputs.len()
        );
    };
    let ty = data.element_type;
    ensure!(
        ty.is_float() || !ty.is_static(),
        "data must be floats, got {ty}"
    );
    let given = size.rank_given("the output shape")?;
    let Some(rank) = spatial_rank(&data.shape, &[("the output shape", given)])? else {
        return Ok(Output::new(ty, PartialShape::dynamic()));
    };
    let mut dims = match data.shape.dims() {
        Some(dims) => dims[..2].to_vec(),
        None => vec![Dimension::dynamic(); 2],
    };
    let known = size.ranges();
    for axis in 0..rank {
        let range = known.as_ref().and_then(|known| known.get(axis)).copied();
        if let Some(range) = range {
            ensure!(
                range.max >= 0,
                "the output shape has {}, expected 0 or more",
                range.max
            );
        }
        let out = range.map_or(Dimension::dynamic(), |range| range.to_dimension());
        let input = data.shape.dims().map(|dims| dims[2 + axis]);
        ensure!(
            out.min() == 0 || input.is_none_or(|input| input.max() != Some(0)),
            "axis {} has no elements, expected some for {out} windows",
            2 + axis
        );
        dims.push(out);
    }
    Ok(Output::new(ty, dims.into_iter().collect::<PartialShape>()))
}

/// The windows between two shapes.
fn windows(data: &Shape, out: &Shape) -> Result<Adaptive, OpError> {
    let (data, out) = (data.get(2..), out.get(2..));
    Adaptive::new(data.unwrap_or_default(), out.unwrap_or_default())
}

impl Op for AdaptiveAvgPool {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        Ok(smallvec::smallvec![infer(inputs)?])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let windows = windows(data.shape(), out.shape())?;
        in_real!(data.element_type(), T => {
            let data = real::<T>(data)?;
            let data = data.as_slice()?;
            fill::<T, _>(out, |out| {
                windows.mean(data, out);
                Ok(())
            })
        })
    }
}

/// Fills both outputs.
fn run<T: Pooled>(
    windows: &Adaptive,
    data: &Tensor,
    out: &mut Tensor,
    indices: &mut Tensor,
) -> Result<(), OpError> {
    let data = real::<T>(data)?;
    let data = data.as_slice()?;
    fill::<T, _>(out, |out| {
        match indices.element_type() {
            ElementType::I32 => windows.max::<T, i32>(data, out, indices.as_mut_slice()?),
            _ => windows.max::<T, i64>(data, out, indices.as_mut_slice()?),
        }
        Ok(())
    })
}

impl Op for AdaptiveMaxPool {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_index_type("index_element_type", self.index_element_type)?;
        let output = infer(inputs)?;
        if let Some(shape) = inputs[0]
            .shape
            .to_shape()
            .filter(|shape| !shape.contains(&0))
        {
            let plane = shape[2..].iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            expect_indices_fit(plane.unwrap_or(usize::MAX), self.index_element_type)?;
        }
        let indices = Output::new(self.index_element_type, output.shape.clone());
        Ok(smallvec::smallvec![output, indices])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, _], [out, indices]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs and 2 outputs");
        };
        if out.is_empty() {
            return Ok(());
        }
        let windows = windows(data.shape(), out.shape())?;
        in_real!(data.element_type(), T => run::<T>(&windows, data, out, indices))
    }
}

#[cfg(test)]
#[path = "adaptive_tests.rs"]
mod tests;
