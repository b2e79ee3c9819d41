//! Running folds along an axis.

use super::moving::for_rows;
use super::reduce::{Accumulator, Number, Scalar};
use super::scratch::{or_refuse, reused};

/// How a running fold goes along the axis of data seen as `[outer, axis, inner]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan {
    pub(crate) axis: usize,
    pub(crate) inner: usize,
    /// Whether the element at a position is left out of the result there.
    pub(crate) exclusive: bool,
    /// Whether it starts at the end of the axis.
    pub(crate) reverse: bool,
}

impl Scan {
    /// Writes, for each element, the fold of those up to it; `value` makes elements of it.
    pub(crate) fn run<T: Number, A: Accumulator<T>, S: Scalar<T, A>>(
        self,
        data: &[T],
        out: &mut [T],
        value: impl Fn(A) -> T + Copy + Sync,
    ) {
        let line = self.axis * self.inner;
        for_rows(out, line, 1, |first, out| {
            let data = &data[first * line..][..out.len()];
            for (data, out) in data.chunks_exact(line).zip(out.chunks_exact_mut(line)) {
                if self.inner == 1 {
                    self.line::<T, A, S>(data, out, value);
                } else {
                    self.rows::<T, A, S>(data, out, value);
                }
            }
        });
    }

    fn line<T: Number, A: Accumulator<T>, S: Scalar<T, A>>(
        self,
        data: &[T],
        out: &mut [T],
        value: impl Fn(A) -> T + Copy + Sync,
    ) {
        let mut acc = S::IDENTITY;
        let mut count = 0;
        let mut step = |(&x, out): (&T, &mut T)| {
            if self.exclusive {
                *out = value(S::finish(acc, count));
            }
            acc = S::push(acc, x);
            count += 1;
            if !self.exclusive {
                *out = value(S::finish(acc, count));
            }
        };
        let steps = data.iter().zip(out);
        if self.reverse {
            steps.rev().for_each(&mut step);
        } else {
            steps.for_each(&mut step);
        }
    }

    fn rows<T: Number, A: Accumulator<T>, S: Scalar<T, A>>(
        self,
        data: &[T],
        out: &mut [T],
        value: impl Fn(A) -> T + Copy + Sync,
    ) {
        let Some(mut acc) = or_refuse(reused(S::IDENTITY, self.inner)) else {
            return;
        };
        let mut count = 0;
        let push = |row: &[T], acc: &mut [A]| {
            for (acc, &x) in acc.iter_mut().zip(row) {
                *acc = S::push(*acc, x);
            }
        };
        let write = |out: &mut [T], acc: &[A], count: usize| {
            for (out, &acc) in out.iter_mut().zip(acc) {
                *out = value(S::finish(acc, count));
            }
        };
        let mut step = |(row, out): (&[T], &mut [T])| {
            if self.exclusive {
                write(out, &acc, count);
                push(row, &mut acc);
            } else {
                push(row, &mut acc);
                write(out, &acc, count + 1);
            }
            count += 1;
        };
        let steps = data
            .chunks_exact(self.inner)
            .zip(out.chunks_exact_mut(self.inner));
        if self.reverse {
            steps.rev().for_each(&mut step);
        } else {
            steps.for_each(&mut step);
        }
    }
}
