//! Tiles of so few columns that vectors along these would be empty for the most part: their vectors lie along the
//! rows, as those of the left side do in its panels.

use std::ops::Range;

use pulp::Simd;

use super::ahead::TERMS;
use super::lanes::Lanes;
use super::size::height;
use super::target::Target;
use super::tile::Side;
use crate::kernel::across::LANES;

/// The most columns.
pub(super) const SLIM: usize = 4;

/// The last columns of a block, from a panel with so few.
pub(super) struct Slim<'a, T> {
    /// The left side, and the rows of it.
    pub(super) left: (Side<'a, T>, Range<usize>),
    /// Their panel, of `size` elements for each term; those behind the columns are of no account.
    pub(super) panel: &'a [T],
    pub(super) size: usize,
    pub(super) terms: usize,
    /// The place in the target of the first element.
    pub(super) at: [usize; 2],
    /// How many columns there are.
    pub(super) width: usize,
    /// Whether the sums are added to what is there.
    pub(super) add: bool,
}

impl<T: Lanes> Slim<'_, T> {
    /// Computes tiles that have as many rows as the largest and no more than a vector, from the first on, and answers
    /// how many.
    #[inline(always)]
    pub(super) fn tiles<S: Simd>(self, simd: S, rows: usize, target: &mut Target<'_, T>) -> usize {
        match height::<S>() {
            _ if rows != height::<S>() || T::lanes::<S>() < rows || self.size < SLIM => 0,
            6 => self.of_rows::<S, 6>(simd, target),
            8 => self.of_rows::<S, 8>(simd, target),
            _ => 0,
        }
    }

    #[inline(always)]
    fn of_rows<S: Simd, const R: usize>(self, simd: S, target: &mut Target<'_, T>) -> usize {
        let tiles = self.left.1.len() / R;
        for tile in (0..tiles - tiles % 2).step_by(2) {
            self.beside::<S, R, 2>(simd, tile, target);
        }
        if !tiles.is_multiple_of(2) {
            self.beside::<S, R, 1>(simd, tiles - 1, target);
        }
        tiles
    }

    /// `P` tiles above each other: the sums of one would wait for themselves.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn beside<S: Simd, const R: usize, const P: usize>(
        &self,
        simd: S,
        tile: usize,
        target: &mut Target<'_, T>,
    ) {
        let lanes = T::lanes::<S>();
        let zero = T::splat(simd, T::zeroed());
        let (side, rows) = &self.left;
        let mut sums = [[zero; SLIM]; P];
        let mut a: [&[T]; P] = [&[]; P];
        for (p, a) in a.iter_mut().enumerate() {
            *a = side.from(rows.start + (tile + p) * R, R);
        }
        let mut term = 0;
        // What a vector holds beyond its rows is of no account: there are elements up to the last panel's last.
        let reach = (TERMS - 1) * R + lanes;
        while term + TERMS <= self.terms && a[P - 1].len() >= reach {
            let right = &self.panel[term * self.size..][..(TERMS - 1) * self.size + SLIM];
            let mut left = a;
            for p in 0..P {
                left[p] = &a[p][..reach];
                a[p] = &a[p][TERMS * R..];
            }
            for l in 0..TERMS {
                let mut own = [zero; P];
                for p in 0..P {
                    own[p] = T::vectors::<S>(&left[p][l * R..][..lanes]).0[0];
                }
                add(simd, own, &right[l * self.size..][..SLIM], &mut sums);
            }
            term += TERMS;
        }
        for term in term..self.terms {
            let mut own = [zero; P];
            for p in 0..P {
                own[p] = T::load(simd, &a[p][..R]);
                a[p] = &a[p][R..];
            }
            add(
                simd,
                own,
                &self.panel[term * self.size..][..SLIM],
                &mut sums,
            );
        }
        for p in 0..P {
            self.put::<S, R>(&sums[p], (tile + p) * R, target);
        }
    }

    /// The sums become elements of the result, from a row on.
    #[inline(always)]
    fn put<S: Simd, const R: usize>(
        &self,
        sums: &[T::Vector<S>; SLIM],
        row: usize,
        target: &mut Target<'_, T>,
    ) {
        let mut columns = [[T::zeroed(); LANES]; SLIM];
        for (column, &sum) in columns.iter_mut().zip(sums) {
            T::vectors_mut::<S>(column).0[0] = sum;
        }
        let [first, column] = self.at;
        let outs = target.rows::<R>(first + row, column..column + self.width);
        for (i, out) in outs.into_iter().enumerate() {
            for (out, column) in out.iter_mut().zip(&columns) {
                *out = match self.add {
                    true => *out + column[i],
                    false => column[i],
                };
            }
        }
    }
}

/// Adds the products of a term: of some vectors along rows and an element for each column.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn add<T: Lanes, S: Simd, const P: usize>(
    simd: S,
    a: [T::Vector<S>; P],
    b: &[T],
    sums: &mut [[T::Vector<S>; SLIM]; P],
) {
    for c in 0..SLIM {
        let x = T::splat(simd, b[c]);
        for p in 0..P {
            sums[p][c] = T::mul_add(simd, a[p], x, sums[p][c]);
        }
    }
}
