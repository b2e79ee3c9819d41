//! Attention: how much each key matters to each query, and the mean of the values by that.
//!
//! Blocks of queries are computed one at a time, so that the scores of all never exist at once. Weights that
//! no normal number is small enough for, of keys that are masked most of all, are zero: to multiply by
//! others takes twenty times as long, and changes nothing but sums of numbers near the greatest there are.

use rayon::prelude::*;

use super::gemm::{Batch, Matrix, multiply_alone};
use super::real::Real;
use super::scratch::with_scratch;
use super::simd::vectorize_mut;
use super::softmax::weights_here;
use crate::limits::Share;

/// Queries computed at a time.
const BLOCK: usize = 128;

/// Scores that a block of queries should not exceed, so that they stay in the cache of a core,
const SCORES: usize = 1 << 17;

/// unless it has no more queries than this.
const LEAST: usize = 16;

/// So many queries or fewer are multiplied with the keys as they lie, which are read but once.
const FEW: usize = 2;

/// Multiplications below which everything stays on the calling thread,
const SMALL: usize = 1 << 20;

/// where making a weight of a score counts as many.
const WEIGHING: usize = 16;

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

/// The matrices of a batch as they lie in a slice.
#[derive(Debug)]
pub(crate) struct View<'a, T> {
    data: &'a [T],
    /// Where the matrix begins that belongs to one of the batch.
    batch: Batch,
    strides: [usize; 2],
}

impl<'a, T> View<'a, T> {
    /// Elements with a size and a stride for each dimension, of which the last two are a matrix; those
    /// before are broadcast to `batch`. A tensor that was transposed need not be moved.
    pub(crate) fn new(data: &'a [T], shape: &[usize], strides: &[usize], batch: &[usize]) -> Self {
        let outer = shape.len().saturating_sub(2);
        Self {
            data,
            batch: Batch::with_strides(&shape[..outer], &strides[..outer], batch),
            strides: match strides[outer..] {
                [row, column] => [row, column],
                _ => [0, 0],
            },
        }
    }

    /// The elements from the first of the matrix for index `i` of the batch on.
    fn from(&self, i: usize) -> &'a [T] {
        &self.data[self.batch.at(i)..]
    }

    /// Rows of the matrix for index `i` of the batch, from `first` on.
    fn rows(&self, i: usize, first: usize, [rows, columns]: [usize; 2]) -> Matrix<'a, T> {
        let data = &self.from(i)[first * self.strides[0]..];
        Matrix::with_strides(data, rows, columns, self.strides)
    }
}

/// Attention of a batch.
#[derive(Debug)]
pub(crate) struct Attention<'a, T> {
    /// The number of queries, of keys, the length of both, the length of a value.
    pub(crate) sizes: [usize; 4],
    pub(crate) query: View<'a, T>,
    pub(crate) key: View<'a, T>,
    pub(crate) value: View<'a, T>,
    pub(crate) mask: Mask<'a, T>,
    /// One more score for each query, of a key without a value.
    pub(crate) sink: Option<Broadcast<'a, T>>,
    /// What scores are multiplied by before all else.
    pub(crate) scale: T,
}

