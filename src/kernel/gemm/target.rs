//! Where the sums of a product go.

use std::ops::Range;

use pulp::Simd;
use smallvec::SmallVec;

use super::lanes::Lanes;

/// Pieces that are finished together.
pub(super) const TOGETHER: usize = 32;

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
                let lines = &mut rows.as_mut_slice()[first..first + R];
                for (to, line) in all.iter_mut().zip(lines) {
                    *to = &mut line[columns.clone()];
                }
            }
        }
        all
    }

    /// Elements of at most [`TOGETHER`] rows that follow each other.
    pub(super) fn pieces(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> SmallVec<[&mut [T]; TOGETHER]> {
        match self {
            Self::Rows(data, width) => {
                let lines = data[rows.start * *width..].chunks_mut(*width);
                let lines = lines.take(rows.len());
                lines.map(|line| &mut line[columns.clone()]).collect()
            }
            Self::Pieces(all) => {
                let lines = all[rows].iter_mut();
                lines.map(|line| &mut line[columns.clone()]).collect()
            }
        }
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

/// Writes sums to their elements, or adds them to those. The last vectors may reach beyond `out`.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
pub(super) fn write<T: Lanes, S: Simd, const N: usize>(
    simd: S,
    sums: &[T::Vector<S>; N],
    out: &mut [T],
    add: bool,
) {
    let lanes = T::lanes::<S>();
    if out.len() == N * lanes {
        return write_whole(simd, sums, out, add);
    }
    for v in 0..N {
        let Some(out) = out.get_mut(v * lanes..).filter(|out| !out.is_empty()) else {
            return;
        };
        let len = out.len().min(lanes);
        let out = &mut out[..len];
        let sum = match add {
            true => T::add_vectors(simd, T::load(simd, out), sums[v]),
            false => sums[v],
        };
        T::store(simd, out, sum);
    }
}

/// The same for as many elements as the vectors have.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn write_whole<T: Lanes, S: Simd, const N: usize>(
    simd: S,
    sums: &[T::Vector<S>; N],
    out: &mut [T],
    add: bool,
) {
    let Some(out) = T::vectors_mut::<S>(out).0.first_chunk_mut::<N>() else {
        return;
    };
    if add {
        for v in 0..N {
            out[v] = T::add_vectors(simd, out[v], sums[v]);
        }
    } else {
        *out = *sums;
    }
}

/// The sums become elements of the result: as many as these have.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
pub(super) fn put_whole<T: Lanes, S: Simd, const N: usize, const R: usize>(
    simd: S,
    sums: [[T::Vector<S>; N]; R],
    outs: [&mut [T]; R],
    add: bool,
) {
    // What is the same for all rows is asked once.
    if add {
        for i in 0..R {
            write_whole(simd, &sums[i], outs[i], true);
        }
    } else {
        for i in 0..R {
            write_whole(simd, &sums[i], outs[i], false);
        }
    }
}
