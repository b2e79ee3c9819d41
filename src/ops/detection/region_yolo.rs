//! RegionYolo-1: the numbers of regions as positions, objectness and probabilities of classes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/region-yolo-1.html>
//!
//! A region has `coords + 1 + classes` channels. The sigmoid is taken of the first two and of the
//! one after the coordinates; with `do_softmax` the softmax of the classes, else the sigmoid.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::kernel::map::each;
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::kernel::softmax::{Kind, softmax};
use crate::limits::Share;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Tensor};

/// Regions with fewer elements stay on the calling thread.
const PART: usize = 1 << 14;

/// Positions, objectness and probabilities of regions.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RegionYolo {
    #[serde(default)]
    anchors: Vec<f32>,
    axis: i64,
    coords: usize,
    classes: usize,
    end_axis: i64,
    num: usize,
    #[serde(default = "yes")]
    do_softmax: bool,
    #[serde(default)]
    mask: Vec<i64>,
}

fn yes() -> bool {
    true
}

impl RegionYolo {
    /// How many regions there are, and how many channels each has.
    fn regions(&self) -> Result<(usize, usize), OpError> {
        let count = if self.do_softmax {
            self.num
        } else {
            self.mask.len()
        };
        let channels = self.coords.checked_add(self.classes);
        let channels = channels.and_then(|sum| sum.checked_add(1));
        let fits = channels.filter(|channels| channels.checked_mul(count).is_some());
        let Some(channels) = fits else {
            bail!(
                "{count} regions of {} coordinates and {} classes are too many",
                self.coords,
                self.classes
            );
        };
        Ok((count, channels))
    }

    /// Writes one region: `[coords + 1 + classes, area]`.
    fn region<T: Real>(&self, data: &[T], out: &mut [T], area: usize) {
        let (coords, rest) = out.split_at_mut(self.coords * area);
        let (data_coords, data_rest) = data.split_at(coords.len());
        let places = coords.len().min(2 * area);
        sigmoids(&data_coords[..places], &mut coords[..places]);
        coords[places..].copy_from_slice(&data_coords[places..]);
        let objects = if self.do_softmax { area } else { rest.len() };
        let (objects, classes) = rest.split_at_mut(objects);
        let (data_objects, data_classes) = data_rest.split_at(objects.len());
        sigmoids(data_objects, objects);
        let read = |at: usize, out: &mut [T]| out.copy_from_slice(&data_classes[at..][..out.len()]);
        softmax(&read, None, classes, [self.classes, area], Kind::Softmax);
    }

    fn run<T: Real>(&self, data: &Tensor, output: &mut Tensor) -> Result<(), OpError> {
        let wide = real::<T>(data)?;
        let (count, channels) = self.regions()?;
        if output.is_empty() {
            return Ok(());
        }
        let area: usize = data.shape()[2..].iter().product();
        let (region, image) = (channels * area, data.shape()[1] * area);
        let images = data.shape()[0];
        let wide = wide.as_slice::<T>()?;
        fill(output, |out: &mut [T]| {
            let out_image = out.len() / images;
            for (data, out) in wide
                .chunks_exact(image)
                .zip(out.chunks_exact_mut(out_image))
            {
                let (regions, rest) = out.split_at_mut(count * region);
                rest.copy_from_slice(&data[count * region..][..rest.len()]);
                let one = |(data, out): (&[T], &mut [T])| self.region(data, out, area);
                if region >= PART {
                    let data = data.par_chunks_exact(region);
                    data.zip(regions.par_chunks_exact_mut(region)).share(one);
                } else {
                    let data = data.chunks_exact(region);
                    data.zip(regions.chunks_exact_mut(region)).for_each(one);
                }
            }
            Ok(())
        })
    }
}

fn sigmoids<T: Real>(data: &[T], out: &mut [T]) {
    each(
        data,
        out,
        #[inline(always)]
        |x| math::sigmoid(x),
    );
}

impl Op for RegionYolo {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        data.expect_float("the data")?;
        let [batch, channels, height, width] = data.dims("the data")?;
        let (count, each) = self.regions()?;
        ensure!(
            channels
                .max()
                .is_none_or(|channels| count * each <= channels),
            "{count} regions of {each} channels need {}, the data has {channels}",
            count * each
        );
        let mut dims = vec![batch, channels, height, width];
        if self.do_softmax {
            let (axis, end) = (
                normalize_axis(self.axis, 4)?,
                normalize_axis(self.end_axis, 4)?,
            );
            ensure!(axis <= end, "axis {axis} is after end_axis {end}");
            let flat = dims
                .drain(axis..=end)
                .fold(Dimension::fixed(1), |a, b| a * b);
            dims.insert(axis, flat);
        } else {
            dims[1] = Dimension::fixed(count * each);
        }
        Ok(Output::single(data.element_type, dims.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs[0], &mut io.outputs[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::ElementType;

    fn op(do_softmax: bool) -> RegionYolo {
        RegionYolo {
            anchors: vec![],
            axis: 1,
            coords: 3,
            classes: 2,
            end_axis: -1,
            num: 1,
            do_softmax,
            mask: vec![0, 1],
        }
    }

    #[test]
    fn channels() {
        let data: Vec<f32> = (0..26u8).map(|i| f32::from(i % 13) - 6.0).collect();
        let data = Tensor::new([2, 13, 1, 1], &data).expect("26");
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        let close = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            let near = found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near, "{found:?} {expected:?}");
        };
        // Two regions of six channels, and one channel that is cut off.
        let out = run(&op(false), std::slice::from_ref(&data)).expect("fits");
        assert_eq!(out.shape().to_string(), "[2,12,1,1]");
        let one = |start: f32| {
            let at = |i: u8| start + f32::from(i);
            [0, 1, 2, 3, 4, 5].map(|i| if i == 2 { at(i) } else { sigmoid(at(i)) })
        };
        let image = [one(-6.0), one(0.0)].concat();
        close(
            out.as_slice().expect("f32"),
            &[image.clone(), image].concat(),
        );
        // One region, and seven channels that are copied.
        let out = run(&op(true), std::slice::from_ref(&data)).expect("fits");
        assert_eq!(out.shape().to_string(), "[2,13]");
        let mut image: Vec<f32> = one(-6.0).into();
        image[4..].copy_from_slice(&[sigmoid(-1.0), sigmoid(1.0)]);
        image.extend((0..7u8).map(f32::from));
        close(
            out.as_slice().expect("f32"),
            &[image.clone(), image].concat(),
        );
    }

    #[test]
    fn nothing_of_enormous_size() {
        let huge = 1 << 40;
        let data = Tensor::zeros(ElementType::F32, [0, 12, huge, huge]).expect("nothing");
        let out = run(&op(false), &[data]).expect("fits");
        assert_eq!(out.shape()[..2], [0, 12]);
    }

    #[test]
    fn shapes() {
        let dims = |op: &RegionYolo, text: &str| {
            infer_dims(op, &[Input::new(ElementType::F16, &shape(text))])
        };
        assert_eq!(dims(&op(true), "?,6,13,13"), "[?,1014]");
        assert_eq!(dims(&op(false), "?,..20,13,2..3"), "[?,12,13,2..3]");
        assert_eq!(dims(&op(false), "..."), "[?,12,?,?]");
        let wrong = shape("1,11,2,2");
        assert!(
            op(false)
                .infer(&[Input::new(ElementType::F16, &wrong)])
                .is_err()
        );
        let axis = RegionYolo {
            axis: 4,
            ..op(true)
        };
        assert!(
            axis.infer(&[Input::new(ElementType::F16, &shape("..."))])
                .is_err()
        );
    }
}
