//! What a slice `start:stop:step` of an axis leaves, for sizes and numbers known or not.

use std::borrow::Cow;

use crate::kernel::strided::Cut;
use crate::op::{Input, OpError, bail, ensure, normalize_axis};
use smallvec::{SmallVec, smallvec};

use crate::tensor::{Dimension, Few, ValueRange};

/// A start, a stop and a step, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) start: ValueRange,
    pub(super) stop: ValueRange,
    pub(super) step: ValueRange,
}

/// Where a slice that goes backwards begins if its start lies before the first element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Nowhere: it is empty, as in Python.
    Empty,
    /// At the first element.
    First,
}

/// The largest size of an axis.
const LARGEST: i128 = i64::MAX as i128;

/// A start or stop; the ends of `i32`, which may be given for "as far as there is", are as far
/// away as those of `i64`.
fn far(x: i64) -> i64 {
    const LEAST: i64 = i32::MIN as i64;
    const GREATEST: i64 = i32::MAX as i64;
    match x {
        LEAST => i64::MIN,
        GREATEST => i64::MAX,
        x => x,
    }
}

fn far_range(range: ValueRange) -> ValueRange {
    ValueRange {
        min: far(range.min),
        max: far(range.max),
        ..range
    }
}

/// The same place counted in an axis turned around: the first element is -1, the last 0.
fn turned(range: ValueRange) -> ValueRange {
    ValueRange {
        min: !range.max,
        max: !range.min,
        symbol: None,
    }
}

/// The distance from start to stop on an axis of size `n`, and the start.
fn distance(n: i128, start: i64, stop: i64, inside: bool) -> (i128, i128) {
    let place = |x: i64| {
        let x = i128::from(x);
        if x < 0 { (x + n).max(0) } else { x.min(n) }
    };
    let mut first = place(start);
    if inside {
        first = first.min(n - 1).max(0);
    }
    let distance = if n == 0 { 0 } else { place(stop) - first };
    (distance.max(0), first)
}

/// The parts of a range below zero and from zero on.
fn parts(range: ValueRange) -> impl Iterator<Item = (i64, i64)> + Clone {
    let below = (range.min, range.max.min(-1));
    let above = (range.min.max(0), range.max);
    [below, above].into_iter().filter(|(min, max)| min <= max)
}

impl Slice {
    /// A slice of which only one number can be.
    #[cfg(test)]
    pub(super) fn exact(start: i64, stop: i64, step: i64) -> Self {
        Self {
            start: ValueRange::exact(start),
            stop: ValueRange::exact(stop),
            step: ValueRange::exact(step),
        }
    }

    /// How many elements the slice leaves.
    pub(super) fn size(&self, dim: Dimension, before: Before) -> Dimension {
        let (start, stop) = (far_range(self.start), far_range(self.stop));
        let step = self.step;
        let forwards = (step.max > 0).then(|| {
            let steps = (step.min.max(1).unsigned_abs(), step.max.unsigned_abs());
            size_forwards(dim, start, stop, steps, false)
        });
        let backwards = (step.min < 0).then(|| {
            let steps = (step.max.min(-1).unsigned_abs(), step.min.unsigned_abs());
            let inside = before == Before::First;
            size_forwards(dim, turned(start), turned(stop), steps, inside)
        });
        match (forwards, backwards) {
            (Some(a), Some(b)) => a.union(b),
            (Some(size), None) | (None, Some(size)) => size,
            (None, None) => Dimension::fixed(0),
        }
    }
}

/// The cut that a slice of known numbers makes when it leaves `len` elements of an axis.
pub(super) fn cut(size: usize, start: i64, step: i64, len: usize, before: Before) -> Cut {
    if len == 0 {
        return Cut {
            first: 0,
            step: 1,
            len,
        };
    }
    let n = size as i128;
    let first = if step < 0 {
        let inside = before == Before::First;
        n - 1 - distance(n, !far(start), 0, inside).1
    } else {
        distance(n, far(start), 0, false).1
    };
    Cut {
        // An element is left, so its place is in the axis.
        first: usize::try_from(first).unwrap_or(0),
        step,
        len,
    }
}

