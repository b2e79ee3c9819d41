//! Winograd's algorithm for convolutions of `f32` with filters of three by three taps: fewer
//! multiplications, for sums before and after them.
//!
//! Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015: a tile of `M` by `M`
//! outputs depends on `N = M + 2` by `N` elements. Elements and filters are transformed, multiplied
//! point by point (which is a product of matrices for each of the `N * N` points, summed over the
//! channels), and the products transformed to outputs. Tiles of four need a quarter of the
//! multiplications, tiles of two 4/9.
//!
//! Errors, relative to the largest output, of normally distributed numbers: up to 8e-7 with tiles of
//! two and 5e-6 with tiles of four (512 channels); sums term by term have up to 3e-6. Outputs
//! under whose tile a number is not finite are computed directly, so that not finite are those it
//! belongs to.

mod block;
mod exact;
mod filters;
mod input;
mod output;
mod points;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::Sizes;
use super::single::Lying;
use crate::kernel::gemm::dispatch;
use crate::kernel::scratch::{or_refuse, try_collect, try_collect_ok, try_room, with_scratch};
use crate::kernel::simd::arch;
use crate::kernel::window::Window;
use crate::limits::Share;
use crate::op::Finish;
use crate::op::OpError;
use block::{Run, Tiles};
pub(crate) use filters::{Kept, Side, Transformed};
use input::Input;
use output::Output;
use points::{Four, Points, Two};

/// Elements of transformed data that are computed at a time, and of products before they are
/// transformed: the second cache holds both.
const BLOCK: usize = 150_000;
const PRODUCTS: usize = 64_000;

/// Tiles of an image from which threads share out rows of tiles, not filters.
const MANY: usize = 64;

/// Tiles of a part, at least, where there are more parts than threads.
const PART: usize = 96;

/// Multiplications, of the direct way, below which work stays on the calling thread.
const SMALL: usize = 1 << 21;

/// What is the same for all parts of a convolution.
struct Plan<'a> {
    sizes: Sizes,
    tiles: Tiles,
    filters: &'a Transformed,
    /// The filters as they were, for what is computed anew.
    lying: &'a dyn Lying,
    data: &'a [f32],
    finish: Option<Finish<'a>>,
}

/// Some rows of tiles of an image.
struct Band<'a> {
    image: usize,
    rows: Range<usize>,
    /// The rows of outputs, filter by filter.
    outs: Vec<&'a mut [f32]>,
}

/// Convolves `data` with filters, which are given as they were, too. Calls `finish` for all elements.
pub(crate) fn convolve(
    sizes: Sizes,
    window: &Window,
    data: &[f32],
    (filters, lying): (&Transformed, &dyn Lying),
    out: &mut [f32],
    finish: Option<Finish<'_>>,
) {
    let [_, y, x] = window.axes();
    let side = match filters.side {
        Side::Two => 2,
        Side::Four => 4,
    };
    let plan = Plan {
        sizes,
        tiles: Tiles::new([y, x], side),
        filters,
        lying,
        data,
        finish,
    };
    match filters.side {
        Side::Two => plan.run::<Two, 2, 4>(out),
        Side::Four => plan.run::<Four, 4, 6>(out),
    }
}

