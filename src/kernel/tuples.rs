//! Places that tuples of indices mean.

use std::array;

use smallvec::SmallVec;

use super::gather::{BLOCK, OUTSIDE, ask_for};
use super::simd::vectorize;
use crate::tensor::convert::{Compute, widen};
use crate::tensor::{Class, Tensor};

/// Indices taken as tuples, one index for each of some axes.
#[derive(Debug)]
pub(crate) struct Tuples<'a> {
    indices: &'a Tensor,
    /// The size and the stride of each axis.
    axes: SmallVec<[(usize, usize); 4]>,
    from_end: bool,
}

impl<'a> Tuples<'a> {
    /// Tuples for axes of these sizes. With `from_end`, negative indices count from the end.
    pub(crate) fn new(indices: &'a Tensor, sizes: &[usize], from_end: bool) -> Self {
        let strides = crate::tensor::Shape::from(sizes).strides();
        Self {
            indices,
            axes: sizes.iter().copied().zip(strides).collect(),
            from_end,
        }
    }

    /// Asks for the memory of some tuples that come after `next`.
    pub(crate) fn ask_for(&self, next: usize) {
        ask_for(self.indices, next.wrapping_mul(self.axes.len()));
    }

    /// Writes the places, in row-major order of the axes, of the tuples `start..`;
    /// [`OUTSIDE`] where an index is out of range.
    pub(crate) fn places(&self, start: usize, out: &mut [usize]) {
        if self.axes.is_empty() {
            out.fill(0);
        } else if self.native::<i64>(start, out) || self.native::<i32>(start, out) {
            // Nearly all indices are of these types, which are read where they stand.
        } else if self.indices.element_type().class() == Some(Class::U64) {
            self.decode::<u64>(start, out, |index, _| index);
        } else if self.from_end {
            self.decode::<i64>(start, out, |index, size| {
                let back = if index < 0 { size } else { 0 };
                index.cast_unsigned().wrapping_add(back)
            });
        } else {
            // Below zero is far above every size once the bits are taken as unsigned.
            self.decode::<i64>(start, out, |index, _| index.cast_unsigned());
        }
    }

    /// Decodes indices of this very type, if they are and make short tuples.
    fn native<C: Compute + Into<i64>>(&self, start: usize, out: &mut [usize]) -> bool {
        let indices = C::native(self.indices.element_type(), self.indices.bytes());
        match (indices, self.axes.len()) {
            (Some(indices), 1) => self.fixed::<1, C>(&indices[start..], out),
            (Some(indices), 2) => self.fixed::<2, C>(&indices[start * 2..], out),
            (Some(indices), 3) => self.fixed::<3, C>(&indices[start * 3..], out),
            (Some(indices), 4) => self.fixed::<4, C>(&indices[start * 4..], out),
            _ => return false,
        }
        true
    }

    /// Tuples of a length the compiler knows.
    fn fixed<const N: usize, C: Copy + Into<i64>>(&self, indices: &[C], out: &mut [usize]) {
        let axes: [(u64, u64, u64); N] = array::from_fn(|i| {
            let (size, stride) = self.axes[i];
            let back = if self.from_end { size } else { 0 };
            (size as u64, stride as u64, back as u64)
        });
        vectorize(|| {
            for (out, tuple) in out.iter_mut().zip(indices.as_chunks::<N>().0) {
                let (mut place, mut outside) = (0u64, false);
                for (&index, (size, stride, back)) in tuple.iter().zip(axes) {
                    let index: i64 = index.into();
                    let back = if index < 0 { back } else { 0 };
                    let position = index.cast_unsigned().wrapping_add(back);
                    outside |= position >= size;
                    place = place.wrapping_add(position.wrapping_mul(stride));
                }
                *out = if outside { OUTSIDE } else { place as usize };
            }
        });
    }

    fn decode<C: Compute>(
        &self,
        start: usize,
        out: &mut [usize],
        position: impl Fn(C, u64) -> u64,
    ) {
        let len = self.axes.len();
        if len > BLOCK {
            // A tuple longer than a block is read a block at a time.
            for (i, out) in out.iter_mut().enumerate() {
                let mut block = [C::default(); BLOCK];
                let mut place = Some(0);
                for (k, axes) in self.axes.chunks(BLOCK).enumerate() {
                    let block = &mut block[..axes.len()];
                    widen(self.indices, (start + i) * len + k * BLOCK, block);
                    place =
                        place.and_then(|place| Some(place + self::place(block, axes, &position)?));
                }
                *out = place.unwrap_or(OUTSIDE);
            }
            return;
        }
        let mut block = [C::default(); BLOCK];
        let count = BLOCK / len;
        for (k, out) in out.chunks_mut(count).enumerate() {
            let block = &mut block[..out.len() * len];
            widen(self.indices, (start + k * count) * len, block);
            for (out, tuple) in out.iter_mut().zip(block.chunks_exact(len)) {
                *out = place(tuple, &self.axes, &position).unwrap_or(OUTSIDE);
            }
        }
    }

    /// The first of a tuple's indices that is out of range.
    pub(crate) fn axis_outside(&self, tuple: usize) -> Option<usize> {
        let len = self.axes.len();
        (0..len).find(|&axis| {
            let mut out = [0];
            let alone = Self {
                indices: self.indices,
                axes: SmallVec::from_slice(&self.axes[axis..=axis]),
                from_end: self.from_end,
            };
            alone.places(tuple * len + axis, &mut out);
            out[0] == OUTSIDE
        })
    }
}

/// The place of one tuple, if all its indices are in range.
#[inline]
fn place<C: Copy>(
    tuple: &[C],
    axes: &[(usize, usize)],
    position: &impl Fn(C, u64) -> u64,
) -> Option<usize> {
    let mut place = 0usize;
    let mut inside = true;
    for (&index, &(size, stride)) in tuple.iter().zip(axes) {
        let position = position(index, size as u64);
        inside &= position < size as u64;
        place = place.wrapping_add((position as usize).wrapping_mul(stride));
    }
    inside.then_some(place)
}