/// The size of a slice in steps of `least..=most`. `inside` keeps the start in the axis.
fn size_forwards(
    dim: Dimension,
    start: ValueRange,
    stop: ValueRange,
    (least, most): (u64, u64),
    inside: bool,
) -> Dimension {
    let low = dim.min() as i128;
    let high = dim.max().map_or(LARGEST, |max| max as i128);
    let from_first = if start.max < 0 {
        i128::from(start.max) + high <= 0
    } else {
        start.min >= 0 && start.max == 0
    };
    if most == 1 && from_first {
        let same = stop.symbol.is_some() && stop.symbol == dim.symbol();
        if same || i128::from(stop.min) >= high {
            return dim;
        }
        if stop.min >= 0 && i128::from(stop.max) <= low {
            return stop.to_dimension();
        }
    }
    let (mut min, mut max) = (i128::MAX, 0);
    for (start_min, start_max) in parts(start) {
        for (stop_min, stop_max) in parts(stop) {
            // With start and stop on their sides of zero, the distance grows with the stop,
            // shrinks with the start, and with the size first grows, then shrinks; it turns
            // where one of them reaches an end of the axis.
            let turns = [-i128::from(start_min), i128::from(stop_max)];
            let sizes = turns.map(|n| n.clamp(low, high));
            for n in [low, high, sizes[0], sizes[1]] {
                max = max.max(distance(n, start_min, stop_max, inside).0);
            }
            for n in [low, high] {
                min = min.min(distance(n, start_max, stop_min, inside).0);
            }
        }
    }
    let count = |distance: i128, step: u64| {
        let step = i128::from(step);
        usize::try_from((distance + step - 1) / step).unwrap_or(usize::MAX)
    };
    // What depends on the largest size there is, is not bounded by anything.
    let bounded = dim.max().is_some() || max < LARGEST / 2;
    Dimension::range(count(min, most), bounded.then(|| count(max, least)))
}

/// The slices that inputs give for the axes of a tensor.
#[derive(Debug)]
pub(super) struct Slices {
    /// One for each axis listed; `None` if their number is not known.
    slices: Option<Few<Slice>>,
    /// The axes listed, if they are known.
    axes: Option<Few<i64>>,
}

/// The elements of a 1-D input, as far as they are known, if their number is.
pub(super) fn numbers(input: &Input<'_>, what: &str) -> Result<Option<Few<ValueRange>>, OpError> {
    let count = input.rank_given(what)?;
    Ok(match (input.few_ranges(), count) {
        (Some(ranges), _) => Some(ranges),
        (None, Some(count)) => Some(smallvec![ValueRange::UNKNOWN; count]),
        (None, None) => None,
    })
}

