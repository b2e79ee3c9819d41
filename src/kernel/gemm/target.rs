//! Where the sums of a product go.

use std::ops::Range;

use pulp::Simd;

use super::lanes::Lanes;

/// The part of the result that one thread computes.
pub(crate) enum Target<'c, T> {
    /// Whole rows of so many elements.
    Rows(&'c mut [T], usize),
    /// A piece of each row.
    Pieces(Vec<&'c mut [T]>),
}

impl<T> Target<'_, T> {
    /// Elements of some rows that follow each other.
    #[inline(always)]
    pub(super) fn rows<const R: usize>(
        &mut self,
        first: usize,
        columns: Range<usize>,
    ) -> [&mut [T]; R] {
        let mut all: [&mut [T]; R] = [(); R].map(|()| &mut [][..]);
        match self {
            Self::Rows(data, width) => {
                let mut lines = data[first * *width..].chunks_mut(*width);
                for to in &mut all {
                    let line = lines.next().unwrap_or_default();
                    *to = &mut line[columns.clone()];
                }
            }
            Self::Pieces(rows) => {
                for (to, line) in all.iter_mut().zip(&mut rows[first..first + R]) {
                    *to = &mut line[columns.clone()];
                }
            }
        }
        all
    }

    /// Elements of a row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize, columns: Range<usize>) -> &mut [T] {
        match self {
            Self::Rows(data, width) => &mut data[row * *width..][columns],
            Self::Pieces(rows) => &mut rows[row][columns],
        }
    }
}

/// Writes sums to their elements, or adds them to those.
#[inline(always)]
pub(super) fn write<T: Lanes, S: Simd, const N: usize>(
    simd: S,
    sums: &[T::Vector<S>; N],
    out: &mut [T],
    add: bool,
) {
    let lanes = T::lanes::<S>();
    if out.len() == N * lanes {
        let out = T::vectors_mut::<S>(out).0;
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = if add {
                T::add_vectors(simd, *out, sum)
            } else {
                sum
            };
        }
    } else {
        for (out, &sum) in out.chunks_mut(lanes).zip(sums) {
            let sum = match add {
                true => T::add_vectors(simd, T::load(simd, out), sum),
                false => sum,
            };
            T::store(simd, out, sum);
        }
    }
}
