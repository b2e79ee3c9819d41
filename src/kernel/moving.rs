//! Operations that only move elements, by the size of their words.
//!
//! Every element type is moved as one of five unsigned words or as a string: six instances of
//! each kernel, whatever the number of types. Packed elements move as bytes, one code each.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::scratch::{Reused, reused_any};
use crate::limits::Share;
use crate::op::{OpError, ensure};
use crate::tensor::{ElementType, Few, Tensor, Text, pack};

/// An element while it is moved. The default is zero (`false`, the empty string).
pub(crate) trait Word: Clone + Default + Send + Sync + 'static {
    /// The same elements if they are those of which instructions pick several.
    fn gathered(_elements: &[Self]) -> Option<&[u32]> {
        None
    }

    /// The same to be written.
    fn gathered_mut(_elements: &mut [Self]) -> Option<&mut [u32]> {
        None
    }
}

impl Word for u8 {}
impl Word for u16 {}

impl Word for u32 {
    fn gathered(elements: &[Self]) -> Option<&[u32]> {
        Some(elements)
    }

    fn gathered_mut(elements: &mut [Self]) -> Option<&mut [u32]> {
        Some(elements)
    }
}

impl Word for u64 {}
impl Word for u128 {}
impl Word for Text {}

/// A kernel that moves elements from inputs to outputs of the same type.
pub(crate) trait Mover {
    /// Writes every element of the outputs.
    ///
    /// # Errors
    /// Those of the kernel.
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError>;
}

/// Runs a mover on tensors of one element type.
///
/// # Errors
/// When the element types differ, and those of the mover.
pub(crate) fn move_elements<M: Mover>(
    mover: &M,
    inputs: &[&Tensor],
    outputs: &mut [Tensor],
) -> Result<(), OpError> {
    let Some(ty) = outputs.first().map(Tensor::element_type) else {
        return Ok(());
    };
    let inputs_differ = inputs.iter().map(|t| t.element_type()).find(|&t| t != ty);
    let outputs_differ = outputs.iter().map(Tensor::element_type).find(|&t| t != ty);
    if let Some(other) = inputs_differ.or(outputs_differ) {
        ensure!(false, "expected elements of {ty}, got {other}");
    }
    match (ty, ty.bits()) {
        (ElementType::String, _) => strings(mover, inputs, outputs),
        (_, 1..8) => packed(mover, inputs, outputs),
        (_, 8) => words::<u8, M>(mover, inputs, outputs),
        (_, 16) => words::<u16, M>(mover, inputs, outputs),
        (_, 32) => words::<u32, M>(mover, inputs, outputs),
        (_, 64) => words::<u64, M>(mover, inputs, outputs),
        (_, 128) => words::<u128, M>(mover, inputs, outputs),
        _ => Err(OpError::unsupported(format!("{ty} cannot be moved"))),
    }
}

