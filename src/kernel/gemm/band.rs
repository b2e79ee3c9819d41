//! Tiles of a result beside each other.

use std::ops::Range;

use pulp::Simd;

use super::lanes::Lanes;
use super::pieces::Pieces;
use super::size::{many_registers, rows};
use super::target::{Target, put_whole};
use super::terms::add_term;
use crate::kernel::simd::prefetch;

/// What tiles beside each other are multiplied with.
#[derive(Clone, Copy)]
pub(super) enum Beside<'a, T> {
    /// Panels, the elements from one to the next, and those of each.
    Panels(&'a [T], usize, usize),
    /// Vectors that are read where they lie.
    Pieces(&'a [Pieces<'a, T>]),
}

impl<'a, T> Beside<'a, T> {
    /// The first `count` panels of `size` elements each; from one to the next it is `pitch`.
    pub(super) fn panels(data: &'a [T], [count, pitch, size]: [usize; 3]) -> Self {
        Self::Panels(&data[..(count - 1) * pitch + size], pitch, size)
    }
}

/// Some rows of the result, of the columns of panels that follow each other. What is the same for all of its
/// tiles is asked once: where these have few terms, that takes as long as they do.
pub(super) struct Band<'a, 't, 'c, T> {
    /// A panel of the left side.
    pub(super) a: &'a [T],
    pub(super) right: Beside<'a, T>,
    pub(super) target: &'t mut Target<'c, T>,
    /// The first row in the target.
    pub(super) row: usize,
    /// The columns in the target: those of whole panels.
    pub(super) columns: Range<usize>,
    /// Whether the sums are added to what is there.
    pub(super) add: bool,
}

impl<T: Lanes> Band<'_, '_, '_, T> {
    /// The tiles of so many rows and of `N` vectors a row.
    #[inline(always)]
    pub(super) fn of_rows<S: Simd, const N: usize>(self, simd: S, rows: usize) {
        rows!(S, rows, R => self.tiles::<S, R, N>(simd));
    }

    #[inline(always)]
    fn tiles<S: Simd, const R: usize, const N: usize>(self, simd: S) {
        let a = self.a.as_chunks::<R>().0;
        let mut rest = self.target.rows::<R>(self.row, self.columns);
        match self.right {
            Beside::Panels(data, pitch, size) => {
                for panel in data.chunks(pitch) {
                    let panel = &panel[..size];
                    let terms = T::vectors::<S>(panel).0.as_chunks::<N>().0.iter().copied();
                    tile(simd, a, terms, &mut rest, self.add);
                }
            }
            Beside::Pieces(all) => {
                for pieces in all {
                    tile(simd, a, pieces.terms::<S, N>(simd), &mut rest, self.add);
                }
            }
        }
    }
}

/// A tile, whose result is the beginning of what is left of some rows.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn tile<T: Lanes, S: Simd, const R: usize, const N: usize>(
    simd: S,
    a: &[[T; R]],
    terms: impl Iterator<Item = [T::Vector<S>; N]>,
    rest: &mut [&mut [T]; R],
    add: bool,
) {
    let mut outs: [&mut [T]; R] = [(); R].map(|()| &mut [][..]);
    for i in 0..R {
        (outs[i], rest[i]) = std::mem::take(&mut rest[i]).split_at_mut(N * T::lanes::<S>());
        // For the next tile.
        prefetch(rest[i].as_ptr(), 0);
    }
    let mut sums = [[T::splat(simd, T::zeroed()); N]; R];
    for (a, b) in a.iter().zip(terms) {
        add_term(simd, a, &b, &mut sums);
    }
    put_whole(simd, sums, outs, add);
}
