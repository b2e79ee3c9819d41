//! Products with a matrix that is stored in a narrower type: it is widened in panels.

use std::ops::Range;

use super::{How, Matrix, Panels, Right, product};
use crate::kernel::real::Real;
use crate::tensor::ElementType;

/// Terms of a column that are widened at a time.
const TERMS: usize = 64;

/// The most columns that a panel has.
const COLUMNS: usize = 48;

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

impl<T: Real> Panels<T> for Narrow<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [T]) {
        if !self.by_columns {
            for (l, line) in rows.zip(panel.chunks_exact_mut(width)) {
                let from = self.start + l * self.columns + columns.start;
                T::widen_bytes(self.ty, self.bytes, from, &mut line[..columns.len()]);
            }
            return;
        }
        let mut wide = [T::zero(); TERMS * COLUMNS];
        for (block, panel) in panel.chunks_mut(TERMS * width).enumerate() {
            let first = rows.start + block * TERMS;
            let terms = rows.end.min(first + TERMS) - first;
            let count = columns.len();
            let wide = &mut wide[..count * terms];
            for (column, line) in columns.clone().zip(wide.chunks_exact_mut(terms)) {
                let from = self.start + column * self.rows + first;
                T::widen_bytes(self.ty, self.bytes, from, line);
            }
            let wide = Matrix::new(wide, count, terms).transposed();
            wide.write(0..terms, 0..count, width, panel);
        }
    }
}

/// `c = a * b`; the rows of `c` follow each other.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply_narrow<T: Real>(a: Matrix<'_, T>, b: Narrow<'_>, c: &mut [T]) {
    product(a, Right::Panels(&b), c, How::default());
}
