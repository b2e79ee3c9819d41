//! MatrixNms-8: the scores of boxes fall by their overlaps with all better boxes of their class.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/matrix-non-max-suppression-8.html>
//!
//! The document calls the operation MatrixNonMaxSuppression and the attribute `sort_result`.

use serde::{Deserialize, Serialize};

use super::multiclass::{Arrangement, Picked, SortResult};
use super::suppression::{Sizes, limit};
use crate::kernel::real::Real;
use crate::kernel::suppression::{Decay, Sides, rank};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, expect_index_type, merge_types};
use crate::ops::floats::in_real;
use crate::tensor::{ElementType, Tensor};

/// How scores fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum DecayFunction {
    #[default]
    Linear,
    Gaussian,
}

/// Suppression by the overlaps with all better boxes at once.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MatrixNms {
    #[serde(alias = "sort_result")]
    sort_result_type: SortResult,
    sort_result_across_batch: bool,
    output_type: ElementType,
    score_threshold: f32,
    nms_top_k: i64,
    keep_top_k: i64,
    background_class: i64,
    normalized: bool,
    decay_function: DecayFunction,
    gaussian_sigma: f32,
    post_threshold: f32,
}

impl Default for MatrixNms {
    fn default() -> Self {
        Self {
            sort_result_type: SortResult::default(),
            sort_result_across_batch: false,
            output_type: ElementType::I64,
            score_threshold: 0.0,
            nms_top_k: -1,
            keep_top_k: -1,
            background_class: -1,
            normalized: true,
            decay_function: DecayFunction::default(),
            gaussian_sigma: 2.0,
            post_threshold: 0.0,
        }
    }
}

impl MatrixNms {
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

    /// The boxes that stay, batch by batch.
    fn select<T: Real>(&self, inputs: &[&Tensor]) -> Result<Vec<Vec<Picked<T>>>, OpError> {
        let sides = if self.normalized {
            Sides::Continuous
        } else {
            Sides::SeparatePixels
        };
        let decay = match self.decay_function {
            DecayFunction::Linear => Decay::Linear,
            DecayFunction::Gaussian => Decay::Gaussian(T::of(self.gaussian_sigma.into())),
        };
        let lowest = T::of(self.score_threshold.into());
        let last = T::of(self.post_threshold.into());
        self.arrangement().select(inputs, sides, |boxes, scores| {
            let scores = scores.iter().copied();
            let ranked = rank(scores, |score| score > lowest, limit(self.nms_top_k))?;
            decay.keep(boxes, &ranked, last)
        })
    }
}

impl Op for MatrixNms {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [boxes, scores] = inputs else {
            bail!("expected 2 inputs (boxes, scores), got {}", inputs.len());
        };
        expect_index_type("output_type", self.output_type)?;
        boxes.expect_float("the boxes")?;
        let ty = merge_types(inputs)?;
        let sizes = Sizes::of(boxes, scores, 4)?;
        Ok(self.arrangement().infer(ty, sizes))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let batches = self.select::<T>(io.inputs)?;
            self.arrangement().put(batches, io.outputs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run_all, shape};
    use crate::tensor::convert::to_i64;

    fn inputs() -> [Tensor; 2] {
        let one = [
            0.0f32, 0.0, 2.0, 2.0, 0.0, 0.0, 1.0, 2.0, 5.0, 5.0, 6.0, 6.0,
        ];
        let scores = [
            0.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, // no box in the first batch
            0.5, 0.25, 0.75, 0.875, 0.5, 0.5,
        ];
        [
            Tensor::new([2, 3, 4], &[one, one].concat()).expect("24"),
            Tensor::new([2, 2, 3], &scores).expect("12"),
        ]
    }

    fn run(op: &MatrixNms) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
        let outputs = run_all(op, &inputs()).expect("fits");
        let rows = outputs[0].as_slice::<f32>().expect("f32").chunks(6);
        let classes = rows.map(|row| row[0] as i64).collect();
        (classes, to_i64(&outputs[1]), to_i64(&outputs[2]))
    }

    #[test]
    fn orders() {
        let op = MatrixNms::default();
        assert_eq!(
            run(&op),
            (vec![1, 0, 0, 1, 1, 0], vec![3, 5, 3, 5, 4, 4], vec![0, 6])
        );
        let by_class = MatrixNms {
            sort_result_type: SortResult::Classid,
            keep_top_k: 4,
            ..op.clone()
        };
        assert_eq!(
            run(&by_class),
            (vec![0, 0, 1, 1], vec![5, 3, 3, 5], vec![0, 4])
        );
        let background = MatrixNms {
            background_class: 1,
            nms_top_k: 2,
            ..op.clone()
        };
        assert_eq!(run(&background), (vec![0, 0], vec![5, 3], vec![0, 2]));
        let nothing = MatrixNms { nms_top_k: 0, ..op };
        assert_eq!(run(&nothing), (vec![], vec![], vec![0, 0]));
    }

    #[test]
    fn bounds() {
        let (boxes, scores) = (shape("2,..9,4"), shape("?,5,3..7"));
        let inputs = [
            Input::new(ElementType::F16, &boxes),
            Input::new(ElementType::Dynamic, &scores),
        ];
        let mut op = MatrixNms::default();
        assert_eq!(infer_dims(&op, &inputs), "[..70,6]");
        op.background_class = 4;
        assert_eq!(infer_dims(&op, &inputs), "[..56,6]");
        op.nms_top_k = 3;
        assert_eq!(infer_dims(&op, &inputs), "[..24,6]");
        op.keep_top_k = 10;
        assert_eq!(infer_dims(&op, &inputs), "[..20,6]");
    }
}
