//! Proposal-1, -4: the best boxes that deltas make of anchors on a feature map.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/proposal-4.html>
//!
//! Version 4 gives the probabilities as well. What the documents leave open follows the runtime:
//! how anchors are made, that equal scores keep the order of cells and anchors, and that the first
//! row without a box has batch -1 and all else is 0. As in Caffe, the last pixel belongs to a box
//! and the sides of anchors are rounded; as in TensorFlow, neither, anchors are centered and cut
//! to the image, and rows and columns change places.

use serde::{Deserialize, Serialize};

use crate::kernel::proposals::{Proposal as Proposed, Refine, clip, leave_best, suppress};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_room};
use crate::kernel::suppression::{Hard, Scored, Sides, each_list};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    merge_types, same_dimension,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Tensor};

/// How coordinates are calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
enum Framework {
    #[default]
    #[serde(rename = "")]
    Caffe,
    #[serde(rename = "tensorflow")]
    TensorFlow,
}

/// The best boxes that deltas make of anchors.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Proposal {
    base_size: usize,
    pre_nms_topn: usize,
    post_nms_topn: usize,
    nms_thresh: f32,
    feat_stride: usize,
    min_size: usize,
    ratio: Vec<f32>,
    scale: Vec<f32>,
    #[serde(default = "yes")]
    clip_before_nms: bool,
    #[serde(default)]
    clip_after_nms: bool,
    #[serde(default)]
    normalize: bool,
    #[serde(default = "one")]
    box_size_scale: f32,
    #[serde(default = "one")]
    box_coordinate_scale: f32,
    #[serde(default)]
    framework: Framework,
    /// Whether there is a second output.
    #[serde(skip)]
    probabilities: bool,
}

fn yes() -> bool {
    true
}

fn one() -> f32 {
    1.0
}

/// Reads Proposal-4.
pub(super) fn read_4(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Proposal>(layer.attributes)?;
    let probabilities = true;
    Ok((
        Box::new(Proposal {
            probabilities,
            ..op
        }),
        unknown,
    ))
}

/// The image: its height and width, and by what they are scaled.
struct Image<T> {
    size: [T; 2],
    scales: [T; 2],
}

/// One item of the batch.
struct Item<'a, T> {
    /// `[anchors, cells]`.
    scores: &'a [T],
    /// `[anchors, 4, cells]`.
    deltas: &'a [T],
    width: usize,
    cells: usize,
}

#[allow(clippy::cast_precision_loss)] // sizes in pixels are small
fn float<T: Real>(number: usize) -> T {
    T::of(number as f64)
}

impl Proposal {
    fn is_caffe(&self) -> bool {
        self.framework == Framework::Caffe
    }

    /// What a side is longer than the difference of its corners.
    fn pixel<T: Real>(&self) -> T {
        if self.is_caffe() { T::one() } else { T::zero() }
    }

    /// The anchors of the first cell.
    fn anchors<T: Real>(&self) -> Vec<[T; 4]> {
        let (pixel, half) = (self.pixel::<T>(), T::of(0.5));
        let base = float::<T>(self.base_size);
        let mut center = half * (base - pixel);
        if !self.is_caffe() {
            center -= half * base;
        }
        let mut anchors = Vec::new();
        for &ratio in &self.ratio {
            let ratio = T::of(ratio.into());
            let round = |x: T| if self.is_caffe() { x.round() } else { x };
            let width = round((base * base / ratio).sqrt());
            let height = round(width * ratio);
            for &scale in &self.scale {
                let scale = T::of(scale.into());
                let w = half * (width * scale - pixel);
                let h = half * (height * scale - pixel);
                anchors.push([center - w, center - h, center + w, center + h]);
            }
        }
        anchors
    }

    /// The boxes of one item, in the order of cells and anchors.
    fn boxes<T: Real>(
        &self,
        item: &Item<'_, T>,
        image: &Image<T>,
    ) -> Result<Vec<Proposed<T>>, OpError> {
        let pixel = self.pixel::<T>();
        let refine = Refine {
            pixel,
            most: T::infinity(),
        };
        let [height, width] = image.size;
        let smallest = image.scales.map(|scale| float::<T>(self.min_size) * scale);
        let place = T::of(self.box_coordinate_scale.into());
        let size = T::of(self.box_size_scale.into());
        let anchors = self.anchors::<T>();
        let mut boxes = try_room(item.scores.len())?;
        for cell in 0..item.cells {
            let (row, column) = (cell / item.width, cell % item.width);
            let [x, y] = if self.is_caffe() {
                [column, row]
            } else {
                [row, column]
            };
            let [x, y] = [x, y].map(|at| float::<T>(at) * float(self.feat_stride));
            for (nth, &[x0, y0, x1, y1]) in anchors.iter().enumerate() {
                let mut anchor = [x + x0, y + y0, x + x1, y + y1];
                if !self.is_caffe() {
                    anchor = clip(anchor, [width, height]);
                }
                let delta = |i| item.deltas[(nth * 4 + i) * item.cells + cell];
                let deltas = [
                    delta(0) / place,
                    delta(1) / place,
                    delta(2) / size,
                    delta(3) / size,
                ];
                let [x, y, w, h] = refine.center(anchor, deltas);
                let (w, h) = (T::of(0.5) * w, T::of(0.5) * h);
                let mut corners = [x - w, y - h, x + w, y + h];
                if self.clip_before_nms {
                    corners = clip(corners, [width - pixel, height - pixel]);
                }
                if refine.is_large(corners, [smallest[1], smallest[0]]) {
                    let score = item.scores[nth * item.cells + cell];
                    let index = cell * anchors.len() + nth;
                    boxes.push(Proposed {
                        corners,
                        scored: Scored { score, index },
                    });
                }
            }
        }
        Ok(boxes)
    }

