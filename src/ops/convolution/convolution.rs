//! Convolution-1, GroupConvolution-1: sums of products of filters and the patches under a window.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/convolution-1.html>
//!
//! The filters of GroupConvolution have a dimension of groups before those of Convolution. Integers
//! wrap.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::filters;
use crate::kernel::convolve::{Sizes, Term, convolve, single};
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::gemm::PackedLeft;
use crate::kernel::window::Window;
use crate::op::{
    Finish, Input, Io, LayerData, Op, OpError, Output, Outputs, Prepared, ReadResult, attrs, bail,
};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane, spatial_rank};
use crate::tensor::{Dimension, PartialShape, Shape, Tensor};

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
    let axes: Vec<_> = (slides.iter().zip(sizes).zip(kernel).zip(&out[2..]))
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

/// Filters that are constant.
#[derive(Debug, Default)]
struct Constant {
    /// As the type to compute in.
    wide: OnceLock<Tensor>,
    packed: OnceLock<Vec<PackedLeft<f32>>>,
}

impl Convolution {
    /// Evaluates the convolution, with what is kept of its filters, if they are constant.
    fn run(
        &self,
        [data, filters]: [&Tensor; 2],
        constant: Option<&Constant>,
        out: &mut Tensor,
        finish: Option<Finish<'_>>,
    ) -> Result<(), OpError> {
        let (groups, kernel) = match (self.groups, &**filters.shape()) {
            (true, [groups, kernel @ ..]) => (*groups, kernel),
            (_, kernel) => (1, kernel),
        };
        let geometry = geometry(self.sliding(), data.shape(), kernel, groups, out.shape())?;
        let ty = data.element_type();
        if lane(ty) != Some(Lane::F32) {
            return in_lane!(ty, T => run::<T>(geometry, data, filters, out));
        }
        let filters = match constant.and_then(|constant| constant.wide.get()) {
            Some(wide) => wide.clone(),
            None => real::<f32>(filters)?,
        };
        if let Some(constant) = constant {
            let _ = constant.wide.set(filters.clone());
        }
        let data = real::<f32>(data)?;
        let filters = single::Filters {
            data: filters.as_slice()?,
            packed: constant.map(|constant| &constant.packed),
        };
        let (sizes, window) = geometry;
        let data = data.as_slice()?;
        fill(out, |out| {
            single::convolve(sizes, &window, data, filters, out, finish);
            Ok(())
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
        let ([data, filters], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        self.run([data, filters], None, out, None)
    }

    fn prepare(&self, inputs: &[Input<'_>]) -> Option<Prepared> {
        let [data, filters] = inputs else { return None };
        let filters = filters.value?;
        (lane(data.element_type) == Some(Lane::F32)).then(|| Prepared {
            op: Box::new(WithFilters {
                convolution: self.clone(),
                filters: filters.clone(),
                constant: Constant::default(),
            }),
            inputs: smallvec::smallvec![0],
        })
    }

    fn finishes(&self) -> bool {
        true
    }

    fn eval_finishing(&self, io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        let ([data, filters], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        self.run([data, filters], None, out, Some(finish))
    }
}

/// A convolution with constant filters, which are packed at the first evaluation.
#[derive(Debug)]
struct WithFilters {
    convolution: Convolution,
    filters: Tensor,
    constant: Constant,
}

impl WithFilters {
    fn run(&self, io: Io<'_>, finish: Option<Finish<'_>>) -> Result<(), OpError> {
        let ([data], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 1 input, got {}", io.inputs.len());
        };
        let inputs = [data, &self.filters];
        self.convolution
            .run(inputs, Some(&self.constant), out, finish)
    }
}

impl Op for WithFilters {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        self.convolution
            .infer(&[data.clone(), Input::of(&self.filters)])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.run(io, None)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn eval_finishing(&self, io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        self.run(io, Some(finish))
    }
}

#[cfg(test)]
#[path = "convolution_tests.rs"]
mod tests;
