//! Many products of the same size, with left sides that are packed once.

use std::fmt;
use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::lanes::dispatch;
use super::size::TileSize;
use super::target::Target;
use super::tile::{Block, Side, Strip};
use crate::kernel::scratch::{Kept, or_refuse};

/// Matrices of the same size, the left sides of as many products. The panels with the same rows of
/// all matrices follow each other.
pub(crate) struct PackedSeries {
    memory: Kept,
    count: usize,
    rows: usize,
    columns: usize,
    tile: TileSize,
    arch: Arch,
}

impl fmt::Debug for PackedSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            rows,
            columns,
            ..
        } = self;
        write!(f, "PackedSeries({count} x {rows} x {columns})")
    }
}

impl PackedSeries {
    /// `count` matrices of this size, neither of which is zero. `write` is called, maybe from several
    /// threads, for some rows: element `(i, j)` of matrix `e` goes to
    /// `[(e * columns + j) * rows.len() + i - rows.start]`.
    pub(crate) fn new(
        count: usize,
        [rows, columns]: [usize; 2],
        write: impl Fn(Range<usize>, &mut [f32]) + Sync,
    ) -> Option<Self> {
        let arch = crate::kernel::simd::arch();
        let tile = TileSize::of::<f32>(arch);
        let elements = count * rows * columns;
        let mut memory = or_refuse(Kept::zeroed::<f32>(elements))?;
        memory
            .elements_mut::<f32>()
            .par_chunks_mut(tile.rows * count * columns)
            .enumerate()
            .for_each(|(i, out)| {
                let start = i * tile.rows;
                write(start..rows.min(start + tile.rows), out);
            });
        Some(Self {
            memory,
            count,
            rows,
            columns,
            tile,
            arch,
        })
    }

    /// Columns of a panel of right sides that have about so many columns.
    pub(crate) fn width(&self, columns: usize) -> usize {
        self.tile.across(columns).columns
    }

    /// The elements of a vector.
    pub(crate) fn lanes(&self) -> usize {
        self.tile.lanes
    }

    /// Rows of a panel.
    pub(crate) fn height(&self) -> usize {
        self.tile.rows
    }

    /// The product of some rows of matrix `index`, whole panels but for the last, with `columns`
    /// columns, on the calling thread. `right` has a panel for each `width` columns, a
    /// [`PackedSeries::width`], term after term; the result has rows of `columns` elements.
    pub(crate) fn multiply(
        &self,
        index: usize,
        rows: Range<usize>,
        right: &[f32],
        [columns, width]: [usize; 2],
        out: &mut [f32],
    ) {
        let data: &[f32] = self.memory.elements();
        let height = self.tile.rows;
        let outs = out.chunks_mut(height * columns);
        let place = |start: usize, index: usize| {
            let count = height.min(rows.end - start);
            let from = (start * self.count + count * index) * self.columns;
            (from, count)
        };
        for (start, out) in rows.clone().step_by(height).zip(outs) {
            let (from, count) = place(start, index);
            // Each panel is read once, mostly from far: the next is asked for.
            let (next, next_height) = match start + height {
                next if next < rows.end => place(next, index),
                _ => place(rows.start, index + 1),
            };
            let after = (data.get(next..).unwrap_or_default(), next_height);
            let block = Block {
                a: Side {
                    data: &data[from..][..count * self.columns],
                    depth: self.columns,
                    first: 0,
                },
                height,
                rows: 0..count,
                b: Strip::Packed(
                    Side {
                        data: right,
                        depth: self.columns,
                        first: 0,
                    },
                    after,
                )
                .into(),
                columns: 0..columns,
                width,
                terms: self.columns,
                target: &mut Target::Rows(out, columns),
                origin: [0, 0],
                add: false,
            };
            dispatch(self.arch, block);
        }
    }
}
