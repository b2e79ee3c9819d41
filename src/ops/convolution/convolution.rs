//! Convolution-1, GroupConvolution-1: sums of products of filters and the patches under a window.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/convolution-1.html>
//!
//! The filters of GroupConvolution have a dimension of groups before those of Convolution. Integers
//! wrap.

use serde::{Deserialize, Serialize};

use super::filters::{self, Constant, Filtered, in_single, take_in};
use crate::kernel::convolve::{Sizes, Term, convolve, single};
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::window::Window;
use crate::op::{
    Finish, Input, Io, LayerData, Op, OpError, Output, Outputs, Prepared, ReadResult, attrs, bail,
};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane, spatial_rank};
use crate::tensor::{Dimension, Few, PartialShape, Shape, Tensor};

/// A convolution, with or without a dimension of groups.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Convolution {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    auto_pad: AutoPad,
    /// Whether the filters have a dimension of groups.
    #[serde(skip)]
    groups: bool,
}

/// Reads GroupConvolution-1.
pub(super) fn read_groups(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Convolution>(layer.attributes)?;
    Ok((Box::new(Convolution { groups: true, ..op }), unknown))
}

impl Convolution {
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
}

/// The shape of a convolution's output; the filters have their groups apart, if they have any.
pub(super) fn infer_shape(
    sliding: Sliding<'_>,
    data: &PartialShape,
    filters: &PartialShape,
    groups: bool,
) -> Result<PartialShape, OpError> {
    let before = usize::from(groups);
    let others = [
        ("filters", filters::spatial(filters, 2 + before)?),
        ("the attributes", sliding.rank()),
    ];
    let Some(rank) = spatial_rank(data, &others)? else {
        return Ok(PartialShape::dynamic());
    };
    let mut group = Dimension::fixed(1);
    let channels = filters::dim(filters, before + 1);
    if groups {
        group = filters::dim(filters, 0);
        if let (None, Some(all), Some(own @ 1..)) = (
            group.value(),
            filters::dim(data, 1).value(),
            channels.value(),
        ) {
            group = group
                .intersect(Dimension::fixed(all / own))
                .unwrap_or(group);
        }
    }
    filters::check_channels(data, group, channels)?;
    let mut dims = vec![filters::dim(data, 0), group * filters::dim(filters, before)];
    for (axis, slide) in sliding.axes(rank)?.iter().enumerate() {
        let size = filters::dim(data, 2 + axis);
        dims.push(slide.infer(size, filters::dim(filters, 2 + before + axis))?);
    }
    Ok(dims.into_iter().collect())
}

/// The sizes and the window of a convolution whose output was inferred.
pub(super) fn geometry(
    sliding: Sliding<'_>,
    data: &Shape,
    filters: &[usize],
    groups: usize,
    out: &Shape,
) -> Result<(Sizes, Window), OpError> {
    let ([batch, _, sizes @ ..], [outputs, channels, kernel @ ..]) = (&**data, filters) else {
        bail!("expected data and filters of 3 dimensions or more");
    };
    let slides = sliding.axes(sizes.len())?;
    let axes: Few<_> = (slides.iter().zip(sizes).zip(kernel).zip(&out[2..]))
        .map(|(((slide, &size), &kernel), &out)| slide.resolve(size, kernel, out))
        .collect();
    let sizes = Sizes {
        batch: *batch,
        groups,
        channels: *channels,
        filters: *outputs,
    };
    Ok((sizes, Window::new(&axes)))
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
        convolve::<T>(sizes, &window, data, filters, T::default(), out);
        Ok(())
    })
}

impl Filtered for Convolution {
    fn run(
        &self,
        inputs: &[&Tensor],
        constant: Option<&Constant>,
        out: &mut Tensor,
        finish: Option<Finish<'_>>,
    ) -> Result<(), OpError> {
        let &[data, filters] = inputs else {
            bail!("expected 2 inputs, got {}", inputs.len());
        };
        let (groups, kernel) = match (self.groups, &**filters.shape()) {
            (true, [groups, kernel @ ..]) => (*groups, kernel),
            (_, kernel) => (1, kernel),
        };
        let geometry = geometry(self.sliding(), data.shape(), kernel, groups, out.shape())?;
        let ty = data.element_type();
        if lane(ty) != Some(Lane::F32) {
            return in_lane!(ty, T => run::<T>(geometry, data, filters, out));
        }
        let (sizes, window) = geometry;
        in_single([data, filters], constant, out, |data, filters, out| {
            single::convolve(sizes, &window, data, filters, out, finish);
        })
    }
}

impl Op for Convolution {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, filters] = inputs else {
            bail!("expected 2 inputs (data, filters), got {}", inputs.len());
        };
        let ty = filters::numbers(inputs)?;
        let shape = infer_shape(self.sliding(), &data.shape, &filters.shape, self.groups)?;
        Ok(Output::single(ty, shape))
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
#[path = "convolution_tests.rs"]
mod tests;
