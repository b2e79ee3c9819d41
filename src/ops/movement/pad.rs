//! Pad-1, -12: the data extended, or cropped, at the ends of its axes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/pad-12.html>
//!
//! Only Pad-12 takes negative pads, which crop. Mirrors and edges are those of the whole data, also
//! where it is cropped.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use crate::kernel::moving::move_elements;
use crate::kernel::remap::{Remap, Runs, Source};
use crate::op::size::between;
use crate::op::{
    Input, Io, LayerData, Moves, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    merge_types,
};
use crate::tensor::{Dimension, ElementType, PartialShape, ValueRange};

/// What the new elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum PadMode {
    /// The fourth input, or zero.
    #[default]
    Constant,
    /// The element at the end.
    Edge,
    /// The data mirrored at its last element.
    Reflect,
    /// The data mirrored beyond its last element.
    Symmetric,
}

/// The data extended at the ends of its axes.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Pad {
    pad_mode: PadMode,
    /// Whether negative pads are refused, as Pad-1 does.
    #[serde(skip)]
    only_extends: bool,
}

/// Reads Pad-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Pad>(layer.attributes)?;
    let only_extends = true;
    Ok((Box::new(Pad { only_extends, ..op }), unknown))
}

impl Pad {
    /// How much an axis of at most `size` elements can be extended at one end.
    fn most(&self, size: Option<usize>) -> Option<i128> {
        let size = size? as i128;
        match self.pad_mode {
            PadMode::Reflect => Some((size - 1).max(0)),
            PadMode::Symmetric => Some(size),
            PadMode::Edge if size == 0 => Some(0),
            PadMode::Constant | PadMode::Edge => None,
        }
    }

    /// What is known of a pad, given what is known of its value; no bound for `None`.
    fn pad(
        &self,
        range: ValueRange,
        size: Dimension,
        name: &str,
        axis: usize,
    ) -> Result<(Option<i128>, Option<i128>), OpError> {
        let exact = range.value().is_some();
        let mut min = (exact || range.min != i64::MIN).then_some(i128::from(range.min));
        let mut max = (exact || range.max != i64::MAX).then_some(i128::from(range.max));
        if self.only_extends {
            if max.is_some_and(|max| max < 0) {
                bail!("{name} of axis {axis} is {}, expected 0 or more", range.max);
            }
            min = Some(min.unwrap_or(0).max(0));
        }
        if let Some(most) = self.most(size.max()) {
            if let Some(min) = min.filter(|&min| min > most) {
                let mode = format!("{:?}", self.pad_mode).to_lowercase();
                bail!(
                    "{name} of axis {axis} is {min}, expected at most {most} in mode {mode} for size {size}"
                );
            }
            max = Some(max.unwrap_or(most).min(most));
        }
        Ok((min, max))
    }

    /// The size of a padded axis.
    fn size(
        &self,
        axis: usize,
        size: Dimension,
        begin: ValueRange,
        end: ValueRange,
    ) -> Result<Dimension, OpError> {
        let (b_min, b_max) = self.pad(begin, size, "pads_begin", axis)?;
        let (e_min, e_max) = self.pad(end, size, "pads_end", axis)?;
        if let (Some(b), Some(e)) = (begin.value(), end.value())
            && i128::from(b) + i128::from(e) == 0
        {
            return Ok(size);
        }
        let add = |size: usize, b: Option<i128>, e: Option<i128>| Some(size as i128 + b? + e?);
        let min = add(size.min(), b_min, e_min).unwrap_or(0);
        let max = size.max().and_then(|size| add(size, b_max, e_max));
        if let Some(max) = max.filter(|&max| max < 0) {
            bail!(
                "the pads of axis {axis}, of size {size}, leave {max} elements, expected 0 or more"
            );
        }
        between(min, max)
    }

