//! StridedSlice-1: a part of the data, with axes added and taken away.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/strided-slice-1.html>
//!
//! The document equates the operation with NumPy's slices, but twice says something else: that a
//! slice whose begin is its end has one element, and that `end_mask` leaves out the first element
//! when going backwards. Here both are as in NumPy, and as models made from it expect.

use serde::{Deserialize, Serialize};

use super::slicing::{Before, Slice, cut, numbers};
use crate::kernel::moving::move_elements;
use crate::kernel::strided::{Cut, View, Views};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, Few, PartialShape, ValueRange};
use smallvec::{SmallVec, smallvec};

/// A part of the data. The masks say which elements of the inputs are not what they seem.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct StridedSlice {
    begin_mask: Vec<i64>,
    end_mask: Vec<i64>,
    new_axis_mask: Vec<i64>,
    shrink_axis_mask: Vec<i64>,
    ellipsis_mask: Vec<i64>,
}

/// What becomes of an axis of the data, or where one of the output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The axis stays as it is.
    Whole(usize),
    /// The axis is cut by the slice at this position.
    Cut(usize, usize),
    /// The axis is gone: the slice at this position names its one element.
    Shrunk(usize, usize),
    /// An axis of size 1 that the data has not.
    New,
}

/// The inputs begin, end and strides, as far as they are known.
struct Numbers {
    begin: Few<ValueRange>,
    end: Few<ValueRange>,
    strides: Few<ValueRange>,
}

impl Numbers {
    /// `None` if not even how many there are is known.
    fn read(inputs: &[Input<'_>]) -> Result<Option<Self>, OpError> {
        let [begin, end, strides @ ..] = inputs else {
            bail!("expected begin and end");
        };
        let begin = numbers(begin, "begin")?;
        let end = numbers(end, "end")?;
        let strides = strides
            .first()
            .map(|strides| numbers(strides, "strides"))
            .transpose()?;
        let lists = [
            ("begin", begin.as_ref()),
            ("end", end.as_ref()),
            ("strides", strides.as_ref().and_then(Option::as_ref)),
        ];
        let mut counts = lists
            .iter()
            .filter_map(|(name, list)| Some((name, list.as_ref()?.len())));
        let Some((first, count)) = counts.next() else {
            return Ok(None);
        };
        if let Some((name, other)) = counts.find(|&(_, other)| other != count) {
            bail!("{first} has {count} elements, {name} {other}, expected the same");
        }
        let unknown = || smallvec![ValueRange::UNKNOWN; count];
        Ok(Some(Self {
            begin: begin.unwrap_or_else(unknown),
            end: end.unwrap_or_else(unknown),
            strides: match strides {
                None => smallvec![ValueRange::exact(1); count],
                Some(strides) => strides.unwrap_or_else(unknown),
            },
        }))
    }
}

/// Whether a mask has a 1 at a position; beyond its end it has zeros.
fn is_set(mask: &[i64], i: usize) -> bool {
    mask.get(i).is_some_and(|&bit| bit == 1)
}

impl StridedSlice {
    fn check_masks(&self) -> Result<(), OpError> {
        for (name, mask) in [
            ("begin_mask", &self.begin_mask),
            ("end_mask", &self.end_mask),
            ("new_axis_mask", &self.new_axis_mask),
            ("shrink_axis_mask", &self.shrink_axis_mask),
            ("ellipsis_mask", &self.ellipsis_mask),
        ] {
            if let Some(other) = mask.iter().find(|bit| !matches!(bit, 0 | 1)) {
                bail!("{name} holds {other}, expected 0 or 1");
            }
        }
        let ones = self.ellipsis_mask.iter().filter(|&&bit| bit == 1).count();
        ensure!(
            ones <= 1,
            "ellipsis_mask holds 1 {ones} times, expected at most once"
        );
        Ok(())
    }

    /// What becomes of data of rank `rank` under `count` slices.
    fn parts(&self, rank: usize, count: usize) -> Result<Few<Part>, OpError> {
        let is_ellipsis = |i| is_set(&self.ellipsis_mask, i);
        let is_new = |i: usize| !is_ellipsis(i) && is_set(&self.new_axis_mask, i);
        let taken = (0..count)
            .filter(|&i| !is_ellipsis(i) && !is_new(i))
            .count();
        let Some(skipped) = rank.checked_sub(taken) else {
            bail!("{taken} axes are sliced, the data has {rank}");
        };
        let mut parts = Few::with_capacity(rank + count);
        let mut axis = 0;
        for i in 0..count {
            if is_ellipsis(i) {
                parts.extend((axis..axis + skipped).map(Part::Whole));
                axis += skipped;
            } else if is_new(i) {
                parts.push(Part::New);
            } else {
                parts.push(if is_set(&self.shrink_axis_mask, i) {
                    Part::Shrunk(axis, i)
                } else {
                    Part::Cut(axis, i)
                });
                axis += 1;
            }
        }
        parts.extend((axis..rank).map(Part::Whole));
        Ok(parts)
    }

