//! NMSRotated-13: of turned boxes that overlap only those of the best scores stay.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/nms-rotated-13.html>

use serde::{Deserialize, Serialize};

use super::suppression::{
    Selected, Sizes, check_numbers, index, infer_selected, join, most_of, most_per_class, number,
    put_selected, smaller,
};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_push};
use crate::kernel::suppression::rotated::Rotated;
use crate::kernel::suppression::{Scored, each_list, rank};
use crate::op::{
    Input, Io, Op, OpError, Outputs, bail, expect_index_type, expect_indices_fit, merge_types,
};
use crate::ops::floats::{in_real, real};
use crate::tensor::{ElementType, Tensor};

/// Suppression of turned boxes that overlap better ones.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct NmsRotated {
    sort_result_descending: bool,
    output_type: ElementType,
    /// Whether positive angles turn clockwise, seen with the second axis pointing down.
    clockwise: bool,
}

impl Default for NmsRotated {
    fn default() -> Self {
        Self {
            sort_result_descending: true,
            output_type: ElementType::I64,
            clockwise: true,
        }
    }
}

impl NmsRotated {
    fn rotated<T: Real>(&self, numbers: [T; 5]) -> Rotated {
        let [x, y, width, height, angle] = numbers.map(T::wide);
        let angle = if self.clockwise { angle } else { -angle };
        Rotated::new([x, y, width, height, angle])
    }

    fn select<T: Real>(&self, inputs: &[&Tensor]) -> Result<Vec<Selected<T>>, OpError> {
        let (boxes, scores) = (real::<T>(inputs[0])?, real::<T>(inputs[1])?);
        let &[batches, classes, count] = &scores.shape()[..] else {
            bail!("the scores must be 3-D, got shape {}", scores.shape());
        };
        expect_indices_fit(count.max(batches).max(classes), self.output_type)?;
        let most = most_of(inputs.get(2))?;
        let limit = number::<T>(inputs.get(3))?.wide();
        let lowest = number::<T>(inputs.get(4))?;
        if most == 0 || count == 0 {
            return Ok(Vec::new());
        }
        let (fives, _) = boxes.as_slice::<T>()?.as_chunks::<5>();
        let all = try_collect(fives.iter().map(|&five| self.rotated(five)))?;
        let scores = scores.as_slice::<T>()?;
        let lists = each_list(batches * classes, count, |list| {
            let boxes = &all[list / classes * count..][..count];
            let scores = scores[list * count..][..count].iter().copied();
            let ranked = rank(scores, |score| score >= lowest, usize::MAX)?;
            let mut kept: Vec<Scored<T>> = Vec::new();
            for scored in ranked {
                let one = &boxes[scored.index];
                if !kept
                    .iter()
                    .any(|better| one.iou(&boxes[better.index]) > limit)
                {
                    try_push(&mut kept, scored)?;
                }
                if kept.len() == most {
                    break;
                }
            }
            Ok(kept)
        })?;
        join(lists, classes, self.sort_result_descending)
    }
}

impl Op for NmsRotated {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [boxes, scores, most, _, _] = inputs else {
            bail!(
                "expected 5 inputs (boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold), got {}",
                inputs.len()
            );
        };
        expect_index_type("output_type", self.output_type)?;
        boxes.expect_float("the boxes")?;
        scores.expect_float("the scores")?;
        merge_types(&inputs[..2])?;
        check_numbers(inputs)?;
        let sizes = Sizes::of(boxes, scores, 5)?;
        let most = most_per_class(Some(most))?;
        let each = smaller(sizes.boxes, most) * sizes.batches * sizes.classes;
        Ok(infer_selected(self.output_type, each))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let selected = self.select::<T>(io.inputs)?;
            put_selected(&selected, io.outputs, self.output_type)
        })
    }

    fn allowed(&self, inputs: &[Input<'_>], input: usize) -> Option<(i64, i64)> {
        let [_, count, _] = inputs.first()?.dims::<3>("").ok()?;
        (input == 2).then(|| (0, index(count.min())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run_all;
    use crate::tensor::convert::to_i64;

    #[test]
    fn turns_both_ways() {
        // Two long boxes side by side overlap or not as they lean away from the axis or along it.
        let boxes = [[0.0f32, 0.0, 8.0, 1.0, 0.7], [2.0, 2.0, 8.0, 1.0, 0.7]];
        let inputs = [
            Tensor::new([1, 2, 5], boxes.as_flattened()).expect("two"),
            Tensor::new([1, 1, 2], &[0.5f32, 0.75]).expect("two"),
            Tensor::scalar(5i32),
            Tensor::scalar(0.2f32),
            Tensor::scalar(0.5f32),
        ];
        let boxes = |clockwise| {
            let op = NmsRotated {
                clockwise,
                ..NmsRotated::default()
            };
            let outputs = run_all(&op, &inputs).expect("fits");
            assert_eq!(to_i64(&outputs[2]), [outputs[0].shape()[0] as i64]);
            to_i64(&outputs[0])
        };
        assert_eq!(boxes(true), [0, 0, 1]);
        assert_eq!(boxes(false), [0, 0, 1, 0, 0, 0]);
    }
}
