//! Picks runs of elements along an axis.

use super::moving::{Mover, Word, copy_run, for_rows};
use crate::op::OpError;
use crate::tensor::convert::widen;
use crate::tensor::{Class, Tensor};

/// The position of an index that is out of range.
pub(crate) const OUTSIDE: usize = usize::MAX;

/// How many indices are decoded at a time.
pub(crate) const BLOCK: usize = 512;

/// Writes the positions along an axis of size `axis` that the indices `start..` mean, or
/// [`OUTSIDE`]. With `from_end`, negative indices count from the end of the axis.
pub(crate) fn positions(
    indices: &Tensor,
    axis: usize,
    from_end: bool,
    start: usize,
    out: &mut [usize],
) {
    let size = axis as u64;
    // An index below zero is far above every size once its bits are taken as unsigned.
    let inside = |position: u64| {
        if position < size {
            position as usize
        } else {
            OUTSIDE
        }
    };
    for (k, out) in out.chunks_mut(BLOCK).enumerate() {
        let start = start + k * BLOCK;
        if indices.element_type().class() == Some(Class::U64) {
            let mut block = [0u64; BLOCK];
            widen(indices, start, &mut block[..out.len()]);
            for (out, &index) in out.iter_mut().zip(&block) {
                *out = inside(index);
            }
        } else {
            let mut block = [0i64; BLOCK];
            widen(indices, start, &mut block[..out.len()]);
            let wrap = if from_end { size } else { 0 };
            for (out, &index) in out.iter_mut().zip(&block) {
                let back = if index < 0 { wrap } else { 0 };
                *out = inside(index.cast_unsigned().wrapping_add(back));
            }
        }
    }
}

/// The place of the first index that is out of range, in row-major order.
pub(crate) fn first_outside(indices: &Tensor, axis: usize, from_end: bool) -> Option<usize> {
    let mut places = [0; BLOCK];
    (0..indices.len()).step_by(BLOCK).find_map(|start| {
        let places = &mut places[..BLOCK.min(indices.len() - start)];
        positions(indices, axis, from_end, start, places);
        let first = places.iter().position(|&place| place == OUTSIDE)?;
        Some(start + first)
    })
}

/// The error for the index at a place, counted in row-major order.
pub(crate) fn out_of_range(
    indices: &Tensor,
    place: usize,
    axis: usize,
    size: usize,
    from_end: bool,
) -> OpError {
    let index = if indices.element_type().class() == Some(Class::U64) {
        let mut index = [0u64];
        widen(indices, place, &mut index);
        index[0].to_string()
    } else {
        let mut index = [0i64];
        widen(indices, place, &mut index);
        index[0].to_string()
    };
    let mut rest = place;
    let mut coordinates: Vec<usize> = indices
        .shape()
        .iter()
        .rev()
        .map(|&dim| {
            let i = rest % dim;
            rest /= dim;
            i
        })
        .collect();
    coordinates.reverse();
    let least = if from_end && size > 0 {
        format!("-{size}")
    } else {
        "0".to_owned()
    };
    OpError::new(format!(
        "index {index} at {coordinates:?} is out of range for axis {axis} of size {size}, expected {least}..{size}"
    ))
}

/// Data seen as `[batch, outer, axis, inner]` and indices as `[batch, count]` give an output
/// `[batch, outer, count, inner]`.
#[derive(Debug)]
pub(crate) struct Gather<'a> {
    outer: usize,
    axis: usize,
    inner: usize,
    count: usize,
    from_end: bool,
    indices: &'a Tensor,
    /// The positions of all indices, if they are needed more than once.
    ready: Option<Vec<usize>>,
}

impl<'a> Gather<'a> {
    /// Gathers from `data` along `axis`; the first `batch_dims` dimensions go in step with those
    /// of `indices`.
    pub(crate) fn new(
        data: &[usize],
        indices: &'a Tensor,
        axis: usize,
        batch_dims: usize,
        from_end: bool,
    ) -> Self {
        let outer = data[batch_dims..axis].iter().product();
        let mut gather = Self {
            outer,
            axis: data[axis],
            inner: data[axis + 1..].iter().product(),
            count: indices.shape()[batch_dims..].iter().product(),
            from_end,
            indices,
            ready: None,
        };
        if outer > 1 {
            let mut all = vec![0; indices.len()];
            positions(indices, gather.axis, from_end, 0, &mut all);
            gather.ready = Some(all);
        }
        gather
    }

    /// The rows from `row` on.
    fn rows<T: Word>(&self, data: &[T], row: usize, mut out: &mut [T]) {
        let line = self.axis * self.inner;
        let (mut outer, mut i) = (row / self.count, row % self.count);
        while !out.is_empty() {
            let n = (self.count - i).min(out.len() / self.inner);
            let (now, later) = out.split_at_mut(n * self.inner);
            let block = &data[outer * line..(outer + 1) * line];
            self.line(block, outer / self.outer * self.count + i, now);
            out = later;
            outer += 1;
            i = 0;
        }
    }

    /// What the indices from `first` on pick of one line of the data.
    fn line<T: Word>(&self, block: &[T], first: usize, out: &mut [T]) {
        if let Some(ready) = &self.ready {
            let n = out.len() / self.inner;
            return pick(block, &ready[first..first + n], self.inner, out);
        }
        let mut some = [0; BLOCK];
        for (k, out) in out.chunks_mut(BLOCK * self.inner).enumerate() {
            let some = &mut some[..out.len() / self.inner];
            let start = first + k * BLOCK;
            positions(self.indices, self.axis, self.from_end, start, some);
            pick(block, some, self.inner, out);
        }
    }
}

impl Mover for Gather<'_> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        for_rows(outputs[0], self.inner, 1, |row, out| {
            self.rows(inputs[0], row, out);
        });
        Ok(())
    }
}

/// Writes the runs of `inner` elements at the positions of a block; zeros for [`OUTSIDE`].
pub(super) fn pick<T: Word>(block: &[T], positions: &[usize], inner: usize, out: &mut [T]) {
    if inner == 1 {
        for (out, &position) in out.iter_mut().zip(positions) {
            *out = block.get(position).cloned().unwrap_or_default();
        }
        return;
    }
    for (out, &position) in out.chunks_exact_mut(inner).zip(positions) {
        if position == OUTSIDE {
            out.fill(T::default());
        } else {
            copy_run(&block[position * inner..][..inner], out);
        }
    }
}
