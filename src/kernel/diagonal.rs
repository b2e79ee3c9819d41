//! Matrices with one element on a diagonal, and another everywhere else.

use super::moving::{Mover, Word};
use crate::op::OpError;

/// Matrices of this size, filled with the first input, the diagonal with the second.
#[derive(Debug)]
pub(crate) struct Diagonal {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The column of the diagonal in row 0.
    pub(crate) diagonal: i64,
}

impl Mover for Diagonal {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (zero, one, out) = (&inputs[0][0], &inputs[1][0], &mut *outputs[0]);
        out.fill(zero.clone());
        let matrix = self.rows * self.columns;
        if out.is_empty() {
            return Ok(());
        }
        let away = usize::try_from(self.diagonal.unsigned_abs()).unwrap_or(usize::MAX);
        let (row, column) = if self.diagonal < 0 {
            (away, 0)
        } else {
            (0, away)
        };
        let rows = self.rows.saturating_sub(row);
        let count = rows.min(self.columns.saturating_sub(column));
        if count == 0 {
            return Ok(());
        }
        let first = row * self.columns + column;
        for out in out.chunks_exact_mut(matrix) {
            for out in out[first..]
                .iter_mut()
                .step_by(self.columns + 1)
                .take(count)
            {
                *out = one.clone();
            }
        }
        Ok(())
    }
}
