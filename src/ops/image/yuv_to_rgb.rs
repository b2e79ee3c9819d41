//! NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8: images in YUV made of red, green and blue.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/nv12-to-rgb-8.html>
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/i420-to-rgb-8.html>
//!
//! Four pixels share one U and V. In NV12 these alternate, in I420 each has a plane of its own; planes
//! come as inputs, or one below the other in one. Integers are rounded to nearest, halves upwards.

use super::colours::{agree, check_type, dims, scaled};
use crate::kernel::colour::{Plane, Planes, Sample, to_rgb};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Element, ElementType, PartialShape, Tensor};

/// Where U and V are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// In one plane, side by side.
    Nv12,
    /// In a plane each.
    I420,
}

#[derive(Debug, Clone)]
pub(super) struct YuvToRgb {
    pub(super) format: Format,
    /// The channel of red: 0, or 2 if blue is first.
    pub(super) red: usize,
}

impl YuvToRgb {
    /// The planes of U and V, and their channels.
    fn chroma(&self) -> (&'static [&'static str], usize) {
        match self.format {
            Format::Nv12 => (&["the UV plane"], 2),
            Format::I420 => (&["the U plane", "the V plane"], 1),
        }
    }

    fn run<T: Sample + Element>(&self, inputs: &[&Tensor], out: &mut [T]) -> Result<(), OpError> {
        let data = inputs.iter().map(|t| t.as_slice::<T>());
        let data = data.collect::<Result<Vec<_>, _>>()?;
        let shape = inputs[0].shape();
        let (height, width) = (shape[1], shape[2]);
        let plane = |data, stride| Plane { data, stride };
        let (planes, height) = if let &[all] = &data[..] {
            let (height, stride) = (height / 3 * 2, height * width);
            let (v, step) = match self.format {
                Format::Nv12 => (1, 2),
                Format::I420 => (height * width / 4, 1),
            };
            let below = &all[height * width..];
            let planes = Planes {
                y: plane(all, stride),
                u: plane(below, stride),
                v: plane(&below[v..], stride),
                step,
            };
            (planes, height)
        } else {
            let size = height * width;
            let (v, stride, step) = match self.format {
                Format::Nv12 => (&data[1][1..], size / 2, 2),
                Format::I420 => (data[2], size / 4, 1),
            };
            let planes = Planes {
                y: plane(data[0], size),
                u: plane(data[1], stride),
                v: plane(v, stride),
                step,
            };
            (planes, height)
        };
        to_rgb(planes, [height, width], self.red, out);
        Ok(())
    }
}

impl Op for YuvToRgb {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (names, channels) = self.chroma();
        let Some((first, others)) = inputs.split_first() else {
            bail!("expected 1 or {} inputs, got 0", names.len() + 1);
        };
        let ty = merge_types(inputs)?;
        check_type(ty)?;
        let [mut batch, mut height, mut width] = dims(first, "the Y plane", 1)?;
        if others.is_empty() {
            height = scaled(height, 3, 2, "height of all planes")?;
        } else if others.len() != names.len() {
            bail!(
                "expected 1 or {} inputs, got {}",
                names.len() + 1,
                inputs.len()
            );
        }
        height = scaled(height, 2, 2, "height")?;
        width = scaled(width, 2, 2, "width")?;
        for (plane, name) in others.iter().zip(names) {
            let [n, h, w] = dims(plane, name, channels)?;
            batch = agree(batch, n, "batch")?;
            height = agree(height, scaled(h, 1, 2, "height")?, "height")?;
            width = agree(width, scaled(w, 1, 2, "width")?, "width")?;
        }
        let shape = [batch, height, width, Dimension::fixed(3)];
        Ok(Output::single(
            ty,
            shape.into_iter().collect::<PartialShape>(),
        ))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let out = &mut io.outputs[0];
        if out.is_empty() {
            return Ok(());
        }
        if out.element_type() == ElementType::U8 {
            return self.run::<u8>(io.inputs, out.as_mut_slice()?);
        }
        in_real!(out.element_type(), T => {
            let inputs = io.inputs.iter().map(|t| real::<T>(t));
            let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            let inputs: Vec<&Tensor> = inputs.iter().collect();
            fill::<T, _>(out, |out| self.run::<T>(&inputs, out))
        })
    }
}

#[cfg(test)]
#[path = "colours_tests.rs"]
mod tests;