impl<T: Real> Attention<'_, T> {
    /// Fills `out` with a value for each query. The values of as many of the batch as there are
    /// `heads`, the last dimension of the batch or 1, lie side by side for each query: 1 leaves the
    /// matrices apart, the number of heads gives what transposing heads and queries would.
    pub(crate) fn run(&self, out: &mut [T], heads: usize) {
        let [queries, keys, length, width] = self.sizes;
        if out.is_empty() {
            return;
        }
        // Of a single query both are the same.
        let heads = if queries == 1 { 1 } else { heads };
        let row = heads * width;
        let most = (SCORES / keys.max(1)).clamp(LEAST, BLOCK);
        let scores = (out.len() / width).saturating_mul(keys);
        let small = scores.saturating_mul(length + width + WEIGHING) <= SMALL;
        let threads = if small {
            1
        } else {
            rayon::current_num_threads()
        };
        // Two pieces of work for each thread make up for one that is late. Keys are packed for each block of
        // queries, so that blocks are made smaller last.
        let (groups, pieces) = (out.len() / (queries * row), 2 * threads);
        if threads == 1 {
            for (group, out) in out.chunks_mut(queries * row).enumerate() {
                for (i, out) in out.chunks_mut(most * row).enumerate() {
                    self.block(group, i * most, out, heads);
                }
            }
        } else if heads > 1 && groups < pieces {
            with_scratch(out.len(), |apart: &mut [T]| {
                self.run(apart, 1);
                let lines = out.par_chunks_mut(row).enumerate();
                lines.with_min_len(LEAST).share(|(i, line)| {
                    let (group, query) = (i / queries, i % queries);
                    for (head, line) in line.chunks_exact_mut(width).enumerate() {
                        let at = (group * heads + head) * queries + query;
                        line.copy_from_slice(&apart[at * width..][..width]);
                    }
                });
            });
        } else {
            let blocks = pieces.div_ceil(groups);
            let count = queries.div_ceil(blocks).max(LEAST).min(most);
            let groups = out.par_chunks_mut(queries * row).enumerate();
            groups.share(|(group, out)| {
                let blocks = out.par_chunks_mut(count * row).enumerate();
                blocks.share(|(i, out)| self.block(group, i * count, out, heads));
            });
        }
    }

    /// The queries of a group of heads from `first` on, as many as `out` has rows for.
    fn block(&self, group: usize, first: usize, out: &mut [T], heads: usize) {
        let [_, keys, _, width] = self.sizes;
        let count = out.len() / (heads * width);
        let seen = match self.mask {
            Mask::Causal => keys.min(first + count),
            _ => keys,
        };
        if seen == 0 {
            return out.fill(T::zero());
        }
        if heads == 1 {
            return with_scratch(count * seen, |scores| {
                self.head(group, first, scores, out);
            });
        }
        with_scratch(count * (seen + width), |scratch| {
            let (scores, values) = scratch.split_at_mut(count * seen);
            for head in 0..heads {
                self.head(group * heads + head, first, scores, values);
                let rows = out.chunks_exact_mut(heads * width);
                for (out, value) in rows.zip(values.chunks_exact(width)) {
                    out[head * width..][..width].copy_from_slice(value);
                }
            }
        });
    }

    /// The queries of `i` from `first` on, as many as `out` has values for.
    fn head(&self, i: usize, first: usize, scores: &mut [T], out: &mut [T]) {
        let [.., length, width] = self.sizes;
        let count = out.len() / width;
        let seen = scores.len() / count;
        let query = self.query.rows(i, first, [count, length]);
        let (key, value) = (&self.key, &self.value);
        if count <= FEW && key.strides[1] == 1 && value.strides[1] == 1 {
            return with_scratch(length, |line| {
                let lines = scores
                    .chunks_exact_mut(seen)
                    .zip(out.chunks_exact_mut(width));
                for (j, (scores, out)) in lines.enumerate() {
                    for (k, x) in line.iter_mut().enumerate() {
                        *x = query.at(j, k);
                    }
                    vectorize_mut(
                        #[inline(always)]
                        || {
                            dots(line, key.from(i), key.strides[0], scores);
                            self.weigh(i, first + j, scores);
                            blend(scores, value.from(i), value.strides[0], out);
                        },
                    );
                }
            });
        }
        let keys = key.rows(i, 0, [seen, length]).transposed();
        multiply_alone(query, keys, scores, false);
        vectorize_mut(
            #[inline(always)]
            || {
                for (j, row) in scores.chunks_exact_mut(seen).enumerate() {
                    self.weigh(i, first + j, row);
                }
            },
        );
        let value = value.rows(i, 0, [seen, width]);
        multiply_alone(Matrix::new(scores, count, seen), value, out, false);
    }

    /// From the scores of a query to the weights of the keys.
    #[inline(always)]
    fn weigh(&self, i: usize, query: usize, row: &mut [T]) {
        let sink = self.sink.as_ref().map(|sink| sink.row(i, query)[0]);
        let scale = self.scale;
        // Finite, so that a query that may see nothing sees everything alike. What the formula gives,
        // NaN, would spread from one padded token to all others.
        let hidden = T::min_value();
        match &self.mask {
            Mask::Causal => {
                let (row, later) = row.split_at_mut(row.len().min(query + 1));
                multiply(row, scale);
                later.fill(T::zero());
                return weights_here(row, sink);
            }
            Mask::None => multiply(row, scale),
            Mask::Bias(bias) => match bias.row(i, query) {
                &[bias] => {
                    for x in row.iter_mut() {
                        *x = *x * scale + bias;
                    }
                }
                bias => {
                    for (x, &bias) in row.iter_mut().zip(bias) {
                        *x = *x * scale + bias;
                    }
                }
            },
            Mask::Keep(keep) => match keep.row(i, query) {
                &[0] => row.fill(hidden),
                &[_] => multiply(row, scale),
                keep => {
                    for (x, &keep) in row.iter_mut().zip(keep) {
                        *x = if keep == 0 { hidden } else { *x * scale };
                    }
                }
            },
        }
        weights_here(row, sink);
    }
}

/// Sums along a product that the processor works on at the same time.
const LANES: usize = 32;

/// The products of a line and of rows that are `stride` apart.
#[inline(always)]
fn dots<T: Real>(line: &[T], rows: &[T], stride: usize, out: &mut [T]) {
    let (blocks, rest) = line.as_chunks::<LANES>();
    for (i, out) in out.iter_mut().enumerate() {
        let row = &rows[i * stride..][..line.len()];
        let (others, other) = row.as_chunks::<LANES>();
        let mut lanes = [T::zero(); LANES];
        for (a, b) in blocks.iter().zip(others) {
            for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
                *lane = a.mul_add(b, *lane);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            let (low, high) = lanes.split_at_mut(width);
            for (low, &mut high) in low.iter_mut().zip(high) {
                *low += high;
            }
            width /= 2;
        }
        let tail = rest.iter().zip(other);
        *out = tail.fold(lanes[0], |sum, (&a, &b)| a.mul_add(b, sum));
    }
}

