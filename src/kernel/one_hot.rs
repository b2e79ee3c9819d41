//! Sets one element of each line along a new axis.

use super::gather::{BLOCK, OUTSIDE, positions};
use super::moving::{Mover, Word, for_rows};
use crate::op::OpError;
use crate::tensor::Tensor;

/// Indices seen as `[outer, inner]` give an output `[outer, depth, inner]`. The first input holds
/// the value at an index, the second the value elsewhere.
#[derive(Debug)]
pub(crate) struct OneHot<'a> {
    pub(crate) indices: &'a Tensor,
    pub(crate) depth: usize,
    pub(crate) inner: usize,
    /// Whether negative indices count from the end of the axis.
    pub(crate) from_end: bool,
}

impl OneHot<'_> {
    /// The slabs `[depth, inner]` from `first` on.
    fn slabs<T: Word>(&self, on: &T, first: usize, out: &mut [T]) {
        let slab = self.depth * self.inner;
        let count = out.len() / slab * self.inner;
        let mut places = [0; BLOCK];
        for start in (0..count).step_by(BLOCK) {
            let places = &mut places[..BLOCK.min(count - start)];
            let from = first * self.inner + start;
            positions(self.indices, self.depth, self.from_end, from, places);
            let (mut base, mut i) = (start / self.inner * slab, start % self.inner);
            for &mut place in places {
                if place != OUTSIDE {
                    out[base + place * self.inner + i] = on.clone();
                }
                i += 1;
                if i == self.inner {
                    (base, i) = (base + slab, 0);
                }
            }
        }
    }
}

impl Mover for OneHot<'_> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (on, off) = (&inputs[0][0], &inputs[1][0]);
        for_rows(outputs[0], self.depth * self.inner, 1, |first, out| {
            out.fill(off.clone());
            self.slabs(on, first, out);
        });
        Ok(())
    }
}
