//! NonMaxSuppression-1, -3, -4, -5, -9: of boxes that overlap only those of the best scores stay.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/non-max-suppression-9.html>
//!
//! Versions 1, 3 and 4 have one output of a fixed size, filled up with -1; it holds
//! `min(boxes, max_output_boxes_per_class * classes)` rows (what is more is cut off), in version 4
//! `min(boxes, max_output_boxes_per_class)` for each class of each batch. Version 1 has no
//! `output_type`. Versions 5 and 9 give as many rows as there are, and suppress softly if told a
//! sigma: in version 5 boxes that overlap by more than the threshold go all the same.

use serde::{Deserialize, Serialize};

use super::suppression::{
    Selected, Sizes, check_numbers, index, indices, infer_selected, join, most_of, most_per_class,
    number, put_selected, smaller, triples,
};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_collect_ok};
use crate::kernel::suppression::{Boxes, Hard, Sides, Soft, each_list, rank};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    expect_index_type, expect_indices_fit, merge_types,
};
use crate::ops::floats::{in_real, real};
use crate::tensor::{Dimension, ElementType, Tensor};

/// What the numbers of a box are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum BoxEncoding {
    /// Two opposite corners.
    #[default]
    Corner,
    /// The center, width and height.
    Center,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Version {
    One,
    Three,
    Four,
    Five,
    #[default]
    Nine,
}

/// Suppression of boxes that overlap better ones.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct NonMaxSuppression {
    box_encoding: BoxEncoding,
    sort_result_descending: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_type: Option<ElementType>,
    #[serde(skip)]
    version: Version,
}

impl Default for NonMaxSuppression {
    fn default() -> Self {
        Self {
            box_encoding: BoxEncoding::default(),
            sort_result_descending: true,
            output_type: Some(ElementType::I64),
            version: Version::default(),
        }
    }
}

fn read(layer: &LayerData<'_>, version: Version) -> ReadResult {
    let (op, mut unknown) = attrs::read::<NonMaxSuppression>(layer.attributes)?;
    let mut output_type = op.output_type;
    if version == Version::One {
        unknown.extend(
            layer
                .attributes
                .iter()
                .position(|a| a.name == "output_type"),
        );
        output_type = None;
    }
    let op = NonMaxSuppression {
        version,
        output_type,
        ..op
    };
    Ok((Box::new(op), unknown))
}

/// Reads NonMaxSuppression-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    read(layer, Version::One)
}

/// Reads NonMaxSuppression-3.
pub(super) fn read_3(layer: &LayerData<'_>) -> ReadResult {
    read(layer, Version::Three)
}

/// Reads NonMaxSuppression-4.
pub(super) fn read_4(layer: &LayerData<'_>) -> ReadResult {
    read(layer, Version::Four)
}

/// Reads NonMaxSuppression-5.
pub(super) fn read_5(layer: &LayerData<'_>) -> ReadResult {
    read(layer, Version::Five)
}

impl NonMaxSuppression {
    fn output_type(&self) -> ElementType {
        self.output_type.unwrap_or(ElementType::I64)
    }

    /// Whether the output has as many rows as boxes stay, and a sigma may be given.
    fn is_exact(&self) -> bool {
        matches!(self.version, Version::Five | Version::Nine)
    }

    /// The box as `[min, min, max, max]`.
    fn corners<T: Real>(&self, [a, b, c, d]: [T; 4]) -> [T; 4] {
        match self.box_encoding {
            BoxEncoding::Corner => [a.min(c), b.min(d), a.max(c), b.max(d)],
            BoxEncoding::Center => {
                let (w, h) = (c / T::of(2.0), d / T::of(2.0));
                [a - w, b - h, a + w, b + h]
            }
        }
    }