    /// The slice at a position, as the masks mean it.
    fn slice(&self, numbers: &Numbers, i: usize) -> Slice {
        let step = numbers.strides[i];
        let masked = |forwards: i64, backwards: i64| match (step.min > 0, step.max < 0) {
            (true, _) => ValueRange::exact(forwards),
            (_, true) => ValueRange::exact(backwards),
            _ => ValueRange::UNKNOWN,
        };
        Slice {
            start: if is_set(&self.begin_mask, i) {
                masked(0, -1)
            } else {
                numbers.begin[i]
            },
            stop: if is_set(&self.end_mask, i) {
                masked(i64::MAX, i64::MIN)
            } else {
                numbers.end[i]
            },
            step,
        }
    }

    /// The index of the one element that stays of an axis.
    fn shrunk(&self, numbers: &Numbers, i: usize) -> ValueRange {
        if is_set(&self.begin_mask, i) {
            ValueRange::exact(0)
        } else {
            numbers.begin[i]
        }
    }

    fn dims(
        &self,
        data: &[Dimension],
        parts: &[Part],
        numbers: &Numbers,
    ) -> Result<Vec<Dimension>, OpError> {
        let mut dims = Vec::with_capacity(parts.len());
        for &part in parts {
            match part {
                Part::New => dims.push(Dimension::fixed(1)),
                Part::Whole(axis) => dims.push(data[axis]),
                Part::Shrunk(axis, i) => {
                    let index = self.shrunk(numbers, i);
                    let most = data[axis].max().map_or(i128::MAX, |max| max as i128);
                    ensure!(
                        i128::from(index.min) < most && -i128::from(index.max) <= most && most > 0,
                        "element {i} of begin is {}, out of range for axis {axis} of size {}",
                        if index.min > 0 { index.min } else { index.max },
                        data[axis]
                    );
                }
                Part::Cut(axis, i) => {
                    ensure!(
                        numbers.strides[i].value() != Some(0),
                        "element {i} of strides is 0, which is no step"
                    );
                    let slice = self.slice(numbers, i);
                    dims.push(slice.size(data[axis], Before::First));
                }
            }
        }
        Ok(dims)
    }

    /// What holds for the output however many slices there are.
    fn any_count(&self, data: &[Dimension]) -> PartialShape {
        let is_kept = |mask: &[i64]| mask.iter().all(|&bit| bit == 0);
        if !is_kept(&self.new_axis_mask) || !is_kept(&self.shrink_axis_mask) {
            return PartialShape::dynamic();
        }
        data.iter()
            .map(|dim| Dimension::range(0, dim.max()))
            .collect()
    }
}

/// The cut that leaves the one element at a known index.
fn one(size: usize, index: ValueRange, axis: usize) -> Result<Cut, OpError> {
    let Some(index) = index.value() else {
        bail!("the index for axis {axis} is not known");
    };
    Ok(cut(size, index, 1, 1, Before::First))
}

impl Op for StridedSlice {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            (3..=4).contains(&inputs.len()),
            "expected 3 or 4 inputs (data, begin, end, strides), got {}",
            inputs.len()
        );
        self.check_masks()?;
        let (data, numbers) = (&inputs[0], Numbers::read(&inputs[1..])?);
        let shape = match (data.shape.dims(), numbers) {
            (Some(dims), Some(numbers)) => {
                let parts = self.parts(dims.len(), numbers.begin.len())?;
                self.dims(dims, &parts, &numbers)?.into_iter().collect()
            }
            (Some(dims), None) => self.any_count(dims),
            (None, _) => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, inputs @ ..] = io.inputs else {
            bail!("expected 3 or 4 inputs, got none");
        };
        let inputs: SmallVec<[Input<'_>; 4]> = inputs.iter().map(|t| Input::of(t)).collect();
        let Some(numbers) = Numbers::read(&inputs)? else {
            bail!("the slices are not known");
        };
        let shape = data.shape();
        let mut sizes = io.outputs[0].shape().iter();
        let mut cuts: Few<Cut> = shape.iter().map(|&size| Cut::whole(size)).collect();
        for part in self.parts(shape.rank(), numbers.begin.len())? {
            if let Part::Shrunk(axis, i) = part {
                cuts[axis] = one(shape[axis], self.shrunk(&numbers, i), axis)?;
                continue;
            }
            let size = sizes.next().copied().unwrap_or(1);
            if let Part::Cut(axis, i) = part {
                let slice = self.slice(&numbers, i);
                let (Some(start), Some(step)) = (slice.start.value(), slice.step.value()) else {
                    bail!("the slice of axis {axis} is not known");
                };
                cuts[axis] = cut(shape[axis], start, step, size, Before::First);
            }
        }
        let view = View::new(shape, &cuts);
        move_elements(&Views(smallvec![view]), &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
#[path = "strided_slice_tests.rs"]
mod tests;