    /// The boxes of one item that stay.
    fn keep<T: Real>(
        &self,
        item: &Item<'_, T>,
        image: &Image<T>,
    ) -> Result<Vec<Proposed<T>>, OpError> {
        let mut boxes = self.boxes(item, image)?;
        leave_best(&mut boxes, self.pre_nms_topn);
        let sides = if self.is_caffe() {
            Sides::SeparatePixels
        } else {
            Sides::Continuous
        };
        let hard = Hard {
            most: self.post_nms_topn,
            limit: T::of(self.nms_thresh.into()),
            eta: T::one(),
        };
        let [height, width] = image.size;
        let kept = suppress(&boxes, sides, hard)?.copied();
        let kept = kept.map(|mut proposed| {
            if self.clip_after_nms {
                proposed.corners = clip(proposed.corners, [width, height]);
            }
            if self.normalize {
                let [x0, y0, x1, y1] = proposed.corners;
                proposed.corners = [x0 / width, y0 / height, x1 / width, y1 / height];
            }
            proposed
        });
        try_collect(kept)
    }

    fn run<T: Real>(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
        let [scores, deltas] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?];
        let image = real::<T>(inputs[2])?;
        let image = match *image.as_slice::<T>()? {
            [height, width, scale] => Image {
                size: [height, width],
                scales: [scale, scale],
            },
            [height, width, scale_height, scale_width] => Image {
                size: [height, width],
                scales: [scale_height, scale_width],
            },
            ref other => bail!("the image has {} numbers, expected 3 or 4", other.len()),
        };
        let &[batch, channels, height, width] = &scores.shape()[..] else {
            bail!("the scores must be 4-D, got shape {}", scores.shape());
        };
        if outputs[0].shape().rank() != 2 {
            return Err(OpError::limit("there are too many boxes"));
        }
        let cells = if scores.is_empty() { 0 } else { height * width };
        let count = channels / 2 * cells;
        let (scores, deltas) = (scores.as_slice::<T>()?, deltas.as_slice::<T>()?);
        let found = each_list(batch, count, |i| {
            let item = Item {
                // Those of the background come first.
                scores: &scores[i * 2 * count + count..][..count],
                deltas: &deltas[i * 4 * count..][..4 * count],
                width,
                cells,
            };
            self.keep(&item, &image)
        })?;
        self.put(&found, outputs)
    }

    /// Writes rows `[item, corners]`, and the probabilities if there is an output for them.
    fn put<T: Real>(
        &self,
        found: &[Vec<Proposed<T>>],
        outputs: &mut [Tensor],
    ) -> Result<(), OpError> {
        fill(&mut outputs[0], |out: &mut [T]| {
            out.fill(T::zero());
            let items = out.chunks_exact_mut(self.post_nms_topn.saturating_mul(5).max(1));
            for (i, (rows, found)) in items.zip(found).enumerate() {
                let mut rows = rows.chunks_exact_mut(5);
                for (proposed, row) in found.iter().zip(rows.by_ref()) {
                    row[0] = float(i);
                    row[1..].copy_from_slice(&proposed.corners);
                }
                if let Some(row) = rows.next() {
                    row[0] = -T::one();
                }
            }
            Ok(())
        })?;
        let Some(probabilities) = outputs.get_mut(1) else {
            return Ok(());
        };
        fill(probabilities, |out: &mut [T]| {
            out.fill(T::zero());
            let items = out.chunks_exact_mut(self.post_nms_topn.max(1));
            for (out, found) in items.zip(found) {
                for (out, proposed) in out.iter_mut().zip(found) {
                    *out = proposed.scored.score;
                }
            }
            Ok(())
        })
    }
}

