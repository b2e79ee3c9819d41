//! Tiles of so few columns that vectors along these would be empty for the most part: their vectors lie along the
//! rows, as those of the left side do in its panels.

use bytemuck::cast;
use pulp::Simd;

use super::ahead::TERMS;
use super::lanes::{Lanes, apart};
use super::size::{height, many_registers};
use super::target::Target;
use crate::kernel::across::LANES;

/// The most columns.
pub(super) const SLIM: usize = 4;

/// The last columns of a product, from a panel with so few.
pub(super) struct Slim<'a, T, F> {
    /// From the first of the terms on, a panel of the left side and what lies behind it.
    pub(super) left: F,
    /// How many whole panels there are.
    pub(super) tiles: usize,
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

impl<'a, T: Lanes, F: Fn(usize) -> &'a [T]> Slim<'a, T, F> {
    /// Computes the tiles, if they have as many `rows` as the largest and no more than a vector, and answers how many
    /// it has computed.
    #[inline(always)]
    pub(super) fn tiles<S: Simd>(&self, simd: S, rows: usize, target: &mut Target<'_, T>) -> usize {
        if rows != height::<S>() || T::lanes::<S>() < rows || self.size < SLIM {
            return 0;
        }
        apart(
            simd,
            #[inline(always)]
            || {
                if const { height::<S>() == 8 } {
                    self.of_rows::<S, 8>(simd, target)
                } else {
                    self.of_rows::<S, 6>(simd, target)
                }
            },
        )
    }

    #[inline(always)]
    fn of_rows<S: Simd, const R: usize>(&self, simd: S, target: &mut Target<'_, T>) -> usize {
        match self.width {
            1 => self.of_columns::<S, R, 1>(simd, target),
            _ => self.of_columns::<S, R, SLIM>(simd, target),
        }
        self.tiles
    }

    #[inline(always)]
    fn of_columns<S: Simd, const R: usize, const C: usize>(
        &self,
        simd: S,
        target: &mut Target<'_, T>,
    ) {
        let mut tile = 0;
        if T::lanes::<S>() == 2 * R {
            while tile + 8 <= self.tiles {
                self.in_pairs::<S, R, C, 4>(simd, tile, target);
                tile += 8;
            }
            while tile + 2 <= self.tiles {
                self.in_pairs::<S, R, C, 1>(simd, tile, target);
                tile += 2;
            }
        } else {
            if const { many_registers::<S>() } {
                while tile + 4 <= self.tiles {
                    self.beside::<S, R, C, 4>(simd, tile, target);
                    tile += 4;
                }
            }
            while tile + 2 <= self.tiles {
                self.beside::<S, R, C, 2>(simd, tile, target);
                tile += 2;
            }
        }
        if tile < self.tiles {
            self.beside::<S, R, C, 1>(simd, tile, target);
        }
    }

    /// `P` tiles above each other: the sums of one would wait for themselves.
    #[inline(always)]
    fn beside<S: Simd, const R: usize, const C: usize, const P: usize>(
        &self,
        simd: S,
        tile: usize,
        target: &mut Target<'_, T>,
    ) {
        let mut a: [&[T]; P] = [&[]; P];
        for (p, a) in a.iter_mut().enumerate() {
            *a = (self.left)(tile + p);
        }
        let sums = self.one_by_one::<S, R, C, P>(simd, a);
        for (p, sums) in sums.iter().enumerate() {
            self.put::<S, R, C>(sums, 1, (tile + p) * R, target);
        }
    }

    /// `P` pairs of tiles above each other. A vector holds the rows of two: its sums are those of larger tiles, bit by bit.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn in_pairs<S: Simd, const R: usize, const C: usize, const P: usize>(
        &self,
        simd: S,
        tile: usize,
        target: &mut Target<'_, T>,
    ) {
        let zero = T::splat(simd, T::zeroed());
        let (mut sums, mut a) = ([[zero; C]; P], [[&[] as &[[T; R]]; 2]; P]);
        for (p, pair) in a.iter_mut().enumerate() {
            for (i, tile) in [tile + 2 * p, tile + 2 * p + 1].into_iter().enumerate() {
                pair[i] = &(self.left)(tile).as_chunks().0[..self.terms];
            }
        }
        for (term, right) in (0..self.terms).zip(self.panel.chunks(self.size)) {
            let mut own = [zero; P];
            for p in 0..P {
                own[p] = cast([a[p][0][term], a[p][1][term]]);
            }
            add(simd, own, right, &mut sums);
        }
        for (p, sums) in sums.iter().enumerate() {
            self.put::<S, R, C>(sums, 2, (tile + 2 * p) * R, target);
        }
    }

    /// Sums of one term after the other.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn one_by_one<S: Simd, const R: usize, const C: usize, const P: usize>(
        &self,
        simd: S,
        mut a: [&[T]; P],
    ) -> [[T::Vector<S>; C]; P] {
        let lanes = T::lanes::<S>();
        let zero = T::splat(simd, T::zeroed());
        let mut sums = [[zero; C]; P];
        let mut term = 0;
        // What a vector holds beyond its rows is of no account: there are elements up to the last panel's last.
        let reach = (TERMS - 1) * R + lanes;
        while term + TERMS <= self.terms && a[P - 1].len() >= reach {
            let right = &self.panel[term * self.size..][..(TERMS - 1) * self.size + C];
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
                add(simd, own, &right[l * self.size..], &mut sums);
            }
            term += TERMS;
        }
        for term in term..self.terms {
            let mut own = [zero; P];
            for p in 0..P {
                own[p] = T::load(simd, &a[p][..R]);
                a[p] = &a[p][R..];
            }
            add(simd, own, &self.panel[term * self.size..], &mut sums);
        }
        sums
    }

    /// The sums become elements of the result: of so many tiles, from a row on.
    #[inline(always)]
    fn put<S: Simd, const R: usize, const C: usize>(
        &self,
        sums: &[T::Vector<S>; C],
        tiles: usize,
        row: usize,
        target: &mut Target<'_, T>,
    ) {
        let mut columns = [[T::zeroed(); LANES]; C];
        for (column, &sum) in columns.iter_mut().zip(sums) {
            T::vectors_mut::<S>(column).0[0] = sum;
        }
        let [first, column] = self.at;
        for tile in 0..tiles {
            let row = first + row + tile * R;
            let outs = target.rows::<R>(row, column..column + self.width);
            for (i, out) in outs.into_iter().enumerate() {
                for (out, column) in out.iter_mut().zip(&columns) {
                    let sum = column[tile * R + i];
                    *out = match self.add {
                        true => *out + sum,
                        false => sum,
                    };
                }
            }
        }
    }
}

/// Adds the products of a term: of some vectors along rows and an element for each column.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn add<T: Lanes, S: Simd, const C: usize, const P: usize>(
    simd: S,
    a: [T::Vector<S>; P],
    b: &[T],
    sums: &mut [[T::Vector<S>; C]; P],
) {
    let b = &b[..C];
    for c in 0..C {
        let x = T::splat(simd, b[c]);
        for p in 0..P {
            sums[p][c] = T::mul_add(simd, a[p], x, sums[p][c]);
        }
    }
}
