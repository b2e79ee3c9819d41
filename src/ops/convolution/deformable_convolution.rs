//! DeformableConvolution-1, -8: a convolution whose windows take samples of the data at places that
//! are moved by offsets.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/deformable-convolution-8.html>
//!
//! DeformableConvolution-8 has a mask, which the samples are multiplied with, and says what is
//! sampled up to one pixel beside the data: by `bilinear_interpolation_pad` that of data padded
//! with zeros, or the nearest. DeformableConvolution-1 says nothing; there it is the nearest behind
//! the data and nothing before it.

use serde::{Deserialize, Serialize};

use super::convolution::{geometry, infer_shape};
use super::filters;
use crate::kernel::convolve::{Sizes, Term};
use crate::kernel::deform::{Border, Samples, deform};
use crate::kernel::window::Window;
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
};
use crate::ops::floats::{fill, real};
use crate::ops::window::{AutoPad, Rounding, Sliding, in_lane};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// A deformable convolution.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct DeformableConvolution {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    auto_pad: AutoPad,
    group: i64,
    deformable_group: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bilinear_interpolation_pad: bool,
    /// Whether there is neither a mask nor a choice of what is beside the data.
    #[serde(skip)]
    first: bool,
}

impl Default for DeformableConvolution {
    fn default() -> Self {
        Self {
            strides: Vec::new(),
            dilations: Vec::new(),
            pads_begin: Vec::new(),
            pads_end: Vec::new(),
            auto_pad: AutoPad::default(),
            group: 1,
            deformable_group: 1,
            bilinear_interpolation_pad: false,
            first: false,
        }
    }
}

/// Reads DeformableConvolution-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, mut unknown) = attrs::read::<DeformableConvolution>(layer.attributes)?;
    let later = |name: &str| name == "bilinear_interpolation_pad";
    let later = layer.attributes.iter().position(|attr| later(attr.name));
    unknown.extend(later);
    let op = DeformableConvolution {
        first: true,
        bilinear_interpolation_pad: false,
        ..op
    };
    Ok((Box::new(op), unknown))
}

impl DeformableConvolution {
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

    fn border(&self) -> Border {
        match (self.first, self.bilinear_interpolation_pad) {
            (true, _) => Border::Inside,
            (false, true) => Border::Zeros,
            (false, false) => Border::Nearest,
        }
    }

    /// The two numbers of groups.
    fn groups(&self) -> Result<[usize; 2], OpError> {
        let positive = |name, x: i64| match usize::try_from(x) {
            Ok(x @ 1..) => Ok(x),
            _ => bail!("{name} is {x}, expected 1 or more"),
        };
        Ok([
            positive("group", self.group)?,
            positive("deformable_group", self.deformable_group)?,
        ])
    }

    fn run<T: Term>(
        &self,
        (sizes, window): (Sizes, Window),
        inputs: &[&Tensor],
        out: &mut Tensor,
    ) -> Result<(), OpError> {
        let [data, offsets, filters] = [0, 1, 2].map(|i| real::<T>(inputs[i]));
        let (data, offsets, filters) = (data?, offsets?, filters?);
        let mask = inputs.get(3).map(|mask| real::<T>(mask)).transpose()?;
        let samples = Samples {
            data: data.as_slice()?,
            offsets: offsets.as_slice()?,
            mask: mask.as_ref().map(|mask| mask.as_slice()).transpose()?,
            offset_groups: self.groups()?[1],
            border: self.border(),
        };
        let filters = filters.as_slice()?;
        fill(out, |out| {
            deform::<T>(sizes, &window, &samples, filters, out);
            Ok(())
        })
    }
}

/// Checks that a dimension is a multiple.
fn check_divides(what: &str, dim: Dimension, by: usize) -> Result<(), OpError> {
    ensure!(
        dim.value().is_none_or(|dim| dim.is_multiple_of(by)),
        "{what} are {dim}, expected a multiple of {by}"
    );
    Ok(())
}

/// Checks offsets or a mask: `each` for every tap and group of offsets, and of every window.
fn check_taps(
    name: &str,
    taps: &PartialShape,
    each: Dimension,
    filters: &PartialShape,
    out: &mut PartialShape,
) -> Result<(), OpError> {
    let expected = each * filters::dim(filters, 2) * filters::dim(filters, 3);
    let found = filters::dim(taps, 1);
    ensure!(
        found.compatible(expected),
        "{name} has {found} channels, expected {expected}"
    );
    for axis in [0, 2, 3] {
        let found = filters::dim(taps, axis);
        let expected = filters::dim(out, axis);
        let Some(both) = expected.intersect(found) else {
            bail!("{name} has {found} elements along axis {axis}, expected {expected}");
        };
        if let Some(dims) = out.dims_mut() {
            dims[axis] = both;
        }
    }
    Ok(())
}

impl Op for DeformableConvolution {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, offsets, filters, mask) = match inputs {
            [data, offsets, filters] => (data, offsets, filters, None),
            [data, offsets, filters, mask] if !self.first => (data, offsets, filters, Some(mask)),
            _ => bail!(
                "expected 3{} inputs (data, offsets, filters, mask), got {}",
                if self.first { "" } else { " or 4" },
                inputs.len()
            ),
        };
        let ty = filters::numbers(inputs)?;
        let [group, offset_groups] = self.groups()?;
        for (name, input) in ["data", "offsets", "filters", "mask"].iter().zip(inputs) {
            ensure!(
                input.rank().is_none_or(|rank| rank == 4),
                "{name} must have 4 dimensions, got shape {}",
                input.shape
            );
        }
        check_divides("the channels of data", filters::dim(&data.shape, 1), group)?;
        check_divides(
            "the channels of data",
            filters::dim(&data.shape, 1),
            offset_groups,
        )?;
        check_divides("the filters", filters::dim(&filters.shape, 0), group)?;
        // As those of one group, of which the filters take a part of the channels.
        let mut known = PartialShape::of_rank(4);
        if let Some(dims) = known.dims_mut() {
            for (axis, dim) in dims.iter_mut().enumerate() {
                *dim = filters::dim(&data.shape, axis);
            }
            let taken = Dimension::fixed(group) * filters::dim(&filters.shape, 1);
            ensure!(
                dims[1].compatible(taken),
                "data has {} channels, expected {taken}",
                dims[1]
            );
            dims[1] = Dimension::dynamic();
        }
        let mut shape = infer_shape(self.sliding(), &known, &filters.shape, false)?;
        let taps = Dimension::fixed(offset_groups);
        let (all, filters) = (taps * Dimension::fixed(2), &filters.shape);
        check_taps("offsets", &offsets.shape, all, filters, &mut shape)?;
        if let Some(mask) = mask {
            check_taps("mask", &mask.shape, taps, filters, &mut shape)?;
        }
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, _, filters, ..], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let [group, _] = self.groups()?;
        let shape = (data.shape(), filters.shape());
        let (sizes, window) = geometry(self.sliding(), shape.0, shape.1, group, out.shape())?;
        let filters = sizes.filters / group;
        let geometry = (Sizes { filters, ..sizes }, window);
        in_lane!(data.element_type(), T => self.run::<T>(geometry, io.inputs, out))
    }
}

#[cfg(test)]
#[path = "deformable_convolution_tests.rs"]
mod tests;
