//! Interpolate-4, -11: axes resized.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/interpolate-11.html>
//!
//! Interpolate-4 has an input for sizes and one for scales, of which `shape_calculation_mode` names
//! the one that counts; Interpolate-11 has one input for either, and the modes of Pillow.
//!
//! Where the page does not say, this follows the runtime: scales count as the decimal numbers they
//! were before they were rounded (a millionth is added); coordinates are computed in `f32` but for
//! `f64` data; integers are rounded in modes `linear` and Pillow's, and cut off in the others.

use serde::{Deserialize, Serialize};

use super::coordinates::{Mode, NearestMode, Transformation};
use super::resize::Resize;
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, Few, PartialShape, Tensor, ValueRange};

/// What the second input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Calculation {
    Sizes,
    Scales,
}

/// Axes resized.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Interpolate {
    mode: Mode,
    shape_calculation_mode: Calculation,
    #[serde(default)]
    coordinate_transformation_mode: Transformation,
    #[serde(default)]
    nearest_mode: NearestMode,
    #[serde(default)]
    antialias: bool,
    #[serde(default = "no_pads")]
    pads_begin: Vec<u64>,
    #[serde(default = "no_pads")]
    pads_end: Vec<u64>,
    #[serde(default = "cube_coeff")]
    cube_coeff: f64,
    /// Whether sizes and scales are inputs of their own.
    #[serde(skip)]
    both_inputs: bool,
}

fn no_pads() -> Vec<u64> {
    vec![0]
}

fn cube_coeff() -> f64 {
    -0.75
}

/// Reads Interpolate-4.
pub(super) fn read_4(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Interpolate>(layer.attributes)?;
    let both_inputs = true;
    Ok((Box::new(Interpolate { both_inputs, ..op }), unknown))
}

/// Added to scales before sizes are multiplied and cut off.
const MILLIONTH: f32 = 1e-6;

impl Interpolate {
    /// The inputs that count: the new sizes or scales, and the axes, if they are given.
    fn deciding<'b, T>(&self, inputs: &'b [T]) -> Result<(&'b T, &'b T, Option<&'b T>), OpError> {
        let count = inputs.len();
        match (self.both_inputs, inputs) {
            (false, [image, new]) => Ok((image, new, None)),
            (false, [image, new, axes]) => Ok((image, new, Some(axes))),
            (false, _) => {
                bail!("expected 2 or 3 inputs (image, sizes or scales, axes), got {count}")
            }
            (true, [image, sizes, scales, axes @ ..]) if axes.len() < 2 => {
                let new = match self.shape_calculation_mode {
                    Calculation::Sizes => sizes,
                    Calculation::Scales => scales,
                };
                Ok((image, new, axes.first()))
            }
            (true, _) => bail!("expected 3 or 4 inputs (data, sizes, scales, axes), got {count}"),
        }
    }

    fn resize(&self) -> Resize {
        Resize {
            mode: self.mode,
            transformation: self.coordinate_transformation_mode,
            nearest_mode: self.nearest_mode,
            antialias: self.antialias,
            cube_coeff: self.cube_coeff,
        }
    }

    /// The padded shape.
    fn padded(&self, dims: &[Dimension]) -> Result<Vec<Dimension>, OpError> {
        padded(
            dims,
            &pads(&self.pads_begin, dims.len()),
            &pads(&self.pads_end, dims.len()),
        )
    }

    /// The new size of an axis.
    fn resized(&self, size: Dimension, new: New) -> Result<Dimension, OpError> {
        match new {
            New::Size(range) => {
                if let Some(size) = range.value() {
                    ensure!(size >= 0, "sizes must not be negative, got {size}");
                }
                Ok(range.to_dimension())
            }
            New::Scale(scale) => {
                ensure!(
                    scale > 0.0 && scale.is_finite(),
                    "scales must be positive, got {scale}"
                );
                Ok(scaled(size, scale))
            }
            New::Unknown => Ok(Dimension::dynamic()),
        }
    }
}

/// What is known of a new size.
#[derive(Debug, Clone, Copy)]
enum New {
    Size(ValueRange),
    Scale(f32),
    Unknown,
}

/// Pads for each of the `rank` dimensions; those that are missing are none.
pub(super) fn pads(pads: &[u64], rank: usize) -> Few<usize> {
    let pad = |axis| {
        pads.get(axis)
            .map_or(0, |&pad| usize::try_from(pad).unwrap_or(usize::MAX))
    };
    (0..rank).map(pad).collect()
}