impl Op for Proposal {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [scores, deltas, image] = inputs else {
            bail!(
                "expected 3 inputs (class_probs, bbox_deltas, image_shape), got {}",
                inputs.len()
            );
        };
        scores.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [batch, channels, height, width] = scores.dims("class_probs")?;
        let [delta_batch, delta_channels, delta_height, delta_width] =
            deltas.dims("bbox_deltas")?;
        let [numbers] = image.dims("image_shape")?;
        ensure!(
            numbers.contains(3) || numbers.contains(4),
            "image_shape must have 3 or 4 elements, got shape {}",
            image.shape
        );
        let batch = same_dimension(batch, delta_batch, "batches of scores and deltas")?;
        same_dimension(height, delta_height, "heights of scores and deltas")?;
        same_dimension(width, delta_width, "widths of scores and deltas")?;
        let anchors = Dimension::fixed(self.ratio.len() * self.scale.len());
        let two = anchors * Dimension::fixed(2);
        same_dimension(channels, two, "channels of scores and twice the anchors")?;
        let four = anchors * Dimension::fixed(4);
        same_dimension(
            delta_channels,
            four,
            "channels of deltas and four times the anchors",
        )?;
        let rows = batch * Dimension::fixed(self.post_nms_topn);
        let mut outputs = Output::single(ty, [rows, Dimension::fixed(5)].as_slice());
        if self.probabilities {
            outputs.push(Output::new(ty, [rows].as_slice()));
        }
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, io.outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::attrs::{Attr, read};
    use crate::ops::testing::{infer_dims, run_all, shape};
    use crate::tensor::ElementType;

    fn op(attributes: &[(&'static str, &'static str)]) -> Proposal {
        let mut all = attributes.to_vec();
        for (name, value) in [
            ("base_size", "4"),
            ("pre_nms_topn", "9"),
            ("post_nms_topn", "3"),
            ("nms_thresh", "0.5"),
            ("feat_stride", "4"),
            ("min_size", "1"),
            ("ratio", "1"),
            ("scale", "1"),
        ] {
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, value));
            }
        }
        let all: Vec<_> = all
            .iter()
            .map(|(name, value)| Attr::new(name, *value))
            .collect();
        let op: Proposal = read(&all).expect("good").0;
        Proposal {
            probabilities: true,
            ..op
        }
    }

    /// Two cells next to each other, the second the better, over an image 6 high and 7 wide.
    fn run(op: &Proposal) -> (Vec<f32>, Vec<f32>) {
        let inputs = [
            Tensor::new([1, 2, 1, 2], &[0.0f32, 0.0, 0.5, 0.75]).expect("4"),
            Tensor::zeros(ElementType::F32, [1, 4, 1, 2]).expect("small"),
            Tensor::vector(&[6.0f32, 7.0, 1.0]),
        ];
        let outputs = run_all(op, &inputs).expect("fits");
        let floats = |i: usize| outputs[i].as_slice::<f32>().expect("f32").to_vec();
        (floats(0), floats(1))
    }

    #[test]
    fn cells_of_an_image() {
        let (boxes, scores) = run(&op(&[]));
        let end = [-1.0, 0.0, 0.0, 0.0, 0.0];
        // An anchor is 4 pixels wide: from 0 to 3, or half a pixel more when it is not cut.
        let second = [0.0, 4.0, 0.0, 6.0, 4.0];
        let first = [0.0, 0.0, 0.0, 4.0, 4.0];
        assert_eq!(boxes, [second, first, end].concat());
        assert_eq!(scores, [0.75, 0.5, 0.0]);
        let (boxes, _) = run(&op(&[
            ("min_size", "4"),
            ("normalize", "true"),
            ("post_nms_topn", "1"),
        ]));
        assert_eq!(boxes, [0.0, 0.0, 0.0, 4.0 / 7.0, 4.0 / 6.0]);
        let (boxes, _) = run(&op(&[
            ("clip_before_nms", "false"),
            ("clip_after_nms", "true"),
            ("post_nms_topn", "1"),
        ]));
        assert_eq!(boxes, [0.0, 4.0, 0.0, 7.0, 4.0]);
        // The cells stand above each other, and anchors around their corners.
        let (boxes, _) = run(&op(&[("framework", "tensorflow")]));
        assert_eq!(
            boxes,
            [[0.0, 0.0, 2.0, 2.0, 6.0], [0.0, 0.0, 0.0, 2.0, 2.0], end].concat()
        );
    }

    #[test]
    fn nothing_of_enormous_size() {
        let huge = 1 << 40;
        let inputs = [
            Tensor::zeros(ElementType::F32, [0, 2, huge, huge]).expect("nothing"),
            Tensor::zeros(ElementType::F32, [0, 4, huge, huge]).expect("nothing"),
            Tensor::vector(&[6.0f32, 7.0, 1.0]),
        ];
        let outputs = run_all(&op(&[]), &inputs).expect("fits");
        assert_eq!(outputs[0].shape().to_string(), "[0,5]");
    }

    #[test]
    fn shapes_and_required_attributes() {
        let shapes = ["..3,2,?,4", "2,4,5,?", "4"].map(shape);
        let inputs = shapes.each_ref().map(|s| Input::new(ElementType::F16, s));
        assert_eq!(infer_dims(&op(&[]), &inputs), "[6,5]");
        assert!(op(&[("ratio", "1,2")]).infer(&inputs).is_err());
        let missing = read::<Proposal>(&[]).expect_err("required").message;
        assert_eq!(missing, "attribute `base_size` is missing");
    }
}
