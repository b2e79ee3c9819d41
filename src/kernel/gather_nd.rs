//! Picks slices by tuples of indices.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::gather::{BLOCK, OUTSIDE, decoded_for, outside_of, pick};
use super::moving::{Mover, Word, for_rows};
use super::tuples::Tuples;
use crate::op::OpError;

/// Data seen as `[batch, places, slice]` and `[batch, count]` tuples give an output
/// `[batch, count, slice]`.
#[derive(Debug)]
pub(crate) struct GatherND<'a> {
    tuples: &'a Tuples<'a>,
    count: usize,
    /// The number of elements of one batch, and of a slice.
    batch: usize,
    slice: usize,
    outside: AtomicUsize,
}

impl<'a> GatherND<'a> {
    pub(crate) fn new(tuples: &'a Tuples<'a>, count: usize, batch: usize, slice: usize) -> Self {
        Self {
            tuples,
            count,
            batch,
            slice,
            outside: AtomicUsize::new(OUTSIDE),
        }
    }

    /// The first tuple that was found to have an index out of range.
    pub(crate) fn outside(self) -> Option<usize> {
        Some(self.outside.into_inner()).filter(|&tuple| tuple != OUTSIDE)
    }

    /// The slices from `first` on.
    fn slices<T: Word>(&self, data: &[T], first: usize, mut out: &mut [T]) {
        let step = decoded_for(self.slice);
        let mut start = first;
        while !out.is_empty() {
            let mut done = self.elements(data, start, out);
            if done == 0 {
                done = step.min(out.len() / self.slice);
                if !self.some(data, start, &mut out[..done * self.slice]) {
                    return;
                }
            }
            (start, out) = (start + done, &mut out[done * self.slice..]);
        }
    }

    /// Single elements of one batch, as many as can be picked in one go.
    fn elements<T: Word>(&self, data: &[T], start: usize, out: &mut [T]) -> usize {
        if self.slice != 1 {
            return 0;
        }
        let (batch, i) = (start / self.count, start % self.count);
        let block = &data[batch * self.batch..][..self.batch];
        let count = (self.count - i).min(out.len());
        self.tuples.pick_inside(start, block, &mut out[..count])
    }

    /// At most a block of slices, unless an index is out of range.
    fn some<T: Word>(&self, data: &[T], start: usize, mut out: &mut [T]) -> bool {
        let mut some = [0; BLOCK];
        let mut some = &mut some[..out.len() / self.slice];
        self.tuples.ask_for(start + some.len());
        self.tuples.places(start, some);
        if let Some(bad) = outside_of(some) {
            self.outside.fetch_min(start + bad, Ordering::Relaxed);
            return false;
        }
        let (mut batch, mut i) = (start / self.count, start % self.count);
        while !some.is_empty() {
            let n = (self.count - i).min(some.len());
            let (places, more) = some.split_at_mut(n);
            let (now, later) = out.split_at_mut(n * self.slice);
            let block = &data[batch * self.batch..][..self.batch];
            pick(block, places, self.slice, now);
            (some, out) = (more, later);
            batch += 1;
            i = 0;
        }
        true
    }
}

impl Mover for GatherND<'_> {
    /// Stops early if an index is out of range: see [`GatherND::outside`].
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        for_rows(outputs[0], self.slice, 1, |first, out| {
            self.slices(inputs[0], first, out);
        });
        Ok(())
    }
}
