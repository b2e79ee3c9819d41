//! Picks positions along several axes at once.

use smallvec::SmallVec;

use super::gather::{OUTSIDE, pick};
use super::moving::{Mover, Word, for_rows};
use super::scratch::{Reused, reused_all};
use crate::op::OpError;
use crate::tensor::Few;

/// An axis, and the position of the input for each of the output.
#[derive(Debug)]
struct Axis {
    size: usize,
    positions: Reused<usize>,
    /// How often each position is picked, if it is as often as every other, in order.
    times: Option<usize>,
}

impl Axis {
    fn new(size: usize, positions: Reused<usize>) -> Self {
        let times = positions.len().checked_div(size).filter(|&times| {
            let mut each = positions.chunks(times.max(1)).zip(0..size);
            times * size == positions.len() && each.all(|(same, at)| same.iter().all(|&p| p == at))
        });
        Self {
            size,
            positions,
            times,
        }
    }
}

/// Writes each element so many times.
fn repeat<T: Word>(data: &[T], times: usize, out: &mut [T]) {
    if times == 2 {
        for ([low, high], x) in out.as_chunks_mut::<2>().0.iter_mut().zip(data) {
            low.clone_from(x);
            high.clone_from(x);
        }
    } else {
        for (out, x) in out.chunks_exact_mut(times).zip(data) {
            out.fill(x.clone());
        }
    }
}

/// A pick along every axis; what is [`OUTSIDE`] is zero.
#[derive(Debug)]
pub(crate) struct Pick {
    /// The axes from the first to the last that is not left as it is.
    axes: SmallVec<[Axis; 4]>,
    /// The number of elements below them.
    inner: usize,
}

impl Pick {
    /// Picks from an input of this shape the positions that each axis is given, or all.
    ///
    /// # Errors
    /// When there is no memory for the positions.
    pub(crate) fn new(
        shape: &[usize],
        positions: Few<Option<Reused<usize>>>,
    ) -> Result<Self, OpError> {
        let changed = |p: &Option<Reused<usize>>| p.is_some();
        let first = positions.iter().position(changed).unwrap_or(shape.len());
        let last = positions.iter().rposition(changed).map_or(first, |i| i + 1);
        let axes = shape.iter().zip(positions).take(last).skip(first);
        let axis = |(&size, positions): (&usize, Option<Reused<usize>>)| {
            let positions = positions.map_or_else(|| reused_all(0..size), Ok)?;
            Ok(Axis::new(size, positions))
        };
        Ok(Self {
            axes: axes.map(axis).collect::<Result<_, OpError>>()?,
            inner: shape[last..].iter().product(),
        })
    }

    /// Fills `out` with the rows along the first of `axes` from `start` on.
    fn rows<T: Word>(&self, data: &[T], axes: &[Axis], start: usize, out: &mut [T]) {
        let Some((axis, below)) = axes.split_first() else {
            return out.clone_from_slice(data);
        };
        let positions = &axis.positions[start..];
        if let (true, 0, 1, Some(times @ 1..)) = (below.is_empty(), start, self.inner, axis.times)
            && out.len() == axis.positions.len()
        {
            return repeat(data, times, out);
        }
        if below.is_empty() {
            return pick(data, positions, self.inner, out);
        }
        let row: usize = below.iter().map(|a| a.positions.len()).product::<usize>() * self.inner;
        let from = data.len() / axis.size.max(1);
        let count = out.len() / row;
        for i in 0..count {
            let (done, rest) = out.split_at_mut(i * row);
            let out = &mut rest[..row];
            match positions[i] {
                OUTSIDE => out.fill(T::default()),
                // As the row before: enlarging repeats rows.
                position if i > 0 && positions[i - 1] == position => {
                    out.clone_from_slice(&done[(i - 1) * row..]);
                }
                position => self.rows(&data[position * from..][..from], below, 0, out),
            }
        }
    }
}

impl Mover for Pick {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, out) = (inputs[0], &mut *outputs[0]);
        let Some((axis, below)) = self.axes.split_first() else {
            out.clone_from_slice(data);
            return Ok(());
        };
        let row: usize = below.iter().map(|a| a.positions.len()).product::<usize>() * self.inner;
        let count = axis.positions.len();
        let from = axis.size * below.iter().map(|a| a.size).product::<usize>() * self.inner;
        for_rows(out, row.max(1), 1, |first, mut out| {
            let mut first = first;
            while !out.is_empty() {
                let (part, start) = (first / count, first % count);
                let rows = (count - start).min(out.len() / row);
                let (now, later) = out.split_at_mut(rows * row);
                self.rows(&data[part * from..][..from], &self.axes, start, now);
                out = later;
                first += rows;
            }
        });
        Ok(())
    }
}
