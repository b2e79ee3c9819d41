//! Matrices in the order in which products read them.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::block::Side;
use super::lanes::dispatch;
use super::size::TileSize;
use super::{Lanes, Matrix, Panels};
use crate::kernel::scratch::{Kept, or_refuse};
use crate::kernel::simd::prefetch;
use crate::limits::unhurried;

/// Elements above which packing is shared out among the threads.
const MUCH: usize = 1 << 15;

/// What is in the cell; it is made if it is empty. Whoever waits for threads while it makes something
/// may be given work that asks for the same, so that the cell must not be locked meanwhile. Nothing,
/// as the watch tells, if there is no memory for it.
pub(crate) fn made<P>(cell: &OnceLock<P>, make: impl FnOnce() -> P) -> Option<&P> {
    match cell.get() {
        Some(made) => Some(made),
        None => {
            let made = unhurried(make)?;
            Some(cell.get_or_init(|| made))
        }
    }
}

/// The left side of products, packed once for many of them.
pub(crate) struct PackedLeft<T> {
    panels: Stored<T>,
}

/// The right side of products, packed once for many of them.
pub(crate) struct PackedRight<T> {
    panels: Stored<T>,
    /// The columns of a panel.
    width: usize,
}

/// Panels and the size of the matrix.
struct Stored<T> {
    memory: Kept,
    rows: usize,
    columns: usize,
    arch: Arch,
    element: std::marker::PhantomData<T>,
}

impl<T: Lanes> Stored<T> {
    fn new(arch: Arch, [rows, columns]: [usize; 2], elements: usize) -> Option<Self> {
        let memory = or_refuse(Kept::zeroed::<T>(elements))?;
        Some(Self {
            memory,
            rows,
            columns,
            arch,
            element: std::marker::PhantomData,
        })
    }

    fn data(&self) -> &[T] {
        self.memory.elements()
    }

    fn data_mut(&mut self) -> &mut [T] {
        self.memory.elements_mut()
    }
}

impl<T> fmt::Debug for PackedLeft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stored { rows, columns, .. } = self.panels;
        write!(f, "PackedLeft({rows} x {columns})")
    }
}

impl<T> fmt::Debug for PackedRight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stored { rows, columns, .. } = self.panels;
        write!(f, "PackedRight({rows} x {columns})")
    }
}

impl<T> PackedLeft<T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.panels.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.panels.columns
    }
}

impl<T: Lanes> PackedLeft<T> {
    /// Packs a matrix, whatever its strides. Nothing, as the watch tells, if there is no memory for it.
    pub(crate) fn new(matrix: Matrix<'_, T>) -> Option<Self> {
        Self::for_arch(crate::kernel::simd::arch(), matrix)
    }

    pub(super) fn for_arch(arch: Arch, matrix: Matrix<'_, T>) -> Option<Self> {
        let (rows, columns) = (matrix.rows, matrix.columns);
        let mut panels = Stored::new(arch, [rows, columns], rows * columns)?;
        let height = TileSize::of::<T>(arch).along(rows);
        let all = [0..rows, 0..columns];
        pack_left(arch, matrix, all, height, panels.data_mut(), true);
        Some(Self { panels })
    }

    pub(super) fn side(&self) -> Side<'_, T> {
        Side {
            data: self.panels.data(),
            depth: self.panels.columns,
            first: 0,
        }
    }

    pub(super) fn arch(&self) -> Arch {
        self.panels.arch
    }
}

impl<T> PackedRight<T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.panels.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.panels.columns
    }
}

impl<T: Lanes> PackedRight<T> {
    /// Packs a matrix, whatever its strides. Nothing, as the watch tells, if there is no memory for it.
    pub(crate) fn new(matrix: Matrix<'_, T>) -> Option<Self> {
        Self::from_panels(&matrix)
    }

    /// Packs a matrix that is written panel by panel.
    pub(crate) fn from_panels(panels: &dyn Panels<T>) -> Option<Self> {
        Self::for_arch(crate::kernel::simd::arch(), panels)
    }

    pub(super) fn for_arch(arch: Arch, matrix: &dyn Panels<T>) -> Option<Self> {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let width = matrix.width(TileSize::of::<T>(arch));
        let elements = columns.next_multiple_of(width) * rows;
        let mut panels = Stored::new(arch, [rows, columns], elements)?;
        if rows > 0 {
            panels
                .data_mut()
                .par_chunks_mut(rows * width)
                .enumerate()
                .with_min_len((MUCH / (rows * width)).max(1))
                .for_each(|(i, panel)| {
                    let start = i * width;
                    matrix.write(0..rows, start..columns.min(start + width), width, panel);
                });
        }
        Some(Self { panels, width })
    }

