//! Tiles that are computed together: where their elements come from, and where their outputs go.

use std::ops::Range;

use smallvec::SmallVec;

use crate::kernel::window::Axis;

/// Elements that are moved at a time. What is moved beyond the end is overwritten by what comes next.
pub(super) const LANES: usize = 16;

/// Tiles of one row of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The row of tiles.
    pub(super) row: usize,
    /// The first tile in the row.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The place of the first among the tiles it was asked for.
    pub(super) at: usize,
}

/// The tiles of a plane, row by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles {
    pub(super) y: Axis,
    pub(super) x: Axis,
    /// Rows of tiles, and tiles of a row.
    pub(super) rows: usize,
    pub(super) across: usize,
}

impl Tiles {
    /// Tiles of `side` by `side` outputs.
    pub(super) fn new([y, x]: [Axis; 2], side: usize) -> Self {
        Self {
            y,
            x,
            rows: y.output.div_ceil(side),
            across: x.output.div_ceil(side),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.rows * self.across
    }

    /// The rows that some tiles are in, each with its tiles.
    pub(super) fn runs(&self, tiles: Range<usize>) -> SmallVec<[Run; 8]> {
        let mut runs = SmallVec::new();
        let mut tile = tiles.start;
        while tile < tiles.end {
            let (row, first) = (tile / self.across, tile % self.across);
            let count = (self.across - first).min(tiles.end - tile);
            runs.push(Run {
                row,
                first,
                count,
                at: tile - tiles.start,
            });
            tile += count;
        }
        runs
    }
}