/// Dimensions with their pads.
///
/// # Errors
/// When they are too large.
pub(super) fn padded(
    dims: &[Dimension],
    begin: &[usize],
    end: &[usize],
) -> Result<Vec<Dimension>, OpError> {
    let pads = begin.iter().zip(end);
    dims.iter()
        .zip(pads)
        .map(|(&dim, (&begin, &end))| match begin.checked_add(end) {
            Some(0) => Ok(dim),
            Some(pads) if dim.max().unwrap_or(dim.min()).checked_add(pads).is_some() => {
                Ok(dim + Dimension::fixed(pads))
            }
            _ => Err(OpError::limit(format!(
                "the pads {begin} and {end} are too large"
            ))),
        })
        .collect()
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn scaled(size: Dimension, scale: f32) -> Dimension {
    if scale == 1.0 {
        return size;
    }
    let scale = |size: usize| (size as f32 * (scale + MILLIONTH)) as usize;
    Dimension::range(scale(size.min()), size.max().map(scale))
}

/// The axes, each in `0..rank` and once.
pub(super) fn check_axes(axes: &[i64], rank: usize) -> Result<Few<usize>, OpError> {
    let mut checked = Few::with_capacity(axes.len());
    for &axis in axes {
        match usize::try_from(axis) {
            Ok(index) if index < rank && !checked.contains(&index) => checked.push(index),
            Ok(index) if index < rank => bail!("axes must be different, got {axis} twice"),
            _ => bail!("axis {axis} is not in 0..{rank}"),
        }
    }
    Ok(checked)
}

/// Checks that a shape that is exact can be resized.
pub(super) fn check_elements(padded: &[Dimension], out: &PartialShape) -> Result<(), OpError> {
    let nothing = padded.iter().position(|dim| dim.value() == Some(0));
    if let (Some(axis), true) = (nothing, out.elements().min() > 0) {
        bail!("axis {axis} has no elements, the output has {out}");
    }
    Ok(())
}

pub(super) fn expect_numbers(image: &Input<'_>) -> Result<(), OpError> {
    ensure!(
        image.element_type.is_numeric() || !image.element_type.is_static(),
        "the image must be numbers, got {}",
        image.element_type
    );
    Ok(())
}

fn floats(tensor: &Tensor) -> Result<Few<f32>, OpError> {
    if let Ok(floats) = tensor.as_slice() {
        return Ok(Few::from_slice(floats));
    }
    let floats = convert(tensor, ElementType::F32)?;
    Ok(Few::from_slice(floats.as_slice()?))
}

impl Op for Interpolate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (image, new, axes) = self.deciding(inputs)?;
        expect_numbers(image)?;
        let ty = image.element_type;
        let scales = self.shape_calculation_mode == Calculation::Scales;
        let what = if scales { "scales" } else { "sizes" };
        new.expect_1d(what)?;
        if scales {
            ensure!(
                new.element_type.is_float() || !new.element_type.is_static(),
                "scales must be floats, got {}",
                new.element_type
            );
        } else {
            new.expect_integer("sizes")?;
        }
        let known_axes = match axes {
            Some(axes) => {
                axes.expect_integer("axes")?;
                axes.expect_1d("axes")?;
                axes.ints()
            }
            None => image.rank().map(|rank| (0i64..).take(rank).collect()),
        };
        let Some(dims) = image.shape.dims() else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let padded = self.padded(dims)?;
        let Some(known_axes) = known_axes else {
            // Any axis may be one of them.
            return Ok(Output::single(ty, PartialShape::of_rank(dims.len())));
        };
        let axes = check_axes(&known_axes, dims.len())?;
        self.resize().check(&axes)?;
        ensure!(
            new.shape.elements().contains(axes.len()),
            "{what} must be as many as the {} axes, got shape {}",
            axes.len(),
            new.shape
        );
        let values: Option<Vec<New>> = match (scales, new.value) {
            (true, Some(value)) => Some(floats(value)?.into_iter().map(New::Scale).collect()),
            (true, None) => None,
            (false, _) => new
                .ranges()
                .map(|r| r.iter().map(|&r| New::Size(r)).collect()),
        };
        let mut out = padded.clone();
        for (i, &axis) in axes.iter().enumerate() {
            let new = values.as_ref().map_or(New::Unknown, |values| values[i]);
            out[axis] = self.resized(out[axis], new)?;
        }
        let out = PartialShape::from(out.as_slice());
        check_elements(&padded, &out)?;
        Ok(Output::single(ty, out))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (image, new, axes) = self.deciding(io.inputs)?;
        let out = &mut io.outputs[0];
        let rank = image.shape().rank();
        let axes = match axes {
            Some(axes) => check_axes(&crate::tensor::convert::try_i64(axes)?, rank)?,
            None => (0..rank).collect(),
        };
        let scales = match self.shape_calculation_mode {
            Calculation::Scales => Some(floats(new)?),
            Calculation::Sizes => None,
        };
        let pads = [pads(&self.pads_begin, rank), pads(&self.pads_end, rank)];
        self.resize()
            .run(image, &axes, scales.as_deref(), &pads, out)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let axes = if self.both_inputs { 3 } else { 2 };
        let rank = i64::try_from(inputs.first()?.rank()?).ok()?;
        (index == axes).then_some((0, rank - 1))
    }
}

#[cfg(test)]
#[path = "interpolate_tests.rs"]
mod tests;
