//! Products of matrices of floats.

use rayon::prelude::*;

use super::real::Real;

/// Multiplications below which a product stays on the calling thread.
const SMALL: usize = 1 << 18;

/// The parts that a large product is cut into; their number does not depend on the threads.
const PARTS: usize = 16;

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

    /// The element in row `i` and column `j`.
    pub(crate) fn at(&self, i: usize, j: usize) -> T
    where
        T: Copy,
    {
        self.data[i * self.row_stride + j * self.column_stride]
    }

    /// The numbers of rows and columns.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.rows, self.columns]
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

/// `c = a * b`, or `c += a * b` if `accumulate`; the rows of `c` follow each other. Large products
/// are computed by all threads; the result does not depend on their number.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply<T: Real>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T], accumulate: bool) {
    let work = a.rows.saturating_mul(a.columns).saturating_mul(b.columns);
    product(a, b, c, accumulate, work <= SMALL);
}

/// As [`multiply`], on the calling thread whatever the size.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn multiply_here<T: Real>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T]) {
    product(a, b, c, false, true);
}

fn product<T: Real>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    c: &mut [T],
    accumulate: bool,
    whole: bool,
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
    if whole {
        part([0, m], [0, n]);
    } else if m >= n {
        let size = m.div_ceil(PARTS).max(NARROWEST);
        let parts = m.div_ceil(size);
        (0..parts)
            .into_par_iter()
            .for_each(|i| part([i * size, (i * size + size).min(m)], [0, n]));
    } else {
        let size = n.div_ceil(PARTS).max(NARROWEST);
        let parts = n.div_ceil(size);
        (0..parts)
            .into_par_iter()
            .for_each(|i| part([0, m], [i * size, (i * size + size).min(n)]));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(m: usize, k: usize, n: usize, transpose: [bool; 2], accumulate: bool) {
        let a: Vec<f64> = (0..m * k)
            .map(|i| ((i * 7 + 3) % 11) as f64 - 5.0)
            .collect();
        let b: Vec<f64> = (0..k * n)
            .map(|i| ((i * 5 + 1) % 13) as f64 - 6.0)
            .collect();
        let view_a = match transpose[0] {
            true => Matrix::new(&a, k, m).transposed(),
            false => Matrix::new(&a, m, k),
        };
        let view_b = match transpose[1] {
            true => Matrix::new(&b, n, k).transposed(),
            false => Matrix::new(&b, k, n),
        };
        let at = |v: &Matrix<'_, f64>, i: usize, j: usize| {
            v.data[i * v.row_stride + j * v.column_stride]
        };
        let mut c = vec![if accumulate { 1.0 } else { f64::NAN }; m * n];
        multiply(view_a, view_b, &mut c, accumulate);
        for i in 0..m {
            for j in 0..n {
                let sum: f64 = (0..k).map(|l| at(&view_a, i, l) * at(&view_b, l, j)).sum();
                assert_eq!(c[i * n + j], sum + f64::from(u8::from(accumulate)));
            }
        }
    }

    #[test]
    fn large_products() {
        check(301, 40, 50, [false, true], false);
        check(50, 40, 301, [true, false], true);
        check(2, 0, 3, [false, false], false);
        check(0, 4, 3, [false, false], false);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn definition(
            (m, k, n) in (0usize..20, 0usize..20, 0usize..20),
            a in any::<bool>(),
            b in any::<bool>(),
            accumulate in any::<bool>(),
        ) {
            check(m, k, n, [a, b], accumulate);
        }
    }
}
