//! The elements under tiles, transformed: the right sides of the products.
//!
//! Each row of elements is split into as many lines as a tile has columns of its own, so that vectors
//! of neighbouring tiles lie side by side; then the transformations are arithmetic of vectors only.

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use smallvec::SmallVec;

use super::block::{LANES, Run, Tiles};
use super::points::Points;

/// Writes the transformed elements under some tiles, of some channels.
pub(super) struct Input<'a, 'o, P, const M: usize, const N: usize> {
    pub(super) tiles: &'a Tiles,
    /// The tiles.
    pub(super) range: Range<usize>,
    /// The planes of the channels.
    pub(super) data: &'a [f32],
    /// The memory for the lines of a channel, see [`lines`].
    pub(super) lines: &'a mut [f32],
    /// For each point, and for each panel of tiles: a line of `width` tiles for each channel.
    pub(super) outs: &'a mut [&'o mut [f32]],
    /// The tiles of a panel.
    pub(super) width: usize,
    pub(super) points: PhantomData<P>,
}

/// What the lines of a block are.
#[derive(Debug, Clone, Copy)]
struct Lined {
    /// The first row of tiles, and the first tile of each row.
    row: usize,
    first: usize,
    /// Tiles of a row.
    across: usize,
    /// Rows of elements.
    rows: usize,
    /// From line to line.
    pitch: usize,
}

impl Lined {
    fn new(runs: &[Run], tiles: &Tiles, side: usize) -> Self {
        let (Some(begin), Some(end)) = (runs.first(), runs.last()) else {
            return Self {
                row: 0,
                first: 0,
                across: 0,
                rows: 0,
                pitch: 0,
            };
        };
        let (first, across) = match runs {
            [run] => (run.first, run.count),
            _ => (0, tiles.across),
        };
        Self {
            row: begin.row,
            first,
            across,
            rows: (end.row - begin.row) * side + side + 2,
            pitch: (across + 1).next_multiple_of(LANES) + LANES,
        }
    }
}

/// The elements of memory that the lines of a channel take, with a place to pad a row.
pub(super) fn lines(tiles: &Tiles, range: Range<usize>, side: usize) -> usize {
    let lined = Lined::new(&tiles.runs(range), tiles, side);
    LANES + (lined.rows + 1) * side * lined.pitch
}

/// A part of a vector of tiles.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where the vector would begin in the line of the first row and column of its tiles.
    from: usize,
    /// The first of the tiles in the vector.
    to: usize,
}

