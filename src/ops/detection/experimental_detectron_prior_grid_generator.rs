//! ExperimentalDetectronPriorGridGenerator-6: priors moved to the centers of the cells of a grid.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/experimental-detectron-prior-grid-generator-6.html>
//!
//! What a grid smaller than the feature map leaves of the output is zeros.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Tensor};

/// Priors moved to the centers of the cells of a grid.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct PriorGridGenerator {
    flatten: bool,
    h: usize,
    w: usize,
    stride_x: f32,
    stride_y: f32,
}

impl Default for PriorGridGenerator {
    fn default() -> Self {
        Self {
            flatten: true,
            h: 0,
            w: 0,
            stride_x: 0.0,
            stride_y: 0.0,
        }
    }
}

/// The centers of `count` cells `step` apart.
#[allow(clippy::cast_precision_loss)] // no grid is that large
fn centers<T: Real>(step: T, count: usize) -> impl Iterator<Item = T> + Clone {
    (0..count).map(move |i| step * (T::of(i as f64) + T::of(0.5)))
}

/// The distance of cells: that given, or the image divided by them.
#[allow(clippy::cast_precision_loss)] // no image is that large
fn step<T: Real>(given: f32, image: usize, cells: usize) -> T {
    if given == 0.0 {
        T::of(image as f64) / T::of(cells as f64)
    } else {
        T::of(given.into())
    }
}

impl PriorGridGenerator {
    fn run<T: Real>(&self, inputs: &[&Tensor], output: &mut Tensor) -> Result<(), OpError> {
        let priors = real::<T>(inputs[0])?;
        let priors = priors.as_slice::<T>()?.as_chunks::<4>().0;
        let (map, image) = (inputs[1].shape(), inputs[2].shape());
        let height = if self.h == 0 { map[2] } else { self.h };
        let width = if self.w == 0 { map[3] } else { self.w };
        let xs = centers(step::<T>(self.stride_x, image[3], width), width);
        let ys = centers(step::<T>(self.stride_y, image[2], height), height);
        let places = ys.flat_map(|y| xs.clone().map(move |x| (x, y)));
        fill(output, |out: &mut [T]| {
            out.fill(T::zero());
            let cells = out.chunks_exact_mut((priors.len() * 4).max(1));
            for (cell, (x, y)) in cells.zip(places) {
                for (row, prior) in cell.chunks_exact_mut(4).zip(priors) {
                    row.copy_from_slice(&[prior[0] + x, prior[1] + y, prior[2] + x, prior[3] + y]);
                }
            }
            Ok(())
        })
    }
}

impl Op for PriorGridGenerator {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [priors, map, image] = inputs else {
            bail!(
                "expected 3 inputs (priors, feature_map, im_data), got {}",
                inputs.len()
            );
        };
        priors.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [count, numbers] = priors.dims("the priors")?;
        let [batch, _, height, width] = map.dims("the feature map")?;
        let [image_batch, ..] = image.dims::<4>("the image")?;
        ensure!(
            numbers.contains(4),
            "a prior must have 4 numbers, got shape {}",
            priors.shape
        );
        ensure!(
            batch.contains(1) && image_batch.contains(1),
            "the feature map {} and the image {} must be batches of one",
            map.shape,
            image.shape
        );
        for (name, cells, size) in [("h", self.h, height), ("w", self.w, width)] {
            ensure!(
                size.max().is_none_or(|size| cells <= size),
                "{name} is {cells}, the feature map has {size}"
            );
        }
        let four = Dimension::fixed(4);
        Ok(if self.flatten {
            Output::single(ty, [height * width * count, four].as_slice())
        } else {
            Output::single(ty, [height, width, count, four].as_slice())
        })
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, &mut io.outputs[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::ElementType;

    #[test]
    fn grids() {
        let zeros = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("small");
        let inputs = [
            Tensor::new([1, 4], &[-1.0f32, -2.0, 1.0, 2.0]).expect("4"),
            zeros(&[1, 3, 2, 2]),
            zeros(&[1, 3, 12, 8]),
        ];
        let out = run(&PriorGridGenerator::default(), &inputs).expect("fits");
        assert_eq!(out.shape().to_string(), "[4,4]");
        let expected = [
            1.0f32, 1.0, 3.0, 5.0, 5.0, 1.0, 7.0, 5.0, 1.0, 7.0, 3.0, 11.0, 5.0, 7.0, 7.0, 11.0,
        ];
        assert_eq!(out.as_slice::<f32>().expect("f32"), expected);
        let small = PriorGridGenerator {
            flatten: false,
            h: 1,
            w: 1,
            stride_x: 4.0,
            stride_y: 6.0,
        };
        let out = run(&small, &inputs).expect("fits");
        assert_eq!(out.shape().to_string(), "[2,2,1,4]");
        let expected = [&expected[..4], &[0.0; 12]].concat();
        assert_eq!(out.as_slice::<f32>().expect("f32"), expected);
        let large = PriorGridGenerator { h: 3, ..small };
        assert!(run(&large, &inputs).is_err());
    }
}
