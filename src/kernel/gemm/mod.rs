//! Products of matrices: of floats by tiles of packed panels, of few rows by loops that read the
//! other matrix once, of integers exactly.

mod ahead;
mod band;
mod batch;
mod block;
mod coded;
mod compressed;
mod few;
mod integer;
mod lanes;
mod narrow;
mod nibbles;
mod operand;
mod pack;
mod part;
mod pieces;
mod product;
mod rounding;
mod series;
mod size;
mod slim;
mod some_lines;
mod target;
mod terms;
#[cfg(test)]
mod tests;
mod tile;
mod turned;
mod widen;

use pulp::Arch;

pub(crate) use batch::{Batch, batches, each};
pub(crate) use block::SHORT;
pub(crate) use compressed::{Compressed, PackedNarrow};
pub(crate) use lanes::{Lanes, dispatch, lanes, registers};
pub(crate) use narrow::{Narrow, multiply_narrow};
pub(crate) use nibbles::Nibbles;
pub(crate) use operand::{How, Left, Panels, Right};
pub(crate) use pack::{PackedLeft, PackedRight, made};
pub(crate) use pieces::{MOST_VECTORS, Pieces};
pub(crate) use series::PackedSeries;
pub(crate) use turned::{product_turned, turns};

use super::real::Real;
use crate::tensor::convert::Compute;
use product::{run, run_few};

/// Multiplications below which packing costs more than it gains.
const TINY: usize = 1 << 12;

/// Products of at most this many rows read the other matrix as it lies, if its rows lie in one piece
/// each: more are multiplied in tiles, which write its panels on the way.
const FEW: usize = 8;

/// The same if its columns do, whose panels take longer to write.
const FEW_DOTS: usize = 32;

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

/// A type that matrices of are multiplied: floats round, integers wrap.
pub(crate) trait Product: Compute {
    /// Zero.
    const ZERO: Self;

    /// Multiplications that are not worth another thread: some twenty microseconds.
    const SMALL: usize;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The product of two elements.
    fn times(self, other: Self) -> Self;

    /// `c = a * b`, or `c += a * b` if `accumulate`, as [`multiply`].
    ///
    /// # Panics
    /// When the sizes do not fit.
    fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], accumulate: bool);

    /// The product, computed as `how` says, as [`product`]; integers do not heed `alone`.
    ///
    /// # Panics
    /// When the sizes do not fit.
    fn product_as(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], how: How<'_, Self>) {
        Self::product(a, b, c, how.accumulate);
        if let Some(finish) = how.finish {
            finish.part(0, c);
        }
    }
}

macro_rules! float_product {
    ($($T:ty),+) => {
        $(impl Product for $T {
            const ZERO: Self = 0.0;
            const SMALL: usize = 1 << 20;

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], accumulate: bool) {
                multiply(a, b, c, accumulate);
            }

            fn product_as(
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                c: &mut [Self],
                how: How<'_, Self>,
            ) {
                product(a, b, c, how);
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
    product(
        a,
        b,
        c,
        How {
            accumulate,
            ..How::default()
        },
    );
}

/// `c = a * b`, or `c += a * b`, of which either side may be packed or written on demand; the rows of
/// `c` follow each other. Large products are computed by all threads unless told otherwise; the
/// result does not depend on their number.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn product<'a, T: Real>(
    a: impl Into<Left<'a, T>>,
    b: impl Into<Right<'a, T>>,
    c: &mut [T],
    how: How<'_, T>,
) {
    let (a, b) = (a.into(), b.into());
    let arch = match (a, b) {
        (_, Right::Packed(packed)) => packed.arch(),
        (Left::Packed(packed), _) => packed.arch(),
        _ => crate::kernel::simd::arch(),
    };
    product_on(arch, a, b, c, how);
}

/// As [`product`], for the vectors of `arch`.
fn product_on<T: Real>(arch: Arch, a: Left<'_, T>, b: Right<'_, T>, c: &mut [T], how: How<'_, T>) {
    let (m, k, n) = (a.rows(), a.columns(), b.columns());
    assert!(
        b.rows() == k && c.len() == m * n,
        "the sizes of a product fit"
    );
    if c.is_empty() {
        return;
    }
    if k == 0 {
        if !how.accumulate {
            c.fill(T::zero());
        }
        if let Some(finish) = how.finish {
            finish.part(0, c);
        }
        return;
    }
    if let (Left::Matrix(a), Right::Matrix(b)) = (a, b) {
        if n == 1 && m > 1 && a.in_lines() {
            // The result has the same elements in the same order.
            return run_few(arch, b.transposed(), a.transposed(), c, how);
        }
        let few = if b.column_stride == 1 { FEW } else { FEW_DOTS };
        if (m <= few || m.saturating_mul(n).saturating_mul(k) <= TINY) && b.in_lines() {
            return run_few(arch, a, b, c, how);
        }
    }
    run(arch, a, b, c, how);
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
    product(
        a,
        b,
        c,
        How {
            accumulate,
            alone: true,
            finish: None,
        },
    );
}
