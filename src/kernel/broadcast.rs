//! Repeats elements along axes.

use smallvec::SmallVec;

use super::moving::{Mover, Odometer, Word, copy, copy_run, for_rows};
use crate::op::OpError;

/// One or several neighbouring axes of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    size: usize,
    /// Whether the input has the axis; otherwise its elements are repeated along it.
    present: bool,
}

/// Which axes of the output repeat the input: alternately present and repeated.
#[derive(Debug)]
pub(crate) struct Broadcast {
    axes: SmallVec<[Axis; 6]>,
}

impl Broadcast {
    /// `shape` has the rank of `output`, and a 1 wherever the input is repeated.
    pub(crate) fn new(shape: &[usize], output: &[usize]) -> Self {
        let mut axes: SmallVec<[Axis; 6]> = SmallVec::new();
        for (&dim, &size) in shape.iter().zip(output) {
            let present = dim == size;
            match axes.last_mut() {
                _ if size == 1 => {}
                Some(last) if last.present == present => last.size *= size,
                _ => axes.push(Axis { size, present }),
            }
        }
        Self { axes }
    }

    /// The axes before the last two, as an index space over the input, whose part below them has
    /// `block` elements.
    fn outer(&self, start: usize, block: usize) -> Odometer {
        let outer = &self.axes[..self.axes.len().saturating_sub(2)];
        let mut strides: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
        let mut stride = block;
        for (axis, slot) in outer.iter().zip(&mut strides).rev() {
            if axis.present {
                *slot = stride;
                stride *= axis.size;
            }
        }
        let dims: SmallVec<[usize; 6]> = outer.iter().map(|axis| axis.size).collect();
        Odometer::at(start, &dims, &strides)
    }
}

impl Mover for Broadcast {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, out) = (inputs[0], &mut *outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let (last, before) = match *self.axes {
            [.., before, last] => (last, before.size),
            [last] if !last.present => {
                for_rows(out, 1, 1, |_, out| out.fill(data[0].clone()));
                return Ok(());
            }
            _ => {
                copy(data, out);
                return Ok(());
            }
        };
        let line = last.size;
        for_rows(out, line, 1, |first, mut out| {
            let block = if last.present { line } else { before };
            let mut source = self.outer(first / before, block);
            let mut i = first % before;
            while !out.is_empty() {
                let n = (before - i).min(out.len() / line);
                let (now, later) = out.split_at_mut(n * line);
                let data = &data[source.offset()..][..block];
                if last.present {
                    repeat(data, now);
                } else {
                    for (out, element) in now.chunks_exact_mut(line).zip(&data[i..]) {
                        out.fill(element.clone());
                    }
                }
                out = later;
                source.step();
                i = 0;
            }
        });
        Ok(())
    }
}

/// Fills `out` with `data` over and over. What is written already is copied, so that short data
/// does not make many short copies.
fn repeat<T: Word>(data: &[T], out: &mut [T]) {
    copy_run(data, &mut out[..data.len()]);
    let mut written = data.len();
    while written < out.len() {
        let (head, rest) = out.split_at_mut(written);
        let n = head.len().min(rest.len());
        copy_run(&head[..n], &mut rest[..n]);
        written += n;
    }
}
