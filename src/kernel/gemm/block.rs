//! A block of a product, tile by tile.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::ahead::Next;
use super::band::{Band, Beside};
use super::lanes::{Lanes, apart};
use super::pack::copy;
use super::pieces::{Pieces, by_line};
use super::size::many_registers;
use super::slim::{SLIM, Slim};
use super::target::Target;
use super::tile::Tile;

/// Terms of a product whose tiles follow each other along the rows of its result: with so few, what there is
/// to do for a tile beside its sums counts, and much of it can be done for a [`Band`] at once.
pub(crate) const SHORT: usize = 160;

/// Elements of panels of the right side that stay in a near cache: those that few rows of the left are multiplied
/// with, or tiles beside each other.
pub(super) const NEAR: usize = 1 << 14;

/// Packed panels that a band has, at least.
const FEWEST: usize = 3;

/// One side of a product, packed: panels of a few rows (or columns), term after term.
#[derive(Clone, Copy)]
pub(super) struct Side<'a, T> {
    pub(super) data: &'a [T],
    /// The terms of a panel.
    pub(super) depth: usize,
    /// The first of the terms to add up.
    pub(super) first: usize,
}

impl<'a, T> Side<'a, T> {
    /// What begins with the panel whose first row (or column) is `start`, of `size` elements for each term.
    #[inline(always)]
    pub(super) fn from(&self, start: usize, size: usize) -> &'a [T] {
        &self.data[start * self.depth + self.first * size..]
    }

    /// `count` terms of this panel.
    #[inline(always)]
    fn panel(&self, start: usize, size: usize, count: usize) -> &'a [T] {
        &self.from(start, size)[..count * size]
    }
}

/// The right side of a block.
pub(super) enum Columns<'a, T> {
    /// Panels, or what they are made of.
    Strip(Strip<'a, T>),
    /// Whole panels of two vectors or more and of few terms, which are read where they lie.
    Places(&'a [Pieces<'a, T>]),
}

/// Panels of the right side that follow each other.
pub(super) enum Strip<'a, T> {
    /// Panels, and what is read after them, the part for each term so far from that for the next.
    Packed(Side<'a, T>, (&'a [T], usize)),
    /// The first element of the block in a matrix whose rows lie in one piece each, the stride of
    /// these, and place for panels: they are written while the first tile of rows is multiplied.
    Lines(&'a [T], usize, &'a mut [T]),
    /// One panel of two whole vectors or more, and place for it: it is written as those of lines are.
    Pieces(Pieces<'a, T>, &'a mut [T]),
}

impl<'a, T> From<Strip<'a, T>> for Columns<'a, T> {
    fn from(strip: Strip<'a, T>) -> Self {
        Self::Strip(strip)
    }
}

/// A block of the result, and what goes into it.
pub(super) struct Block<'a, 'c, T> {
    /// Panels of the left side.
    pub(super) a: Side<'a, T>,
    /// The rows of such a panel, and of a tile.
    pub(super) height: usize,
    /// Rows of the left side; the first begins a panel.
    pub(super) rows: Range<usize>,
    /// The right side.
    pub(super) b: Columns<'a, T>,
    /// Columns of the right side; the first begins a panel.
    pub(super) columns: Range<usize>,
    /// The columns of a panel: whole vectors.
    pub(super) width: usize,
    /// Terms to add up.
    pub(super) terms: usize,
    /// Where the result goes.
    pub(super) target: &'a mut Target<'c, T>,
    /// The place in the target of the block's first element.
    pub(super) origin: [usize; 2],
    /// Whether the sums are added to what is there.
    pub(super) add: bool,
}

