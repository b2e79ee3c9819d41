//! Products of matrices: of floats by `matrixmultiply`, of few rows by loops that read the other
//! matrix once, of integers exactly.

mod batch;
mod integer;
mod narrow;
mod operand;
mod pack;
mod rows;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

pub(crate) use batch::{Batch, batches, each};
pub(crate) use narrow::{Narrow, multiply_narrow};
#[allow(unused_imports)]
pub(crate) use operand::{Finish, How, Left, Panels, Right};
#[allow(unused_imports)]
pub(crate) use pack::{PackedLeft, PackedRight};

use super::real::Real;
use crate::tensor::convert::Compute;

/// Multiplications below which a product stays on the calling thread.
pub(super) const SMALL: usize = 1 << 18;

/// Multiplications below which packing costs more than it gains.
const TINY: usize = 1 << 12;

/// Products of at most this many rows read the other matrix as it lies.
const FEW: usize = 4;

/// A part has no fewer rows or columns than this, so that the tiles of a product stay full.
const NARROWEST: usize = 48;

/// A matrix that lies in a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix whose rows follow each other.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self::with_strides(data, rows, columns, [columns, 1])
    }

    /// A matrix whose element `(i, j)` is `data[i * strides[0] + j * strides[1]]`.
    ///
    /// # Panics
    /// When an element is outside the slice.
    pub(crate) fn with_strides(
        data: &'a [T],
        rows: usize,
        columns: usize,
        strides: [usize; 2],
    ) -> Self {
        let [row_stride, column_stride] = strides;
        assert!(
            last(rows, columns, strides).is_none_or(|last| last < data.len()),
            "a matrix lies in its slice"
        );
        Self {
            data,
            rows,
            columns,
            row_stride,
            column_stride,
        }
    }

    /// Whether the rows or the columns lie in one piece each.
    fn in_lines(&self) -> bool {
        self.column_stride == 1 || self.row_stride == 1
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The element in row `i` and column `j`.
    pub(crate) fn at(&self, i: usize, j: usize) -> T
    where
        T: Copy,
    {
        self.data[i * self.row_stride + j * self.column_stride]
    }

    /// The matrix with rows and columns exchanged; nothing is moved.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

/// The offset of the last element, if there is any.
fn last(rows: usize, columns: usize, [row, column]: [usize; 2]) -> Option<usize> {
    let (i, j) = (rows.checked_sub(1)?, columns.checked_sub(1)?);
    let last = i.checked_mul(row)?.checked_add(j.checked_mul(column)?);
    Some(last.unwrap_or(usize::MAX))
}

/// A type that matrices of are multiplied.
pub(crate) trait Multiply: Sized {
    /// `c = a * b + beta * c`.
    ///
    /// # Safety
    /// `a`, `b` and `c` point to `m` by `k`, `k` by `n` and `m` by `n` elements, with these strides
    /// for rows and columns; nobody else looks at those of `c`.
    #[allow(unsafe_code)]
    unsafe fn multiply(
        sizes: [usize; 3],
        a: (*const Self, [isize; 2]),
        b: (*const Self, [isize; 2]),
        beta: Self,
        c: (*mut Self, [isize; 2]),
    );
}

macro_rules! multiply {
    ($($T:ty => $gemm:path),+) => {
        $(#[allow(unsafe_code)]
        impl Multiply for $T {
            unsafe fn multiply(
                [m, k, n]: [usize; 3],
                (a, [a_row, a_column]): (*const Self, [isize; 2]),
                (b, [b_row, b_column]): (*const Self, [isize; 2]),
                beta: Self,
                (c, [c_row, c_column]): (*mut Self, [isize; 2]),
            ) {
                // SAFETY: what the caller promises is what is asked for.
                unsafe {
                    $gemm(
                        m, k, n, 1.0, a, a_row, a_column, b, b_row, b_column, beta, c, c_row, c_column,
                    );
                }
            }
        })+
    };
}

multiply!(f32 => matrixmultiply::sgemm, f64 => matrixmultiply::dgemm);

/// A pointer that threads may share: each writes to a part of its own.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: the parts that the threads write to do not overlap.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(self) -> *mut T {
        self.0
    }
}

/// A type that matrices of are multiplied: floats round, integers wrap.
pub(crate) trait Product: Compute {
    /// Zero.
    const ZERO: Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The product of two elements.
    fn times(self, other: Self) -> Self;

    /// `c = a * b`, or `c += a * b` if `accumulate`, as [`multiply`].
    ///
    /// # Panics
    /// When the sizes do not fit.
    fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], accumulate: bool);
}

