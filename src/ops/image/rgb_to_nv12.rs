//! RGBtoNV12-17, BGRtoNV12-17: images of red, green and blue made YUV, with one U and V for four
//! pixels.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/rgb-to-nv12-17.html>
//!
//! The document does not say how four pixels become one U and V: they are the mean of what the
//! formulas give for each pixel, rounded for integers, as in the reference code of the runtime.

use serde::{Deserialize, Serialize};

use super::colours::{check_type, dims, scaled};
use crate::kernel::colour::{Sample, to_nv12};
use crate::op::{Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Element, ElementType, PartialShape, Tensor};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RgbToNv12 {
    pub(super) single_plane: bool,
    /// The channel of red: 0, or 2 if blue is first.
    #[serde(skip)]
    pub(super) red: usize,
}

impl Default for RgbToNv12 {
    fn default() -> Self {
        Self {
            single_plane: true,
            red: 0,
        }
    }
}

/// Reads BGRtoNV12.
pub(super) fn read_bgr(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<RgbToNv12>(layer.attributes)?;
    Ok((Box::new(RgbToNv12 { red: 2, ..op }), unknown))
}

impl Op for RgbToNv12 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [image] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let ty = image.element_type;
        check_type(ty)?;
        let [batch, height, width] = dims(image, "the image", 3)?;
        let (y_height, width) = (
            scaled(height, 2, 2, "height")?,
            scaled(width, 2, 2, "width")?,
        );
        let plane = |height, width, channels| {
            let shape = [batch, height, width, Dimension::fixed(channels)];
            Output::new(ty, shape.into_iter().collect::<PartialShape>())
        };
        if self.single_plane {
            let all = scaled(height, 2, 3, "height")?;
            return Ok(smallvec::smallvec![plane(all, width, 1)]);
        }
        let halves = (
            scaled(height, 2, 1, "height")?,
            scaled(width, 2, 1, "width")?,
        );
        Ok(smallvec::smallvec![
            plane(y_height, width, 1),
            plane(halves.0, halves.1, 2)
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let image = io.inputs[0];
        if image.is_empty() {
            return Ok(());
        }
        let ty = image.element_type();
        if ty == ElementType::U8 {
            let [first, others @ ..] = io.outputs else {
                bail!("expected an output");
            };
            let uv = others.first_mut().map(|t| t.as_mut_slice::<u8>());
            return self.run(image, first.as_mut_slice()?, uv.transpose()?);
        }
        in_real!(ty, T => {
            let image = real::<T>(image)?;
            let [first, others @ ..] = io.outputs else {
                bail!("expected an output");
            };
            match others {
                [] => fill::<T, _>(first, |y| self.run(&image, y, None)),
                [uv, ..] => fill::<T, _>(first, |y| {
                    fill::<T, _>(uv, |uv| self.run(&image, y, Some(uv)))
                }),
            }
        })
    }
}

impl RgbToNv12 {
    /// Writes both planes, one below the other if there is no memory of its own for U and V.
    fn run<T: Sample + Element>(
        &self,
        image: &Tensor,
        y: &mut [T],
        uv: Option<&mut [T]>,
    ) -> Result<(), OpError> {
        let (height, width) = (image.shape()[1], image.shape()[2]);
        let pixels = height * width;
        let images = image.as_slice::<T>()?.chunks_exact(pixels * 3);
        match uv {
            Some(uv) => {
                let planes = y
                    .chunks_exact_mut(pixels)
                    .zip(uv.chunks_exact_mut(pixels / 2));
                for (image, (y, uv)) in images.zip(planes) {
                    to_nv12(image, width, self.red, y, uv);
                }
            }
            None => {
                for (image, all) in images.zip(y.chunks_exact_mut(pixels / 2 * 3)) {
                    let (y, uv) = all.split_at_mut(pixels);
                    to_nv12(image, width, self.red, y, uv);
                }
            }
        }
        Ok(())
    }
}
