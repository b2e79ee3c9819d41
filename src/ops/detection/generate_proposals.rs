//! GenerateProposals-9: the best boxes that deltas make of anchors, for each image of a batch.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/generate-proposals-9.html>
//!
//! The smallest size is multiplied by the scale of the image. Equal scores keep the order of the
//! anchors, growth is limited to `1000 / 16`, and the threshold falls as that of MulticlassNms.

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, LARGEST_GROWTH};
use crate::kernel::proposals::{Grid, Proposal, Refine, leave_best, suppress};
use crate::kernel::real::Real;
use crate::kernel::scratch::try_collect;
use crate::kernel::suppression::{Hard, Sides, each_list};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, merge_types,
    same_dimension,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, Tensor};

/// The best boxes that deltas make of anchors, for each image.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct GenerateProposals {
    min_size: f32,
    nms_threshold: f32,
    post_nms_count: usize,
    pre_nms_count: usize,
    #[serde(default = "yes")]
    normalized: bool,
    #[serde(default = "one")]
    nms_eta: f32,
    #[serde(default = "index_type")]
    roi_num_type: ElementType,
}

fn yes() -> bool {
    true
}

fn one() -> f32 {
    1.0
}

fn index_type() -> ElementType {
    ElementType::I64
}

impl GenerateProposals {
    /// The boxes of one image: `info` holds height, width, and one scale or two.
    fn image<T: Real>(&self, info: &[T], grid: &Grid<'_, T>) -> Result<Vec<Proposal<T>>, OpError> {
        let (pixel, sides) = if self.normalized {
            (T::zero(), Sides::Continuous)
        } else {
            (T::one(), Sides::SeparatePixels)
        };
        let refine = Refine {
            pixel,
            most: T::of(LARGEST_GROWTH.ln()),
        };
        let (height, width, scale) = (info[0], info[1], info[2]);
        let smallest = T::of(self.min_size.into());
        let scales = [info.get(3).copied().unwrap_or(scale), scale];
        let mut proposals = grid.boxes(refine, [width, height])?;
        leave_best(&mut proposals, self.pre_nms_count);
        proposals.retain(|p| refine.is_large(p.corners, scales.map(|scale| scale * smallest)));
        let hard = Hard {
            most: self.post_nms_count,
            limit: T::of(self.nms_threshold.into()),
            eta: T::of(self.nms_eta.into()),
        };
        try_collect(suppress(&proposals, sides, hard)?.copied())
    }

    fn run<T: Real>(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
        let [info, anchors] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?];
        let [deltas, scores] = [real::<T>(inputs[2])?, real::<T>(inputs[3])?];
        let (batches, numbers) = (info.shape()[0], info.shape()[1]);
        let count = scores.len() / batches.max(1);
        let cells = if count == 0 {
            0
        } else {
            scores.shape()[2..].iter().product()
        };
        let anchors = anchors.as_slice::<T>()?.as_chunks::<4>().0;
        let [info, deltas, scores] = [&info, &deltas, &scores].map(|t| t.as_slice::<T>());
        let (info, deltas, scores) = (info?, deltas?, scores?);
        let images: Vec<Vec<Proposal<T>>> = each_list(batches, count, |image| {
            let grid = Grid {
                cells,
                anchors,
                deltas: &deltas[image * count * 4..][..count * 4],
                scores: &scores[image * count..][..count],
            };
            self.image(&info[image * numbers..][..numbers], &grid)
        })?;
        let all = try_collect(images.iter().flatten().copied())?;
        let ty = outputs[0].element_type();
        let mut rois = Tensor::zeros(ty, [all.len(), 4])?;
        fill(&mut rois, |out: &mut [T]| {
            for (row, p) in out.chunks_exact_mut(4).zip(&all) {
                row.copy_from_slice(&p.corners);
            }
            Ok(())
        })?;
        let mut roi_scores = Tensor::zeros(ty, [all.len()])?;
        fill(&mut roi_scores, |out: &mut [T]| {
            for (score, p) in out.iter_mut().zip(&all) {
                *score = p.scored.score;
            }
            Ok(())
        })?;
        #[allow(clippy::cast_possible_wrap)] // no size is that large
        let counts = try_collect(images.iter().map(|image| image.len() as i64))?;
        outputs[0] = rois;
        outputs[1] = roi_scores;
        outputs[2] = convert(&Tensor::new([counts.len()], &counts)?, self.roi_num_type)?;
        Ok(())
    }
}

