//! Blocks that fit the caches, and threads.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::block::{Block, Columns, NEAR, SHORT, Side, Strip};
use super::lanes::dispatch;
use super::operand::write_together;
use super::pack::pack_left;
use super::part::{Part, parts_for};
use super::pieces::Pieces;
use super::size::TileSize;
use super::{How, Lanes, Left, Matrix, Panels, Right, few};
use crate::kernel::scratch::{or_refuse, with_scratch};
use crate::limits::{self, Share};

/// Rows of the left side, and columns of the right, that lie in the second cache.
const ROWS: usize = 240;
const COLUMNS: usize = 256;

/// Elements of the left side that are packed at a time: what the second cache holds. Of more rows, where the right
/// side is not packed yet, for that is packed anew for each of these; and of more terms, where threads meet after
/// each.
const LEFT_AT_HAND: usize = 1 << 17;
const LEFT_ELEMENTS: usize = 1 << 20;

/// Elements of panels that threads write together, at most: the last caches hold them.
const SHARED: usize = 1 << 21;

/// Elements of the result that are finished at a time: they are in the second cache still.
const FINISHED: usize = 1 << 17;

/// Rows of the left side that are worth a thread of their own.
const BAND: usize = 60;

/// How often the rows of the left side go into the columns of the right, at least, for threads to share these: to
/// read all of them from far away takes longer than to read a left side that another thread has packed.
const BROAD: usize = 8;

/// Columns of a thread for whose sake it packs all rows of the left side, at least.
const WIDE: usize = 128;

/// Multiplications that are worth another thread.
pub(super) const SMALL: usize = 1 << 20;

/// The right side as the blocks see it.
#[derive(Clone, Copy)]
enum Source<'a, T> {
    Packed(Side<'a, T>),
    /// Its rows lie in one piece each.
    Lines(Matrix<'a, T>),
    Panels(&'a dyn Panels<T>),
}

/// What is the same for all parts of a product.
struct Plan<'a, T> {
    arch: Arch,
    tile: TileSize,
    b: Source<'a, T>,
    /// Terms that are added up at a time.
    terms: usize,
    /// Whether the rows are so few that panels are not written.
    few: bool,
    /// Columns whose panels are written before they are multiplied.
    strip: usize,
    /// Columns of the result.
    n: usize,
    how: How<'a, T>,
}

/// The threads that are worth it for so much work.
fn threads_for<T>(work: usize, how: &How<'_, T>) -> usize {
    match how.alone || work <= SMALL {
        true => 1,
        false => rayon::current_num_threads(),
    }
}

/// `a * b` by reading `b` as it lies, for few rows of `a`. The rows or columns of `b` lie in one
/// piece each; nothing is empty.
pub(super) fn run_few<T: Lanes>(
    arch: Arch,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    c: &mut [T],
    how: How<'_, T>,
) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    if a.column_stride != 1 {
        return with_scratch(m * k, |copy: &mut [T]| {
            for (i, row) in copy.chunks_exact_mut(k).enumerate() {
                let line = a.data[i * a.row_stride..]
                    .iter()
                    .step_by(a.column_stride.max(1));
                for (out, &x) in row.iter_mut().zip(line) {
                    *out = x;
                }
            }
            run_few(arch, Matrix::new(copy, m, k), b, c, how);
        });
    }
    let part = |mut part: Part<'_, T>| {
        let columns = part.columns.clone();
        few::multiply(
            arch,
            a,
            b,
            columns.clone(),
            &mut part.target,
            how.accumulate,
        );
        part.finish(0..m, 0..columns.len(), n, how);
    };
    // Reading an element takes as long as some multiplications.
    let work = (m + 6).saturating_mul(k).saturating_mul(n);
    match threads_for(work, &how) {
        1 => part(Part::whole(c, m, n, 0)),
        threads => {
            let count = parts_for(work, threads);
            let tile = TileSize {
                rows: m,
                columns: 32,
                lanes: 32,
            };
            let Some(parts) = or_refuse(Part::cut(c, [m, n], 0, tile, count)) else {
                return;
            };
            parts.into_par_iter().with_max_len(1).share(part);
        }
    }
}

