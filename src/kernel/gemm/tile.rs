//! The innermost part of a product: a tile of the result in registers.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::lanes::{Lanes, dispatch};

/// Vectors side by side in a tile.
pub(super) const VECTORS: usize = 2;

/// The size of a tile whose sums, with the vectors they are made of, fill the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileSize {
    /// Rows.
    pub(super) rows: usize,
    /// Columns: those of a panel of the right side.
    pub(super) columns: usize,
}

impl TileSize {
    /// The size for the vectors of `arch`.
    pub(super) fn of<T: Lanes>(arch: Arch) -> Self {
        dispatch(arch, Measure(std::marker::PhantomData::<T>))
    }
}

struct Measure<T>(std::marker::PhantomData<T>);

impl<T: Lanes> WithSimd for Measure<T> {
    type Output = TileSize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> TileSize {
        TileSize {
            rows: if many_registers::<S>() { 12 } else { 6 },
            columns: VECTORS * T::lanes::<S>(),
        }
    }
}

#[inline(always)]
fn many_registers<S: Simd>() -> bool {
    S::REGISTER_COUNT >= 32
}

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
    /// `count` terms of the panel whose first row (or column) is `start`, `size` elements each.
    #[inline(always)]
    fn panel(&self, start: usize, size: usize, count: usize) -> &'a [T] {
        &self.data[start * self.depth + self.first * size..][..count * size]
    }
}

/// The part of the result that one thread computes.
pub(crate) enum Target<'c, T> {
    /// Whole rows of so many elements.
    Rows(&'c mut [T], usize),
    /// A piece of each row.
    Pieces(Vec<&'c mut [T]>),
}

impl<T> Target<'_, T> {
    /// Elements of a row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize, columns: Range<usize>) -> &mut [T] {
        match self {
            Self::Rows(data, width) => &mut data[row * *width..][columns],
            Self::Pieces(rows) => &mut rows[row][columns],
        }
    }
}

/// A block of the result, and what goes into it.
pub(super) struct Block<'a, 'c, T> {
    /// Panels of the left side.
    pub(super) a: Side<'a, T>,
    /// Rows of the left side; the first begins a panel.
    pub(super) rows: Range<usize>,
    /// Panels of the right side.
    pub(super) b: Side<'a, T>,
    /// Columns of the right side; the first begins a panel.
    pub(super) columns: Range<usize>,
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
    fn with_simd<S: Simd>(mut self, simd: S) {
        let height = if many_registers::<S>() { 12 } else { 6 };
        let lanes = T::lanes::<S>();
        for j in self.columns.clone().step_by(VECTORS * lanes) {
            let width = (self.columns.end - j).min(VECTORS * lanes);
            for i in self.rows.clone().step_by(height) {
                let rows = (self.rows.end - i).min(height);
                if width > lanes {
                    self.tile_of::<S, 2>(simd, [i, j], rows, width);
                } else {
                    self.tile_of::<S, 1>(simd, [i, j], rows, width);
                }
            }
        }
    }
}

impl<T: Lanes> Block<'_, '_, T> {
    #[inline(always)]
    fn tile_of<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        at: [usize; 2],
        rows: usize,
        width: usize,
    ) {
        macro_rules! tile {
            ($($R:literal)+) => {
                match rows {
                    $($R => self.tile::<S, $R, N>(simd, at, width),)+
                    _ => {}
                }
            };
        }
        tile!(1 2 3 4 5 6);
        if many_registers::<S>() {
            tile!(7 8 9 10 11 12);
        }
    }

    /// A tile of `R` rows and up to `N` vectors.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        [i, j]: [usize; 2],
        width: usize,
    ) {
        let lanes = T::lanes::<S>();
        let a = self.a.panel(i, R, self.terms).as_chunks::<R>().0;
        let b = self.b.panel(j, VECTORS * lanes, self.terms);
        let b = T::vectors::<S>(b).0.as_chunks::<VECTORS>().0;
        let mut sums = [[T::splat(simd, T::zeroed()); N]; R];
        for (a, b) in a.iter().zip(b) {
            for i in 0..R {
                let x = T::splat(simd, a[i]);
                for v in 0..N {
                    sums[i][v] = T::mul_add(simd, x, b[v], sums[i][v]);
                }
            }
        }
        let row = self.origin[0] + i - self.rows.start;
        let column = self.origin[1] + j - self.columns.start;
        for (i, sums) in sums.iter().enumerate() {
            let out = self.target.row(row + i, column..column + width);
            write(simd, sums, out, self.add);
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
