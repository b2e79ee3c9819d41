//! ExperimentalDetectronDetectionOutput-6: the best boxes of each class, moved by deltas.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/experimental-detectron-detection-output-6.html>
//!
//! Class 0 is the background, and left out whatever `class_agnostic_box_regression` says. Boxes
//! come class by class; if there are too many, by score. Rows without a box are zeros.

use serde::{Deserialize, Serialize};

use crate::kernel::proposals::{Refine, clip};
use crate::kernel::real::Real;
use crate::kernel::scratch::try_collect;
use crate::kernel::suppression::{Boxes, Hard, Scored, Sides, each_list, highest_first, rank};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types, same_dimension,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, ElementType, Tensor};

/// The best boxes of each class, moved by deltas.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct DetectronDetectionOutput {
    score_threshold: f32,
    nms_threshold: f32,
    max_delta_log_wh: f32,
    num_classes: usize,
    post_nms_count: usize,
    max_detections_per_image: usize,
    #[serde(default)]
    class_agnostic_box_regression: bool,
    deltas_weights: Vec<f32>,
}

/// A box found.
struct Found<T> {
    class: usize,
    corners: [T; 4],
    scored: Scored<T>,
}

impl DetectronDetectionOutput {
    fn weights<T: Real>(&self) -> Result<[T; 4], OpError> {
        let &[x, y, w, h] = self.deltas_weights.as_slice() else {
            bail!(
                "deltas_weights has {} numbers, expected 4",
                self.deltas_weights.len()
            );
        };
        Ok([x, y, w, h].map(|weight| T::of(weight.into())))
    }

    fn find<T: Real>(&self, inputs: &[&Tensor]) -> Result<Vec<Found<T>>, OpError> {
        let [rois, deltas] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?];
        let [scores, info] = [real::<T>(inputs[2])?, real::<T>(inputs[3])?];
        let [height, width, ..] = *info.as_slice::<T>()? else {
            bail!("the image has {} numbers, expected 3", info.len());
        };
        let rois = rois.as_slice::<T>()?.as_chunks::<4>().0;
        let deltas = deltas.as_slice::<T>()?.as_chunks::<4>().0;
        let scores = scores.as_slice::<T>()?;
        let (classes, weights) = (self.num_classes, self.weights::<T>()?);
        let refine = Refine {
            pixel: T::one(),
            most: T::of(self.max_delta_log_wh.into()),
        };
        let last = [width - T::one(), height - T::one()];
        let lowest = T::of(self.score_threshold.into());
        let hard = Hard {
            most: self.post_nms_count,
            limit: T::of(self.nms_threshold.into()),
            eta: T::one(),
        };
        if rois.is_empty() {
            return Ok(Vec::new());
        }
        let lists = each_list(classes.saturating_sub(1), rois.len(), |list| {
            let class = list + 1;
            let mut boxes = Boxes::new(Sides::SeparatePixels, rois.len())?;
            for (roi, deltas) in rois.iter().zip(deltas.chunks_exact(classes)) {
                let mut deltas = deltas[class];
                deltas.iter_mut().zip(weights).for_each(|(d, w)| *d /= w);
                boxes.push(clip(refine.corners(*roi, deltas), last));
            }
            // A region without area has no boxes.
            let of_class = rois.iter().zip(scores.chunks_exact(classes));
            let of_class = of_class.map(|(&[x0, y0, x1, y1], scores)| {
                if x1 > x0 && y1 > y0 {
                    scores[class]
                } else {
                    T::nan()
                }
            });
            let ranked = rank(of_class, |score| score > lowest, usize::MAX)?;
            let kept = hard.keep(&boxes, &ranked)?.into_iter();
            let found = kept.map(|scored| Found {
                class,
                corners: boxes.corners(scored.index),
                scored,
            });
            try_collect(found)
        })?;
        let mut all: Vec<Found<T>> = try_collect(lists.into_iter().flatten())?;
        if all.len() > self.max_detections_per_image {
            all.sort_unstable_by(|a, b| {
                highest_first(a.scored.score, b.scored.score)
                    .then(a.scored.index.cmp(&b.scored.index))
                    .then(a.class.cmp(&b.class))
            });
            all.truncate(self.max_detections_per_image);
        }
        Ok(all)
    }

    fn put<T: Real>(found: &[Found<T>], outputs: &mut [Tensor]) -> Result<(), OpError> {
        let [boxes, classes, scores] = outputs else {
            bail!("expected 3 outputs, got {}", outputs.len());
        };
        fill(boxes, |out: &mut [T]| {
            out.fill(T::zero());
            for (row, found) in out.chunks_exact_mut(4).zip(found) {
                row.copy_from_slice(&found.corners);
            }
            Ok(())
        })?;
        let classes = classes.as_mut_slice::<i32>()?;
        classes.fill(0);
        for (class, found) in classes.iter_mut().zip(found) {
            // There are as many columns of scores.
            *class = i32::try_from(found.class).unwrap_or(i32::MAX);
        }
        fill(scores, |out: &mut [T]| {
            out.fill(T::zero());
            for (score, found) in out.iter_mut().zip(found) {
                *score = found.scored.score;
            }
            Ok(())
        })
    }
}

impl Op for DetectronDetectionOutput {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [rois, deltas, scores, info] = inputs else {
            bail!(
                "expected 4 inputs (rois, deltas, scores, im_info), got {}",
                inputs.len()
            );
        };
        self.weights::<f32>()?;
        rois.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [count, numbers] = rois.dims("the rois")?;
        let [delta_count, delta_columns] = deltas.dims("the deltas")?;
        let [score_count, score_columns] = scores.dims("the scores")?;
        let [images, image_numbers] = info.dims("im_info")?;
        ensure!(
            numbers.contains(4),
            "a roi must have 4 numbers, got shape {}",
            rois.shape
        );
        ensure!(
            images.contains(1) && image_numbers.contains(3),
            "im_info must have shape [1,3], got {}",
            info.shape
        );
        let count = same_dimension(count, delta_count, "numbers of rois and deltas")?;
        same_dimension(count, score_count, "numbers of rois and scores")?;
        let classes = Dimension::fixed(self.num_classes);
        same_dimension(score_columns, classes, "columns of scores and num_classes")?;
        let four = classes * Dimension::fixed(4);
        same_dimension(delta_columns, four, "columns of deltas and 4 * num_classes")?;
        let rows = self.max_detections_per_image;
        Ok(smallvec::smallvec![
            Output::new(ty, [rows, 4]),
            Output::new(ElementType::I32, [rows]),
            Output::new(ty, [rows]),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let found = self.find::<T>(io.inputs)?;
            Self::put(&found, io.outputs)
        })
    }
}
