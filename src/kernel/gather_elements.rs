//! Picks single elements along an axis.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::elements::pick_each;
use super::gather::{BLOCK, OUTSIDE, outside_of, positions};
use super::moving::{Mover, Word, for_rows};
use super::simd::vectorize_mut;
use crate::op::OpError;
use crate::tensor::Tensor;

/// Data seen as `[outer, axis, inner]` and indices as `[outer, count, inner]` give an output of
/// the indices' shape.
#[derive(Debug)]
pub(crate) struct GatherElements<'a> {
    indices: &'a Tensor,
    axis: usize,
    inner: usize,
    count: usize,
    /// The position of the first index that is out of range.
    outside: AtomicUsize,
}

impl<'a> GatherElements<'a> {
    /// Gathers along `axis` from data of shape `data`, which differs from the indices' only there.
    pub(crate) fn new(data: &[usize], indices: &'a Tensor, axis: usize) -> Self {
        Self {
            indices,
            axis: data[axis],
            inner: data[axis + 1..].iter().product(),
            count: indices.shape()[axis],
            outside: AtomicUsize::new(OUTSIDE),
        }
    }

    /// The position of the first index that was found out of range.
    pub(crate) fn outside(self) -> Option<usize> {
        Some(self.outside.into_inner()).filter(|&position| position != OUTSIDE)
    }

    /// The elements from `first` on.
    fn elements<T: Word>(&self, data: &[T], first: usize, out: &mut [T]) {
        let (slab, line) = (self.axis * self.inner, self.count * self.inner);
        let mut some = [0; BLOCK];
        for (k, out) in out.chunks_mut(BLOCK).enumerate() {
            let start = first + k * BLOCK;
            let some = &mut some[..out.len()];
            positions(self.indices, self.axis, false, start, some);
            if let Some(bad) = outside_of(some) {
                self.outside.fetch_min(start + bad, Ordering::Relaxed);
                return;
            }
            let mut done = 0;
            while done < out.len() {
                let at = start + done;
                let n = (line - at % line).min(out.len() - done);
                let block = &data[at / line * slab..][..slab];
                let (out, places) = (&mut out[done..done + n], &mut some[done..done + n]);
                if self.inner > 1 {
                    self.places(at, places);
                }
                pick_each(block, places, 0, out);
                done += n;
            }
        }
    }

    /// Makes places in the data of positions along the axis, of the elements from the `first` on.
    fn places(&self, first: usize, positions: &mut [usize]) {
        let inner = self.inner;
        vectorize_mut(
            #[inline(always)]
            || {
                let (mut rest, mut start) = (&mut *positions, first % inner);
                while !rest.is_empty() {
                    let count = (inner - start).min(rest.len());
                    let (now, later) = rest.split_at_mut(count);
                    for (i, position) in now.iter_mut().enumerate() {
                        // No place is past the data's end.
                        *position = position
                            .wrapping_mul(inner)
                            .wrapping_add(start)
                            .wrapping_add(i);
                    }
                    (rest, start) = (later, 0);
                }
            },
        );
    }
}

impl Mover for GatherElements<'_> {
    /// Stops early if an index is out of range: see [`GatherElements::outside`].
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        for_rows(outputs[0], 1, 1, |first, out| {
            self.elements(inputs[0], first, out);
        });
        Ok(())
    }
}
