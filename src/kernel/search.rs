//! Places of values in sorted sequences.

use super::index::Index;
use super::moving::for_rows;
use super::scratch::try_vec;
use crate::op::OpError;
use crate::tensor::Tensor;
use crate::tensor::convert::{BLOCK, Compute, widen};

/// How many keys come before a value: those below it, with `right` also those equal to it.
pub(crate) fn place<K: PartialOrd>(keys: &[K], value: &K, right: bool) -> usize {
    if right {
        keys.partition_point(|key| key <= value)
    } else {
        keys.partition_point(|key| key < value)
    }
}

/// Values seen as rows of `row` elements, each with a sequence of its own, or one for all.
pub(crate) struct Search<'a> {
    pub(crate) sorted: &'a Tensor,
    pub(crate) values: &'a Tensor,
    /// The length of a sequence.
    pub(crate) sequence: usize,
    /// The values that belong to it.
    pub(crate) row: usize,
    pub(crate) right: bool,
}

impl Search<'_> {
    /// Writes the place of each value, computing in `C`.
    ///
    /// # Errors
    /// When there is no memory for the sequences in `C`.
    pub(crate) fn run<C: Compute, I: Index>(&self, out: &mut [I]) -> Result<(), OpError> {
        let widened;
        let sorted = match C::native(self.sorted.element_type(), self.sorted.bytes()) {
            Some(native) => native,
            None => {
                let mut all = try_vec(C::default(), self.sorted.len())?;
                widen(self.sorted, 0, &mut all);
                widened = all;
                &widened[..]
            }
        };
        for_rows(out, 1, 1, |first, out| self.piece(sorted, first, out));
        Ok(())
    }

    fn piece<C: Compute, I: Index>(&self, sorted: &[C], first: usize, out: &mut [I]) {
        let mut values = [C::default(); BLOCK];
        let mut done = 0;
        while done < out.len() {
            let (row, skip) = ((first + done) / self.row, (first + done) % self.row);
            let len = (self.row - skip).min(out.len() - done).min(BLOCK);
            let values = &mut values[..len];
            widen(self.values, first + done, values);
            let keys = &sorted[row * self.sequence..][..self.sequence];
            for (out, value) in out[done..done + len].iter_mut().zip(values.iter()) {
                *out = I::of(place(keys, value, self.right));
            }
            done += len;
        }
    }
}
