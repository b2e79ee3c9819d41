//! MulticlassNms-8, -9: in each class, of boxes that overlap only those of the best scores stay.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/multiclass-non-max-suppression-9.html>
//!
//! Version 9 has a second form, with the number of boxes of each image as a third input: the boxes
//! of all images stand in one list, and each class has its own. An index is then that of the box
//! in the list times the number of classes plus the class. The document calls the operation
//! MulticlassNonMaxSuppression and the attribute `sort_result`.

use serde::{Deserialize, Serialize};

use super::multiclass::{Arrangement, Picked, SortResult, joined, picked};
use super::suppression::{Sizes, limit};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect_ok, try_vec};
use crate::kernel::suppression::{Boxes, Hard, Scored, Sides, each_list, rank};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Outputs, ReadResult, attrs, bail, ensure, expect_index_type,
    expect_indices_fit, merge_types, same_dimension,
};
use crate::ops::floats::{in_real, real};
use crate::tensor::convert::try_i64;
use crate::tensor::{ElementType, Tensor};

/// Suppression of boxes that overlap better ones of their class.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MulticlassNms {
    #[serde(alias = "sort_result")]
    sort_result_type: SortResult,
    sort_result_across_batch: bool,
    output_type: ElementType,
    iou_threshold: f32,
    score_threshold: f32,
    nms_top_k: i64,
    keep_top_k: i64,
    background_class: i64,
    normalized: bool,
    nms_eta: f32,
    /// Whether the boxes may stand in one list.
    #[serde(skip)]
    lists: bool,
}

impl Default for MulticlassNms {
    fn default() -> Self {
        Self {
            sort_result_type: SortResult::default(),
            sort_result_across_batch: false,
            output_type: ElementType::I64,
            iou_threshold: 0.0,
            score_threshold: 0.0,
            nms_top_k: -1,
            keep_top_k: -1,
            background_class: -1,
            normalized: true,
            nms_eta: 1.0,
            lists: true,
        }
    }
}

/// Reads MulticlassNms-8.
pub(super) fn read_8(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<MulticlassNms>(layer.attributes)?;
    let lists = false;
    Ok((Box::new(MulticlassNms { lists, ..op }), unknown))
}

/// The sizes when the boxes of all images stand in one list.
fn sizes_of_lists(
    boxes: &Input<'_>,
    scores: &Input<'_>,
    roisnum: &Input<'_>,
) -> Result<Sizes, OpError> {
    let [classes, count, numbers] = boxes.dims("the boxes")?;
    let [score_classes, score_count] = scores.dims("the scores")?;
    let [batches] = roisnum.dims("roisnum")?;
    roisnum.expect_integer("roisnum")?;
    ensure!(
        numbers.contains(4),
        "a box must have 4 numbers, got shape {}",
        boxes.shape
    );
    Ok(Sizes {
        batches,
        classes: same_dimension(classes, score_classes, "classes of boxes and scores")?,
        boxes: same_dimension(count, score_count, "numbers of boxes and scores")?,
    })
}

/// Where the boxes of each image start in the list, and how many they are.
fn images(roisnum: &Tensor, count: usize) -> Result<Vec<(usize, usize)>, OpError> {
    let mut start = 0usize;
    let lengths = try_i64(roisnum)?.into_iter().enumerate();
    try_collect_ok(lengths.map(|(image, length)| {
        let first = start;
        let Ok(length) = usize::try_from(length) else {
            bail!("image {image} has {length} boxes");
        };
        start = start.saturating_add(length);
        ensure!(
            start <= count,
            "the images up to {image} have {start} boxes, there are {count}"
        );
        Ok::<_, OpError>((first, length))
    }))
}

impl MulticlassNms {
    fn arrangement(&self) -> Arrangement {
        Arrangement {
            sort: self.sort_result_type,
            across: self.sort_result_across_batch,
            nms_top_k: self.nms_top_k,
            keep_top_k: self.keep_top_k,
            background_class: self.background_class,
            output_type: self.output_type,
        }
    }

    fn sides(&self) -> Sides {
        if self.normalized {
            Sides::Continuous
        } else {
            Sides::Pixels
        }
    }

    /// The boxes of one class of one image that stay.
    fn keep<T: Real>(&self, boxes: &Boxes<T>, scores: &[T]) -> Result<Vec<Scored<T>>, OpError> {
        let lowest = T::of(self.score_threshold.into());
        let ranked = rank(
            scores.iter().copied(),
            |score| score >= lowest,
            limit(self.nms_top_k),
        )?;
        let hard = Hard {
            most: usize::MAX,
            limit: T::of(self.iou_threshold.into()),
            eta: T::of(self.nms_eta.into()),
        };
        hard.keep(boxes, &ranked)
    }

