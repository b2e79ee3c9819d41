//! Interpolate-1: axes resized to given sizes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/interpolate-1.html>
//!
//! The page does not say how elements are computed; this is what the runtime makes of the
//! attributes. Mode `area`, which no runtime evaluates, is not supported.

use serde::{Deserialize, Serialize};

use super::coordinates::{Mode, NearestMode, Transformation};
use super::interpolate::{check_axes, check_elements, expect_numbers, padded, pads};
use super::resize::Resize;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, Few, PartialShape};

/// How elements between elements are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mode1 {
    Nearest,
    Linear,
    #[serde(rename = "linear_onnx")]
    LinearOnnx,
    Cubic,
    Area,
}

/// Axes resized to given sizes.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Interpolate1 {
    axes: Vec<i64>,
    mode: Mode1,
    #[serde(default = "yes")]
    align_corners: bool,
    #[serde(default)]
    antialias: bool,
    #[serde(default)]
    pads_begin: Vec<u64>,
    #[serde(default)]
    pads_end: Vec<u64>,
}

fn yes() -> bool {
    true
}

impl Interpolate1 {
    /// One pad is that of each axis resized; several are those of the dimensions.
    fn pads(&self, list: &[u64], axes: &[usize], rank: usize) -> Few<usize> {
        match list {
            &[pad] => {
                let pad = |axis| if axes.contains(&axis) { pad } else { 0 };
                pads(&(0..rank).map(pad).collect::<Few<_>>(), rank)
            }
            list => pads(list, rank),
        }
    }

    fn is_padded(&self) -> bool {
        let pads = self.pads_begin.iter().chain(&self.pads_end);
        pads.copied().any(|pad| pad > 0)
    }

    fn resize(&self, rank: usize) -> Result<Resize, OpError> {
        let mode = match self.mode {
            Mode1::Nearest => Mode::Nearest,
            Mode1::Linear if rank < 5 => Mode::LinearOnnx,
            Mode1::Linear => Mode::Linear,
            Mode1::LinearOnnx => Mode::LinearOnnx,
            Mode1::Cubic => Mode::Cubic,
            Mode1::Area => return Err(OpError::unsupported("mode `area` is not described")),
        };
        let linear = matches!(mode, Mode::Linear | Mode::LinearOnnx);
        let mut axes = self.axes.clone();
        axes.sort_unstable();
        let transformation = if self.align_corners {
            Transformation::AlignCorners
        } else if linear && !self.is_padded() && !(rank == 4 && axes == [2, 3]) {
            Transformation::HalfPixel
        } else {
            Transformation::Asymmetric
        };
        Ok(Resize {
            mode,
            transformation,
            nearest_mode: NearestMode::Simple,
            antialias: self.antialias,
            cube_coeff: -0.75,
        })
    }
}

impl Op for Interpolate1 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [image, sizes] = inputs else {
            bail!(
                "expected 2 inputs (data, target_spatial_shape), got {}",
                inputs.len()
            );
        };
        expect_numbers(image)?;
        sizes.expect_integer("target_spatial_shape")?;
        sizes.expect_1d("target_spatial_shape")?;
        let ty = image.element_type;
        let Some(dims) = image.shape.dims() else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let axes = check_axes(&self.axes, dims.len())?;
        self.resize(dims.len())?;
        ensure!(
            sizes.shape.elements().contains(axes.len()),
            "target_spatial_shape must have an element for each of the {} axes, got shape {}",
            axes.len(),
            sizes.shape
        );
        let begin = self.pads(&self.pads_begin, &axes, dims.len());
        let end = self.pads(&self.pads_end, &axes, dims.len());
        let padded = padded(dims, &begin, &end)?;
        let mut out = padded.clone();
        let ranges = sizes.ranges();
        for (i, &axis) in axes.iter().enumerate() {
            let range = ranges.as_ref().map(|ranges| ranges[i]);
            if let Some(size) = range.and_then(|range| range.value()) {
                ensure!(size >= 0, "sizes must not be negative, got {size}");
            }
            out[axis] = range.map_or(Dimension::dynamic(), |range| range.to_dimension());
        }
        let out = PartialShape::from(out.as_slice());
        check_elements(&padded, &out)?;
        Ok(Output::single(ty, out))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (image, out) = (io.inputs[0], &mut io.outputs[0]);
        let rank = image.shape().rank();
        let axes = check_axes(&self.axes, rank)?;
        let pads = [
            self.pads(&self.pads_begin, &axes, rank),
            self.pads(&self.pads_end, &axes, rank),
        ];
        self.resize(rank)?.run(image, &axes, None, &pads, out)
    }
}
