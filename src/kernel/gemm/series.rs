//! Many products of the same size, with left sides that are packed once.

use std::fmt;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::block::{Block, Side, Strip};
use super::lanes::dispatch;
use super::size::TileSize;
use super::slim::{SLIM, Slim};
use super::target::Target;
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
    /// [`PackedSeries::width`], term after term; the result has rows of `pitch` elements, whole vectors, of which
    /// those behind the columns may become anything.
    pub(crate) fn multiply(
        &self,
        index: usize,
        rows: Range<usize>,
        right: &[f32],
        [columns, width, pitch]: [usize; 3],
        out: &mut [f32],
    ) {
        let data: &[f32] = self.memory.elements();
        let (height, lanes) = (self.tile.rows, self.tile.lanes);
        let slim = match columns % width {
            few @ 1..=SLIM if width == self.tile.columns => few,
            _ => 0,
        };
        let whole = (columns - slim).next_multiple_of(lanes);
        let place = |start: usize, index: usize| {
            let count = height.min(rows.end - start);
            let from = (start * self.count + count * index) * self.columns;
            (from, count)
        };
        let right = Side {
            data: right,
            depth: self.columns,
            first: 0,
        };
        let block = |start: usize, columns: Range<usize>, out: &mut [f32]| {
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
                b: Strip::Packed(right, after).into(),
                columns: columns.clone(),
                width,
                terms: self.columns,
                target: &mut Target::Rows(out, pitch),
                origin: [0, columns.start],
                add: false,
            };
            dispatch(self.arch, block);
        };
        let panels = rows.clone().step_by(height);
        if whole > 0 {
            for (start, out) in panels.clone().zip(out.chunks_mut(height * pitch)) {
                block(start, 0..whole, out);
            }
        }
        if slim == 0 {
            return;
        }
        let done = dispatch(
            self.arch,
            Last {
                slim: Slim {
                    left: |tile: usize| &data[place(rows.start + tile * height, index).0..],
                    tiles: rows.len() / height,
                    panel: &right.from(whole, width)[..width * self.columns],
                    size: width,
                    terms: self.columns,
                    at: [0, whole],
                    width: slim,
                    add: false,
                },
                height,
                target: Target::Rows(out, pitch),
            },
        );
        let rest = panels.zip(out.chunks_mut(height * pitch)).skip(done);
        for (start, out) in rest {
            block(start, whole..whole + lanes, out);
        }
    }
}

/// The last columns, fewer than are worth vectors along them.
struct Last<'s, 'c, F> {
    slim: Slim<'s, f32, F>,
    /// The rows of a tile.
    height: usize,
    target: Target<'c, f32>,
}

impl<'s, F: Fn(usize) -> &'s [f32]> WithSimd for Last<'s, '_, F> {
    /// How many tiles are done.
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> usize {
        self.slim.tiles(simd, self.height, &mut self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that sums are exact in every order.
    fn number(at: [usize; 3]) -> f32 {
        ((at[0] * 5 + at[1] * 3 + at[2] * 7) % 11) as f32 - 5.0
    }

    #[test]
    fn products_of_all_widths() {
        let (count, m, k) = (3, 43, 37);
        let series = PackedSeries::new(count, [m, k], |rows, out| {
            let places = (0..count).flat_map(|e| (0..k).map(move |l| (e, l)));
            for ((e, l), column) in places.zip(out.chunks_exact_mut(rows.len())) {
                for (i, out) in rows.clone().zip(column) {
                    *out = number([e, i, l]);
                }
            }
        });
        let series = series.expect("memory");
        let height = series.height();
        for columns in [1, 3, 4, 5, 16, 20, 33, 48, 49, 52, 53, 99] {
            let width = series.width(columns);
            let pitch = columns.next_multiple_of(series.lanes());
            let mut right = vec![f32::NAN; columns.div_ceil(width) * width * k];
            for j in 0..columns {
                for l in 0..k {
                    right[(j / width * k + l) * width + j % width] = number([l, j, 1]);
                }
            }
            for (index, rows) in [
                (0, 0..m),
                (2, 0..m),
                (1, height..m),
                (2, height..2 * height),
            ] {
                let mut out = vec![f32::NAN; rows.len() * pitch];
                let sizes = [columns, width, pitch];
                series.multiply(index, rows.clone(), &right, sizes, &mut out);
                for (i, line) in rows.zip(out.chunks_exact(pitch)) {
                    for (j, &found) in line[..columns].iter().enumerate() {
                        let terms = (0..k).map(|l| number([index, i, l]) * number([l, j, 1]));
                        assert_eq!(
                            found,
                            terms.sum::<f32>(),
                            "{columns} columns: {index} {i} {j}"
                        );
                    }
                }
            }
        }
    }
}