impl<P: Points<M, N>, const M: usize, const N: usize> WithSimd for Input<'_, '_, P, M, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            tiles,
            range,
            data,
            lines,
            outs,
            width,
            ..
        } = self;
        let lanes = S::F32_LANES;
        let lined = Lined::new(&tiles.runs(range.clone()), tiles, M);
        let pitch = lined.pitch;
        let mut vectors: SmallVec<[SmallVec<[Piece; 4]>; 8]> = SmallVec::new();
        for from in range.clone().step_by(lanes) {
            let runs = tiles.runs(from..range.end.min(from + lanes));
            let piece = |run: &Run| Piece {
                // There is a place for a vector before the lines.
                from: (run.row - lined.row) * M * M * pitch + run.first - lined.first + LANES
                    - run.at,
                to: run.at,
            };
            vectors.push(runs.iter().map(piece).collect());
        }
        let (lines, padded) = lines.split_at_mut(LANES + lined.rows * M * pitch);
        let numbers: [f32; LANES] = std::array::from_fn(|i| i as f32);
        let numbers = vector_at::<S>(simd, &numbers, 0);
        let panels = outs.len() / (N * N);
        let plane = tiles.y.input * tiles.x.input;
        for (channel, plane) in data.chunks_exact(plane).enumerate() {
            for (row, lines) in lines[LANES..].chunks_exact_mut(M * pitch).enumerate() {
                let y = (lined.row * M + row).wrapping_sub(tiles.y.pad);
                if y < tiles.y.input {
                    let line = &plane[y * tiles.x.input..][..tiles.x.input];
                    split::<M>(line, tiles.x.pad, &lined, padded, lines);
                } else {
                    lines.fill(0.0);
                }
            }
            for (vector, pieces) in vectors.iter().enumerate() {
                let mut x = [[simd.splat_f32s(0.0); N]; N];
                for (index, piece) in pieces.iter().enumerate() {
                    let own = simd.splat_f32s(piece.to as f32);
                    let own = simd.less_than_or_equal_f32s(own, numbers);
                    let lines = &lines[piece.from..];
                    for (i, x) in x.iter_mut().enumerate() {
                        for (j, x) in x.iter_mut().enumerate() {
                            let at = (i * M + j % M) * pitch + j / M;
                            let new = vector_at::<S>(simd, lines, at);
                            *x = match index {
                                0 => new,
                                _ => simd.select_f32s(own, new, *x),
                            };
                        }
                    }
                }
                // Along the rows of elements first, then along columns.
                let mut half = [[simd.splat_f32s(0.0); N]; N];
                for j in 0..N {
                    let mut column = [simd.splat_f32s(0.0); N];
                    for (to, from) in column.iter_mut().zip(&x) {
                        *to = from[j];
                    }
                    let column = P::input(simd, column);
                    for (to, from) in half.iter_mut().zip(column) {
                        to[j] = from;
                    }
                }
                let place = channel * width + vector * lanes % width;
                let panel = vector * lanes / width;
                for (i, row) in half.iter().enumerate() {
                    for (j, x) in P::input(simd, *row).iter().enumerate() {
                        let out = &mut outs[(i * N + j) * panels + panel][place..][..lanes];
                        if let [out, ..] = S::as_mut_simd_f32s(out).0 {
                            *out = *x;
                        }
                    }
                }
            }
        }
    }
}

/// A vector of a line.
#[inline(always)]
fn vector_at<S: Simd>(simd: S, line: &[f32], at: usize) -> S::f32s {
    match S::as_simd_f32s(&line[at..][..S::F32_LANES]).0 {
        [vector, ..] => *vector,
        [] => simd.splat_f32s(0.0),
    }
}

/// Copies elements without a call.
#[inline(always)]
fn copy(from: &[f32], to: &mut [f32]) {
    for (out, chunk) in to
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(from.as_chunks::<LANES>().0)
    {
        *out = *chunk;
    }
    if let (Some(from), Some(to)) = (from.last_chunk::<LANES>(), to.last_chunk_mut::<LANES>()) {
        *to = *from;
        return;
    }
    for (out, x) in to.iter_mut().zip(from) {
        *out = *x;
    }
}

/// Splits a row of elements: the first of all tiles, the second, and so on. There is a tile more,
/// whose first two elements belong to the last.
#[inline(always)]
fn split<const M: usize>(
    line: &[f32],
    pad: usize,
    lined: &Lined,
    padded: &mut [f32],
    lines: &mut [f32],
) {
    let len = M * (lined.across + 1);
    // Whole vectors of tiles are split; what lies beyond the last does not matter.
    let all = M * (lined.across + 1).next_multiple_of(LANES);
    let start = lined.first * M;
    let inside = start
        .checked_sub(pad)
        .and_then(|start| line.get(start..start + all));
    let line = match inside {
        Some(line) => line,
        None => {
            let before = pad.saturating_sub(start).min(len);
            let from = start.saturating_sub(pad).min(line.len());
            let count = (line.len() - from).min(len - before);
            for x in &mut padded[..before] {
                *x = 0.0;
            }
            copy(
                &line[from..from + count],
                &mut padded[before..before + count],
            );
            for x in &mut padded[before + count..len] {
                *x = 0.0;
            }
            &padded[..all]
        }
    };
    let vectors = line.as_chunks::<M>().0.as_chunks::<LANES>().0;
    for (index, elements) in vectors.iter().enumerate() {
        for (j, line) in lines.chunks_exact_mut(lined.pitch).enumerate().take(M) {
            if let Some(out) = line[index * LANES..].first_chunk_mut::<LANES>() {
                *out = elements.map(|x| x[j % M]);
            }
        }
    }
}
