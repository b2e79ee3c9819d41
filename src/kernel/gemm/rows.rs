//! Products of a few rows with a matrix, which is read once, as it lies.

use rayon::prelude::*;

use super::Matrix;
use crate::kernel::real::Real;

/// Accumulators of a dot product: enough for the additions to follow each other without waiting.
const LANES: usize = 32;

/// Columns whose sums stay in the nearest cache.
const TILE: usize = 512;

/// The parts that large work is cut into, along the columns.
const PARTS: usize = 16;

/// A part has no fewer columns than this.
const NARROWEST: usize = 64;

/// The terms of a long sum with few columns that are added up at a time.
const TERMS: usize = 1 << 16;

/// `c = a * b`, or `c += a * b`; the rows or the columns of `b` lie in one piece each. Nothing is
/// empty.
pub(super) fn multiply<T: Real>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    c: &mut [T],
    accumulate: bool,
    alone: bool,
) {
    let (k, n) = (a.columns, b.columns);
    let copy: Vec<T>;
    let rows: Vec<&[T]> = if a.column_stride == 1 {
        (0..a.rows)
            .map(|i| &a.data[i * a.row_stride..][..k])
            .collect()
    } else {
        copy = (0..a.rows)
            .flat_map(|i| (0..k).map(move |l| a.data[i * a.row_stride + l * a.column_stride]))
            .collect();
        copy.chunks_exact(k).collect()
    };
    if !accumulate {
        c.fill(T::zero());
    }
    if alone {
        let mut outs: Vec<&mut [T]> = c.chunks_exact_mut(n).collect();
        part(&rows, b, 0, &mut outs);
    } else if n < 2 * NARROWEST && k > TERMS {
        long_sums(&rows, b, c);
    } else {
        let size = n.div_ceil(PARTS).max(NARROWEST);
        let mut parts = column_parts(c, n, size);
        parts
            .par_iter_mut()
            .enumerate()
            .for_each(|(i, outs)| part(&rows, b, i * size, outs));
    }
}

/// The parts of `size` columns of a matrix of `n` columns: for each, its piece of every row.
pub(super) fn column_parts<T>(c: &mut [T], n: usize, size: usize) -> Vec<Vec<&mut [T]>> {
    let mut parts: Vec<Vec<&mut [T]>> = Vec::new();
    parts.resize_with(n.div_ceil(size), Vec::new);
    for row in c.chunks_exact_mut(n) {
        for (part, piece) in parts.iter_mut().zip(row.chunks_mut(size)) {
            part.push(piece);
        }
    }
    parts
}

/// Sums of many terms: each thread adds up some of the terms.
fn long_sums<T: Real>(rows: &[&[T]], b: Matrix<'_, T>, c: &mut [T]) {
    let (k, n) = (b.rows, b.columns);
    let partial: Vec<Vec<T>> = (0..k.div_ceil(TERMS))
        .into_par_iter()
        .map(|i| {
            let (from, to) = (i * TERMS, k.min(i * TERMS + TERMS));
            let rows: Vec<&[T]> = rows.iter().map(|row| &row[from..to]).collect();
            let b = Matrix {
                data: &b.data[from * b.row_stride..],
                rows: to - from,
                ..b
            };
            let mut sums = vec![T::zero(); rows.len() * n];
            let mut outs: Vec<&mut [T]> = sums.chunks_exact_mut(n).collect();
            part(&rows, b, 0, &mut outs);
            sums
        })
        .collect();
    for sums in partial {
        for (c, sum) in c.iter_mut().zip(sums) {
            *c += sum;
        }
    }
}

/// Adds the products with the columns from `first` on to their piece of each row of the result.
fn part<T: Real>(rows: &[&[T]], b: Matrix<'_, T>, first: usize, outs: &mut [&mut [T]]) {
    if b.row_stride == 1 {
        return by_columns(rows, b, first, outs);
    }
    let width = outs.first().map_or(0, |out| out.len());
    for start in (0..width).step_by(TILE) {
        let len = TILE.min(width - start);
        let line = |l: usize| &b.data[l * b.row_stride + first + start..][..len];
        let mut l = 0;
        while l + 4 <= b.rows {
            let lines = [line(l), line(l + 1), line(l + 2), line(l + 3)];
            for (row, out) in rows.iter().zip(outs.iter_mut()) {
                let factors = [row[l], row[l + 1], row[l + 2], row[l + 3]];
                add_lines(factors, lines, &mut out[start..start + len]);
            }
            l += 4;
        }
        for l in l..b.rows {
            for (row, out) in rows.iter().zip(outs.iter_mut()) {
                for (out, &x) in out[start..start + len].iter_mut().zip(line(l)) {
                    *out += row[l] * x;
                }
            }
        }
    }
}

/// Adds four lines, each times a factor.
fn add_lines<T: Real>(factors: [T; 4], lines: [&[T]; 4], out: &mut [T]) {
    let [f, g, h, i] = factors;
    let [a, b, c, d] = lines.map(|line| &line[..out.len()]);
    for (j, out) in out.iter_mut().enumerate() {
        *out += (f * a[j] + g * b[j]) + (h * c[j] + i * d[j]);
    }
}

/// The same, where the columns of `b` lie in one piece each.
fn by_columns<T: Real>(rows: &[&[T]], b: Matrix<'_, T>, first: usize, outs: &mut [&mut [T]]) {
    let width = outs.first().map_or(0, |out| out.len());
    for j in 0..width {
        let column = &b.data[(first + j) * b.column_stride..][..b.rows];
        for (row, out) in rows.iter().zip(outs.iter_mut()) {
            out[j] += dot(row, column);
        }
    }
}

/// The sum of products.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [T::zero(); LANES];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            let other = sums[half + i];
            sums[i] += other;
        }
        half /= 2;
    }
    a_rest
        .iter()
        .zip(b_rest)
        .fold(sums[0], |sum, (&a, &b)| sum + a * b)
}
