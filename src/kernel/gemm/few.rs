//! Products of a few rows with a matrix that is read once, as it lies.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::Matrix;
use super::lanes::{Lanes, apart, dispatch};
use super::size::many_registers;
use super::some_lines::SomeLines;
use super::target::Target;
use crate::kernel::scratch::with_scratch;
use crate::kernel::simd::prefetch;

/// Sums that stay in the nearest cache, if there are many registers: such processors have 48 KiB of it, or a second one
/// that gives a line a cycle. Others add half as many.
const SUMS: usize = 8192;

/// Elements up to which a matrix is in a near cache.
const NEAR: usize = 1 << 13;

/// Sums of a product of one row and one column: one alone would wait for itself.
const SUMS_OF_ONE: usize = 4;

/// Rows whose sums are made together.
const MOST_ROWS: usize = 8;

/// Lines that are added at a time.
const LINES: usize = 8;

/// And at most, where they lie in different places of the nearest cache, which has eight of each, or a few more. So many
/// for seven rows and more: sums are read and written once for all of them. Memory gives fewer lines faster, and these
/// are half as many for fewer rows or few registers.
const MOST_LINES: usize = 32;

/// Lines so many bytes from each other, or a multiple of these, lie in the same places.
const SAME_PLACE: usize = 4096;

/// Vectors ahead of which lines are asked for. Lines often begin a multiple of 4 KiB from each other:
/// what was asked for at the same place of others would have to share the places of these in the cache.
const AHEAD: usize = 8;

/// `a * b` for some columns of `b`, which become those of the target, or are added to them. The rows
/// of `a`, and the rows or the columns of `b`, lie in one piece each. Nothing is empty.
pub(super) fn multiply<T: Lanes>(
    arch: Arch,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    columns: Range<usize>,
    target: &mut Target<'_, T>,
    add: bool,
) {
    with_scratch(SUMS, |memory| {
        let few = Few {
            a,
            b,
            columns,
            target,
            add,
            memory,
        };
        dispatch(arch, few);
    });
}

struct Few<'a, 't, 'c, T> {
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    columns: Range<usize>,
    target: &'t mut Target<'c, T>,
    add: bool,
    /// Place for the sums of some rows.
    memory: &'t mut [T],
}

impl<T: Lanes> WithSimd for Few<'_, '_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if self.b.column_stride == 1 {
            let memory = std::mem::take(&mut self.memory);
            self.all_lines(simd, memory);
        } else {
            self.all_dots(simd);
        }
    }
}

