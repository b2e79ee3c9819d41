//! Reverses the beginnings of slices, each by its own length.

use super::moving::{Mover, Word, copy_run, for_rows};
use crate::op::OpError;

/// Data seen as `[outer, first, middle, second, inner]`, where `first` and `second` are the axis of
/// the batch and that of the sequence, in either order.
#[derive(Debug)]
pub(crate) struct ReverseSequence {
    pub(crate) first: usize,
    pub(crate) middle: usize,
    pub(crate) second: usize,
    pub(crate) inner: usize,
    /// Whether the batch comes before the sequence.
    pub(crate) batch_first: bool,
    /// How many elements of each sequence of the batch are reversed.
    pub(crate) lengths: Vec<usize>,
}

fn reversed(i: usize, len: usize) -> usize {
    if i < len { len - 1 - i } else { i }
}

impl ReverseSequence {
    /// The blocks along the second axis for one index of the axes before it.
    fn line<T: Word>(&self, data: &[T], index: usize, out: &mut [T]) {
        let (inner, size) = (self.inner, self.second * self.inner);
        let (rest, middle) = (index / self.middle, index % self.middle);
        let (outer, first) = (rest / self.first, rest % self.first);
        if self.batch_first {
            let data = &data[index * size..][..size];
            let (now, later) = out.split_at_mut(self.lengths[first] * inner);
            let (same, kept) = data.split_at(now.len());
            for (out, data) in now
                .chunks_exact_mut(inner)
                .zip(same.chunks_exact(inner).rev())
            {
                copy_run(data, out);
            }
            copy_run(kept, later);
            return;
        }
        for ((i, out), &len) in out.chunks_exact_mut(inner).enumerate().zip(&self.lengths) {
            let from = (outer * self.first + reversed(first, len)) * self.middle + middle;
            copy_run(&data[from * size + i * inner..][..inner], out);
        }
    }
}

impl Mover for ReverseSequence {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let size = self.second * self.inner;
        for_rows(outputs[0], size, 1, |index, out| {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                self.line(inputs[0], index + i, out);
            }
        });
        Ok(())
    }
}