impl<T: Lanes> WithSimd for Block<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            a,
            height,
            rows,
            b,
            columns,
            width: size,
            terms,
            target,
            origin,
            add,
        } = self;
        let mut tiles = Tiles {
            a,
            height,
            rows,
            columns: columns.clone(),
            size,
            terms,
            target,
            origin,
            add,
        };
        let mut strip = match b {
            Columns::Strip(strip) => strip,
            Columns::Places(pieces) => {
                return tiles.bands(simd, false, columns, Beside::Pieces(pieces));
            }
        };
        let by_rows = terms <= SHORT
            && match strip {
                Strip::Lines(..) => true,
                // Few rows wait for panels from far away, which tiles above each other ask for. And where only
                // one or two are near at a time, a band saves less than reading them again takes.
                Strip::Packed(..) => tiles.rows.len() > 2 * height && FEWEST * terms * size <= NEAR,
                Strip::Pieces(..) => false,
            };
        let across = match by_rows {
            true => (NEAR / terms / size).max(1) * size,
            false => size,
        };
        for from in columns.clone().step_by(across) {
            let some = from..(from + across).min(columns.end);
            let whole = if by_rows { some.len() / size } else { 0 };
            let middle = from + whole * size;
            // Whether the first tiles of whole panels are done, and the first of the last panel.
            let (mut done, mut last) = (false, false);
            let mut after = (&[][..], 0);
            for j in some.clone().step_by(size) {
                (last, after) = tiles.first(simd, j, &mut strip);
                done |= last;
            }
            let at = (from - columns.start) * terms;
            let (panels, pitch) = match &strip {
                Strip::Packed(b, _) => (b.from(from, size), b.depth * size),
                Strip::Lines(.., panels) => (&panels[at..], terms * size),
                Strip::Pieces(_, panel) => (&panel[..], terms * size),
            };
            if whole > 0 {
                let panels = Beside::panels(panels, [whole, pitch, terms * size]);
                tiles.bands(simd, done, from..middle, panels);
            }
            if middle < some.end {
                let panel = &panels[whole * pitch..][..terms * size];
                tiles.column(simd, last, middle, panel, after);
            }
        }
    }
}

/// The tiles of a block.
struct Tiles<'a, 't, 'c, T> {
    a: Side<'a, T>,
    height: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// The columns of a panel.
    size: usize,
    terms: usize,
    target: &'t mut Target<'c, T>,
    origin: [usize; 2],
    add: bool,
}