impl Plan<'_> {
    fn run<P: Points<M, N> + Sync, const M: usize, const N: usize>(&self, out: &mut [f32]) {
        let work = out.len().saturating_mul(self.sizes.channels * 9);
        let threads = match work > SMALL {
            true => rayon::current_num_threads(),
            false => 1,
        };
        let (images, count) = (self.sizes.images(), self.tiles.count());
        let plane = self.tiles.y.output * self.tiles.x.output;
        let size = self.sizes.filters * plane;
        if threads > 1 && images < 2 * threads && count < MANY {
            for (image, out) in out.chunks_exact_mut(size).enumerate() {
                self.by_filters::<P, M, N>(image, out, threads);
            }
            return;
        }
        let bands = match threads {
            1 => 1,
            _ => (count * images / PART)
                .clamp(threads, 4 * threads)
                .div_ceil(images),
        };
        let rows = self.tiles.rows.div_ceil(bands);
        let bands = self.tiles.rows.div_ceil(rows);
        let jobs = (0..images * bands).map(|job| {
            let from = job % bands * rows;
            Ok::<_, OpError>(Band {
                image: job / bands,
                rows: from..self.tiles.rows.min(from + rows),
                outs: try_room(self.sizes.filters)?,
            })
        });
        let Some(mut jobs) = or_refuse(try_collect_ok(jobs)) else {
            return;
        };
        for (index, plane) in out.chunks_exact_mut(plane).enumerate() {
            let first = index / self.sizes.filters * bands;
            let pieces = plane.chunks_mut(rows * M * self.tiles.x.output);
            for (band, piece) in jobs[first..].iter_mut().zip(pieces) {
                band.outs.push(piece);
            }
        }
        if threads == 1 {
            jobs.into_iter().for_each(|band| self.band::<P, M, N>(band));
        } else {
            let jobs = jobs.into_par_iter().with_max_len(1);
            jobs.share(|band| self.band::<P, M, N>(band));
        }
    }

    /// The planes of an image.
    fn image(&self, image: usize) -> &[f32] {
        let size = self.sizes.channels * self.tiles.y.input * self.tiles.x.input;
        &self.data[image * size..][..size]
    }

    /// The tiles of a panel.
    fn width(&self) -> usize {
        self.filters.packed.width(self.tiles.count())
    }

    /// The elements that the transformed data of some tiles take.
    fn transformed(&self, points: usize, tiles: usize) -> usize {
        points * tiles.next_multiple_of(self.width()) * self.sizes.channels
    }

    /// A band, on this thread.
    fn band<P: Points<M, N>, const M: usize, const N: usize>(&self, mut band: Band<'_>) {
        let width = self.width();
        let most = (BLOCK / (N * N * self.sizes.channels * width)).max(1) * width;
        let all = band.rows.start * self.tiles.across..band.rows.end * self.tiles.across;
        let blocks = all.len().div_ceil(most);
        let most = all.len().div_ceil(blocks).next_multiple_of(width);
        let data = self.image(band.image);
        let mut finished = band.rows.start;
        for from in all.clone().step_by(most) {
            let range = from..all.end.min(from + most);
            let lines = input::lines(&self.tiles, range.clone(), M);
            let size = self.transformed(N * N, range.len());
            with_scratch(size + lines, |memory| {
                let (right, lines) = memory.split_at_mut(size);
                let panels = range.len().div_ceil(width);
                let panel = self.sizes.channels * width;
                let Some(mut outs) = or_refuse(try_collect(right.chunks_exact_mut(panel))) else {
                    return;
                };
                debug_assert_eq!(outs.len(), N * N * panels);
                self.transform::<P, M, N>(range.clone(), data, lines, &mut outs);
                let done = match range.end == all.end {
                    true => band.rows.end,
                    false => range.end / self.tiles.across,
                };
                let chunk = self.chunk(N * N, range.len());
                for first in (0..self.sizes.filters).step_by(chunk) {
                    let last = self.sizes.filters.min(first + chunk);
                    let part = Part {
                        image: band.image,
                        range: range.clone(),
                        filters: first..last,
                        first: band.rows.start,
                        done: finished..done,
                    };
                    self.part::<P, M, N>(&part, right, &mut band.outs[first..last]);
                }
                finished = done;
            });
        }
    }

    /// Filters whose products are computed at a time.
    fn chunk(&self, points: usize, tiles: usize) -> usize {
        let height = self.filters.packed.height();
        (PRODUCTS / (points * tiles) / height).max(1) * height
    }

    /// An image of few tiles: the threads share out the channels, then the filters.
    fn by_filters<P: Points<M, N>, const M: usize, const N: usize>(
        &self,
        image: usize,
        out: &mut [f32],
        threads: usize,
    ) {
        let range = 0..self.tiles.count();
        let (data, width) = (self.image(image), self.width());
        let channels = self.sizes.channels.div_ceil(2 * threads);
        let plane = self.tiles.y.input * self.tiles.x.input;
        let lines = input::lines(&self.tiles, range.clone(), M);
        with_scratch(self.transformed(N * N, range.len()), |right| {
            let parts = self.sizes.channels.div_ceil(channels);
            let mut outs: Vec<Vec<&mut [f32]>> = Vec::new();
            outs.resize_with(parts, Vec::new);
            for panel in right.chunks_exact_mut(self.sizes.channels * width) {
                for (outs, piece) in outs.iter_mut().zip(panel.chunks_mut(channels * width)) {
                    outs.push(piece);
                }
            }
            let data = data.par_chunks(channels * plane);
            data.zip(outs).with_max_len(1).share(|(data, mut outs)| {
                with_scratch(lines, |lines| {
                    self.transform::<P, M, N>(range.clone(), data, lines, &mut outs);
                });
            });
            let right = &*right;
            let height = self.filters.packed.height();
            let chunk = self
                .sizes
                .filters
                .div_ceil(2 * threads)
                .next_multiple_of(height);
            let chunk = chunk.min(self.chunk(N * N, range.len()));
            let plane = self.tiles.y.output * self.tiles.x.output;
            let outs = out.par_chunks_mut(chunk * plane).enumerate();
            outs.with_max_len(1).share(|(index, out)| {
                let first = index * chunk;
                let outs = try_collect(out.chunks_exact_mut(plane));
                let Some(mut outs) = or_refuse(outs) else {
                    return;
                };
                let part = Part {
                    image,
                    range: range.clone(),
                    filters: first..first + outs.len(),
                    first: 0,
                    done: 0..self.tiles.rows,
                };
                self.part::<P, M, N>(&part, right, &mut outs);
            });
        });
    }

    /// Transforms the elements under tiles, of some channels.
    fn transform<P: Points<M, N>, const M: usize, const N: usize>(
        &self,
        range: Range<usize>,
        data: &[f32],
        lines: &mut [f32],
        outs: &mut [&mut [f32]],
    ) {
        let input = Input::<P, M, N> {
            tiles: &self.tiles,
            range,
            data,
            lines,
            outs,
            width: self.width(),
            points: PhantomData,
        };
        dispatch(arch(), input);
    }

    /// Computes the outputs of some tiles and filters, and finishes the rows that are done then.
    fn part<P: Points<M, N>, const M: usize, const N: usize>(
        &self,
        part: &Part,
        right: &[f32],
        outs: &mut [&mut [f32]],
    ) {
        let packed = &self.filters.packed;
        let width = self.width();
        let (filters, tiles) = (part.filters.len(), part.range.len());
        // Whole vectors of tiles.
        let count = tiles.next_multiple_of(packed.lanes());
        let panels = tiles.div_ceil(width) * self.sizes.channels * width;
        let pitch = filters * count;
        let runs = self.tiles.runs(part.range.clone());
        let [lines, marks] = output::lines(M, count);
        with_scratch(N * N * pitch + lines, |memory| {
            let (products, lines) = memory.split_at_mut(N * N * pitch);
            let points = products
                .chunks_exact_mut(pitch)
                .zip(right.chunks_exact(panels));
            for (index, (out, right)) in points.enumerate() {
                packed.multiply(
                    index,
                    part.filters.clone(),
                    right,
                    [tiles, width, count],
                    out,
                );
            }
            for (i, (filter, out)) in part.filters.clone().zip(outs).enumerate() {
                let output = Output::<P, M, N> {
                    products: &products[i * count..],
                    pitch,
                    count,
                    runs: &runs,
                    lines,
                    out,
                    first: part.first,
                    width: self.tiles.x.output,
                    points: PhantomData,
                };
                if !dispatch(arch(), output) {
                    let marks = &lines[marks..];
                    self.exactly(part, &runs, marks, M, filter, out);
                }
                self.finish(part, filter, M, out);
            }
        });
    }

    /// Computes the marked tiles anew.
    #[cold]
    fn exactly(
        &self,
        part: &Part,
        runs: &[Run],
        marks: &[f32],
        side: usize,
        filter: usize,
        out: &mut [f32],
    ) {
        let size = self.sizes.channels * 9;
        let Some(filters) = self.lying.elements() else {
            return;
        };
        let filter = &filters[filter * size..][..size];
        let data = self.image(part.image);
        for run in runs {
            for tile in (0..run.count).filter(|tile| marks[run.at + tile] != 0.0) {
                let tile = Run {
                    first: run.first + tile,
                    count: 1,
                    at: run.at + tile,
                    ..*run
                };
                exact::compute(&self.tiles, tile, side, [data, filter], out, part.first);
            }
        }
    }

    /// Finishes the rows of a filter's plane that are done.
    fn finish(&self, part: &Part, filter: usize, side: usize, out: &mut [f32]) {
        let (height, width) = (self.tiles.y.output, self.tiles.x.output);
        if let (Some(finish), false) = (self.finish, part.done.is_empty()) {
            let rows = part.done.start * side..height.min(part.done.end * side);
            let plane = part.image * self.sizes.filters + filter;
            let position = (plane * height + rows.start) * width;
            let first = part.first * side;
            finish.part(
                position,
                &mut out[(rows.start - first) * width..(rows.end - first) * width],
            );
        }
    }
}

/// Some tiles and filters.
struct Part {
    image: usize,
    range: Range<usize>,
    filters: Range<usize>,
    /// The first row of tiles in the outputs.
    first: usize,
    /// The rows of tiles that are finished.
    done: Range<usize>,
}
