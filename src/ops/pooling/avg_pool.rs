//! AvgPool-1, -14, -16: the mean of every window.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/pooling/avg-pool-16.html>
//!
//! AvgPool-14 also rounds as PyTorch does, AvgPool-16 has dilations. If padding counts, it counts
//! as zeros in the whole window, also where the window reaches beyond the padding; without any pads
//! only elements count. The mean of nothing is not a number; that of integers is the nearest,
//! ties to even, and of nothing zero.

use serde::{Deserialize, Serialize};

use super::shape::{self, Window as _};
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::pool;
use crate::op::{Input, Io, LayerData, Op, OpError, Outputs, ReadResult, attrs};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane};

/// The means of windows.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct AvgPool {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    #[serde(rename = "exclude-pad")]
    exclude_pad: bool,
    auto_pad: AutoPad,
    rounding_type: Rounding,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dilations: Vec<i64>,
    /// Whether the rounding may not be that of PyTorch.
    #[serde(skip)]
    no_torch: bool,
}

impl Default for AvgPool {
    fn default() -> Self {
        Self {
            kernel: Vec::new(),
            strides: Vec::new(),
            pads_begin: Vec::new(),
            pads_end: Vec::new(),
            exclude_pad: true,
            auto_pad: AutoPad::default(),
            rounding_type: Rounding::default(),
            dilations: Vec::new(),
            no_torch: false,
        }
    }
}

/// Reads a version without dilations.
fn read_dense(layer: &LayerData<'_>, no_torch: bool) -> ReadResult {
    let (op, mut unknown) = attrs::read::<AvgPool>(layer.attributes)?;
    let mut names = layer.attributes.iter().map(|attr| attr.name);
    unknown.extend(names.position(|name| name == "dilations"));
    let op = AvgPool {
        dilations: Vec::new(),
        no_torch,
        ..op
    };
    Ok((Box::new(op), unknown))
}

/// Reads AvgPool-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    read_dense(layer, true)
}

/// Reads AvgPool-14.
pub(super) fn read_14(layer: &LayerData<'_>) -> ReadResult {
    read_dense(layer, false)
}

impl shape::Window for AvgPool {
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

impl Op for AvgPool {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        if self.no_torch {
            shape::no_torch(self.rounding_type)?;
        }
        Ok(smallvec::smallvec![self.infer_window(inputs)?])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let (window, padded) = self.window(data.shape(), out.shape())?;
        let mut taps = window.axes().into_iter().map(|axis| axis.kernel);
        let all = taps.try_fold(1usize, |n, taps| n.checked_mul(taps));
        let all = all.unwrap_or(usize::MAX);
        let all = (padded && !self.exclude_pad).then_some(all);
        if lane(data.element_type()) == Some(Lane::F32) {
            let data = real::<f32>(data)?;
            let data = data.as_slice()?;
            return fill(out, |out| {
                pool::mean_single(&window, all, data, out);
                Ok(())
            });
        }
        in_lane!(data.element_type(), T => {
            let data = real::<T>(data)?;
            let data = data.as_slice()?;
            fill::<T, _>(out, |out| {
                pool::mean(&window, all, data, out);
                Ok(())
            })
        })
    }
}

#[cfg(test)]
#[path = "avg_pool_tests.rs"]
mod tests;
