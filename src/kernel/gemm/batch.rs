//! Many products at once.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{How, Matrix, Product};
use crate::limits::Share;
use crate::op::{Finish, Shifted};

/// Which matrix of an operand belongs to each of a batch, where its batch dimensions are broadcast.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// Size and stride, in matrices or elements, of each axis of the batch; those that go on as one are merged.
    axes: SmallVec<[(usize, usize); 4]>,
}

impl Batch {
    /// Batch dimensions that are those of `out`, aligned at the last, or 1.
    pub(crate) fn new(own: &[usize], out: &[usize]) -> Self {
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, own.len());
        let mut stride = 1usize;
        for (slot, &size) in strides.iter_mut().zip(own).rev() {
            *slot = stride;
            stride = stride.saturating_mul(size);
        }
        Self::with_strides(own, &strides, out)
    }

    /// The same where the operand has a stride for each of its batch dimensions.
    pub(crate) fn with_strides(own: &[usize], strides: &[usize], out: &[usize]) -> Self {
        let mut axes: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (back, &size) in out.iter().rev().enumerate() {
            let step = match own.len().checked_sub(back + 1) {
                Some(axis) if own[axis] != 1 => strides[axis],
                _ => 0,
            };
            match axes.last_mut() {
                _ if size == 1 => {}
                Some((n, inner)) if step == inner.saturating_mul(*n) => *n = n.saturating_mul(size),
                _ => axes.push((size, step)),
            }
        }
        Self { axes }
    }

    /// The matrix for index `i` of the batch, or its first element where strides were given so.
    pub(crate) fn at(&self, mut i: usize) -> usize {
        let mut matrix = 0;
        for &(size, stride) in &self.axes {
            matrix += i % size * stride;
            i /= size;
        }
        matrix
    }
}

/// `c[i] = a(i) * b(i)` for the consecutive matrices `c[i]` of `size` elements. Small products are
/// shared out among the threads, large ones are computed one after the other by all of them. The
/// elements are finished, if that is asked for, at their positions in `c`.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn batches<'a, T: Product>(
    a: &(dyn Fn(usize) -> Matrix<'a, T> + Sync),
    b: &(dyn Fn(usize) -> Matrix<'a, T> + Sync),
    c: &mut [T],
    size: usize,
    finish: Option<Finish<'_, T>>,
) {
    if c.is_empty() {
        return;
    }
    let work = size.saturating_mul(a(0).columns).max(1);
    let compute = |i: usize, c: &mut [T], alone: bool| {
        let shifted = Shifted::new(finish, i * size);
        let how = How {
            accumulate: false,
            alone,
            finish: shifted.as_ref().map(Shifted::as_finish),
        };
        T::product_as(a(i), b(i), c, how);
    };
    let count = c.len() / size;
    if count == 1 || count.saturating_mul(work) <= T::SMALL || work > 16 * T::SMALL {
        for (i, c) in c.chunks_exact_mut(size).enumerate() {
            compute(i, c, false);
        }
    } else {
        c.par_chunks_exact_mut(size)
            .enumerate()
            .with_min_len((T::SMALL / work).max(1))
            .share(|(i, c)| compute(i, c, true));
    }
}

/// `c = a * b` for each of them, shared out among the threads if that is much.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn each<T: Product>(products: Vec<(Matrix<'_, T>, Matrix<'_, T>, &mut [T])>) {
    let work = products.iter().fold(0usize, |work, (a, b, _)| {
        let own = a.rows.saturating_mul(a.columns).saturating_mul(b.columns);
        work.saturating_add(own)
    });
    let compute = |(a, b, c): (Matrix<'_, T>, Matrix<'_, T>, &mut [T])| T::product(a, b, c, false);
    if work <= T::SMALL {
        products.into_iter().for_each(compute);
    } else {
        products.into_par_iter().share(compute);
    }
}
