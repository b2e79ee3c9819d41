//! Attention: how much each key matters to each query, and the mean of the values by that.
//!
//! Blocks of queries are computed one at a time, so that the scores of all never exist at once.

use rayon::prelude::*;

use super::gemm::{Batch, Matrix, multiply_alone};
use super::real::Real;
use super::softmax::weights;

/// Queries computed at a time.
const BLOCK: usize = 64;

/// Scores that a block of queries should not exceed,
const SCORES: usize = 1 << 18;

/// unless it has no more queries than this.
const LEAST: usize = 16;

/// Multiplications below which everything stays on the calling thread.
const SMALL: usize = 1 << 16;

/// Which keys a query sees, and how its scores are changed.
#[derive(Debug)]
pub(crate) enum Mask<'a, T> {
    /// All of them.
    None,
    /// Those up to its own place.
    Causal,
    /// All, and these numbers are added to the scores.
    Bias(Broadcast<'a, T>),
    /// Those that are marked by a byte that is not zero.
    Keep(Broadcast<'a, u8>),
}

/// Matrices that are broadcast to those of the scores.
#[derive(Debug)]
pub(crate) struct Broadcast<'a, T> {
    /// The elements.
    pub(crate) data: &'a [T],
    /// Which matrix belongs to which of the batch.
    pub(crate) batch: Batch,
    /// Rows of a matrix: as many as there are queries, or 1.
    pub(crate) rows: usize,
    /// Columns of a matrix: as many as there are keys, or 1.
    pub(crate) columns: usize,
}

impl<T> Broadcast<'_, T> {
    /// The elements of a row of the scores.
    fn row(&self, i: usize, query: usize) -> &[T] {
        let row = self.batch.at(i) * self.rows + if self.rows == 1 { 0 } else { query };
        &self.data[row * self.columns..][..self.columns]
    }
}

/// Attention of a batch.
#[derive(Debug)]
pub(crate) struct Attention<'a, T> {
    /// The number of queries, of keys, the length of both, the length of a value.
    pub(crate) sizes: [usize; 4],
    /// Queries, keys and values, each with which of them belongs to which of the batch.
    pub(crate) query: (&'a [T], Batch),
    pub(crate) key: (&'a [T], Batch),
    pub(crate) value: (&'a [T], Batch),
    pub(crate) mask: Mask<'a, T>,
    /// One more score for each query, of a key without a value.
    pub(crate) sink: Option<Broadcast<'a, T>>,
    /// What scores are multiplied by before all else.
    pub(crate) scale: T,
}

impl<T: Real> Attention<'_, T> {
    /// Fills `out` with a value for each query.
    pub(crate) fn run(&self, out: &mut [T]) {
        let [queries, keys, length, width] = self.sizes;
        if out.is_empty() {
            return;
        }
        let block = BLOCK.min((SCORES / keys.max(1)).max(LEAST)) * width;
        let scores = (out.len() / width).saturating_mul(keys);
        if scores.saturating_mul(length + width) <= SMALL {
            let mut scores = Vec::new();
            for (i, out) in out.chunks_mut(queries * width).enumerate() {
                for (j, out) in out.chunks_mut(block).enumerate() {
                    self.block(i, j * block / width, out, &mut scores);
                }
            }
            return;
        }
        out.par_chunks_mut(queries * width)
            .enumerate()
            .for_each(|(i, out)| {
                let blocks = out.par_chunks_mut(block).enumerate();
                blocks.for_each_init(Vec::new, |scores, (j, out)| {
                    self.block(i, j * block / width, out, scores);
                });
            });
    }

    /// The queries of `i` from `first` on, as many as `out` has values for.
    fn block(&self, i: usize, first: usize, out: &mut [T], scores: &mut Vec<T>) {
        let [queries, keys, length, width] = self.sizes;
        let count = out.len() / width;
        let seen = match self.mask {
            Mask::Causal => keys.min(first + count),
            _ => keys,
        };
        if seen == 0 {
            return out.fill(T::zero());
        }
        let query = &self.query.0[(self.query.1.at(i) * queries + first) * length..];
        let key = &self.key.0[self.key.1.at(i) * keys * length..];
        let value = &self.value.0[self.value.1.at(i) * keys * width..];
        scores.resize(count * seen, T::zero());
        let keys = Matrix::new(key, seen, length).transposed();
        multiply_alone(Matrix::new(query, count, length), keys, scores, false);
        for (j, row) in scores.chunks_exact_mut(seen).enumerate() {
            self.weigh(i, first + j, row);
        }
        let value = Matrix::new(value, seen, width);
        multiply_alone(Matrix::new(scores, count, seen), value, out, false);
    }

    /// From the scores of a query to the weights of the keys.
    fn weigh(&self, i: usize, query: usize, row: &mut [T]) {
        let sink = self.sink.as_ref().map(|sink| sink.row(i, query)[0]);
        let scale = self.scale;
        // Finite, so that a query that may see nothing sees everything alike. What the formula gives,
        // NaN, would spread from one padded token to all others.
        let hidden = T::min_value();
        match &self.mask {
            Mask::Causal => {
                let (row, later) = row.split_at_mut(row.len().min(query + 1));
                row.iter_mut().for_each(|x| *x *= scale);
                later.fill(T::zero());
                return weights(row, sink);
            }
            Mask::None => row.iter_mut().for_each(|x| *x *= scale),
            Mask::Bias(bias) => match bias.row(i, query) {
                &[bias] => row.iter_mut().for_each(|x| *x = *x * scale + bias),
                bias => {
                    for (x, &bias) in row.iter_mut().zip(bias) {
                        *x = *x * scale + bias;
                    }
                }
            },
            Mask::Keep(keep) => match keep.row(i, query) {
                &[0] => row.fill(hidden),
                &[_] => row.iter_mut().for_each(|x| *x *= scale),
                keep => {
                    for (x, &keep) in row.iter_mut().zip(keep) {
                        *x = if keep == 0 { hidden } else { *x * scale };
                    }
                }
            },
        }
        weights(row, sink);
    }
}