fn words<W, M>(mover: &M, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError>
where
    W: Word + bytemuck::Pod,
    M: Mover,
{
    let inputs: Few<&[W]> = inputs
        .iter()
        .map(|t| bytemuck::cast_slice(t.bytes()))
        .collect();
    let mut outputs: Few<&mut [W]> = outputs
        .iter_mut()
        .map(|t| bytemuck::cast_slice_mut(t.bytes_mut()))
        .collect();
    mover.run(&inputs, &mut outputs)
}

fn strings<M: Mover>(mover: &M, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
    let inputs = inputs
        .iter()
        .map(|t| t.as_strings())
        .collect::<Result<Vec<_>, _>>()?;
    let mut outputs = outputs
        .iter_mut()
        .map(Tensor::as_mut_strings)
        .collect::<Result<Vec<_>, _>>()?;
    mover.run(&inputs, &mut outputs)
}

fn packed<M: Mover>(mover: &M, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
    let inputs = inputs
        .iter()
        .map(|t| {
            let mut codes = reused_any(0u8, t.len())?;
            pack::unpack(t.element_type(), t.bytes(), 0, &mut codes);
            Ok(codes)
        })
        .collect::<Result<Few<Reused<u8>>, OpError>>()?;
    let inputs: Few<&[u8]> = inputs.iter().map(|codes| &codes[..]).collect();
    let mut codes = outputs
        .iter()
        .map(|t| reused_any(0u8, t.len()))
        .collect::<Result<Few<Reused<u8>>, OpError>>()?;
    let mut slices: Few<&mut [u8]> = codes.iter_mut().map(|codes| &mut codes[..]).collect();
    mover.run(&inputs, &mut slices)?;
    drop(slices);
    for (output, codes) in outputs.iter_mut().zip(&codes) {
        pack::pack(output.element_type(), codes, output.bytes_mut(), 0);
    }
    Ok(())
}

/// Outputs of fewer bytes are written by the calling thread: waking another takes as long as
/// copying about this much.
const PARALLEL_BYTES: usize = 512 << 10;
/// What one thread writes at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Calls `f(first row, rows)` for pieces of whole rows of `row` elements, together all of `out`;
/// several at a time if there is much to do. A piece has at least `least` rows, but for the last.
pub(crate) fn for_rows<T: Send>(
    out: &mut [T],
    row: usize,
    least: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    if out.is_empty() {
        return;
    }
    let size = size_of::<T>().max(1);
    if out.len().saturating_mul(size) < PARALLEL_BYTES {
        return f(0, out);
    }
    let rows = (CHUNK_BYTES / size / row).max(least).max(1);
    out.par_chunks_mut(rows.saturating_mul(row))
        .enumerate()
        .share(|(i, piece)| f(i * rows, piece));
}

/// What a thread copies in one piece if there is that much for each: of so many bytes at a time, the
/// library may know that they need not pass through the caches.
const PIECE_BYTES: std::ops::Range<usize> = 16 << 20..256 << 20;

/// Copies a slice, in parallel if it is large.
pub(crate) fn copy<T: Clone + Send + Sync>(from: &[T], to: &mut [T]) {
    let each = to.len().div_ceil(rayon::current_num_threads());
    let bytes = each.saturating_mul(size_of::<T>());
    let least = match bytes >= PIECE_BYTES.start {
        true => each.min(PIECE_BYTES.end / size_of::<T>().max(1)),
        false => 1,
    };
    for_rows(to, 1, least, |first, piece| {
        piece.clone_from_slice(&from[first..first + piece.len()]);
    });
}

/// Copies a run that may be very short: a call of `memcpy` costs more than a few elements.
#[inline]
pub(crate) fn copy_run<T: Word>(from: &[T], to: &mut [T]) {
    if to.len() <= 4 {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.clone();
        }
    } else {
        to.clone_from_slice(from);
    }
}

/// Counts through an index space, keeping the offset it has under other strides. Strides and
/// offset wrap, so that a stride may be negative.
#[derive(Debug, Clone)]
pub(crate) struct Odometer {
    axes: SmallVec<[(usize, usize, usize); 6]>,
    offset: usize,
}

impl Odometer {
    /// At the `start`-th index of the space `dims`, in row-major order.
    pub(crate) fn at(start: usize, dims: &[usize], strides: &[usize]) -> Self {
        let mut axes: SmallVec<[(usize, usize, usize); 6]> = dims
            .iter()
            .zip(strides)
            .map(|(&dim, &stride)| (0, dim, stride))
            .collect();
        let mut rest = start;
        let mut offset = 0;
        for (index, dim, stride) in axes.iter_mut().rev() {
            *index = rest % (*dim).max(1);
            rest /= (*dim).max(1);
            offset = usize::wrapping_add(offset, index.wrapping_mul(*stride));
        }
        Self { axes, offset }
    }

    /// The offset of the current index.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Steps to the next index; after the last comes the first.
    #[inline]
    pub(crate) fn step(&mut self) {
        for (index, dim, stride) in self.axes.iter_mut().rev() {
            *index += 1;
            if *index < *dim {
                self.offset = self.offset.wrapping_add(*stride);
                return;
            }
            let back = (*dim - 1).wrapping_mul(*stride);
            self.offset = self.offset.wrapping_sub(back);
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odometer_counts_like_nested_loops() {
        let dims = [2, 3, 2];
        let strides = [1, 10, 100];
        for start in 0..12 {
            let mut odometer = Odometer::at(start, &dims, &strides);
            for i in start..start + 12 {
                let i = i % 12;
                let expected = i / 6 + i / 2 % 3 * 10 + i % 2 * 100;
                assert_eq!(odometer.offset(), expected);
                odometer.step();
            }
        }
    }

    #[test]
    fn rows_cover_everything_once() {
        for (len, row) in [(0, 3), (9, 3), (900_000, 3), (900_000, 900_000)] {
            let mut out = vec![usize::MAX; len];
            for_rows(&mut out, row, 1, |first, piece| {
                assert!(piece.len().is_multiple_of(row));
                for (i, x) in piece.iter_mut().enumerate() {
                    *x = first * row + i;
                }
            });
            assert!(out.iter().enumerate().all(|(i, &x)| i == x));
        }
    }
}
