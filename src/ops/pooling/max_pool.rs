//! MaxPool-1, -8, -14: the largest element of every window, and which it is.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/pooling/max-pool-14.html>
//!
//! MaxPool-1 has neither dilations nor indices; only MaxPool-14 rounds as PyTorch does. Of equal
//! elements the first is taken, and NaN is never the largest. A window of padding alone gives the
//! lowest number of the type (minus infinity), and the index of its plane's first element.

use serde::{Deserialize, Serialize};

use super::shape::{self, Window as _};
use crate::kernel::pool;
use crate::kernel::window::Window;
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    expect_index_type, expect_indices_fit, normalize_axis,
};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane};
use crate::tensor::{ElementType, Tensor};

/// The largest elements of windows.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MaxPoolOne {
    strides: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    kernel: Vec<i64>,
    rounding_type: Rounding,
    auto_pad: AutoPad,
}

impl shape::Window for MaxPoolOne {
    fn kernel(&self) -> &[i64] {
        &self.kernel
    }

    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &[],
            pads_begin: &self.pads_begin,
            pads_end: &self.pads_end,
            auto_pad: self.auto_pad,
            rounding: self.rounding_type,
        }
    }
}

impl Op for MaxPoolOne {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        shape::no_torch(self.rounding_type)?;
        Ok(smallvec::smallvec![self.infer_window(inputs)?])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        largest(self, io)
    }
}

/// Fills the first output.
fn largest(op: &impl shape::Window, io: Io<'_>) -> Result<(), OpError> {
    let (data, out) = (io.inputs[0], &mut io.outputs[0]);
    let (window, _) = op.window(data.shape(), out.shape())?;
    in_lane!(data.element_type(), T => {
        let data = real::<T>(data)?;
        let data = data.as_slice()?;
        fill::<T, _>(out, |out| {
            pool::max(&window, data, out);
            Ok(())
        })
    })
}

/// The largest elements of windows, and their indices.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MaxPool {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    kernel: Vec<i64>,
    rounding_type: Rounding,
    auto_pad: AutoPad,
    index_element_type: ElementType,
    axis: i64,
    /// Whether the rounding may be that of PyTorch.
    #[serde(skip)]
    torch: bool,
}

impl Default for MaxPool {
    fn default() -> Self {
        Self {
            strides: Vec::new(),
            dilations: Vec::new(),
            pads_begin: Vec::new(),
            pads_end: Vec::new(),
            kernel: Vec::new(),
            rounding_type: Rounding::default(),
            auto_pad: AutoPad::default(),
            index_element_type: ElementType::I64,
            axis: 0,
            torch: false,
        }
    }
}

/// Reads MaxPool-14.
pub(super) fn read_14(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<MaxPool>(layer.attributes)?;
    Ok((Box::new(MaxPool { torch: true, ..op }), unknown))
}

impl shape::Window for MaxPool {
    fn kernel(&self) -> &[i64] {
        &self.kernel
    }

    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            pads_begin: &self.pads_begin,
            pads_end: &self.pads_end,
            auto_pad: self.auto_pad,
            rounding: self.rounding_type,
        }
    }
}

impl MaxPool {
    /// The elements from the dimension on that indices count in.
    fn bound(&self, shape: &[usize]) -> Result<usize, OpError> {
        let axis = normalize_axis(self.axis, shape.len())?;
        let bound = shape[axis..]
            .iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d));
        bound.ok_or_else(|| OpError::limit("there are more elements than indices"))
    }
}

/// Fills both outputs.
fn run<T: pool::Pooled>(
    window: &Window,
    bound: usize,
    data: &Tensor,
    out: &mut Tensor,
    indices: &mut Tensor,
) -> Result<(), OpError> {
    let data = real::<T>(data)?;
    let data = data.as_slice()?;
    fill::<T, _>(out, |out| {
        match indices.element_type() {
            ElementType::I32 => {
                pool::max_with_indices::<T, i32>(window, bound, data, out, indices.as_mut_slice()?);
            }
            _ => {
                pool::max_with_indices::<T, i64>(window, bound, data, out, indices.as_mut_slice()?)
            }
        }
        Ok(())
    })
}

impl Op for MaxPool {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        if !self.torch {
            shape::no_torch(self.rounding_type)?;
        }
        expect_index_type("index_element_type", self.index_element_type)?;
        let output = self.infer_window(inputs)?;
        if let Some(rank) = output.shape.rank() {
            normalize_axis(self.axis, rank)?;
        }
        if let Some(shape) = inputs[0]
            .shape
            .to_shape()
            .filter(|shape| !shape.contains(&0))
        {
            expect_indices_fit(self.bound(&shape)?, self.index_element_type)?;
        }
        let indices = Output::new(self.index_element_type, output.shape.clone());
        Ok(smallvec::smallvec![output, indices])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data], [out, indices]) = (io.inputs, io.outputs) else {
            bail!("expected 1 input and 2 outputs");
        };
        let (window, _) = self.window(data.shape(), out.shape())?;
        ensure!(!self.kernel.is_empty(), "the kernel is not given");
        let bound = if data.is_empty() {
            1
        } else {
            self.bound(data.shape())?
        };
        in_lane!(data.element_type(), T => run::<T>(&window, bound, data, out, indices))
    }

    fn first_outputs(&self, count: usize) -> Option<Box<dyn Op>> {
        (count == 1).then(|| Box::new(Elements(self.clone())) as Box<dyn Op>)
    }
}

/// The largest elements of windows, without their indices.
#[derive(Debug)]
struct Elements(MaxPool);

impl Op for Elements {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let mut outputs = self.0.infer(inputs)?;
        outputs.truncate(1);
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        ensure!(!self.0.kernel.is_empty(), "the kernel is not given");
        largest(&self.0, io)
    }
}

#[cfg(test)]
#[path = "max_pool_tests.rs"]
mod tests;