/// The sum of rows that are `stride` apart, each times its weight.
#[inline(always)]
fn blend<T: Real>(weights: &[T], rows: &[T], stride: usize, out: &mut [T]) {
    out.fill(T::zero());
    let width = out.len();
    let row = |i: usize| &rows[i * stride..][..width];
    let (fours, rest) = weights.as_chunks::<4>();
    for (i, &[a, b, c, d]) in fours.iter().enumerate() {
        let [p, q, r, s] = [row(4 * i), row(4 * i + 1), row(4 * i + 2), row(4 * i + 3)];
        let terms = p.iter().zip(q).zip(r.iter().zip(s));
        for (out, ((&p, &q), (&r, &s))) in out.iter_mut().zip(terms) {
            *out = a.mul_add(p, b.mul_add(q, c.mul_add(r, d.mul_add(s, *out))));
        }
    }
    for (i, &weight) in rest.iter().enumerate() {
        let row = &rows[(4 * fours.len() + i) * stride..];
        for (out, &x) in out.iter_mut().zip(row) {
            *out = weight.mul_add(x, *out);
        }
    }
}

#[inline(always)]
fn multiply<T: Real>(row: &mut [T], scale: T) {
    for x in row {
        *x *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count)
            .map(|i| ((i * 7919 + seed * 31 + 13) % 1009) as f64 / 500.0 - 1.0)
            .collect()
    }

    /// Heads that lie beside each other are read and written as if they had been transposed.
    #[test]
    fn heads_side_by_side() {
        for [batch, queries, keys, heads] in [
            [2, 5, 7, 3],
            [1, 1, 9, 4],
            [1, 300, 40, 2],
            [3, 130, 130, 1],
        ] {
            let (length, width) = (37, 5);
            let outer = [batch, heads];
            let side = |tokens: usize, size: usize| {
                let row = heads * size;
                ([batch, heads, tokens, size], [tokens * row, size, row, 1])
            };
            let apart = |data: &[f64], tokens: usize, size: usize| {
                let mut out = Vec::new();
                for matrix in 0..batch * heads {
                    let (b, head) = (matrix / heads, matrix % heads);
                    for token in 0..tokens {
                        let from = ((b * tokens + token) * heads + head) * size;
                        out.extend_from_slice(&data[from..from + size]);
                    }
                }
                out
            };
            let data = [(queries, length), (keys, length), (keys, width)];
            let beside = [0, 1, 2].map(|i| numbers(batch * heads * data[i].0 * data[i].1, i));
            let moved = [0, 1, 2].map(|i| apart(&beside[i], data[i].0, data[i].1));
            let views = |strided: bool| {
                [0, 1, 2].map(|i| {
                    let (tokens, size) = data[i];
                    let (shape, strides) = side(tokens, size);
                    if strided {
                        return View::new(&beside[i], &shape, &strides, &outer);
                    }
                    let matrix = tokens * size;
                    View::new(
                        &moved[i],
                        &shape,
                        &[heads * matrix, matrix, size, 1],
                        &outer,
                    )
                })
            };
            for causal in [false, true] {
                let run = |strided: bool, heads_beside: usize| {
                    let [query, key, value] = views(strided);
                    let attention = Attention {
                        sizes: [queries, keys, length, width],
                        query,
                        key,
                        value,
                        mask: if causal { Mask::Causal } else { Mask::None },
                        sink: None,
                        scale: 0.5,
                    };
                    let [one, three] = [1, 3].map(|threads| {
                        let mut out = vec![f64::NAN; batch * heads * queries * width];
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                        let pool = pool.expect("threads");
                        pool.install(|| attention.run(&mut out, heads_beside));
                        out
                    });
                    for (a, b) in one.iter().zip(&three) {
                        assert!((a - b).abs() < 1e-14);
                    }
                    three
                };
                let expected = run(false, 1);
                let strided = run(true, 1);
                let beside = apart(&run(true, heads), queries, width);
                for (i, &expected) in expected.iter().enumerate() {
                    assert!((strided[i] - expected).abs() < 1e-14);
                    assert!((beside[i] - expected).abs() < 1e-14);
                }
                // By the definition, for the last query of the last head.
                let [q, k, v] = &moved;
                let row = &q[q.len() - length..];
                let seen = if causal { keys.min(queries) } else { keys };
                let k = &k[k.len() - keys * length..][..seen * length];
                let v = &v[v.len() - keys * width..];
                let weights: Vec<f64> = k
                    .chunks(length)
                    .map(|k| (row.iter().zip(k).map(|(a, b)| a * b).sum::<f64>() * 0.5).exp())
                    .collect();
                let total: f64 = weights.iter().sum();
                for (j, &got) in expected[expected.len() - width..].iter().enumerate() {
                    let sum = weights.iter().zip(v.chunks(width)).map(|(w, v)| w * v[j]);
                    assert!((got - sum.sum::<f64>() / total).abs() < 1e-12);
                }
            }
        }
    }
}
