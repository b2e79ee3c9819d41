//! Products with a matrix that is stored in a narrower type: it is widened in panels.

use rayon::prelude::*;

use super::rows::column_parts;
use super::{FEW, Matrix, NARROWEST, multiply_alone};
use crate::kernel::real::Real;
use crate::tensor::ElementType;

/// Elements widened at a time for products of few rows.
const LOW_PANEL: usize = 1 << 15;

/// Elements widened at a time for others.
const HIGH_PANEL: usize = 1 << 17;

/// A matrix whose elements are of a type that is widened to be computed with. They follow each
/// other row by row, or column by column if `by_columns`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow<'a> {
    /// The element type.
    pub(crate) ty: ElementType,
    /// The bytes of a tensor of this type.
    pub(crate) bytes: &'a [u8],
    /// The element of the tensor that is the first.
    pub(crate) start: usize,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of columns.
    pub(crate) columns: usize,
    /// Whether the columns, not the rows, lie in one piece each.
    pub(crate) by_columns: bool,
}

impl Narrow<'_> {
    /// Columns from `first` on, widened; as many as `out` holds, in the order they are stored in.
    fn widen<T: Real>(&self, first: usize, width: usize, out: &mut [T]) {
        if self.by_columns {
            T::widen_bytes(self.ty, self.bytes, self.start + first * self.rows, out);
            return;
        }
        for (l, line) in out.chunks_exact_mut(width).enumerate() {
            let from = self.start + l * self.columns + first;
            T::widen_bytes(self.ty, self.bytes, from, line);
        }
    }
}

/// `c = a * b`; the rows of `c` follow each other.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply_narrow<T: Real>(a: Matrix<'_, T>, b: Narrow<'_>, c: &mut [T]) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(
        b.rows == k && c.len() == m * n,
        "the sizes of a product fit"
    );
    if c.is_empty() {
        return;
    }
    if k == 0 {
        return c.fill(T::zero());
    }
    let (panel, least) = match m <= FEW {
        true => (LOW_PANEL, 8),
        false => (HIGH_PANEL, NARROWEST),
    };
    let size = (panel / k).max(least).min(n);
    let mut parts = column_parts(c, n, size);
    parts.par_iter_mut().enumerate().for_each_init(
        || (Vec::new(), Vec::new()),
        |(wide, product), (i, outs)| {
            let width = outs.first().map_or(0, |out| out.len());
            wide.resize(k * width, T::zero());
            product.resize(m * width, T::zero());
            b.widen(i * size, width, wide);
            let view = match b.by_columns {
                true => Matrix::new(wide, width, k).transposed(),
                false => Matrix::new(wide, k, width),
            };
            multiply_alone(a, view, product, false);
            for (out, row) in outs.iter_mut().zip(product.chunks_exact(width)) {
                out.copy_from_slice(row);
            }
        },
    );
}
