//! ConvolutionBackpropData-1, GroupConvolutionBackpropData-1: the transpose of a convolution, whose
//! output is as large as the data of that convolution.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/convolution-backprop-data-1.html>
//!
//! The filters of GroupConvolutionBackpropData have a dimension of groups first. With an input
//! `output_shape`, pads are what makes up for it, never negative, whatever the attributes give;
//! only SAME_UPPER has the larger half at the beginning. Integers wrap.

use serde::{Deserialize, Serialize};

use super::filters::{self, Constant, Filtered, in_single, take_in};
use crate::kernel::convolve::{Sizes, Term};
use crate::kernel::convolve_back::{convolve_back, convolve_back_single};
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::window::Window;
use crate::op::{
    Finish, Input, Io, LayerData, Op, OpError, Output, Outputs, Prepared, ReadResult, attrs, bail,
    ensure,
};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane, numbers, spatial_rank};
use crate::tensor::{Dimension, Few, PartialShape, Shape, Tensor};

/// A transposed convolution, with or without a dimension of groups.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ConvolutionBackpropData {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    auto_pad: AutoPad,
    output_padding: Vec<i64>,
    /// Whether the filters have a dimension of groups.
    #[serde(skip)]
    groups: bool,
}

/// Reads GroupConvolutionBackpropData-1.
pub(super) fn read_groups(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<ConvolutionBackpropData>(layer.attributes)?;
    let groups = true;
    Ok((Box::new(ConvolutionBackpropData { groups, ..op }), unknown))
}

impl ConvolutionBackpropData {
    /// The attributes; pads that are found otherwise are zero.
    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            pads_begin: &self.pads_begin,
            pads_end: &self.pads_end,
            auto_pad: self.auto_pad,
            rounding: Rounding::Floor,
        }
    }

    fn shape(&self, inputs: &[Input<'_>]) -> Result<PartialShape, OpError> {
        let (data, filters) = (&inputs[0].shape, &inputs[1].shape);
        let before = usize::from(self.groups);
        let size = inputs.get(2);
        let given = size.map_or(Ok(None), |size| size.rank_given("output_shape"))?;
        let padding = self.output_padding.len();
        let others = [
            ("filters", filters::spatial(filters, 2 + before)?),
            ("output_shape", given),
            ("the attributes", self.sliding().rank()),
            ("output_padding", (padding > 0).then_some(padding)),
        ];
        let Some(rank) = spatial_rank(data, &others)? else {
            return Ok(PartialShape::dynamic());
        };
        let group = if self.groups {
            filters::dim(filters, 0)
        } else {
            Dimension::fixed(1)
        };
        filters::check_channels(data, group, filters::dim(filters, before))?;
        let outputs = group * filters::dim(filters, before + 1);
        let mut dims = vec![filters::dim(data, 0), outputs];
        let slides = self.sliding().axes(rank)?;
        let more = numbers("output_padding", &self.output_padding, rank, 0)?;
        let known = size.and_then(Input::ranges);
        for (axis, (slide, &more)) in slides.iter().zip(&more).enumerate() {
            if size.is_none() {
                let windows = filters::dim(data, 2 + axis);
                let kernel = filters::dim(filters, 2 + before + axis);
                dims.push(slide.infer_back(windows, kernel, more)?);
                continue;
            }
            let range = known.as_ref().and_then(|known| known.get(axis));
            let range = range.copied();
            if let Some(range) = range {
                ensure!(
                    range.max >= 0,
                    "output_shape has {}, expected 0 or more",
                    range.max
                );
            }
            dims.push(range.map_or(Dimension::dynamic(), |range| range.to_dimension()));
        }
        Ok(dims.into_iter().collect())
    }

    /// The sizes and the window of the convolution this is the transpose of.
    fn geometry(
        &self,
        data: &Shape,
        filters: &Shape,
        given: bool,
        out: &Shape,
    ) -> Result<(Sizes, Window), OpError> {
        let (groups, filters) = match (self.groups, &**filters) {
            (true, [groups, filters @ ..]) => (*groups, filters),
            (_, filters) => (1, filters),
        };
        let ([batch, _, windows @ ..], [channels, outputs, kernel @ ..]) = (&**data, filters)
        else {
            bail!("expected data and filters of 3 dimensions or more");
        };
        let slides = self.sliding().axes(windows.len())?;
        let more = numbers("output_padding", &self.output_padding, windows.len(), 0)?;
        let axes: Few<_> = (0..windows.len())
            .map(|i| {
                let more = given.then_some(more[i]);
                slides[i].resolve_back(out[2 + i], kernel[i], windows[i], more)
            })
            .collect();
        let sizes = Sizes {
            batch: *batch,
            groups,
            channels: *channels,
            filters: *outputs,
        };
        Ok((sizes, Window::new(&axes)))
    }
}

fn run<T: Term>(
    (sizes, window): (Sizes, Window),
    data: &Tensor,
    filters: &Tensor,
    out: &mut Tensor,
) -> Result<(), OpError> {
    let (data, filters) = (real::<T>(data)?, real::<T>(filters)?);
    let (data, filters) = (data.as_slice()?, filters.as_slice()?);
    fill(out, |out| {
        convolve_back::<T>(sizes, &window, data, filters, out);
        Ok(())
    })
}

impl Filtered for ConvolutionBackpropData {
    fn run(
        &self,
        inputs: &[&Tensor],
        constant: Option<&Constant>,
        out: &mut Tensor,
        finish: Option<Finish<'_>>,
    ) -> Result<(), OpError> {
        let &[data, filters, ref size @ ..] = inputs else {
            bail!("expected 2 or 3 inputs, got {}", inputs.len());
        };
        let given = !size.is_empty();
        let geometry = self.geometry(data.shape(), filters.shape(), given, out.shape())?;
        let ty = data.element_type();
        if lane(ty) != Some(Lane::F32) {
            return in_lane!(ty, T => run::<T>(geometry, data, filters, out));
        }
        let (sizes, window) = geometry;
        in_single([data, filters], constant, out, |data, filters, out| {
            convolve_back_single(sizes, &window, data, filters, out, finish);
        })
    }
}

impl Op for ConvolutionBackpropData {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            matches!(inputs.len(), 2 | 3),
            "expected 2 or 3 inputs (data, filters, output_shape), got {}",
            inputs.len()
        );
        let ty = filters::numbers(&inputs[..2])?;
        Ok(Output::single(ty, self.shape(inputs)?))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.run(io.inputs, None, &mut io.outputs[0], None)
    }

    fn prepare(&self, inputs: &[Input<'_>]) -> Option<Prepared> {
        take_in(self, inputs)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn eval_finishing(&self, io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        self.run(io.inputs, None, &mut io.outputs[0], Some(finish))
    }
}

#[cfg(test)]
#[path = "convolution_backprop_data_tests.rs"]
mod tests;