impl Slices {
    /// Reads the inputs start, stop, step and, if there is one, axes.
    ///
    /// # Errors
    /// When their types or numbers of elements are wrong, or a step is 0.
    pub(super) fn read(inputs: &[Input<'_>]) -> Result<Self, OpError> {
        let names = ["start", "stop", "step", "axes"];
        let mut lists: SmallVec<[Option<Few<ValueRange>>; 4]> = inputs
            .iter()
            .zip(names)
            .map(|(input, name)| numbers(input, name))
            .collect::<Result<_, _>>()?;
        let known = || {
            lists
                .iter()
                .zip(names)
                .filter_map(|(list, name)| Some((list.as_ref()?.len(), name)))
        };
        let count = known().next();
        if let (Some((n, first)), Some((other, name))) =
            (count, known().find(|&(n, _)| Some(n) != count.map(|c| c.0)))
        {
            bail!("{first} has {n} elements, {name} {other}, expected the same");
        }
        let axes = match inputs.get(3) {
            Some(axes) => axes.ints(),
            None => count.map(|(n, _)| (0..).take(n).collect()),
        };
        let Some((count, _)) = count else {
            return Ok(Self { slices: None, axes });
        };
        let mut next = || {
            lists
                .remove(0)
                .unwrap_or_else(|| smallvec![ValueRange::UNKNOWN; count])
        };
        let (starts, stops, steps) = (next(), next(), next());
        let zero = steps.iter().position(|step| step.value() == Some(0));
        if let Some(zero) = zero {
            bail!("element {zero} of step is 0, which is no step");
        }
        let slices = starts.into_iter().zip(stops).zip(steps);
        let slices = slices.map(|((start, stop), step)| Slice { start, stop, step });
        Ok(Self {
            slices: Some(slices.collect()),
            axes,
        })
    }

    /// The axes in a tensor of rank `rank`, each for its slice; `None` if they are not known.
    fn axes(&self, rank: usize) -> Result<Option<Few<usize>>, OpError> {
        let Some(axes) = &self.axes else {
            return Ok(None);
        };
        let mut seen: Few<bool> = smallvec![false; rank];
        let unique = |&axis: &i64| {
            let axis = normalize_axis(axis, rank)?;
            ensure!(!seen[axis], "axis {axis} is twice in axes");
            seen[axis] = true;
            Ok(axis)
        };
        axes.iter().map(unique).collect::<Result<_, _>>().map(Some)
    }

    /// The dimensions of the slice of a tensor.
    ///
    /// # Errors
    /// When the axes are not the tensor's.
    pub(super) fn dims(&self, data: &[Dimension]) -> Result<Few<Dimension>, OpError> {
        ensure!(!data.is_empty(), "the data is a scalar, which has no axis");
        let mut dims: Few<Dimension> = Few::from_slice(data);
        let any = Slice {
            start: ValueRange::UNKNOWN,
            stop: ValueRange::UNKNOWN,
            step: ValueRange::UNKNOWN,
        };
        let slices = match &self.slices {
            Some(slices) => Cow::Borrowed(slices),
            None => Cow::Owned(smallvec![any; self.axes.as_ref().map_or(1, Few::len)]),
        };
        if let Some(axes) = self.axes(data.len())? {
            for (axis, slice) in axes.into_iter().zip(slices.iter()) {
                dims[axis] = slice.size(dims[axis], Before::Empty);
            }
            return Ok(dims);
        }
        let known = self.slices.is_some();
        ensure!(
            !known || slices.len() <= dims.len(),
            "{} axes are sliced, the data has {}",
            slices.len(),
            dims.len()
        );
        // Every axis may be any of those sliced, or none.
        let all = known && slices.len() == dims.len();
        for dim in &mut dims {
            let sizes = slices.iter().map(|slice| slice.size(*dim, Before::Empty));
            let whole = (!all).then_some(*dim);
            *dim = whole
                .into_iter()
                .chain(sizes)
                .reduce(Dimension::union)
                .unwrap_or(*dim);
        }
        Ok(dims)
    }

    /// The cuts, one for each axis of a tensor, that leave the sizes `len`.
    ///
    /// # Errors
    /// When something is not known.
    pub(super) fn cuts(&self, shape: &[usize], len: &[usize]) -> Result<Few<Cut>, OpError> {
        let (Some(slices), Some(axes)) = (&self.slices, self.axes(shape.len())?) else {
            bail!("the slice is not known");
        };
        let mut cuts: Few<Cut> = shape.iter().map(|&size| Cut::whole(size)).collect();
        for (slice, axis) in slices.iter().zip(axes) {
            let (Some(start), Some(step)) = (slice.start.value(), slice.step.value()) else {
                bail!("the slice of axis {axis} is not known");
            };
            cuts[axis] = cut(shape[axis], start, step, len[axis], Before::Empty);
        }
        Ok(cuts)
    }
}

#[cfg(test)]
#[path = "slicing_tests.rs"]
pub(super) mod tests;
