//! Inverses of square matrices by LU decomposition with partial pivoting.

use rayon::prelude::*;

use super::scratch::{or_refuse, try_collect, try_copy};
use crate::limits::Share;

/// Multiplications below which everything stays on the calling thread.
const SMALL: usize = 1 << 16;

/// Fills `out` with the inverses of the matrices of `n` rows in `data`, transposed on demand. What
/// has no inverse gives infinities and NaN.
pub(crate) fn inverse(data: &[f32], out: &mut [f32], n: usize, transposed: bool) {
    if out.is_empty() {
        return;
    }
    let size = n * n;
    let compute = |(matrix, out): (&[f32], &mut [f32])| {
        let memory = try_copy(matrix).and_then(|lu| Ok((lu, try_collect(0..n)?)));
        let Some((mut lu, mut order)) = or_refuse(memory) else {
            return;
        };
        decompose(&mut lu, &mut order, n);
        solve(&lu, &order, out);
        if transposed {
            transpose(out, n);
        }
    };
    let matrices = data.chunks_exact(size);
    if out.len().saturating_mul(n) <= SMALL {
        matrices.zip(out.chunks_exact_mut(size)).for_each(compute);
    } else {
        data.par_chunks_exact(size)
            .zip(out.par_chunks_exact_mut(size))
            .share(compute);
    }
}

/// Puts L (without its diagonal of ones) and U in the place of a matrix and its rows in
/// order.
fn decompose(lu: &mut [f32], order: &mut [usize], n: usize) {
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if lu[i * n + k].abs() > lu[pivot * n + k].abs() {
                pivot = i;
            }
        }
        if pivot != k {
            let (above, below) = lu.split_at_mut(pivot * n);
            above[k * n..][..n].swap_with_slice(&mut below[..n]);
            order.swap(k, pivot);
        }
        let (above, below) = lu.split_at_mut((k + 1) * n);
        let top = &above[k * n..];
        for row in below.chunks_exact_mut(n) {
            let factor = row[k] / top[k];
            row[k] = factor;
            subtract(&mut row[k + 1..], &top[k + 1..], factor);
        }
    }
}

/// `row -= other * factor`
fn subtract(row: &mut [f32], other: &[f32], factor: f32) {
    for (x, &other) in row.iter_mut().zip(other) {
        *x -= factor * other;
    }
}

/// Solves `L U X = P` for all columns at once.
fn solve(lu: &[f32], order: &[usize], x: &mut [f32]) {
    let n = order.len();
    x.fill(0.0);
    for (i, &column) in order.iter().enumerate() {
        let (above, rest) = x.split_at_mut(i * n);
        let row = &mut rest[..n];
        row[column] = 1.0;
        for (j, other) in above.chunks_exact(n).enumerate() {
            subtract(row, other, lu[i * n + j]);
        }
    }
    for i in (0..n).rev() {
        let (rest, below) = x.split_at_mut((i + 1) * n);
        let row = &mut rest[i * n..];
        for (j, other) in below.chunks_exact(n).enumerate() {
            subtract(row, other, lu[i * n + i + 1 + j]);
        }
        let pivot = lu[i * n + i];
        row.iter_mut().for_each(|x| *x /= pivot);
    }
}

fn transpose(matrix: &mut [f32], n: usize) {
    for i in 0..n {
        for j in i + 1..n {
            matrix.swap(i * n + j, j * n + i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_with_the_inverse() {
        for n in [1, 2, 5, 17] {
            let matrix: Vec<f32> = (0..2 * n * n)
                .map(|i: usize| ((i * i * 37 + i * 11 + i * i * i) % 101) as f32 / 50.0 - 1.0)
                .collect();
            let (mut out, mut adjoint) = (vec![f32::NAN; 2 * n * n], vec![f32::NAN; 2 * n * n]);
            inverse(&matrix, &mut out, n, false);
            inverse(&matrix, &mut adjoint, n, true);
            for m in 0..2 {
                let at = |v: &[f32], i: usize, j: usize| f64::from(v[(m * n + i) * n + j]);
                for i in 0..n {
                    for j in 0..n {
                        let sum: f64 = (0..n).map(|l| at(&matrix, i, l) * at(&out, l, j)).sum();
                        let one = f64::from(u8::from(i == j));
                        assert!((sum - one).abs() < 1e-3, "{n}: {sum}");
                        assert_eq!(at(&out, i, j), at(&adjoint, j, i));
                    }
                }
            }
        }
    }

    #[test]
    fn pivots() {
        let mut out = [0.0; 4];
        inverse(&[0.0, 2.0, 4.0, 0.0], &mut out, 2, false);
        assert_eq!(out, [0.0, 0.25, 0.5, 0.0]);
        inverse(&[1.0, 2.0, 2.0, 4.0], &mut out, 2, false);
        assert!(out.iter().all(|x| !x.is_finite()));
    }
}