macro_rules! float_product {
    ($($T:ty),+) => {
        $(impl Product for $T {
            const ZERO: Self = 0.0;

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], accumulate: bool) {
                multiply(a, b, c, accumulate);
            }
        })+
    };
}

float_product!(f32, f64);

/// `c = a * b`, or `c += a * b` if `accumulate`; the rows of `c` follow each other. Large products
/// are computed by all threads; the result does not depend on their number.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply<T: Real>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T], accumulate: bool) {
    // An element is summed in an order that does not depend on where a product is cut, so that the
    // parts may be as many as keep the threads busy.
    multiply_in(a, b, c, accumulate, 2 * rayon::current_num_threads());
}

/// `c = a * b`, or `c += a * b`, of which either side may be packed or written on demand; the rows of
/// `c` follow each other. Large products are computed by all threads unless told otherwise; the
/// result does not depend on their number.
///
/// # Panics
/// When the sizes do not fit.
#[allow(dead_code)]
pub(crate) fn product<'a, T: Real>(
    a: impl Into<Left<'a, T>>,
    b: impl Into<Right<'a, T>>,
    c: &mut [T],
    how: How<'_, T>,
) {
    let written;
    let a = match a.into() {
        Left::Matrix(matrix) => matrix,
        Left::Packed(packed) => packed.matrix(),
    };
    let b = match b.into() {
        Right::Matrix(matrix) => matrix,
        Right::Packed(packed) => packed.matrix(),
        Right::Panels(panels) => {
            written = PackedRight::from_panels(panels);
            written.matrix()
        }
    };
    match how.alone {
        true => multiply_alone(a, b, c, how.accumulate),
        false => multiply(a, b, c, how.accumulate),
    }
    if let Some(finish) = how.finish {
        let columns = b.columns.max(1);
        for (i, row) in c.chunks_mut(columns).enumerate() {
            finish(i * columns, row);
        }
    }
}

/// As [`multiply`], on the calling thread only: for callers that share out larger work.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply_alone<T: Real>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    c: &mut [T],
    accumulate: bool,
) {
    multiply_in(a, b, c, accumulate, 1);
}

/// The product, cut into about so many parts if it is large.
fn multiply_in<T: Real>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    c: &mut [T],
    accumulate: bool,
    parts: usize,
) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(
        b.rows == k && c.len() == m * n,
        "the sizes of a product fit"
    );
    if c.is_empty() {
        return;
    }
    if k == 0 {
        if !accumulate {
            c.fill(T::zero());
        }
        return;
    }
    let work = m.saturating_mul(n).saturating_mul(k);
    let alone = parts == 1 || work <= SMALL;
    if n == 1 && m > 1 && a.in_lines() {
        // The result has the same elements in the same order.
        return rows::multiply(b.transposed(), a.transposed(), c, accumulate, alone);
    }
    if (m <= FEW || work <= TINY) && b.in_lines() {
        return rows::multiply(a, b, c, accumulate, alone);
    }
    let out = Shared(c.as_mut_ptr());
    let part = |rows: [usize; 2], columns: [usize; 2]| {
        let sizes = [rows[1] - rows[0], k, columns[1] - columns[0]];
        let beta = if accumulate { T::one() } else { T::zero() };
        let a_strides = [a.row_stride, a.column_stride].map(usize::cast_signed);
        let b_strides = [b.row_stride, b.column_stride].map(usize::cast_signed);
        // SAFETY: `Matrix` checked that its elements lie in its slice, `c` has `m * n` elements,
        // and the parts of `c` that are computed at a time do not overlap.
        #[allow(unsafe_code)]
        unsafe {
            T::multiply(
                sizes,
                (a.data.as_ptr().add(rows[0] * a.row_stride), a_strides),
                (b.data.as_ptr().add(columns[0] * b.column_stride), b_strides),
                beta,
                (
                    out.get().add(rows[0] * n + columns[0]),
                    [n.cast_signed(), 1],
                ),
            );
        }
    };
    let longer = m.max(n);
    let size = longer.div_ceil(parts).max(NARROWEST);
    let range = |i: usize| [i * size, (i * size + size).min(longer)];
    if alone {
        part([0, m], [0, n]);
    } else if m >= n {
        let count = m.div_ceil(size);
        (0..count)
            .into_par_iter()
            .for_each(|i| part(range(i), [0, n]));
    } else {
        let count = n.div_ceil(size);
        (0..count)
            .into_par_iter()
            .for_each(|i| part([0, m], range(i)));
    }
}
