//! Picks elements axis by axis: padding, cropping, reversing and rolling are all such picks.

use std::iter::repeat_n;

use smallvec::{SmallVec, smallvec};

use super::gather::OUTSIDE;
use super::moving::{Mover, Word, copy_run, for_rows};
use super::scratch::{Reused, reused_all, try_extend, try_push};
use crate::op::OpError;
use crate::tensor::Few;

/// Where the elements of a stretch of an output axis come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The input's, from this position on.
    Forward(usize),
    /// The input's, from this position backwards.
    Backward(usize),
    /// The input's at this position, again and again.
    Repeat(usize),
    /// None of the input's: the value that fills.
    Fill,
}

/// An axis of the output, as stretches with their lengths.
pub(crate) type Runs = SmallVec<[(Source, usize); 4]>;

/// An axis left as it is.
pub(crate) fn identity(size: usize) -> Runs {
    smallvec![(Source::Forward(0), size)]
}

/// The axes that do not belong to a line.
#[derive(Debug)]
struct Outer {
    /// The input's position for each of the output's.
    positions: Reused<usize>,
    stride: usize,
}

/// A pick along every axis. The second input, if there is one, holds the value that fills.
#[derive(Debug)]
pub(crate) struct Remap {
    outer: Few<Outer>,
    /// The innermost axis that is not left as it is, with those below it.
    line: Reused<(Source, usize)>,
    /// The position in a line of the output where each stretch begins.
    starts: Reused<usize>,
    /// The lengths of a line of the input and of the output.
    width: usize,
    length: usize,
}

impl Remap {
    /// Picks from an input of this shape, whose axes the output has as `axes` says.
    ///
    /// # Errors
    /// When there is no memory for the positions.
    pub(crate) fn new(shape: &[usize], axes: Few<Runs>) -> Result<Self, OpError> {
        // Where nothing is picked, the positions of other axes, however long, are of no use.
        if axes
            .iter()
            .any(|runs| runs.iter().all(|&(_, len)| len == 0))
            && axes.len() > 1
        {
            return Self::new(&[0], smallvec![Runs::new()]);
        }
        let mut outer: Few<Outer> = SmallVec::new();
        let mut line = scale(identity(1), 1)?;
        let mut width = 1;
        let mut stride = 1;
        for (&size, mut runs) in shape.iter().zip(axes).rev() {
            runs.retain(|&mut (_, len)| len > 0);
            if outer.is_empty() && line[..] == identity(width)[..] {
                line = scale(runs, width)?;
                width *= size;
            } else {
                let positions = positions(&runs)?;
                outer.push(Outer { positions, stride });
            }
            stride *= size;
        }
        outer.reverse();
        let mut length = 0;
        let starts = reused_all(line.iter().map(|&(_, len)| {
            length += len;
            length - len
        }))?;
        Ok(Self {
            outer,
            line,
            starts,
            width,
            length,
        })
    }

    /// Where the input's line for a line of the output begins; `None` if all of it is filled.
    fn source(&self, index: &[usize]) -> Option<usize> {
        let mut offset = 0;
        for (outer, &i) in self.outer.iter().zip(index) {
            let position = outer.positions[i];
            if position == OUTSIDE {
                return None;
            }
            offset += position * outer.stride;
        }
        Some(offset)
    }

    /// The elements of the output from `first` on.
    fn piece<T: Word>(&self, data: &[T], fill: &T, first: usize, mut out: &mut [T]) {
        let (mut row, mut skip) = (first / self.length, first % self.length);
        let mut index: Few<usize> = Few::from_elem(0, self.outer.len());
        for (i, outer) in index.iter_mut().zip(&self.outer).rev() {
            *i = row % outer.positions.len();
            row /= outer.positions.len();
        }
        while !out.is_empty() {
            let (now, later) = out.split_at_mut((self.length - skip).min(out.len()));
            match self.source(&index) {
                Some(offset) => self.part(&data[offset..][..self.width], fill, skip, now),
                None => now.fill(fill.clone()),
            }
            out = later;
            skip = 0;
            for (i, outer) in index.iter_mut().zip(&self.outer).rev() {
                *i += 1;
                if *i < outer.positions.len() {
                    break;
                }
                *i = 0;
            }
        }
    }