    /// Where the elements of a padded axis come from.
    fn runs(&self, size: usize, begin: i64, end: i64) -> Runs {
        let size = size as i128;
        // The axis of the data goes on in both directions: from `first` to before `last` of it.
        let (first, last) = (-i128::from(begin), size + i128::from(end));
        let mirror = match self.pad_mode {
            PadMode::Reflect => 1,
            _ => 0,
        };
        let index = |i: i128| usize::try_from(i).unwrap_or(0);
        let new = |edge: i128, mirrored: i128| match self.pad_mode {
            PadMode::Constant => Source::Fill,
            PadMode::Edge => Source::Repeat(index(edge)),
            PadMode::Reflect | PadMode::Symmetric => Source::Backward(index(mirrored)),
        };
        let after = first.max(size);
        smallvec![
            (new(0, mirror - 1 - first), index(last.min(0) - first)),
            (
                Source::Forward(index(first.max(0))),
                index(last.min(size) - first.max(0)),
            ),
            (
                new(size - 1, 2 * size - 1 - mirror - after),
                index(last - after),
            ),
        ]
    }

    fn check_value(&self, data: &Input<'_>, value: Option<&Input<'_>>) -> Result<(), OpError> {
        let ty = data.element_type;
        ensure!(
            ty != ElementType::String || self.pad_mode == PadMode::Constant,
            "strings can only be padded in mode constant"
        );
        if let Some(value) = value.filter(|_| self.pad_mode == PadMode::Constant) {
            value.expect_scalar("pad_value")?;
            merge_types(&[data.clone(), value.clone()])?;
        }
        Ok(())
    }
}

/// What is known of pads: a range for each axis.
pub(super) fn pads<'a>(
    input: &'a Input<'_>,
    name: &str,
    rank: Option<usize>,
) -> Result<Option<Cow<'a, [ValueRange]>>, OpError> {
    let declared = input.rank_given(name)?;
    let ranges = input.ranges();
    let count = ranges.as_ref().map(|r| r.len()).or(declared);
    if let (Some(rank), Some(count)) = (rank, count) {
        ensure!(
            count == rank,
            "{name} has {count} elements, the data {rank} axes"
        );
    }
    let unknown = || Cow::Owned(vec![ValueRange::UNKNOWN; count.or(rank).unwrap_or(0)]);
    Ok(match (ranges, count.or(rank)) {
        (Some(ranges), _) => Some(ranges),
        (None, Some(_)) => Some(unknown()),
        (None, None) => None,
    })
}

impl Op for Pad {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, begin, end, value) = match inputs {
            [data, begin, end] => (data, begin, end, None),
            [data, begin, end, value] => (data, begin, end, Some(value)),
            _ => bail!(
                "expected 3 or 4 inputs (data, pads_begin, pads_end, pad_value), got {}",
                inputs.len()
            ),
        };
        self.check_value(data, value)?;
        let ty = match value {
            Some(value) if self.pad_mode == PadMode::Constant => {
                merge_types(&[data.clone(), value.clone()])?
            }
            _ => data.element_type,
        };
        let begin = pads(begin, "pads_begin", data.rank())?;
        let end = pads(end, "pads_end", data.rank())?;
        let rank = [&begin, &end].into_iter().flatten().map(|p| p.len()).next();
        let (Some(begin), Some(end), Some(dims)) = (&begin, &end, data.shape.dims()) else {
            let shape = rank.map_or(PartialShape::dynamic(), PartialShape::of_rank);
            return Ok(Output::single(ty, shape));
        };
        let shape = dims
            .iter()
            .zip(begin.iter().zip(end.iter()))
            .enumerate()
            .map(|(axis, (&size, (&begin, &end)))| self.size(axis, size, begin, end))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Output::single(ty, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, begin, end, ..] = io.inputs else {
            bail!("expected 3 or 4 inputs, got {}", io.inputs.len());
        };
        let ints = |index: usize| Input::of(io.inputs[index]).ints().unwrap_or_default();
        ensure!(
            begin.len() == data.shape().rank() && end.len() == data.shape().rank(),
            "expected a pad for each of the {} axes",
            data.shape().rank()
        );
        let pads = ints(1).into_iter().zip(ints(2));
        let axes = data
            .shape()
            .iter()
            .zip(pads)
            .map(|(&size, (begin, end))| self.runs(size, begin, end))
            .collect();
        let remap = Remap::new(data.shape(), axes)?;
        let used = match self.pad_mode {
            PadMode::Constant if io.inputs.len() == 4 => &[*data, io.inputs[3]][..],
            _ => &[*data],
        };
        move_elements(&remap, used, io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0, 3])
    }
}

#[cfg(test)]
#[path = "pad_tests.rs"]
mod tests;