    /// The boxes that stay, image by image, when the boxes of all images stand in one list.
    fn select_of_lists<T: Real>(&self, inputs: &[&Tensor]) -> Result<Vec<Vec<Picked<T>>>, OpError> {
        let (boxes, scores) = (real::<T>(inputs[0])?, real::<T>(inputs[1])?);
        let &[classes, count] = &scores.shape()[..] else {
            bail!("the scores must be 2-D, got shape {}", scores.shape());
        };
        expect_indices_fit(classes.saturating_mul(count), self.output_type)?;
        let images = images(inputs[2], count)?;
        if count == 0 || classes == 0 {
            return try_vec(Vec::new(), images.len());
        }
        let (quads, _) = boxes.as_slice::<T>()?.as_chunks::<4>();
        let scores = scores.as_slice::<T>()?;
        let lists = each_list(images.len() * classes, count, |list| {
            let (batch, class) = (list / classes, list % classes);
            if self.arrangement().is_background(class) {
                return Ok(Vec::new());
            }
            let (first, length) = images[batch];
            let at = class * count + first;
            let mut boxes = Boxes::new(self.sides(), length)?;
            quads[at..][..length].iter().for_each(|&q| boxes.push(q));
            let kept = self.keep(&boxes, &scores[at..][..length])?;
            let place = |index| (first + index) * classes + class;
            picked(batch, class, kept, &boxes, place)
        })?;
        joined(&lists, classes)
    }
}

impl Op for MulticlassNms {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_index_type("output_type", self.output_type)?;
        let sizes = match inputs {
            [boxes, scores] => Sizes::of(boxes, scores, 4)?,
            [boxes, scores, roisnum] if self.lists => sizes_of_lists(boxes, scores, roisnum)?,
            _ if self.lists => bail!(
                "expected 2 or 3 inputs (boxes, scores, roisnum), got {}",
                inputs.len()
            ),
            _ => bail!("expected 2 inputs (boxes, scores), got {}", inputs.len()),
        };
        inputs[0].expect_float("the boxes")?;
        let ty = merge_types(&inputs[..2])?;
        Ok(self.arrangement().infer(ty, sizes))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let batches = match io.inputs {
                [_, _] => {
                    let keep = |boxes: &Boxes<T>, scores: &[T]| self.keep(boxes, scores);
                    self.arrangement().select(io.inputs, self.sides(), keep)?
                }
                _ => self.select_of_lists::<T>(io.inputs)?,
            };
            self.arrangement().put(batches, io.outputs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run_all;
    use crate::tensor::convert::to_i64;

    fn op() -> MulticlassNms {
        MulticlassNms {
            iou_threshold: 0.5,
            ..MulticlassNms::default()
        }
    }

    /// Classes and indices of the boxes selected, and their numbers.
    fn run(op: &MulticlassNms, inputs: &[Tensor]) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
        let outputs = run_all(op, inputs).expect("fits");
        let rows = outputs[0].as_slice::<f32>().expect("f32").chunks(6);
        let classes = rows.map(|row| row[0] as i64).collect();
        (classes, to_i64(&outputs[1]), to_i64(&outputs[2]))
    }

    #[test]
    fn boxes_of_images_in_one_list() {
        let quads = [
            0.0f32, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 1.9, 0.0, 0.0, 2.0, 2.0, //
            0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 9.0, 9.0, 10.0, 10.0,
        ];
        let scores = [0.5f32, 0.75, 0.25, 0.5, 0.875, 1.0];
        let inputs = |counts: &[i32]| {
            [
                Tensor::new([2, 3, 4], &quads).expect("24"),
                Tensor::new([2, 3], &scores).expect("6"),
                Tensor::vector(counts),
            ]
        };
        let by_class = MulticlassNms {
            sort_result_type: SortResult::Classid,
            ..op()
        };
        assert_eq!(
            run(&by_class, &inputs(&[2, 0, 1])),
            (vec![0, 1, 1, 0, 1], vec![2, 3, 1, 4, 5], vec![3, 0, 2])
        );
        for wrong in [&[2, 2][..], &[-1], &[i32::MAX, i32::MAX]] {
            assert!(run_all(&op(), &inputs(wrong)).is_err(), "{wrong:?}");
        }
        let eight = MulticlassNms {
            lists: false,
            ..op()
        };
        assert!(run_all(&eight, &inputs(&[3])).is_err());
    }

    #[test]
    fn the_limit_falls() {
        // Each box overlaps the one before by 0.6, the one before that by 1/3.
        let quads: Vec<f32> = (0..3u8)
            .flat_map(|i| [f32::from(i), 0.0, f32::from(i) + 4.0, 1.0])
            .collect();
        let inputs = [
            Tensor::new([1, 3, 4], &quads).expect("12"),
            Tensor::new([1, 1, 3], &[0.75f32, 0.5, 0.25]).expect("3"),
        ];
        let kept = |nms_eta, iou_threshold| {
            let op = MulticlassNms {
                nms_eta,
                iou_threshold,
                ..op()
            };
            run(&op, &inputs).1
        };
        assert_eq!(kept(1.0, 0.7), [0, 1, 2]);
        assert_eq!(kept(0.9, 0.7), [0, 1]);
        assert_eq!(kept(0.5, 0.7), [0, 2]);
    }
}
