//! Division of elements by what the squares around them add up to.

use rayon::prelude::*;

use super::math;
use super::real::Real;
use super::scratch::{or_refuse, reused_all, reused_copy};
use crate::limits::Share;

/// Work smaller than this, in elements, stays on the calling thread.
const PARALLEL: usize = 1 << 15;

/// Elements divided at a time.
const BLOCK: usize = 1 << 12;

/// `x / (bias + scale * sum of squares) ^ beta`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub(crate) bias: f64,
    pub(crate) scale: f64,
    pub(crate) beta: f64,
}

/// Divides the elements by their response to those up to `reach` steps away along each of `axes`.
pub(crate) fn respond<T: Real>(
    data: &[T],
    out: &mut [T],
    shape: &[usize],
    axes: &[usize],
    reach: usize,
    response: Response,
) {
    if out.is_empty() {
        return;
    }
    let Some(mut sums) = or_refuse(reused_all(data.iter().map(|&x| x * x))) else {
        return;
    };
    for &axis in axes {
        let (size, inner) = (shape[axis], shape[axis + 1..].iter().product());
        let Some(squares) = or_refuse(reused_copy(&sums)) else {
            return;
        };
        let task = |(sums, squares): (&mut [T], &[T])| window(squares, sums, size, inner, reach);
        if sums.len() < PARALLEL {
            let slices = sums.chunks_mut(size * inner);
            slices.zip(squares.chunks(size * inner)).for_each(task);
        } else {
            let slices = sums.par_chunks_mut(size * inner);
            slices.zip(squares.par_chunks(size * inner)).share(task);
        }
    }
    let task = |((out, data), sums): ((&mut [T], &[T]), &[T])| response.divide(data, sums, out);
    if data.len() < PARALLEL {
        task(((out, data), &sums));
    } else {
        out.par_chunks_mut(BLOCK)
            .zip(data.par_chunks(BLOCK))
            .zip(sums.par_chunks(BLOCK))
            .share(task);
    }
}

/// Sums of the rows of `inner` elements around each of the `size` rows.
fn window<T: Real>(squares: &[T], sums: &mut [T], size: usize, inner: usize, reach: usize) {
    for (i, sums) in sums.chunks_exact_mut(inner).enumerate() {
        let (from, to) = (
            i.saturating_sub(reach),
            i.saturating_add(reach).min(size - 1),
        );
        sums.fill(T::zero());
        for row in squares[from * inner..(to + 1) * inner].chunks_exact(inner) {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
    }
}

impl Response {
    fn divide<T: Real>(&self, data: &[T], sums: &[T], out: &mut [T]) {
        let (bias, scale, beta) = (T::of(self.bias), T::of(self.scale), T::of(self.beta));
        let pairs = out.iter_mut().zip(data).zip(sums);
        // What nearly every network takes needs no logarithm.
        if self.beta == 0.75 {
            for ((out, &x), &sum) in pairs {
                let root = (bias + scale * sum).sqrt();
                *out = x / (root * root.sqrt());
            }
            return;
        }
        for ((out, &x), &sum) in pairs {
            *out = x / math::pow(bias + scale * sum, beta);
        }
    }
}
