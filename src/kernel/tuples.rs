//! Places that tuples of indices mean.

use smallvec::SmallVec;

use super::gather::{BLOCK, OUTSIDE};
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

    /// Writes the places, in row-major order of the axes, of the tuples `start..`;
    /// [`OUTSIDE`] where an index is out of range.
    pub(crate) fn places(&self, start: usize, out: &mut [usize]) {
        if self.axes.is_empty() {
            out.fill(0);
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