impl<T: Lanes> Few<'_, '_, '_, T> {
    /// The rows of `b` lie in one piece each.
    #[inline(always)]
    fn all_lines<S: Simd>(&mut self, simd: S, memory: &mut [T]) {
        macro_rules! rows {
            ($i:ident, $count:expr, $($R:literal)+) => {
                match $count {
                    $($R => apart(
                        simd,
                        #[inline(always)]
                        || self.lines_of::<S, $R>(simd, $i, memory),
                    ),)+
                    _ => {}
                }
            };
        }
        let rows = self.a.rows;
        let height = rows.div_ceil(rows.div_ceil(MOST_ROWS));
        for i in (0..rows).step_by(height) {
            rows!(i, height.min(rows - i), 1 2 3 4 5 6 7 8);
        }
    }

    /// Rows of `b`, some of them at a time, are added to `R` rows of the result, each times a factor.
    /// The sums stay in the nearest cache, vectors of different rows side by side.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn lines_of<S: Simd, const R: usize>(&mut self, simd: S, i: usize, memory: &mut [T]) {
        let (k, lanes) = (self.b.rows, T::lanes::<S>());
        let bytes = self.b.row_stride.wrapping_mul(size_of::<T>());
        let spread = !bytes.is_multiple_of(SAME_PLACE);
        let many = const { many_registers::<S>() };
        let some = match R > 1 && spread {
            true if many && R > 6 => MOST_LINES,
            true => MOST_LINES / 2,
            false => LINES,
        };
        // As long a piece of each line as there can be.
        let most = if many { SUMS } else { SUMS / 2 } / R / lanes * lanes;
        for start in self.columns.clone().step_by(most) {
            let columns = start..self.columns.end.min(start + most);
            let count = columns.len().div_ceil(lanes);
            let sums = T::vectors_mut::<S>(memory).0.as_chunks_mut::<R>().0;
            let sums = &mut sums[..count];
            sums.fill([T::splat(simd, T::zeroed()); R]);
            for first in (0..k).step_by(some) {
                let lines = first..k.min(first + some);
                match sums.as_flattened_mut() {
                    sums if R == 1 && lines.len() == LINES => {
                        self.lines_for_one(simd, i, first, columns.clone(), sums);
                    }
                    // Nothing else takes registers there.
                    _ => apart(
                        simd,
                        #[inline(always)]
                        || self.lines(simd, i, lines, columns.clone(), sums),
                    ),
                }
            }
            let at = columns.start - self.columns.start..columns.end - self.columns.start;
            for r in 0..R {
                let (out, rest) = T::vectors_mut::<S>(self.target.row(i + r, at.clone()));
                let mut sums = sums.iter();
                for (out, sums) in out.iter_mut().zip(&mut sums) {
                    *out = match self.add {
                        true => T::add_vectors(simd, *out, sums[r]),
                        false => sums[r],
                    };
                }
                if let Some(sums) = sums.next() {
                    let sum = match self.add {
                        true => T::add_vectors(simd, T::load(simd, rest), sums[r]),
                        false => sums[r],
                    };
                    T::store(simd, rest, sum);
                }
            }
        }
    }

    /// Adds [`LINES`] lines to the sums of one row: it has so few multiplications that nothing else may be done.
    #[inline(always)]
    fn lines_for_one<S: Simd>(
        &self,
        simd: S,
        i: usize,
        first: usize,
        columns: Range<usize>,
        sums: &mut [T::Vector<S>],
    ) {
        let stride = self.b.row_stride;
        let from = first * stride + columns.start;
        let (whole, rest) = lines_of::<T, S, LINES>(self.b.data, from, stride, columns.len());
        let mut factors = [T::zeroed(); LINES];
        factors.copy_from_slice(&self.a.data[i * self.a.row_stride + first..][..LINES]);
        let add = |lines: [T::Vector<S>; LINES], sum: &mut T::Vector<S>| {
            let mut of = *sum;
            for (factor, line) in factors.into_iter().zip(lines) {
                of = T::mul_add(simd, T::splat(simd, factor), line, of);
            }
            *sum = of;
        };
        let count = columns.len() / T::lanes::<S>();
        let (most, last) = sums.split_at_mut(count);
        let near = count.saturating_sub(AHEAD);
        let (here, next) = most.split_at_mut(near);
        let [ahead, beyond] = self.ahead::<S>(LINES, columns.len());
        for (sums, from, ahead) in [(here, 0, ahead), (next, near, beyond)] {
            for (v, sum) in (from..).zip(sums) {
                for line in whole {
                    prefetch(line[v..].as_ptr().cast::<T>(), ahead);
                }
                add(side_by_side::<T, S, LINES>(simd, &whole, v), sum);
            }
        }
        if let Some(sum) = last.first_mut() {
            add(loads::<T, S, LINES>(simd, &rest), sum);
        }
    }

    /// How far ahead what comes is asked for, in a piece of some lines that is so long: in the piece, and near its end,
    /// where the beginning of the lines after these comes.
    #[inline(always)]
    fn ahead<S: Simd>(&self, lines: usize, len: usize) -> [usize; 2] {
        let ahead = AHEAD * T::lanes::<S>();
        let beyond = lines.wrapping_mul(self.b.row_stride).wrapping_sub(len);
        [ahead, ahead.wrapping_add(beyond)]
    }

    /// Adds up to [`MOST_LINES`] lines to the sums of some rows.
    #[inline(always)]
    fn lines<S: Simd, const R: usize>(
        &self,
        simd: S,
        i: usize,
        lines: Range<usize>,
        columns: Range<usize>,
        sums: &mut [[T::Vector<S>; R]],
    ) {
        let (lanes, stride) = (T::lanes::<S>(), self.b.row_stride);
        let mut factors = [[T::zeroed(); R]; MOST_LINES];
        let factors = &mut factors[..lines.len()];
        for r in 0..R {
            let row = &self.a.data[(i + r) * self.a.row_stride + lines.start..];
            for (factors, &factor) in factors.iter_mut().zip(row) {
                factors[r] = factor;
            }
        }
        let some = SomeLines {
            factors,
            data: &self.b.data[lines.start * stride + columns.start..],
            stride,
        };
        let whole = columns.len() / lanes;
        let (pairs, rest) = sums.split_at_mut(whole & !1);
        let near = pairs.len().saturating_sub(AHEAD);
        let [ahead, beyond] = self.ahead::<S>(lines.len(), columns.len());
        let mut v = 0;
        for sums in pairs.as_chunks_mut::<2>().0 {
            let ahead = if v < near { ahead } else { beyond };
            some.pair(simd, v * lanes, ahead, sums);
            v += 2;
        }
        for sums in rest {
            let at = v * lanes;
            some.part(simd, at..columns.len().min(at + lanes), sums);
            v += 1;
        }
    }

    /// The columns of `b` lie in one piece each.
    #[inline(always)]
    fn all_dots<S: Simd>(&mut self, simd: S) {
        // Of the whole matrix: sums must not depend on the part that they are in.
        if self.a.rows == 1 && self.b.rows.saturating_mul(self.b.columns) > NEAR {
            return self.one_by_one(simd);
        }
        let end = self.columns.end;
        let mut j = self.columns.start;
        if const { many_registers::<S>() } {
            while j + 4 <= end {
                self.columns::<S, 4>(simd, j);
                j += 4;
            }
        }
        while j + 2 <= end {
            self.columns::<S, 2>(simd, j);
            j += 2;
        }
        if j < end {
            self.columns::<S, 1>(simd, j);
        }
    }

    /// A row is multiplied with one column after another, so that elements are read in the order in which they lie:
    /// memory gives those of several columns side by side half as fast. More rows use several columns while they have
    /// them.
    #[inline(always)]
    fn one_by_one<S: Simd>(&mut self, simd: S) {
        let k = self.b.rows;
        let across = self.b.column_stride;
        let ([row], [rest_of_row]) = lines_of::<T, S, 1>(self.a.data, 0, k, k);
        let (rows, last_rows) = row.as_chunks::<SUMS_OF_ONE>();
        for j in self.columns.clone() {
            let ([column], [rest]) = lines_of::<T, S, 1>(self.b.data, j * across, across, k);
            let (columns, last_columns) = column.as_chunks::<SUMS_OF_ONE>();
            let mut sums = [T::splat(simd, T::zeroed()); SUMS_OF_ONE];
            for (a, b) in rows.iter().zip(columns) {
                for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                    *sum = T::mul_add(simd, *a, *b, *sum);
                }
            }
            for (sum, (a, b)) in sums.iter_mut().zip(last_rows.iter().zip(last_columns)) {
                *sum = T::mul_add(simd, *a, *b, *sum);
            }
            if !rest.is_empty() {
                let (a, b) = (T::load(simd, rest_of_row), T::load(simd, rest));
                sums[SUMS_OF_ONE - 1] = T::mul_add(simd, a, b, sums[SUMS_OF_ONE - 1]);
            }
            let [a, b, c, d] = sums;
            let (a, b) = (T::add_vectors(simd, a, b), T::add_vectors(simd, c, d));
            let sum = T::sum(simd, T::add_vectors(simd, a, b));
            let at = j - self.columns.start;
            let out = &mut self.target.row(0, at..at + 1)[0];
            *out = if self.add { *out + sum } else { sum };
        }
    }

    #[inline(always)]
    fn columns<S: Simd, const C: usize>(&mut self, simd: S, j: usize) {
        let rows = self.a.rows;
        let mut i = 0;
        while i + 4 <= rows {
            self.dots::<S, 4, C>(simd, i, j);
            i += 4;
        }
        while i + 2 <= rows {
            self.dots::<S, 2, C>(simd, i, j);
            i += 2;
        }
        if i < rows {
            self.dots::<S, 1, C>(simd, i, j);
        }
    }

    /// The sums of `R` rows and `C` columns.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn dots<S: Simd, const R: usize, const C: usize>(&mut self, simd: S, i: usize, j: usize) {
        let k = self.b.rows;
        let [down, across] = [self.a.row_stride, self.b.column_stride];
        let (rows, rest_rows) = lines_of::<T, S, R>(self.a.data, i * down, down, k);
        let (columns, rest_columns) = lines_of::<T, S, C>(self.b.data, j * across, across, k);
        let mut sums = [[T::splat(simd, T::zeroed()); C]; R];
        let count = k / T::lanes::<S>();
        for l in 0..count {
            let a = side_by_side::<T, S, R>(simd, &rows, l);
            let b = side_by_side::<T, S, C>(simd, &columns, l);
            add_products::<T, S, R, C>(simd, &a, &b, &mut sums);
        }
        if count * T::lanes::<S>() < k {
            let a = loads::<T, S, R>(simd, &rest_rows);
            let b = loads::<T, S, C>(simd, &rest_columns);
            add_products::<T, S, R, C>(simd, &a, &b, &mut sums);
        }
        let at = j - self.columns.start;
        for r in 0..R {
            let out = self.target.row(i + r, at..at + C);
            for c in 0..C {
                let sum = T::sum(simd, sums[r][c]);
                out[c] = if self.add { out[c] + sum } else { sum };
            }
        }
    }
}

