//! Products transformed to the outputs of tiles.

use std::marker::PhantomData;

use pulp::{Simd, WithSimd};

use super::block::{LANES, Run};
use super::points::Points;
use crate::kernel::gemm::Lanes;

/// The elements of memory that the outputs of so many tiles take before they are joined, and the place
/// of the marks in it.
pub(super) fn lines(side: usize, count: usize) -> [usize; 2] {
    let marks = side * side * (count + LANES);
    [marks + count, marks]
}

/// Writes the outputs of some tiles, of one filter.
pub(super) struct Output<'a, P, const M: usize, const N: usize> {
    /// The products of the filter at the first point, of so many tiles as lie in vectors.
    pub(super) products: &'a [f32],
    /// From the products of a point to those of the next.
    pub(super) pitch: usize,
    pub(super) count: usize,
    /// The tiles.
    pub(super) runs: &'a [Run],
    /// The memory for a line of outputs for each place in a tile, and for a number for each tile that
    /// is not zero if an output is not finite, see [`lines`].
    pub(super) lines: &'a mut [f32],
    /// Some rows of the plane of outputs.
    pub(super) out: &'a mut [f32],
    /// The first row of tiles in `out`, and the outputs of a row.
    pub(super) first: usize,
    pub(super) width: usize,
    pub(super) points: PhantomData<P>,
}

impl<P: Points<M, N>, const M: usize, const N: usize> WithSimd for Output<'_, P, M, N> {
    /// Whether all outputs are finite.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self {
            products,
            pitch,
            count,
            runs,
            lines,
            out,
            first,
            width,
            ..
        } = self;
        let line = count + LANES;
        let (lines, marks) = lines.split_at_mut(M * M * line);
        let zero = simd.splat_f32s(0.0);
        for at in (0..count).step_by(S::F32_LANES) {
            let mut half = [[zero; N]; M];
            for j in 0..N {
                let mut column = [zero; N];
                for (i, x) in column.iter_mut().enumerate() {
                    let line = &products[(i * N + j) * pitch + at..][..S::F32_LANES];
                    if let [vector, ..] = S::as_simd_f32s(line).0 {
                        *x = *vector;
                    }
                }
                let column = P::output(simd, column);
                for (to, from) in half.iter_mut().zip(column) {
                    to[j] = from;
                }
            }
            let mut mark = zero;
            for (i, row) in half.iter().enumerate() {
                for (j, x) in P::output(simd, *row).iter().enumerate() {
                    // Zero times a number that is not finite is none.
                    mark = <f32 as Lanes>::mul_add(simd, *x, zero, mark);
                    let line = &mut lines[(i * M + j) * line + at..][..S::F32_LANES];
                    if let [vector, ..] = S::as_mut_simd_f32s(line).0 {
                        *vector = *x;
                    }
                }
            }
            if let [vector, ..] = S::as_mut_simd_f32s(&mut marks[at..][..S::F32_LANES]).0 {
                *vector = mark;
            }
        }
        let mut tiles = 0;
        for run in runs {
            tiles += run.count;
            let rows = out.chunks_exact_mut(width).skip((run.row - first) * M);
            for (row, lines) in rows.zip(lines.chunks_exact(M * line)) {
                let from = run.first * M;
                let row = &mut row[from..width.min(from + run.count * M)];
                join::<M>(lines, line, run.at, row);
            }
        }
        !marks[..tiles]
            .iter()
            .fold(false, |any, &mark| any | (mark != 0.0))
    }
}

/// Joins the outputs of tiles that stand at the same row of each.
#[inline(always)]
fn join<const M: usize>(lines: &[f32], pitch: usize, at: usize, row: &mut [f32]) {
    for (index, row) in row.chunks_mut(M * LANES).enumerate() {
        let mut joined = [[0.0; M]; LANES];
        for (j, line) in lines.chunks_exact(pitch).enumerate().take(M) {
            if let Some(line) = line[at + index * LANES..].first_chunk::<LANES>() {
                for (out, x) in joined.iter_mut().zip(line) {
                    out[j] = *x;
                }
            }
        }
        let (tiles, rest) = row.as_chunks_mut::<M>();
        let count = tiles.len();
        if let Some(tiles) = tiles.first_chunk_mut::<LANES>() {
            *tiles = joined;
            continue;
        }
        for (out, tile) in tiles.iter_mut().zip(&joined) {
            *out = *tile;
        }
        for (out, x) in rest.iter_mut().zip(&joined[count.min(LANES - 1)]) {
            *out = *x;
        }
    }
}