    /// The part of a line from `first` on.
    fn part<T: Word>(&self, line: &[T], fill: &T, first: usize, mut out: &mut [T]) {
        let run = self.starts.partition_point(|&start| start <= first) - 1;
        let mut skip = first - self.starts[run];
        for &(from, len) in &self.line[run..] {
            let (now, later) = out.split_at_mut((len - skip).min(out.len()));
            match from {
                Source::Forward(start) => copy_run(&line[start + skip..][..now.len()], now),
                Source::Backward(start) => {
                    let back = line[..=start - skip].iter().rev();
                    for (out, element) in now.iter_mut().zip(back) {
                        *out = element.clone();
                    }
                }
                Source::Repeat(at) => now.fill(line[at].clone()),
                Source::Fill => now.fill(fill.clone()),
            }
            out = later;
            skip = 0;
            if out.is_empty() {
                return;
            }
        }
    }
}

impl Mover for Remap {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let fill = inputs.get(1).and_then(|value| value.first());
        let fill = fill.cloned().unwrap_or_default();
        for_rows(outputs[0], 1, 1, |first, out| {
            self.piece(inputs[0], &fill, first, out);
        });
        Ok(())
    }
}

/// The stretches when every position stands for `n` neighbouring elements.
fn scale(runs: Runs, n: usize) -> Result<Reused<(Source, usize)>, OpError> {
    if n == 1 {
        return reused_all(runs);
    }
    let mut scaled = Reused::default();
    for (from, len) in runs {
        match from {
            Source::Forward(start) => {
                try_push(&mut scaled, (Source::Forward(start * n), len * n))?;
            }
            Source::Fill => try_push(&mut scaled, (Source::Fill, len * n))?,
            Source::Backward(start) => {
                let back = (0..len).map(|i| (Source::Forward((start - i) * n), n));
                try_extend(&mut scaled, back)?;
            }
            Source::Repeat(at) => {
                let again = repeat_n((Source::Forward(at * n), n), len);
                try_extend(&mut scaled, again)?;
            }
        }
    }
    Ok(scaled)
}

fn positions(runs: &Runs) -> Result<Reused<usize>, OpError> {
    let mut positions = Reused::default();
    for &(from, len) in runs {
        match from {
            Source::Forward(start) => try_extend(&mut positions, start..start + len)?,
            Source::Backward(start) => {
                try_extend(&mut positions, (0..len).map(|i| start - i))?;
            }
            Source::Repeat(at) => try_extend(&mut positions, repeat_n(at, len))?,
            Source::Fill => try_extend(&mut positions, repeat_n(OUTSIDE, len))?,
        }
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large enough to be written in pieces that begin anywhere.
    #[test]
    fn pieces() {
        let (rows, columns) = (700, 500);
        let data: Vec<u32> = (0..rows * columns).map(|i| i as u32 + 1).collect();
        let across: Runs = smallvec![
            (Source::Fill, 3),
            (Source::Backward(9), 10),
            (Source::Repeat(4), 2),
            (Source::Forward(100), 400),
        ];
        let down: Runs = smallvec![
            (Source::Forward(5), 600),
            (Source::Fill, 1),
            (Source::Repeat(0), 9),
        ];
        for (down, across) in [
            (down.clone(), across.clone()),
            (down, identity(columns)),
            (identity(rows), across),
        ] {
            let [y, x] = [&down, &across].map(|runs| positions(runs).expect("memory"));
            let remap = Remap::new(&[rows, columns], smallvec![down, across]).expect("memory");
            let mut out = vec![0u32; y.len() * x.len()];
            remap
                .run(&[&data[..], &[7][..]], &mut [&mut out])
                .expect("no errors");
            let expected = y.iter().flat_map(|&y| {
                let data = &data;
                x.iter().map(move |&x| {
                    if y == OUTSIDE || x == OUTSIDE {
                        7
                    } else {
                        data[y * columns + x]
                    }
                })
            });
            assert!(out.iter().copied().eq(expected));
        }
    }
}