    pub(super) fn side(&self) -> Side<'_, T> {
        Side {
            data: self.panels.data(),
            depth: self.panels.rows,
            first: 0,
        }
    }

    /// The columns of a panel.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn arch(&self) -> Arch {
        self.panels.arch
    }
}

/// Writes panels of `height` rows: for each of the terms one element of each row. The last panel has
/// the rows that are left.
pub(super) fn pack_left<T: Lanes>(
    arch: Arch,
    matrix: Matrix<'_, T>,
    [rows, terms]: [Range<usize>; 2],
    height: usize,
    out: &mut [T],
    threads: bool,
) {
    let depth = terms.len();
    if out.is_empty() {
        return;
    }
    let pack = |(i, panel): (usize, &mut [T])| {
        let start = rows.start + i * height;
        let width = panel.len() / depth;
        let lines = Lines {
            matrix,
            rows: start..start + width,
            terms: terms.clone(),
            width,
            panel,
        };
        dispatch(arch, lines);
    };
    if threads && out.len() > MUCH {
        out.par_chunks_mut(height * depth)
            .enumerate()
            .for_each(pack);
    } else {
        out.chunks_mut(height * depth).enumerate().for_each(pack);
    }
}

impl<T: Lanes> Panels<T> for Matrix<'_, T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [T]) {
        let lines = Lines {
            matrix: self.transposed(),
            rows: columns,
            terms: rows,
            width,
            panel,
        };
        dispatch(crate::kernel::simd::arch(), lines);
    }

    fn write_all(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        width: usize,
        pitch: usize,
        panels: &mut [T],
    ) {
        let whole = columns.len() / width;
        let (front, rest) = panels.split_at_mut(whole * pitch);
        let middle = columns.start + whole * width;
        if self.column_stride == 1 {
            let cut = Cut {
                matrix: *self,
                rows: rows.clone(),
                columns: columns.start..middle,
                width,
                pitch,
                panels: front,
            };
            dispatch(crate::kernel::simd::arch(), cut);
        } else {
            for (i, panel) in front.chunks_mut(pitch).enumerate() {
                let start = columns.start + i * width;
                let panel = &mut panel[..rows.len() * width];
                self.write(rows.clone(), start..start + width, width, panel);
            }
        }
        if middle < columns.end {
            let panel = &mut rest[..rows.len() * width];
            self.write(rows, middle..columns.end, width, panel);
        }
    }
}

/// Rows of a matrix, cut into whole panels.
struct Cut<'a, 'b, T> {
    matrix: Matrix<'a, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    width: usize,
    /// The elements from a panel to the next.
    pitch: usize,
    panels: &'b mut [T],
}

/// Rows ahead of which memory is asked for.
const AHEAD: usize = 8;

impl<T: Lanes> WithSimd for Cut<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Matrix {
            data, row_stride, ..
        } = self.matrix;
        let count = self.columns.len();
        for (r, row) in self.rows.enumerate() {
            let start = row * row_stride + self.columns.start;
            let line = &data[start..start + count];
            if data.len() - start > AHEAD * row_stride {
                for at in (0..count).step_by(64 / size_of::<T>()) {
                    prefetch(line.as_ptr(), AHEAD * row_stride + at);
                }
            }
            let pieces = line.chunks_exact(self.width);
            let panels = self.panels.chunks_exact_mut(self.pitch);
            for (piece, panel) in pieces.zip(panels) {
                let out = &mut panel[r * self.width..][..self.width];
                match self.width / T::lanes::<S>() {
                    2 => copy_vectors::<T, S, 2>(piece, out),
                    3 => copy_vectors::<T, S, 3>(piece, out),
                    // Panels for other vectors than those of this machine.
                    _ => copy(piece, out),
                }
            }
        }
    }
}

/// Copies `N` vectors.
#[inline(always)]
fn copy_vectors<T: Lanes, S: Simd, const N: usize>(from: &[T], to: &mut [T]) {
    let from = T::vectors::<S>(from).0.first_chunk::<N>();
    let to = T::vectors_mut::<S>(to).0.first_chunk_mut::<N>();
    if let (Some(from), Some(to)) = (from, to) {
        *to = *from;
    }
}

/// Copies a few elements; as many as panels have rows or columns, and some last panels of planes of 7 by 7 or 14 by
/// 14, without a call.
#[inline(always)]
pub(super) fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    macro_rules! known {
        ($($N:literal)+) => {
            match from.len() {
                $($N => {
                    if let (Some(from), Some(to)) = (from.first_chunk::<$N>(), to.first_chunk_mut()) {
                        *to = *from;
                    }
                })+
                count => to[..count].copy_from_slice(from),
            }
        };
    }
    known!(1 4 5 6 7 8 16 24 48);
}