impl<'c, T: Lanes> Tiles<'_, '_, 'c, T> {
    /// How what is read `after` a panel is shared by the tiles above each other that are multiplied with it.
    #[inline(always)]
    fn next<'n, S: Simd>(&self, after: (&'n [T], usize), panel: &[T]) -> Next<'n, T> {
        let tiles = self.rows.len().div_ceil(self.height);
        let vectors = self.size / T::lanes::<S>();
        let follows = panel.as_ptr_range().end == after.0.as_ptr();
        Next::new(after, follows, tiles, [self.terms, self.size, vectors])
    }

    /// The tile `i` of those that start with column `j`, and its rows.
    #[inline(always)]
    fn tile<'n>(
        &'n mut self,
        i: usize,
        j: usize,
        next: &Next<'n, T>,
    ) -> (Tile<'n, 'n, 'c, T>, usize) {
        let height = self.height;
        let rows = (self.rows.len() - i * height).min(height);
        let tile = Tile {
            a: self.a.panel(self.rows.start + i * height, rows, self.terms),
            ahead: next.of(i),
            target: self.target,
            at: [
                self.origin[0] + i * height,
                self.origin[1] + j - self.columns.start,
            ],
            width: (self.columns.end - j).min(self.size),
            add: self.add,
        };
        (tile, rows)
    }

    /// Has the panel that starts with column `j` written, if it is not yet, with the first tile where that can
    /// be done in one. Gives whether this tile is done, and what is read after the panel.
    #[inline(always)]
    fn first<'b, S: Simd>(
        &mut self,
        simd: S,
        j: usize,
        strip: &mut Strip<'b, T>,
    ) -> (bool, (&'b [T], usize)) {
        let (size, terms, columns) = (self.size, self.terms, self.columns.clone());
        match strip {
            Strip::Packed(b, after) => {
                let after = if j + size < columns.end {
                    (b.panel(j + size, size, terms), size)
                } else {
                    *after
                };
                (false, after)
            }
            Strip::Lines(data, stride, panels) => {
                let at = (j - columns.start) * terms;
                let panel = &mut panels[at..at + terms * size];
                let lines = &data[j - columns.start..];
                let width = (columns.end - j).min(size);
                let after = (lines.get(size..).unwrap_or_default(), *stride);
                let next = self.next::<S>(after, &[]);
                let lines = lines.chunks(*stride);
                let done = match size / T::lanes::<S>() {
                    3 if const { many_registers::<S>() } && width == size => {
                        let (tile, rows) = self.tile(0, j, &next);
                        tile.of_lines::<S, 3>(simd, rows, by_line(lines), panel);
                        true
                    }
                    2 if width == size => {
                        let (tile, rows) = self.tile(0, j, &next);
                        tile.of_lines::<S, 2>(simd, rows, by_line(lines), panel);
                        true
                    }
                    _ => {
                        for (line, out) in lines.zip(panel.chunks_exact_mut(size)) {
                            copy(&line[..width], out);
                        }
                        false
                    }
                };
                (done, after)
            }
            Strip::Pieces(pieces, panel) => {
                let next = self.next::<S>((&[], 0), &[]);
                let (tile, rows) = self.tile(0, j, &next);
                match size / T::lanes::<S>() {
                    2 => tile.of_lines::<S, 2>(simd, rows, pieces.terms::<S, 2>(simd), panel),
                    _ if const { many_registers::<S>() } => {
                        tile.of_lines::<S, 3>(simd, rows, pieces.terms::<S, 3>(simd), panel);
                    }
                    _ => {}
                }
                (true, (&[], 0))
            }
        }
    }

    /// The tiles above each other that are multiplied with a panel, all but the first if that is `done`.
    #[inline(always)]
    fn column<S: Simd>(
        &mut self,
        simd: S,
        done: bool,
        j: usize,
        panel: &[T],
        after: (&[T], usize),
    ) {
        let width = (self.columns.end - j).min(self.size);
        let mut first = usize::from(done);
        if width <= SLIM && !done {
            let (a, start, height) = (self.a, self.rows.start, self.height);
            let slim = Slim {
                left: |tile: usize| a.from(start + tile * height, height),
                tiles: self.rows.len() / height,
                panel,
                size: self.size,
                terms: self.terms,
                at: [self.origin[0], self.origin[1] + j - self.columns.start],
                width,
                add: self.add,
            };
            first = slim.tiles(simd, self.height, self.target);
        }
        let next = self.next::<S>(after, panel);
        match width.div_ceil(T::lanes::<S>()) {
            1 => self.rest_of_column::<S, 1>(simd, first, j, panel, &next),
            2 => self.rest_of_column::<S, 2>(simd, first, j, panel, &next),
            _ if const { many_registers::<S>() } => {
                self.rest_of_column::<S, 3>(simd, first, j, panel, &next);
            }
            _ => {}
        }
    }

    /// The tiles of a column from `first` on, of up to `N` vectors a row.
    #[inline(always)]
    fn rest_of_column<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        j: usize,
        panel: &[T],
        next: &Next<'_, T>,
    ) {
        apart(
            simd,
            #[inline(always)]
            || {
                let vectors = self.size / T::lanes::<S>();
                for i in first..self.rows.len().div_ceil(self.height) {
                    let (tile, rows) = self.tile(i, j, next);
                    tile.of_rows::<S, N>(simd, rows, panel, vectors);
                }
            },
        );
    }

    /// The tiles of some columns, of whole panels of few terms, row by row, all but the first row if that is
    /// `done`: what holds for all tiles of some rows is asked once.
    #[inline(always)]
    fn bands<S: Simd>(&mut self, simd: S, done: bool, columns: Range<usize>, right: Beside<T>) {
        match self.size / T::lanes::<S>() {
            1 => self.bands_of::<S, 1>(simd, done, columns, right),
            2 => self.bands_of::<S, 2>(simd, done, columns, right),
            _ if const { many_registers::<S>() } => {
                self.bands_of::<S, 3>(simd, done, columns, right);
            }
            _ => {}
        }
    }

    /// The same with panels of `N` vectors.
    #[inline(always)]
    fn bands_of<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        done: bool,
        columns: Range<usize>,
        right: Beside<T>,
    ) {
        apart(
            simd,
            #[inline(always)]
            || {
                let height = self.height;
                let column = self.origin[1] + columns.start - self.columns.start;
                let first = if done { height } else { 0 };
                for row in (first..self.rows.len()).step_by(height) {
                    let rows = (self.rows.len() - row).min(height);
                    let band = Band {
                        a: self.a.panel(self.rows.start + row, rows, self.terms),
                        right,
                        target: self.target,
                        row: self.origin[0] + row,
                        columns: column..column + columns.len(),
                        add: self.add,
                    };
                    band.of_rows::<S, N>(simd, rows);
                }
            },
        );
    }
}