/// `a * b`, of which nothing is empty.
pub(super) fn run<T: Lanes>(
    arch: Arch,
    a: Left<'_, T>,
    b: Right<'_, T>,
    c: &mut [T],
    how: How<'_, T>,
) {
    let (m, k, n) = (a.rows(), a.columns(), b.columns());
    let mut tile = TileSize::of::<T>(arch);
    match b {
        Right::Packed(packed) => tile.columns = packed.width(),
        Right::Panels(panels) => tile.columns = panels.width(tile),
        Right::Matrix(_) => tile = tile.across(n),
    }
    let terms = tile.terms(k);
    let few = match (a, b) {
        (Left::Matrix(_), Right::Panels(panels)) => panels.multiplies_few(m),
        _ => None,
    };
    tile.rows = few.unwrap_or(tile.along(m));
    let whole = |columns: usize| (columns / tile.columns).max(1) * tile.columns;
    let near = whole(NEAR / terms).min(whole(COLUMNS));
    let in_pieces = |panels: &dyn Panels<T>| {
        k <= SHORT && panels.pieces(0..tile.columns.min(n), tile.lanes).is_some()
    };
    let matrix;
    let plan = Plan {
        arch,
        tile,
        b: match b {
            Right::Packed(packed) => Source::Packed(packed.side()),
            Right::Panels(panels) => Source::Panels(panels),
            Right::Matrix(of) if of.column_stride == 1 && of.row_stride >= n => Source::Lines(of),
            Right::Matrix(of) => {
                matrix = of;
                Source::Panels(&matrix)
            }
        },
        terms,
        few: few.is_some(),
        // Panels that few rows are multiplied with stay in a near cache. So does one that is written just
        // before, where the rows are not so many that they come from far away for each.
        strip: match b {
            Right::Panels(panels) if in_pieces(panels) => near,
            Right::Panels(_) if m <= ROWS => tile.columns,
            _ if m <= 2 * tile.rows => near,
            _ => whole(COLUMNS),
        },
        n,
        how,
    };
    let work = m.saturating_add(6).saturating_mul(k).saturating_mul(n);
    let threads = threads_for(work, &how);
    let parts = [parts_for(work, threads), threads];
    let matrix = match a {
        Left::Packed(packed) => {
            return plan.parts(packed.side(), m, 0..k, c, 0, parts);
        }
        Left::Matrix(matrix) => matrix,
    };
    let in_bands = match plan.b {
        Source::Packed(_) => true,
        Source::Lines(_) => tile.divides_rows_better([m, n], threads),
        Source::Panels(_) => false,
    };
    if in_bands && threads > 1 && m >= threads * BAND && n / m < BROAD && parts[0] >= threads {
        // Each thread packs the rows that it multiplies: it has them in its own cache.
        let height = m.div_ceil(threads).next_multiple_of(tile.rows);
        let bands = c.par_chunks_mut(height * n).enumerate();
        return bands.with_max_len(1).share(|(i, c)| {
            let rows = i * height..m.min((i + 1) * height);
            plan.pack_and_multiply(matrix, rows, c, threads, parts);
        });
    }
    let at_once = matches!(plan.b, Source::Packed(_)) || plan.few;
    // One part for each thread is so little work that a left side with so many columns is small.
    if at_once && threads > 1 && parts[0] == threads && n / threads >= WIDE {
        return plan.pack_for_each(matrix, c, threads);
    }
    plan.pack_and_multiply(matrix, 0..m, c, 1, parts);
}

