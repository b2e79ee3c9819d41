//! ExperimentalDetectronGenerateProposalsSingleImage-6: the best boxes that deltas make of anchors.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/experimental-detectron-generate-proposals-single-image-6.html>
//!
//! Sides count the last pixel, save for the overlaps of suppression. Equal scores keep the order
//! of the anchors, and growth is limited to `1000 / 16`.

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, LARGEST_GROWTH};
use crate::kernel::proposals::{Grid, Refine, leave_best, suppress};
use crate::kernel::real::Real;
use crate::kernel::scratch::try_collect;
use crate::kernel::suppression::{Hard, Sides};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::Tensor;

/// The best boxes that deltas make of anchors.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct GenerateProposalsSingleImage {
    min_size: f32,
    nms_threshold: f32,
    post_nms_count: usize,
    pre_nms_count: usize,
}

impl GenerateProposalsSingleImage {
    fn run<T: Real>(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
        let [info, anchors] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?];
        let [deltas, scores] = [real::<T>(inputs[2])?, real::<T>(inputs[3])?];
        let &[height, width, _] = info.as_slice::<T>()? else {
            bail!("the image has {} numbers, expected 3", info.len());
        };
        let grid = Grid {
            cells: if scores.is_empty() {
                0
            } else {
                scores.shape()[1..].iter().product()
            },
            anchors: anchors.as_slice::<T>()?.as_chunks::<4>().0,
            deltas: deltas.as_slice()?,
            scores: scores.as_slice()?,
        };
        let refine = Refine {
            pixel: T::one(),
            most: T::of(LARGEST_GROWTH.ln()),
        };
        let smallest = T::of(self.min_size.into());
        let mut proposals = grid.boxes(refine, [width, height])?;
        proposals.retain(|p| refine.is_large(p.corners, [smallest; 2]));
        leave_best(&mut proposals, self.pre_nms_count);
        let hard = Hard {
            most: self.post_nms_count,
            limit: T::of(self.nms_threshold.into()),
            eta: T::one(),
        };
        let kept = try_collect(suppress(&proposals, Sides::Continuous, hard)?)?;
        let [rois, roi_scores] = outputs else {
            bail!("expected 2 outputs, got {}", outputs.len());
        };
        fill(rois, |out: &mut [T]| {
            out.fill(T::zero());
            for (row, p) in out.chunks_exact_mut(4).zip(&kept) {
                row.copy_from_slice(&p.corners);
            }
            Ok(())
        })?;
        fill(roi_scores, |out: &mut [T]| {
            out.fill(T::zero());
            for (score, p) in out.iter_mut().zip(&kept) {
                *score = p.scored.score;
            }
            Ok(())
        })
    }
}

impl Op for GenerateProposalsSingleImage {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [info, anchors, deltas, scores] = inputs else {
            bail!(
                "expected 4 inputs (im_info, anchors, deltas, scores), got {}",
                inputs.len()
            );
        };
        info.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [numbers] = info.dims("im_info")?;
        ensure!(
            numbers.contains(3),
            "im_info must have 3 numbers, got shape {}",
            info.shape
        );
        let [count, width] = anchors.dims("the anchors")?;
        let [delta_channels, delta_height, delta_width] = deltas.dims("the deltas")?;
        let [channels, score_height, score_width] = scores.dims("the scores")?;
        Anchors {
            channels,
            deltas: [delta_channels, delta_height, delta_width],
            scores: [score_height, score_width],
            count,
            numbers: width,
        }
        .check()?;
        Ok(smallvec::smallvec![
            Output::new(ty, [self.post_nms_count, 4]),
            Output::new(ty, [self.post_nms_count]),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, io.outputs))
    }
}