/// Some rows of a matrix, which become a panel: the elements of a term stand side by side.
struct Lines<'a, 'b, T> {
    matrix: Matrix<'a, T>,
    rows: Range<usize>,
    terms: Range<usize>,
    /// The elements of a term.
    width: usize,
    panel: &'b mut [T],
}

impl<T: Lanes> WithSimd for Lines<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            matrix,
            rows,
            terms,
            width,
            panel,
        } = self;
        let (count, depth) = (rows.len(), terms.len());
        if matrix.row_stride == 1 {
            for (l, out) in terms.zip(panel.chunks_exact_mut(width)) {
                let from = l * matrix.column_stride + rows.start;
                copy(&matrix.data[from..from + count], out);
            }
            return;
        }
        let row = |r: usize| {
            let from = (rows.start + r) * matrix.row_stride + terms.start * matrix.column_stride;
            &matrix.data[from..]
        };
        let mut r = 0;
        if matrix.column_stride == 1 {
            macro_rules! interleave_all {
                ($N:literal) => {
                    while r + $N <= count {
                        // Mapped arrays of many would be a call.
                        let mut lines = [&matrix.data[..0]; $N];
                        for (i, line) in lines.iter_mut().enumerate() {
                            *line = &row(r + i)[..depth];
                        }
                        // The next rows: they are needed soon, and lie in too many places to be foreseen.
                        let ahead = match usize::saturating_mul($N, matrix.row_stride) {
                            next if next < row(r).len() => next,
                            _ => 0,
                        };
                        if !interleave_many::<T, S, $N>(simd, lines, ahead, width, r, panel) {
                            break;
                        }
                        r += $N;
                    }
                };
            }
            interleave_all!(16);
            interleave_all!(8);
            while r < count && count >= 4 {
                // The last four may include some that are written already.
                r = r.min(count - 4);
                let lines = [row(r), row(r + 1), row(r + 2), row(r + 3)];
                interleave(simd, lines.map(|line| &line[..depth]), width, r, panel);
                r += 4;
            }
        }
        for r in r..count {
            let line = row(r).iter().step_by(matrix.column_stride.max(1));
            for (out, &x) in panel.chunks_exact_mut(width).zip(line) {
                out[r] = x;
            }
        }
    }
}

/// Writes `N` rows to the places from `at` on of each term, if there are instructions for that.
/// Meanwhile elements so far `ahead` are asked for.
#[inline(always)]
fn interleave_many<T: Lanes, S: Simd, const N: usize>(
    simd: S,
    rows: [&[T]; N],
    ahead: usize,
    width: usize,
    at: usize,
    panel: &mut [T],
) -> bool {
    let count = rows[0].len() / 4;
    let mut blocks = [&[] as &[[T; 4]]; N];
    for (blocks, row) in blocks.iter_mut().zip(&rows) {
        *blocks = &row.as_chunks::<4>().0[..count];
    }
    let mut terms = panel.chunks_exact_mut(4 * width);
    for (l, out) in (0..count).zip(&mut terms) {
        if l % 4 == 0 {
            for block in &blocks {
                prefetch(block.as_ptr().cast::<T>(), ahead.wrapping_add(4 * l));
            }
        }
        let Some(columns) = T::transpose_many::<S, N>(simd, |i| blocks[i][l]) else {
            return false;
        };
        for (column, out) in columns.iter().zip(out.chunks_exact_mut(width)) {
            if let Some(out) = out[at..].first_chunk_mut() {
                *out = *column;
            }
        }
    }
    for (l, out) in terms.into_remainder().chunks_exact_mut(width).enumerate() {
        for (out, row) in out[at..at + N].iter_mut().zip(&rows) {
            *out = row[4 * count + l];
        }
    }
    true
}

/// Writes four rows to the places from `at` on of each term.
#[inline(always)]
fn interleave<T: Lanes, S: Simd>(
    simd: S,
    rows: [&[T]; 4],
    width: usize,
    at: usize,
    panel: &mut [T],
) {
    let blocks = rows.map(|row| row.as_chunks::<4>().0);
    let [a, b, c, d] = blocks;
    let blocks = a.iter().zip(b).zip(c.iter().zip(d));
    let mut terms = panel.chunks_exact_mut(4 * width);
    for (((a, b), (c, d)), out) in blocks.zip(&mut terms) {
        let columns = T::transpose(simd, [*a, *b, *c, *d]);
        for (column, out) in columns.iter().zip(out.chunks_exact_mut(width)) {
            if let Some(out) = out[at..].first_chunk_mut() {
                *out = *column;
            }
        }
    }
    let rest = rows.map(|row| row.as_chunks::<4>().1);
    for (l, out) in terms.into_remainder().chunks_exact_mut(width).enumerate() {
        for (out, rest) in out[at..at + 4].iter_mut().zip(&rest) {
            *out = rest[l];
        }
    }
}
