//! The sizes of tiles.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::{Lanes, dispatch};
use super::pieces::MOST_VECTORS;
use super::slim::SLIM;

/// The size of a tile whose sums, with the vectors they are made of, fill the registers. Of the shapes
/// that do, it is the one that reads least for each multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileSize {
    /// Rows.
    pub(super) rows: usize,
    /// Columns: those of a panel of the right side.
    pub(super) columns: usize,
    /// The elements of a vector.
    pub(super) lanes: usize,
}

impl TileSize {
    /// The size for the vectors of `arch`.
    pub(super) fn of<T: Lanes>(arch: Arch) -> Self {
        dispatch(arch, Measure(std::marker::PhantomData::<T>))
    }

    /// The size for so many columns: as many panels as these need, one as wide as the other; the widest where so few
    /// are left behind these that they are computed by themselves ([`Slim`](super::slim::Slim)).
    pub(super) fn across(self, columns: usize) -> Self {
        if columns > self.columns && (1..=SLIM).contains(&(columns % self.columns)) {
            return self;
        }
        let vectors = columns.div_ceil(self.lanes).max(1);
        let panels = vectors.div_ceil(self.columns / self.lanes);
        Self {
            columns: vectors.div_ceil(panels) * self.lanes,
            ..self
        }
    }

    /// The rows of a tile of so many: as many tiles as these need, one as high as the other. The last would often
    /// have few sums, which wait for each other.
    pub(super) fn along(self, rows: usize) -> usize {
        let tiles = rows.div_ceil(self.rows).max(1);
        rows.div_ceil(tiles).max(1)
    }

    /// Whether threads end sooner if each has some rows of a result of `m` by `n` than if each has some of its
    /// panels. With rows, each writes all panels, which takes about half as long as a tile of them.
    pub(super) fn divides_rows_better(self, [m, n]: [usize; 2], threads: usize) -> bool {
        let (tiles, panels) = (m.div_ceil(self.rows), n.div_ceil(self.columns));
        let by_rows = panels.saturating_mul(2 * tiles.div_ceil(threads) + 1);
        by_rows < panels.div_ceil(threads).saturating_mul(2 * tiles)
    }

    /// How many of all terms are added up at a time: not so many that what a tile reads is far away, nor
    /// so few that the result is read and written too often.
    pub(super) fn terms(self, all: usize) -> usize {
        // A panel of two vectors is to stay in the nearest cache; one of three cannot.
        let most = if self.rows > 6 { 512 } else { 384 };
        all.div_ceil(all.div_ceil(most))
    }
}

struct Measure<T>(std::marker::PhantomData<T>);

impl<T: Lanes> WithSimd for Measure<T> {
    type Output = TileSize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> TileSize {
        TileSize {
            rows: height::<S>(),
            columns: most_vectors::<S>() * T::lanes::<S>(),
            lanes: T::lanes::<S>(),
        }
    }
}

#[inline(always)]
pub(super) const fn many_registers<S: Simd>() -> bool {
    S::REGISTER_COUNT >= 32
}

/// The vectors of a row of a tile.
#[inline(always)]
const fn most_vectors<S: Simd>() -> usize {
    if many_registers::<S>() {
        MOST_VECTORS
    } else {
        2
    }
}

/// The rows of a tile.
#[inline(always)]
pub(super) const fn height<S: Simd>() -> usize {
    if many_registers::<S>() { 8 } else { 6 }
}

/// Evaluates an expression with `$R` rows, of as many as a tile may have.
macro_rules! rows {
    ($S:ty, $rows:expr, $R:ident => $tile:expr) => {
        rows!($S, $rows, $R => $tile, [1 2 3 4 5 6] [7 8])
    };
    ($S:ty, $rows:expr, $R:ident => $tile:expr, [$($few:literal)+] [$($many:literal)+]) => {
        match $rows {
            $($few => { const $R: usize = $few; $tile })+
            $($many if const { many_registers::<$S>() } => { const $R: usize = $many; $tile })+
            _ => {}
        }
    };
}
pub(super) use rows;