impl Op for GenerateProposals {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [info, anchors, deltas, scores] = inputs else {
            bail!(
                "expected 4 inputs (im_info, anchors, boxesdeltas, scores), got {}",
                inputs.len()
            );
        };
        expect_index_type("roi_num_type", self.roi_num_type)?;
        info.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [batches, numbers] = info.dims("im_info")?;
        ensure!(
            numbers.contains(3) || numbers.contains(4),
            "im_info must have 3 or 4 numbers an image, got shape {}",
            info.shape
        );
        let [height, width, channels, four] = anchors.dims("the anchors")?;
        let [delta_batches, delta_channels, delta_height, delta_width] =
            deltas.dims("the deltas")?;
        let [score_batches, score_channels, score_height, score_width] =
            scores.dims("the scores")?;
        let what = "batches of im_info, deltas and scores";
        let batches = same_dimension(batches, delta_batches, what)?;
        let batches = same_dimension(batches, score_batches, what)?;
        let channels = same_dimension(channels, score_channels, "channels of anchors and scores")?;
        let height = same_dimension(height, score_height, "heights of anchors and scores")?;
        let width = same_dimension(width, score_width, "widths of anchors and scores")?;
        let count = height * width * channels;
        Anchors {
            channels,
            deltas: [delta_channels, delta_height, delta_width],
            scores: [height, width],
            count,
            numbers: four,
        }
        .check()?;
        let each = self.post_nms_count.min(self.pre_nms_count);
        let each = count.max().map_or(each, |count| count.min(each));
        let most = batches * Dimension::fixed(each);
        let rows = Dimension::range(0, most.max());
        Ok(smallvec::smallvec![
            Output::new(ty, [rows, Dimension::fixed(4)].as_slice()),
            Output::new(ty, [rows].as_slice()),
            Output::new(self.roi_num_type, [batches].as_slice()),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, io.outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run_all, shape};
    use crate::tensor::convert::to_i64;

    fn op() -> GenerateProposals {
        GenerateProposals {
            min_size: 1.0,
            nms_threshold: 0.5,
            post_nms_count: 5,
            pre_nms_count: 9,
            normalized: true,
            nms_eta: 1.0,
            roi_num_type: ElementType::I32,
        }
    }

    #[test]
    fn two_images() {
        let anchors = [
            0.0f32, 0.0, 4.0, 4.0, 0.0, 0.0, 4.0, 3.0, 6.0, 6.0, 9.0, 9.0, 5.0, 0.0, 6.0, 0.5,
        ];
        let inputs = [
            Tensor::new([2, 3], &[8.0f32, 8.0, 1.0, 9.0, 9.0, 3.0]).expect("6"),
            Tensor::new([1, 2, 2, 4], &anchors).expect("16"),
            Tensor::zeros(ElementType::F32, [2, 8, 1, 2]).expect("small"),
            // By channel, then by cell.
            Tensor::new(
                [2, 2, 1, 2],
                &[0.5f32, 0.25, 0.75, 1.0, 0.5, 0.25, 0.75, 1.0],
            )
            .expect("8"),
        ];
        let outputs = run_all(&op(), &inputs).expect("fits");
        let rois = outputs[0].as_slice::<f32>().expect("f32");
        let expected = [
            0.0f32, 0.0, 4.0, 3.0, 6.0, 6.0, 8.0, 8.0, 0.0, 0.0, 4.0, 3.0, 6.0, 6.0, 9.0, 9.0,
        ];
        assert_eq!(rois, expected);
        let scores = outputs[1].as_slice::<f32>().expect("f32");
        assert_eq!(scores, [0.75, 0.25, 0.75, 0.25]);
        assert_eq!(to_i64(&outputs[2]), [2, 2]);
        let one = GenerateProposals {
            pre_nms_count: 1,
            ..op()
        };
        assert_eq!(to_i64(&run_all(&one, &inputs).expect("fits")[2]), [0, 0]);
    }

    #[test]
    fn nothing_of_enormous_size() {
        let huge = 1 << 40;
        let nothing = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("nothing");
        let inputs = [
            nothing(&[0, 3]),
            nothing(&[huge, huge, 0, 4]),
            nothing(&[0, 0, huge, huge]),
            nothing(&[0, 0, huge, huge]),
        ];
        let outputs = run_all(&op(), &inputs).expect("fits");
        assert_eq!(outputs[2].shape().to_string(), "[0]");
    }

    #[test]
    fn bounds() {
        let shapes = ["..3,3", "2,?,3,4", "3,12,2,5..6", "..."].map(shape);
        let inputs: Vec<_> = shapes
            .iter()
            .map(|s| Input::new(ElementType::F16, s))
            .collect();
        assert_eq!(infer_dims(&op(), &inputs), "[..15,4]");
        let wrong = shape("3,8,2,5");
        let inputs = [
            inputs[0].clone(),
            inputs[1].clone(),
            Input::new(ElementType::F16, &wrong),
            inputs[3].clone(),
        ];
        assert!(op().infer(&inputs).is_err());
    }
}
