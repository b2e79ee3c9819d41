//! Picks runs of elements along an axis.

use rayon::prelude::*;

use super::elements::pick_each;
use super::moving::{Mover, Word, copy_run, for_rows};
use super::scratch::{Reused, reused_any};
use super::simd::{prefetch, prefetch_after, vectorize_mut};
use crate::op::OpError;
use crate::tensor::convert::{Compute, widen};
use crate::tensor::{Class, LINE, Tensor};

/// The position of an index that is out of range.
pub(crate) const OUTSIDE: usize = usize::MAX;

/// How many indices are decoded at a time.
pub(crate) const BLOCK: usize = 512;

/// Room for so few indices takes no time to clear.
const FEW: usize = 8;

/// How many indices are decoded before runs of `inner` elements are picked. Single elements are
/// picked after so few that the processor waits for indices and elements at the same time.
pub(crate) fn decoded_for(inner: usize) -> usize {
    if inner == 1 { 64 } else { BLOCK }
}

/// Asks for the memory of some indices that come after `next`.
pub(crate) fn ask_for(indices: &Tensor, next: usize) {
    let size = indices.element_type().bits() / 8;
    for line in 0..8 {
        prefetch(
            indices.bytes().as_ptr(),
            next.wrapping_mul(size) + FAR + line * LINE,
        );
    }
}

/// How far ahead indices are asked for, in bytes.
const FAR: usize = 1024;

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
    let wrap = if from_end { size } else { 0 };
    let (ty, len) = (indices.element_type(), out.len());
    // The two types that nearly all indices have are read where they stand.
    if let Some(indices) = i64::native(ty, indices.bytes()) {
        return signed(&indices[start..start + len], size, wrap, out);
    }
    if let Some(indices) = i32::native(ty, indices.bytes()) {
        return signed(&indices[start..start + len], size, wrap, out);
    }
    for (k, out) in out.chunks_mut(BLOCK).enumerate() {
        let start = start + k * BLOCK;
        if ty.class() == Some(Class::U64) {
            let mut block = [0u64; BLOCK];
            widen(indices, start, &mut block[..out.len()]);
            for (out, &index) in out.iter_mut().zip(&block) {
                *out = inside(index, size);
            }
        } else {
            let mut block = [0i64; BLOCK];
            widen(indices, start, &mut block[..out.len()]);
            signed(&block[..out.len()], size, wrap, out);
        }
    }
}

#[inline(always)]
fn inside(position: u64, size: u64) -> usize {
    if position < size {
        position as usize
    } else {
        OUTSIDE
    }
}

/// The positions of indices to which `wrap` is added if they are negative.
fn signed<I: Copy + Into<i64>>(indices: &[I], size: u64, wrap: u64, out: &mut [usize]) {
    vectorize_mut(
        #[inline(always)]
        || {
            for (out, &index) in out.iter_mut().zip(indices) {
                let index: i64 = index.into();
                let back = if index < 0 { wrap } else { 0 };
                // An index below zero is far above every size once its bits are taken as unsigned.
                *out = inside(index.cast_unsigned().wrapping_add(back), size);
            }
        },
    );
}

/// The place of the first index that is out of range, in row-major order.
pub(crate) fn first_outside(indices: &Tensor, axis: usize, from_end: bool) -> Option<usize> {
    let look = |part: usize| {
        let mut places = [0; BLOCK];
        let end = indices.len().min((part + 1) * PART);
        (part * PART..end).step_by(BLOCK).find_map(|start| {
            let places = &mut places[..BLOCK.min(end - start)];
            positions(indices, axis, from_end, start, places);
            Some(start + outside_of(places)?)
        })
    };
    let parts = indices.len().div_ceil(PART);
    if parts < 2 {
        return (0..parts).find_map(look);
    }
    (0..parts).into_par_iter().find_map_first(look)
}

/// The first of some places that is [`OUTSIDE`].
pub(crate) fn outside_of(places: &[usize]) -> Option<usize> {
    // Without a way out, the loop takes many at a time.
    let last = vectorize_mut(
        #[inline(always)]
        || places.iter().fold(0, |last, &place| last.max(place)),
    );
    if last != OUTSIDE {
        return None;
    }
    places.iter().position(|&place| place == OUTSIDE)
}

/// How many indices one thread checks at a time.
const PART: usize = 1 << 16;

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
    ready: Option<Reused<usize>>,
}