/// Lines of `len` elements, `stride` apart, the first of them at `from`: their vectors, and what is left of each.
/// (`map` of so large an array is a call, to a function that is not compiled for these vectors.)
#[inline(always)]
#[allow(clippy::type_complexity)]
fn lines_of<T: Lanes, S: Simd, const N: usize>(
    data: &[T],
    from: usize,
    stride: usize,
    len: usize,
) -> ([&[T::Vector<S>]; N], [&[T]; N]) {
    let (mut whole, mut rest) = ([&[][..]; N], [&[][..]; N]);
    let mut start = from;
    for (whole, rest) in whole.iter_mut().zip(&mut rest) {
        let vectors;
        (vectors, *rest) = T::vectors::<S>(&data[start..][..len]);
        *whole = &vectors[..len / T::lanes::<S>()];
        start = start.wrapping_add(stride);
    }
    (whole, rest)
}

/// The vectors at the same place of some lines.
#[inline(always)]
fn side_by_side<T: Lanes, S: Simd, const N: usize>(
    simd: S,
    lines: &[&[T::Vector<S>]; N],
    at: usize,
) -> [T::Vector<S>; N] {
    let mut vectors = [T::splat(simd, T::zeroed()); N];
    for (vector, line) in vectors.iter_mut().zip(lines) {
        *vector = line[at];
    }
    vectors
}

/// What is left of some lines, less than a vector each.
#[inline(always)]
fn loads<T: Lanes, S: Simd, const N: usize>(simd: S, rests: &[&[T]; N]) -> [T::Vector<S>; N] {
    let mut vectors = [T::splat(simd, T::zeroed()); N];
    for (vector, rest) in vectors.iter_mut().zip(rests) {
        *vector = T::load(simd, rest);
    }
    vectors
}

/// Adds the product of each vector of one side with each of the other.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn add_products<T: Lanes, S: Simd, const R: usize, const C: usize>(
    simd: S,
    a: &[T::Vector<S>; R],
    b: &[T::Vector<S>; C],
    sums: &mut [[T::Vector<S>; C]; R],
) {
    for r in 0..R {
        for c in 0..C {
            sums[r][c] = T::mul_add(simd, a[r], b[c], sums[r][c]);
        }
    }
}
