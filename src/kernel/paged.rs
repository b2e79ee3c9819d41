//! Attention of a sequence whose keys and values lie in blocks, scattered over a cache.
//!
//! What a sequence sees is first brought together, then each head is computed as if it had never
//! been scattered: a block of queries at a time.

use std::ops::Range;

use rayon::prelude::*;

use super::gemm::{Matrix, multiply_alone};
use super::real::Real;
use super::scratch::{try_resize, try_vec};
use super::softmax::weights;
use crate::limits::Share;
use crate::op::OpError;

/// Queries computed at a time.
const BLOCK: usize = 64;

/// Multiplications below which everything stays on the calling thread.
const SMALL: usize = 1 << 16;

/// Neighbouring slots of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The block.
    pub(crate) block: usize,
    /// Slots in it.
    pub(crate) slots: Range<usize>,
}

/// A cache: blocks of heads of slots of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) heads: usize,
    /// The slots of a head of a block.
    pub(crate) slots: usize,
    /// The bytes of a row.
    pub(crate) row: usize,
}

impl Blocks<'_> {
    /// For each head, copies the rows of `runs` and then its rows of `new`, in which the heads of
    /// a token lie together.
    pub(crate) fn gather(&self, runs: &[Run], new: &[u8], out: &mut [u8]) {
        if out.is_empty() {
            return;
        }
        let Self { heads, row, .. } = *self;
        for (head, out) in out.chunks_exact_mut(out.len() / heads).enumerate() {
            let mut rest = out;
            for run in runs {
                let first = (run.block * heads + head) * self.slots + run.slots.start;
                let (part, after) = rest.split_at_mut(run.slots.len() * row);
                part.copy_from_slice(&self.bytes[first * row..][..part.len()]);
                rest = after;
            }
            let tokens = new.chunks_exact(heads * row);
            for (out, token) in rest.chunks_exact_mut(row).zip(tokens) {
                out.copy_from_slice(&token[head * row..][..row]);
            }
        }
    }
}

/// The new tokens of a sequence, and what they see.
#[derive(Debug)]
pub(crate) struct Sequence<'a, T> {
    /// The heads of queries, a multiple of those of keys and values.
    pub(crate) heads: usize,
    /// The heads of keys and values.
    pub(crate) kv_heads: usize,
    /// The length of a query and of a key.
    pub(crate) length: usize,
    /// The length of a value.
    pub(crate) width: usize,
    /// For each new token, its heads.
    pub(crate) query: &'a [T],
    /// For each head, the keys.
    pub(crate) keys: &'a [T],
    /// For each head, the values.
    pub(crate) values: &'a [T],
    /// The positions of keys and values in the sequence, ascending.
    pub(crate) places: &'a [usize],
    /// The position of the first new token.
    pub(crate) past: usize,
    /// How many positions a token sees, up to its own.
    pub(crate) window: usize,
    /// What scores are multiplied by.
    pub(crate) scale: T,
    /// For each head, what is added to a score for each position that key is ahead of query.
    pub(crate) slopes: Option<&'a [T]>,
    /// For each head, one more score, of a key without a value.
    pub(crate) sinks: Option<&'a [T]>,
    /// The first new token whose weights are added up.
    pub(crate) scored: usize,
}

impl<T: Real> Sequence<'_, T> {
    /// Fills `out` with the heads of each new token, and adds to `sums` the weights that its
    /// positions have for those that count.
    ///
    /// # Errors
    /// When there is no memory for what a head gives.
    pub(crate) fn run(&self, out: &mut [T], sums: &mut [T]) -> Result<(), OpError> {
        let work = self.query.len() + out.len();
        let heads = 0..self.heads;
        let heads: Vec<_> = if work.saturating_mul(self.places.len()) <= SMALL {
            heads
                .map(|head| self.head(head))
                .collect::<Result<_, _>>()?
        } else {
            heads
                .into_par_iter()
                .share_map(|head| self.head(head))
                .collect::<Result<_, _>>()?
        };
        let row = self.heads * self.width;
        for (head, (values, weights)) in heads.into_iter().enumerate() {
            let rows = values.chunks_exact(self.width);
            for (out, value) in out.chunks_exact_mut(row).zip(rows) {
                out[head * self.width..][..self.width].copy_from_slice(value);
            }
            for (&place, weight) in self.places.iter().zip(weights) {
                sums[place] += weight;
            }
        }
        Ok(())
    }

    /// The keys that a new token sees.
    fn seen(&self, token: usize) -> Range<usize> {
        let own = self.past + token;
        let first = (own + 1).saturating_sub(self.window);
        let start = self.places.partition_point(|&place| place < first);
        start..self.places.partition_point(|&place| place <= own)
    }

    /// What a head gives for each new token, and the sums of the weights of each key, if any
    /// token counts.
    fn head(&self, head: usize) -> Result<(Vec<T>, Vec<T>), OpError> {
        let count = self.query.len() / (self.heads * self.length);
        let all = self.places.len();
        let shared = head / (self.heads / self.kv_heads);
        let keys = &self.keys[shared * all * self.length..];
        let values = &self.values[shared * all * self.width..];
        let mut out = try_vec(T::zero(), count * self.width)?;
        let mut sums = try_vec(T::zero(), if self.scored < count { all } else { 0 })?;
        let mut scores = Vec::new();
        for (i, out) in out.chunks_mut(BLOCK * self.width).enumerate() {
            let (first, rows) = (i * BLOCK, out.len() / self.width);
            let seen = self.seen(first).start..self.seen(first + rows - 1).end;
            if seen.is_empty() {
                continue;
            }
            let query = &self.query[(first * self.heads + head) * self.length..];
            let strides = [self.heads * self.length, 1];
            let query = Matrix::with_strides(query, rows, self.length, strides);
            let keys = Matrix::new(&keys[seen.start * self.length..], seen.len(), self.length);
            try_resize(&mut scores, rows * seen.len(), T::zero())?;
            multiply_alone(query, keys.transposed(), &mut scores, false);
            for (j, row) in scores.chunks_exact_mut(seen.len()).enumerate() {
                self.weigh(head, first + j, seen.start, row);
                if first + j >= self.scored {
                    let sums = sums[seen.clone()].iter_mut().zip(&*row);
                    sums.for_each(|(sum, &weight)| *sum += weight);
                }
            }
            let values = Matrix::new(&values[seen.start * self.width..], seen.len(), self.width);
            multiply_alone(Matrix::new(&scores, rows, seen.len()), values, out, false);
        }
        Ok((out, sums))
    }

    /// From the scores of a token to the weights of the keys from `start` on.
    fn weigh(&self, head: usize, token: usize, start: usize, row: &mut [T]) {
        let seen = self.seen(token);
        let (before, row) = row.split_at_mut(seen.start - start);
        let (row, after) = row.split_at_mut(seen.len());
        before.fill(T::zero());
        after.fill(T::zero());
        if row.is_empty() {
            return;
        }
        row.iter_mut().for_each(|x| *x *= self.scale);
        if let Some(slopes) = self.slopes {
            let own = self.past + token;
            for (x, &place) in row.iter_mut().zip(&self.places[seen]) {
                #[allow(clippy::cast_precision_loss)] // a distance between positions
                let distance = T::of((own - place) as f64);
                *x -= slopes[head] * distance;
            }
        }
        weights(row, self.sinks.map(|sinks| sinks[head]));
    }
}