    fn select<T: Real>(&self, inputs: &[&Tensor]) -> Result<Vec<Selected<T>>, OpError> {
        let (boxes, scores) = (real::<T>(inputs[0])?, real::<T>(inputs[1])?);
        let &[batches, classes, count] = &scores.shape()[..] else {
            bail!("the scores must be 3-D, got shape {}", scores.shape());
        };
        expect_indices_fit(count.max(batches).max(classes), self.output_type())?;
        let most = most_of(inputs.get(2))?;
        let limit = number::<T>(inputs.get(3))?;
        let lowest = number::<T>(inputs.get(4))?;
        let sigma = number::<T>(inputs.get(5))?;
        ensure!(
            sigma >= T::zero(),
            "soft_nms_sigma is {sigma:?}, expected 0 or more"
        );
        if most == 0 || count == 0 {
            return Ok(Vec::new());
        }
        let (quads, _) = boxes.as_slice::<T>()?.as_chunks::<4>();
        let all = quads.chunks_exact(count).map(|quads| {
            let mut boxes = Boxes::new(Sides::Continuous, count)?;
            quads
                .iter()
                .for_each(|&quad| boxes.push(self.corners(quad)));
            Ok::<_, OpError>(boxes)
        });
        let all = try_collect_ok(all)?;
        let scores = scores.as_slice::<T>()?;
        let lists = each_list(batches * classes, count, |list| {
            let boxes = &all[list / classes];
            let scores = scores[list * count..][..count].iter().copied();
            let ranked = rank(scores, |score| score >= lowest, usize::MAX)?;
            if sigma == T::zero() {
                let eta = T::one();
                return Hard { most, limit, eta }.keep(boxes, &ranked);
            }
            let scale = T::of(-0.5) / sigma;
            let limit = (self.version == Version::Five).then_some(limit);
            let soft = Soft {
                most,
                scale,
                limit,
                lowest,
            };
            soft.keep(boxes, ranked)
        })?;
        join(lists, classes, self.sort_result_descending)
    }

    /// Puts the boxes selected into an output of a fixed number of rows.
    fn put_rows<T>(&self, selected: &[Selected<T>], output: &mut Tensor) -> Result<(), OpError> {
        let rows = output.shape()[0];
        let rest = rows.saturating_sub(selected.len());
        let selected = &selected[..rows.min(selected.len())];
        let filler = std::iter::repeat_n(-1, rest * 3);
        let all = try_collect(triples(selected).chain(filler))?;
        *output = indices(&[rows, 3], &all, self.output_type())?;
        Ok(())
    }
}

impl Op for NonMaxSuppression {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let most_inputs = if self.is_exact() { 6 } else { 5 };
        let [boxes, scores, ..] = inputs else {
            bail!(
                "expected at least 2 inputs (boxes, scores), got {}",
                inputs.len()
            );
        };
        ensure!(
            inputs.len() <= most_inputs,
            "expected at most {most_inputs} inputs, got {}",
            inputs.len()
        );
        expect_index_type("output_type", self.output_type())?;
        boxes.expect_float("the boxes")?;
        scores.expect_float("the scores")?;
        merge_types(&inputs[..2])?;
        check_numbers(inputs)?;
        let sizes = Sizes::of(boxes, scores, 4)?;
        let most = most_per_class(inputs.get(2))?;
        let each = smaller(sizes.boxes, most) * sizes.batches * sizes.classes;
        let rows = match self.version {
            Version::One | Version::Three => smaller(sizes.boxes, most * sizes.classes),
            Version::Four => each,
            Version::Five | Version::Nine => return Ok(infer_selected(self.output_type(), each)),
        };
        let shape = [rows, Dimension::fixed(3)];
        Ok(Output::single(self.output_type(), shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let selected = self.select::<T>(io.inputs)?;
            if self.is_exact() {
                put_selected(&selected, io.outputs, self.output_type())
            } else {
                self.put_rows(&selected, &mut io.outputs[0])
            }
        })
    }

    fn allowed(&self, inputs: &[Input<'_>], input: usize) -> Option<(i64, i64)> {
        let [_, count, _] = inputs.first()?.dims::<3>("").ok()?;
        (input == 2).then(|| (0, index(count.min())))
    }
}

#[cfg(test)]
#[path = "non_max_suppression_tests.rs"]
mod tests;
