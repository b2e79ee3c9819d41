//! The parts that a product is cut into.

use std::ops::Range;

use smallvec::SmallVec;

use super::How;
use super::product::SMALL;
use super::size::TileSize;
use super::target::{TOGETHER, Target};
use crate::kernel::scratch::{try_collect_ok, try_room};
use crate::op::OpError;

/// Into how many parts so much work is cut: as many for each thread, so that all end at the same time,
/// and no more than pay, for each begins anew and is finished in shorter pieces.
pub(super) fn parts_for(work: usize, threads: usize) -> usize {
    match work / (2 * SMALL) / threads {
        0 => (work / (SMALL / 2)).clamp(1, threads),
        each => each.min(4) * threads,
    }
}

/// Where so many parts of `n` columns begin, and the last one ends. All have as many panels of this `width`, or one
/// more; the last has the more, for its last panel may be narrower than others.
pub(super) fn ends(n: usize, width: usize, parts: usize) -> SmallVec<[usize; 17]> {
    let panels = n.div_ceil(width);
    let ends = (0..=parts).map(|j| n.min(j * panels / parts * width));
    ends.collect()
}

/// A part of the result.
pub(super) struct Part<'c, T> {
    pub(super) target: Target<'c, T>,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    /// The position of its first element.
    pub(super) position: usize,
}

impl<'c, T> Part<'c, T> {
    pub(super) fn whole(c: &'c mut [T], m: usize, n: usize, position: usize) -> Self {
        Self {
            target: Target::Rows(c, n),
            rows: 0..m,
            columns: 0..n,
            position,
        }
    }

    /// About so many parts, of whole tiles.
    pub(super) fn cut(
        c: &'c mut [T],
        [m, n]: [usize; 2],
        position: usize,
        tile: TileSize,
        count: usize,
    ) -> Result<Vec<Self>, OpError> {
        let panels = n.div_ceil(tile.columns);
        let across = (panels / 2).clamp(1, count);
        let height = m
            .div_ceil(count.div_ceil(across))
            .next_multiple_of(tile.rows)
            .max(4 * tile.rows);
        Self::cut_in(c, [m, n], position, tile, [height, across])
    }

    /// Whether `n` columns are too few to keep the threads busy with as many parts beside each other.
    pub(super) fn lack_columns(n: usize, tile: TileSize, count: usize) -> bool {
        n < count * tile.columns
    }

    /// About so many parts of a product whose right side is written by each part for itself: none
    /// are above each other, unless the columns are too few to keep the threads busy. Whole rows are
    /// finished faster, and those who take them next are often given the same: that is worth more than
    /// writing the right side again where that is `cheap`, and where it is not much larger than the result.
    pub(super) fn cut_along(
        c: &'c mut [T],
        [m, k, n]: [usize; 3],
        position: usize,
        tile: TileSize,
        [count, threads]: [usize; 2],
        cheap: bool,
    ) -> Result<Vec<Self>, OpError> {
        let high = cheap && m >= 4 * tile.rows * threads && k <= 2 * m;
        let height = m.div_ceil(threads.min(count)).next_multiple_of(tile.rows);
        // Threads wait for one that has more tiles than others: a tenth more of rows is too much.
        let even = 10 * height * threads.min(count) <= 11 * m;
        let [height, across] = if high && even || Self::lack_columns(n, tile, count) {
            [height, 1]
        } else {
            // Panels in pairs, if there are enough: the left side is read anew for each part.
            let pairs = n.div_ceil(tile.columns) / 2;
            [m, count.min(pairs.max(threads))]
        };
        Self::cut_in(c, [m, n], position, tile, [height, across])
    }

    /// Parts of so many rows, so many of them beside each other.
    fn cut_in(
        c: &'c mut [T],
        [m, n]: [usize; 2],
        position: usize,
        tile: TileSize,
        [height, across]: [usize; 2],
    ) -> Result<Vec<Self>, OpError> {
        let ends = ends(n, tile.columns, across);
        let mut parts = try_room(m.div_ceil(height).saturating_mul(across))?;
        for (i, c) in c.chunks_mut(height * n).enumerate() {
            let rows = i * height..m.min((i + 1) * height);
            let position = position + rows.start * n;
            if across == 1 {
                let target = Target::Rows(c, n);
                parts.push(Self {
                    target,
                    rows,
                    columns: 0..n,
                    position,
                });
                continue;
            }
            let pieces = (0..across).map(|_| try_room(rows.len()));
            let mut pieces = try_collect_ok::<Vec<&mut [T]>, _>(pieces)?;
            for row in c.chunks_exact_mut(n) {
                let mut rest = row;
                for (pieces, ends) in pieces.iter_mut().zip(ends.windows(2)) {
                    let (piece, others) = rest.split_at_mut(ends[1] - ends[0]);
                    pieces.push(piece);
                    rest = others;
                }
            }
            for (pieces, ends) in pieces.into_iter().zip(ends.windows(2)) {
                parts.push(Self {
                    target: Target::Pieces(pieces),
                    rows: rows.clone(),
                    columns: ends[0]..ends[1],
                    position: position + ends[0],
                });
            }
        }
        Ok(parts)
    }

    /// Calls `finish` for some rows and columns of the part, in a result of `n` columns.
    pub(super) fn finish(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
        n: usize,
        how: How<'_, T>,
    ) {
        let Some(finish) = how.finish else {
            return;
        };
        let position = self.position + rows.start * n + columns.start;
        match &mut self.target {
            Target::Rows(data, _) if columns.len() == n => {
                finish.part(position, &mut data[rows.start * n..rows.end * n]);
            }
            target => {
                for row in rows.clone().step_by(TOGETHER) {
                    let some = row..rows.end.min(row + TOGETHER);
                    let position = position + (row - rows.start) * n;
                    finish.pieces(position, n, &mut target.pieces(some, columns.clone()));
                }
            }
        }
    }
}