impl<T: Lanes> Plan<'_, T> {
    /// The product of some rows of a matrix, one of so many `bands`. `c` begins with the first of them.
    fn pack_and_multiply(
        &self,
        matrix: Matrix<'_, T>,
        all: Range<usize>,
        c: &mut [T],
        bands: usize,
        [count, threads]: [usize; 2],
    ) {
        let (n, k) = (self.n, self.k());
        let many = match &self.b {
            Source::Packed(_) => LEFT_AT_HAND,
            Source::Lines(_) | Source::Panels(_) => LEFT_ELEMENTS,
        };
        let height = self.tile.rows;
        let most = (many / self.terms / height).max(1) * height;
        // The right side is read anew for each of these: a few rows more are no reason for another one.
        let times = all.len().div_ceil(most + most / 8);
        let most = all.len().div_ceil(times).next_multiple_of(height);
        let meet = bands == 1 && threads > 1;
        let left = if meet { many } else { LEFT_AT_HAND };
        for from in all.clone().step_by(most) {
            let rows = from..all.end.min(from + most);
            let depth = (left / rows.len() / self.terms).max(1) * self.terms;
            for first in (0..k).step_by(depth) {
                let terms = first..k.min(first + depth);
                let c = &mut c[(rows.start - all.start) * n..(rows.end - all.start) * n];
                with_scratch(rows.len() * terms.len(), |panels: &mut [T]| {
                    pack_left(
                        self.arch,
                        matrix,
                        [rows.clone(), terms.clone()],
                        self.tile.rows,
                        panels,
                        meet,
                    );
                    let side = Side {
                        data: panels,
                        depth: terms.len(),
                        first: 0,
                    };
                    let parts = [count / bands, threads];
                    self.parts(side, rows.len(), terms, c, rows.start * n, parts);
                });
            }
        }
    }

    /// The product of few rows, of which each of so many threads has some columns, and the rows packed for itself: to
    /// write what another thread has read takes longer.
    fn pack_for_each(&self, matrix: Matrix<'_, T>, c: &mut [T], threads: usize) {
        let (m, k) = (matrix.rows, self.k());
        let Some(parts) = or_refuse(Part::cut(c, [m, self.n], 0, self.tile, threads)) else {
            return;
        };
        parts.into_par_iter().with_max_len(1).share(|part| {
            with_scratch(m * k, |panels: &mut [T]| {
                let all = [0..m, 0..k];
                pack_left(self.arch, matrix, all, self.tile.rows, panels, false);
                self.part(written(panels, k), &(0..k), part);
            });
        });
    }

    /// The product of some rows, as far as these terms: `a` holds both. `position` is that of the
    /// first element of `c`. There are about `count` parts for so many threads.
    fn parts(
        &self,
        a: Side<'_, T>,
        m: usize,
        terms: Range<usize>,
        c: &mut [T],
        position: usize,
        [count, threads]: [usize; 2],
    ) {
        let part = |part: Part<'_, T>| self.part(a, &terms, part);
        if threads == 1 {
            return part(Part::whole(c, m, self.n, position));
        }
        if let Some(panels) = self.shared([m, count], &terms) {
            let (depth, width) = (terms.end, self.tile.columns);
            let size = depth * self.n.next_multiple_of(width);
            return with_scratch(size, |memory: &mut [T]| {
                write_together(panels, width, memory, threads);
                let plan = Plan {
                    b: Source::Packed(written(memory, depth)),
                    strip: COLUMNS / width * width,
                    ..*self
                };
                plan.parts(a, m, terms, c, position, [count, threads]);
            });
        }
        let parts = match self.b {
            Source::Packed(_) => Part::cut(c, [m, self.n], position, self.tile, count),
            Source::Lines(_) | Source::Panels(_) => {
                let cheap = matches!(self.b, Source::Lines(_));
                let parts = [count, threads];
                let sizes = [m, self.k(), self.n];
                Part::cut_along(c, sizes, position, self.tile, parts, cheap)
            }
        };
        if let Some(parts) = or_refuse(parts) {
            parts.into_par_iter().with_max_len(1).share(part);
        }
    }

    /// The right side that the threads write together first, for each part would write all of it anew: one of few
    /// columns, which are not parted.
    fn shared(&self, [m, count]: [usize; 2], terms: &Range<usize>) -> Option<&dyn Panels<T>> {
        let Source::Panels(panels) = self.b else {
            return None;
        };
        let (k, few) = (self.k(), Part::<T>::lack_columns(self.n, self.tile, count));
        let small = k * self.n.next_multiple_of(self.tile.columns) <= SHARED;
        let whole = *terms == (0..k) && !self.few;
        (few && small && whole && m > self.tile.rows).then_some(panels)
    }

    /// A part of a product, on this thread.
    fn part(&self, a: Side<'_, T>, terms: &Range<usize>, mut part: Part<'_, T>) {
        let columns = part.columns.clone();
        if let Source::Panels(panels) = self.b
            && *terms == (0..self.k())
            && self.few
        {
            let (a, rows) = (&a.data[part.rows.start * self.k()..], part.rows.len());
            let (target, add) = (&mut part.target, self.how.accumulate);
            panels.multiply_few(a, rows, columns.clone(), target, add);
            part.finish(0..rows, 0..columns.len(), self.n, self.how);
            return;
        }
        let at_a_time = (FINISHED / part.rows.len().max(1)).max(self.strip);
        let mut unfinished = 0;
        let watch = limits::watch();
        for from in columns.step_by(self.strip) {
            let columns = from..part.columns.end.min(from + self.strip);
            for first in terms.clone().step_by(self.terms) {
                if watch.check().is_err() {
                    return;
                }
                let count = self.terms.min(terms.end - first);
                let a = Side {
                    first: first - terms.start,
                    ..a
                };
                let width = self.tile.columns;
                let size = count * columns.len().next_multiple_of(width);
                // What is multiplied after these.
                let (column, term) = match first + count < terms.end {
                    true => (columns.start, first + count),
                    false => (columns.end, terms.start),
                };
                match self.b {
                    Source::Packed(b) => {
                        let next = b.data.get(column * b.depth + term * width..);
                        let b = Side { first, ..b };
                        let b = Strip::Packed(b, (next.unwrap_or_default(), width)).into();
                        self.block(a, b, 0, [first, count], &columns, &mut part);
                    }
                    Source::Lines(b) => {
                        with_scratch(size, |memory: &mut [T]| {
                            let lines = &b.data[first * b.row_stride + columns.start..];
                            let b = Strip::Lines(lines, b.row_stride, memory).into();
                            self.block(a, b, columns.start, [first, count], &columns, &mut part);
                        });
                    }
                    Source::Panels(panels) => {
                        let rows = first..first + count;
                        let pieces = self.pieces(panels, &columns, &rows);
                        let mut block = |b: Columns<'_, T>| {
                            self.block(a, b, columns.start, [first, count], &columns, &mut part);
                        };
                        match &pieces[..] {
                            [_, ..] if count <= SHORT => block(Columns::Places(&pieces)),
                            [pieces] => with_scratch(size, |memory: &mut [T]| {
                                block(Strip::Pieces(*pieces, memory).into());
                            }),
                            _ => {
                                // Panels a power of two from each other would share places in the cache.
                                let depth = count + 1;
                                let size = depth * columns.len().next_multiple_of(width);
                                with_scratch(size, |memory: &mut [T]| {
                                    panels.write_all(
                                        rows,
                                        columns.clone(),
                                        width,
                                        depth * width,
                                        memory,
                                    );
                                    let next = panels.source(column, term);
                                    block(Strip::Packed(written(memory, depth), next).into());
                                });
                            }
                        }
                    }
                }
            }
            let done = columns.end - part.columns.start;
            let last = columns.end == part.columns.end;
            if terms.end == self.k() && (last || done - unfinished >= at_a_time) {
                let rows = 0..part.rows.len();
                part.finish(rows, unfinished..done, self.n, self.how);
                unfinished = done;
            }
        }
    }

    /// Where the vectors of some columns lie, panel by panel; nothing unless all are whole and lie in pieces, nor
    /// for panels of one vector.
    fn pieces<'p>(
        &self,
        panels: &'p dyn Panels<T>,
        columns: &Range<usize>,
        rows: &Range<usize>,
    ) -> SmallVec<[Pieces<'p, T>; 16]> {
        let (width, lanes) = (self.tile.columns, self.tile.lanes);
        if !columns.len().is_multiple_of(width) || width <= lanes {
            return SmallVec::new();
        }
        let panels = columns.clone().step_by(width).map(|start| {
            let pieces = panels.pieces(start..start + width, lanes)?;
            Some(pieces.of(rows.clone()))
        });
        panels.collect::<Option<_>>().unwrap_or_default()
    }

    /// Some terms of some columns of a part; `b` begins with column `b_start`.
    fn block(
        &self,
        a: Side<'_, T>,
        mut b: Columns<'_, T>,
        b_start: usize,
        [first, count]: [usize; 2],
        columns: &Range<usize>,
        part: &mut Part<'_, T>,
    ) {
        let column = columns.start - part.columns.start;
        let all = part.rows.clone();
        let rows = all.len().div_ceil(all.len().div_ceil(ROWS));
        let rows = rows.next_multiple_of(self.tile.rows);
        for from in all.clone().step_by(rows) {
            // The first rows write the panels that the others read.
            let b = match &mut b {
                Columns::Places(pieces) => Columns::Places(pieces),
                Columns::Strip(strip) => Columns::Strip(match strip {
                    Strip::Packed(side, next) => Strip::Packed(*side, *next),
                    Strip::Lines(data, stride, panels) if from == all.start => {
                        Strip::Lines(data, *stride, panels)
                    }
                    Strip::Pieces(pieces, panel) if from == all.start => {
                        Strip::Pieces(*pieces, panel)
                    }
                    Strip::Lines(_, _, panels) | Strip::Pieces(_, panels) => {
                        Strip::Packed(written(panels, count), (&[], 0))
                    }
                }),
            };
            let block = Block {
                a,
                height: self.tile.rows,
                rows: from..all.end.min(from + rows),
                b,
                columns: columns.start - b_start..columns.end - b_start,
                width: self.tile.columns,
                terms: count,
                target: &mut part.target,
                origin: [from - all.start, column],
                add: self.how.accumulate || first > 0,
            };
            dispatch(self.arch, block);
        }
    }

    fn k(&self) -> usize {
        match self.b {
            Source::Packed(side) => side.depth,
            Source::Lines(matrix) => matrix.rows,
            Source::Panels(panels) => panels.rows(),
        }
    }
}

/// Panels that have room for so many terms.
fn written<T>(data: &[T], depth: usize) -> Side<'_, T> {
    Side {
        data,
        depth,
        first: 0,
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
