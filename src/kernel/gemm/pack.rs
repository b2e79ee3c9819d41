//! Matrices in the order in which products read them.

use std::fmt;

use super::{Matrix, Panels};
use crate::kernel::real::Real;

/// The left side of products, packed once for many of them.
#[derive(Clone)]
pub(crate) struct PackedLeft<T> {
    data: Vec<T>,
    rows: usize,
    columns: usize,
}

/// The right side of products, packed once for many of them.
#[derive(Clone)]
pub(crate) struct PackedRight<T> {
    data: Vec<T>,
    rows: usize,
    columns: usize,
}

impl<T> fmt::Debug for PackedLeft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedLeft({} x {})", self.rows, self.columns)
    }
}

impl<T> fmt::Debug for PackedRight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedRight({} x {})", self.rows, self.columns)
    }
}

impl<T: Real> PackedLeft<T> {
    /// Packs a matrix, whatever its strides.
    pub(crate) fn new(matrix: Matrix<'_, T>) -> Self {
        let (rows, columns) = (matrix.rows, matrix.columns);
        let data = (0..rows * columns)
            .map(|i| matrix.at(i / columns, i % columns))
            .collect();
        Self {
            data,
            rows,
            columns,
        }
    }
}

impl<T> PackedLeft<T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }
}

impl<T> PackedLeft<T> {
    pub(super) fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(&self.data, self.rows, self.columns)
    }
}

impl<T: Real> PackedRight<T> {
    /// Packs a matrix, whatever its strides.
    pub(crate) fn new(matrix: Matrix<'_, T>) -> Self {
        let (rows, columns) = (matrix.rows, matrix.columns);
        let data = (0..rows * columns)
            .map(|i| matrix.at(i / columns, i % columns))
            .collect();
        Self {
            data,
            rows,
            columns,
        }
    }

    /// Packs a matrix that is written panel by panel.
    pub(crate) fn from_panels(panels: &dyn Panels<T>) -> Self {
        let (rows, columns) = (panels.rows(), panels.columns());
        let mut data = vec![T::zero(); rows * columns];
        let mut panel = vec![T::zero(); rows * 32];
        for start in (0..columns).step_by(32) {
            let end = columns.min(start + 32);
            panels.write(0..rows, start..end, 32, &mut panel);
            for (line, out) in panel.chunks(32).zip(data.chunks_mut(columns)) {
                out[start..end].copy_from_slice(&line[..end - start]);
            }
        }
        Self {
            data,
            rows,
            columns,
        }
    }
}

impl<T> PackedRight<T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(&self.data, self.rows, self.columns)
    }
}