impl<'a> Gather<'a> {
    /// Gathers from `data` along `axis`; the first `batch_dims` dimensions go in step with those
    /// of `indices`.
    ///
    /// # Errors
    /// When there is no memory for the positions.
    pub(crate) fn new(
        data: &[usize],
        indices: &'a Tensor,
        axis: usize,
        batch_dims: usize,
        from_end: bool,
    ) -> Result<Self, OpError> {
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
            let mut all = reused_any(0, indices.len())?;
            positions(indices, gather.axis, from_end, 0, &mut all);
            gather.ready = Some(all);
        }
        Ok(gather)
    }

    /// The rows from `row` on.
    fn rows<T: Word>(&self, data: &[T], row: usize, mut out: &mut [T]) {
        let line = self.axis * self.inner;
        let (mut outer, mut i) = (row / self.count, row % self.count);
        while !out.is_empty() {
            let n = (self.count - i).min(out.len() / self.inner);
            let (now, later) = out.split_at_mut(n * self.inner);
            let block = &data[outer * line..(outer + 1) * line];
            let bytes = size_of_val(block);
            // The next line, if it is short and nearly all of it is picked, in an order that cannot be
            // foreseen.
            let more = data.len() > (outer + 1) * line;
            if more && bytes <= NEAR && bytes / LINE <= n {
                prefetch_after(block, bytes);
            }
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
        if self.inner == 1 {
            let (ty, bytes, end) = (
                self.indices.element_type(),
                self.indices.bytes(),
                first + out.len(),
            );
            let wrap = if self.from_end { self.axis as u64 } else { 0 };
            if let Some(indices) = i64::native(ty, bytes) {
                return pick_each(block, &indices[first..end], wrap, out);
            }
            if let Some(indices) = i32::native(ty, bytes) {
                return pick_each(block, &indices[first..end], wrap, out);
            }
        }
        if out.len() / self.inner <= FEW {
            let some = &mut [0; FEW][..out.len() / self.inner];
            return self.decoded(block, first, out, some);
        }
        self.decoded(block, first, out, &mut [0; BLOCK]);
    }

    /// Decodes indices into `some` and picks what they mean, so many at a time.
    fn decoded<T: Word>(&self, block: &[T], first: usize, out: &mut [T], some: &mut [usize]) {
        let step = decoded_for(self.inner).min(some.len());
        for (k, out) in out.chunks_mut(step * self.inner).enumerate() {
            let some = &mut some[..out.len() / self.inner];
            let start = first + k * step;
            ask_for(self.indices, start + some.len());
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

/// Bytes that the nearest cache holds beside others.
const NEAR: usize = 8192;

/// How many runs ahead of the one that is copied memory is asked for, and at most how many of
/// their bytes: what follows comes by itself.
const AHEAD: usize = 8;
const AHEAD_BYTES: usize = 512;

/// Writes the runs of `inner` elements at the positions of a block; zeros for [`OUTSIDE`].
pub(super) fn pick<T: Word>(block: &[T], positions: &[usize], inner: usize, out: &mut [T]) {
    // Runs as long as the compiler knows take no call each.
    match inner {
        1 => pick_each(block, positions, 0, out),
        2 => pick_short::<T, 2>(block, positions, out),
        4 => pick_short::<T, 4>(block, positions, out),
        8 => pick_short::<T, 8>(block, positions, out),
        16 => pick_short::<T, 16>(block, positions, out),
        32 if size_of::<T>() <= 4 => pick_short::<T, 32>(block, positions, out),
        64 if size_of::<T>() <= 2 => pick_short::<T, 64>(block, positions, out),
        _ => pick_runs(block, positions, inner, out, |from, to| copy_run(from, to)),
    }
}

fn pick_short<T: Word, const N: usize>(block: &[T], positions: &[usize], out: &mut [T]) {
    vectorize_mut(
        #[inline(always)]
        || {
            pick_runs(
                block,
                positions,
                N,
                out,
                #[inline(always)]
                |from, to| {
                    if let (Some(from), Some(to)) =
                        (from.first_chunk::<N>(), to.first_chunk_mut::<N>())
                    {
                        to.clone_from_slice(from);
                    }
                },
            );
        },
    );
}

#[inline(always)]
fn pick_runs<T: Word>(
    block: &[T],
    positions: &[usize],
    inner: usize,
    out: &mut [T],
    copy: impl Fn(&[T], &mut [T]),
) {
    let size = size_of::<T>().max(1);
    let ahead = inner.min(AHEAD_BYTES / size);
    for (i, out) in out.chunks_exact_mut(inner).enumerate() {
        if let Some(&next) = positions.get(i + AHEAD).filter(|&&next| next != OUTSIDE) {
            for at in (0..ahead).step_by((LINE / size).max(1)) {
                prefetch(block.as_ptr(), next * inner + at);
            }
        }
        let position = positions[i];
        if position == OUTSIDE {
            out.fill(T::default());
        } else {
            copy(&block[position * inner..][..inner], out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_length_are_picked() {
        fn check<T: Word + PartialEq>(number: impl Fn(usize) -> T) {
            for inner in [1, 2, 3, 4, 5, 8, 15, 16, 17, 32, 33, 64, 65] {
                let block: Vec<T> = (1..=13 * inner).map(&number).collect();
                let positions = [12, 0, OUTSIDE, 7, 7, 3, 1, 2, 11, 4, 5, 6];
                let expected: Vec<T> = positions
                    .iter()
                    .flat_map(|&position| match position {
                        OUTSIDE => vec![T::default(); inner],
                        _ => block[position * inner..][..inner].to_vec(),
                    })
                    .collect();
                let mut out = vec![number(99); expected.len()];
                pick(&block, &positions, inner, &mut out);
                assert!(out == expected, "{inner} of {} bytes", size_of::<T>());
            }
        }
        check(|i| i as u8);
        check(|i| i as u16);
        check(|i| i as u32);
        check(|i| i as u64);
    }
}
