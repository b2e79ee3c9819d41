//! What a product is made of: matrices as they lie, packed ones, and right sides that are written
//! panel by panel.

use std::ops::Range;

use rayon::prelude::*;

use super::pieces::Pieces;
use super::size::TileSize;
use super::target::Target;
use super::{Matrix, PackedLeft, PackedRight};
use crate::kernel::scratch::{or_refuse, try_collect_ok, try_room};
use crate::limits::Share;
use crate::op::Finish;

/// The left side of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left<'a, T> {
    /// A matrix as it lies.
    Matrix(Matrix<'a, T>),
    /// A matrix packed before, such as the filters of a convolution.
    Packed(&'a PackedLeft<T>),
}

/// The right side of a product.
#[derive(Clone, Copy)]
pub(crate) enum Right<'a, T> {
    /// A matrix as it lies.
    Matrix(Matrix<'a, T>),
    /// A matrix packed before, such as the weights of a layer.
    Packed(&'a PackedRight<T>),
    /// A matrix that is written on demand.
    Panels(&'a dyn Panels<T>),
}

/// A matrix that no slice holds: its panels are written when a product needs them, such as the
/// patches of an image under the filters of a convolution.
pub(crate) trait Panels<T>: Sync {
    /// The number of rows: the terms of a sum.
    fn rows(&self) -> usize;

    /// The number of columns.
    fn columns(&self) -> usize;

    /// The columns of its panels, in products by tiles of this size.
    fn width(&self, tile: TileSize) -> usize {
        tile.across(self.columns()).columns
    }

    /// Writes the elements in these rows and columns: that in row `l` and column `j` to
    /// `panel[(l - rows.start) * width + (j - columns.start)]`. There are at most `width` columns,
    /// where there are fewer the rest of each row of the panel may be left as it is. The panel has
    /// `rows.len() * width` elements.
    ///
    /// Called from several threads, for a few hundred rows and 4 to 48 columns at a time, in any
    /// order. A panel may be asked for more than once.
    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [T]);

    /// Writes panels side by side, as [`Panels::write`]: each has `pitch` elements, of which those behind
    /// `rows.len() * width` are left as they are.
    fn write_all(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        width: usize,
        pitch: usize,
        panels: &mut [T],
    ) {
        for (i, panel) in panels.chunks_mut(pitch).enumerate() {
            let start = columns.start + i * width;
            let columns = start..columns.end.min(start + width);
            let panel = &mut panel[..rows.len() * width];
            self.write(rows.clone(), columns, width, panel);
        }
    }

    /// Where the vectors of so many elements lie that some columns are, if each lies in one piece. The rows
    /// are all there are.
    fn pieces(&self, _columns: Range<usize>, _lanes: usize) -> Option<Pieces<'_, T>> {
        None
    }

    /// What is read to write the panel that begins with a column, from a term on, and how many elements that
    /// is for each term: it is asked for ahead. Nothing if that is not known.
    fn source(&self, _column: usize, _term: usize) -> (&[T], usize) {
        (&[], 0)
    }

    /// Of how many rows tiles are, if products of so many rows are faster without panels. Sums do not depend on how
    /// threads share the rows, for this is asked for all of them.
    fn multiplies_few(&self, _rows: usize) -> Option<usize> {
        None
    }

    /// Multiplies some rows of such a product with some columns. Of as many rows as a tile has, one tile after the
    /// other, the elements of a term stand side by side.
    fn multiply_few(
        &self,
        _a: &[T],
        _rows: usize,
        _columns: Range<usize>,
        _target: &mut Target<'_, T>,
        _add: bool,
    ) {
    }
}

/// Writes all panels of so many columns, of all rows: each thread some of these, for whoever has computed them before
/// has often been given the same. The last panel has as many elements as are left of `memory`.
pub(super) fn write_together<T: Send>(
    panels: &dyn Panels<T>,
    width: usize,
    memory: &mut [T],
    threads: usize,
) {
    let (k, n) = (panels.rows(), panels.columns());
    let rows = k.div_ceil(threads).max(1);
    let write = |start: usize, rows: Range<usize>, piece: &mut [T]| {
        let width = piece.len() / rows.len();
        panels.write(rows, start..n.min(start + width), width, piece);
    };
    let starts = (0..n).step_by(width);
    if threads == 1 {
        for (start, panel) in starts.zip(memory.chunks_mut(k * width)) {
            write(start, 0..k, panel);
        }
        return;
    }
    let jobs = (0..k.div_ceil(rows)).map(|_| try_room(n.div_ceil(width)));
    let Some(mut jobs) = or_refuse(try_collect_ok::<Vec<&mut [T]>, _>(jobs)) else {
        return;
    };
    for panel in memory.chunks_mut(k * width) {
        let size = rows * (panel.len() / k);
        for (pieces, piece) in jobs.iter_mut().zip(panel.chunks_mut(size)) {
            pieces.push(piece);
        }
    }
    let jobs = jobs.into_par_iter().enumerate().with_max_len(1);
    jobs.share(|(i, pieces)| {
        for (start, piece) in starts.clone().zip(pieces) {
            write(start, i * rows..k.min((i + 1) * rows), piece);
        }
    });
}

impl<'a, T> From<Matrix<'a, T>> for Left<'a, T> {
    fn from(matrix: Matrix<'a, T>) -> Self {
        Self::Matrix(matrix)
    }
}

impl<'a, T> From<&'a PackedLeft<T>> for Left<'a, T> {
    fn from(packed: &'a PackedLeft<T>) -> Self {
        Self::Packed(packed)
    }
}

impl<'a, T> From<Matrix<'a, T>> for Right<'a, T> {
    fn from(matrix: Matrix<'a, T>) -> Self {
        Self::Matrix(matrix)
    }
}

impl<'a, T> From<&'a PackedRight<T>> for Right<'a, T> {
    fn from(packed: &'a PackedRight<T>) -> Self {
        Self::Packed(packed)
    }
}

impl<T> Left<'_, T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.rows,
            Self::Packed(packed) => packed.rows(),
        }
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.columns,
            Self::Packed(packed) => packed.columns(),
        }
    }
}

impl<T> Right<'_, T> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.rows,
            Self::Packed(packed) => packed.rows(),
            Self::Panels(panels) => panels.rows(),
        }
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.columns,
            Self::Packed(packed) => packed.columns(),
            Self::Panels(panels) => panels.columns(),
        }
    }
}

/// How a product is computed.
#[derive(Clone, Copy)]
pub(crate) struct How<'a, T> {
    /// Whether the product is added to what is there.
    pub(crate) accumulate: bool,
    /// Whether only the calling thread computes, for callers that share out larger work.
    pub(crate) alone: bool,
    /// Called for all elements of the result, each once, in pieces, when they are final; by the
    /// thread that computed them, while they are in its cache.
    pub(crate) finish: Option<Finish<'a, T>>,
}

impl<T> Default for How<'_, T> {
    fn default() -> Self {
        Self {
            accumulate: false,
            alone: false,
            finish: None,
        }
    }
}
