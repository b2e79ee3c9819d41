//! Puts tensors side by side.

use super::moving::{Mover, Word, copy, copy_run, for_rows};
use crate::op::OpError;
use crate::tensor::Few;

/// Every row of the output is one line of each input, in order.
#[derive(Debug)]
pub(crate) struct Concat {
    /// How many elements a line of each input has.
    pub(crate) lines: Few<usize>,
}

impl Mover for Concat {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let mut out = &mut *outputs[0];
        let row: usize = self.lines.iter().sum();
        if row == out.len() {
            for input in inputs {
                let (now, later) = out.split_at_mut(input.len());
                copy(input, now);
                out = later;
            }
            return Ok(());
        }
        for_rows(out, row, 1, |first, out| {
            for (i, mut out) in out.chunks_exact_mut(row).enumerate() {
                for (input, &line) in inputs.iter().zip(&self.lines) {
                    let (now, later) = out.split_at_mut(line);
                    copy_run(&input[(first + i) * line..][..line], now);
                    out = later;
                }
            }
        });
        Ok(())
    }
}
