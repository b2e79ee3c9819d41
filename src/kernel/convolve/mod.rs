//! Convolutions: products of filters and the patches under a window.
//!
//! The patches are laid out as the columns of a matrix, a tile of windows at a time, so that the
//! memory beyond the output stays small. Filters with few outputs are applied element by element.

mod columns;
mod depthwise;
mod direct;
mod laid;
mod padded;
mod parting;
mod planes;
mod same;
pub(crate) mod single;
mod twin;
pub(crate) mod winograd;

use std::ops::Range;

use pulp::Simd;
use rayon::prelude::*;

use crate::kernel::gemm::{Matrix, multiply, multiply_alone};
use crate::kernel::reduce::Number;
use crate::kernel::scratch::{or_refuse, try_collect_ok, try_resize, try_room};
use crate::kernel::window::{Fold, Taps, Window, sweep};
use crate::limits::Share;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 18;

/// Elements of a tile of columns.
const TILE: usize = 1 << 18;

/// Elements that a tile of columns may have to be no narrower than [`NARROWEST`].
const LARGEST_TILE: usize = 1 << 21;

/// Windows to a tile below which the product of filters and tile becomes slow.
const NARROWEST: usize = 64;

/// The parts that large work is cut into at least; their number does not depend on the threads.
const PARTS: usize = 8;

/// Filters of a group that are applied element by element rather than by a product.
const FEW: usize = 2;

/// As [`FEW`], where a group has one channel.
const FEW_ALONE: usize = 4;

/// A number that convolutions add up; integers wrap.
pub(crate) trait Term: Number {
    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The nearest number, of the integers that towards zero.
    fn of(x: f64) -> Self;

    /// The number, as near as `f64` comes.
    fn wide(self) -> f64;

    /// `c = a * b`, by all threads or only this one.
    fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], all_threads: bool);
}

macro_rules! float_terms {
    ($($T:ty),+) => {$(
        #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)]
        impl Term for $T {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn of(x: f64) -> Self {
                x as $T
            }

            fn wide(self) -> f64 {
                self as f64
            }

            fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], all_threads: bool) {
                if all_threads {
                    multiply(a, b, c, false);
                } else {
                    multiply_alone(a, b, c, false);
                }
            }
        }
    )+};
}

macro_rules! integer_terms {
    ($($T:ty),+) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            clippy::cast_lossless
        )]
        impl Term for $T {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn of(x: f64) -> Self {
                x as $T
            }

            fn wide(self) -> f64 {
                self as f64
            }

            fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], _: bool) {
                let (rows, depth, columns) = (a.rows(), a.columns(), b.columns());
                c.fill(0);
                for (i, line) in c.chunks_mut(columns.max(1)).enumerate().take(rows) {
                    for l in 0..depth {
                        let factor = a.at(i, l);
                        for (j, sum) in line.iter_mut().enumerate() {
                            *sum = sum.wrapping_add(factor.wrapping_mul(b.at(l, j)));
                        }
                    }
                }
            }
        }
    )+};
}

float_terms!(f32, f64);
integer_terms!(i32, i64, u64);

/// Adds the multiple of a line to another.
pub(crate) fn add_multiple<T: Term>(sums: &mut [T], factor: T, line: &[T]) {
    for (sum, &x) in sums.iter_mut().zip(line) {
        *sum = sum.plus(factor.times(x));
    }
}

/// The vector at a place of a line.
#[inline(always)]
fn load<S: Simd>(_: S, line: &[f32], at: usize) -> S::f32s {
    S::as_simd_f32s(&line[at..at.wrapping_add(S::F32_LANES)]).0[0]
}

/// Puts a vector at a place of a line.
#[inline(always)]
fn store<S: Simd>(_: S, line: &mut [f32], at: usize, x: S::f32s) {
    S::as_mut_simd_f32s(&mut line[at..at.wrapping_add(S::F32_LANES)]).0[0] = x;
}

/// The sizes of a convolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// How many images there are.
    pub(crate) batch: usize,
    /// The groups that channels and filters are divided into.
    pub(crate) groups: usize,
    /// The channels of a group.
    pub(crate) channels: usize,
    /// The filters of a group.
    pub(crate) filters: usize,
}

impl Sizes {
    /// The groups of all images.
    pub(crate) fn images(&self) -> usize {
        self.batch * self.groups
    }
}

/// Convolves `data` with `filters`. What windows cover beyond the data is `pad`.
pub(crate) fn convolve<T: Term>(
    sizes: Sizes,
    window: &Window,
    data: &[T],
    filters: &[T],
    pad: T,
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let few = if sizes.channels == 1 { FEW_ALONE } else { FEW };
    if sizes.channels == 0 {
        out.fill(T::default());
    } else if window.is_pointwise() {
        pointwise(sizes, window.inputs(), data, filters, out);
    } else if sizes.filters <= few && pad == T::default() {
        direct(sizes, window, data, filters, out);
    } else {
        let patches = Patches {
            window,
            data,
            channels: sizes.channels,
            pad,
        };
        let columns = |image, channels, windows, out: &mut [T]| {
            patches.columns(image, channels, windows, out);
        };
        products(sizes, window, filters, &columns, out);
    }
}

/// Filters of one element: a product with the data itself.
fn pointwise<T: Term>(sizes: Sizes, plane: usize, data: &[T], filters: &[T], out: &mut [T]) {
    let (m, k) = (sizes.filters, sizes.channels);
    let one = |image: usize, out: &mut [T], all_threads| {
        let group = image % sizes.groups;
        let filters = Matrix::new(&filters[group * m * k..][..m * k], m, k);
        let data = Matrix::new(&data[image * k * plane..][..k * plane], k, plane);
        T::product(filters, data, out, all_threads);
    };
    let images = out.chunks_mut(m * plane).enumerate();
    if sizes.images() < PARTS || m * k * plane * sizes.images() <= SMALL {
        images.for_each(|(image, out)| one(image, out, true));
    } else {
        let images = out.par_chunks_mut(m * plane).enumerate();
        images.share(|(image, out)| one(image, out, false));
    }
}

/// One output plane of a convolution, to which one channel is added.
struct Plane<'a, T> {
    out: &'a mut [T],
    filter: &'a [T],
    kernel: [usize; 2],
    rows: usize,
    width: usize,
    start: usize,
}

impl<T: Term> Fold<T> for Plane<'_, T> {
    fn begin(&mut self, [z, y]: [usize; 2]) {
        self.start = (z * self.rows + y) * self.width;
    }

    fn take(&mut self, taps: Taps<'_, T>) {
        let [z, y, x] = taps.tap;
        let weight = self.filter[(z * self.kernel[0] + y) * self.kernel[1] + x];
        let from = self.start + taps.first;
        add_multiple(&mut self.out[from..], weight, taps.values);
    }

    fn end(&mut self, _: [usize; 2]) {}
}

/// Filters applied tap by tap to whole rows of windows.
fn direct<T: Term>(sizes: Sizes, window: &Window, data: &[T], filters: &[T], out: &mut [T]) {
    let [_, y, x] = window.axes();
    let (inputs, taps) = (window.inputs(), window.taps());
    let one = |scratch: &mut Vec<T>, (index, out): (usize, &mut [T])| {
        out.fill(T::default());
        let (image, filter) = (index / sizes.filters, index % sizes.filters);
        let filter = image % sizes.groups * sizes.filters + filter;
        for channel in 0..sizes.channels {
            let plane = &data[(image * sizes.channels + channel) * inputs..][..inputs];
            let filter = &filters[(filter * sizes.channels + channel) * taps..][..taps];
            let mut fold = Plane {
                out,
                filter,
                kernel: [y.kernel, x.kernel],
                rows: y.output,
                width: x.output,
                start: 0,
            };
            sweep(window, plane, scratch, &mut fold);
        }
    };
    let plane = window.outputs();
    if out.len() * taps * sizes.channels <= SMALL {
        let mut scratch = Vec::new();
        let planes = out.chunks_mut(plane).enumerate();
        planes.for_each(|plane| one(&mut scratch, plane));
    } else {
        let planes = out.par_chunks_mut(plane).enumerate();
        planes.share_init(Vec::new, |scratch, plane| one(scratch, plane));
    }
}

/// Writes the patches under some windows of an image's group into the columns of a matrix: a row
/// for each tap of each of some channels.
pub(crate) type Columns<'a, T> = dyn Fn(usize, Range<usize>, Range<usize>, &mut [T]) + Sync + 'a;

/// The windows of a tile.
fn tile(work: usize, images: usize, depth: usize, windows: usize) -> usize {
    let most = (TILE / depth).max(NARROWEST);
    let most = most.min(LARGEST_TILE / depth).max(1);
    let mut tiles = windows.div_ceil(most);
    if work > SMALL && images * tiles < PARTS {
        tiles = tiles.max(PARTS.div_ceil(images).min(windows / NARROWEST));
    }
    windows.div_ceil(tiles.max(1))
}

/// Multiplies filters with columns, tile by tile.
pub(crate) fn products<T: Term>(
    sizes: Sizes,
    window: &Window,
    filters: &[T],
    columns: &Columns<'_, T>,
    out: &mut [T],
) {
    let (m, k, n) = (
        sizes.filters,
        sizes.channels * window.taps(),
        window.outputs(),
    );
    let images = sizes.images();
    let work = out.len().saturating_mul(k);
    let width = tile(work, images, k, n);
    if width >= n {
        whole_planes(sizes, [m, k, n], filters, columns, out);
        return;
    }
    let tiles = n.div_ceil(width);
    let jobs = (0..images * tiles).map(|_| try_room(m));
    let Some(mut jobs) = or_refuse(try_collect_ok::<Vec<&mut [T]>, _>(jobs)) else {
        return;
    };
    for (row, line) in out.chunks_mut(n).enumerate() {
        for (tile, part) in line.chunks_mut(width).enumerate() {
            jobs[row / m * tiles + tile].push(part);
        }
    }
    let one = |(tile, result): &mut (Vec<T>, Vec<T>), (job, rows): (usize, Vec<&mut [T]>)| {
        let (image, at) = (job / tiles, job % tiles * width);
        let windows = at..(at + width).min(n);
        let len = windows.len();
        let room = try_resize(tile, k * width, T::default());
        if or_refuse(room.and_then(|()| try_resize(result, m * width, T::default()))).is_none() {
            return;
        }
        let (tile, result) = (&mut tile[..k * len], &mut result[..m * len]);
        columns(image, 0..sizes.channels, windows, tile);
        let group = image % sizes.groups;
        let filters = Matrix::new(&filters[group * m * k..][..m * k], m, k);
        T::product(filters, Matrix::new(tile, k, len), result, false);
        for (row, result) in rows.into_iter().zip(result.chunks(len)) {
            row.copy_from_slice(result);
        }
    };
    let buffers = || (Vec::new(), Vec::new());
    if work <= SMALL {
        let mut buffers = buffers();
        let jobs = jobs.into_iter().enumerate();
        jobs.for_each(|job| one(&mut buffers, job));
    } else {
        let jobs = jobs.into_par_iter().enumerate();
        jobs.share_init(buffers, |buffers, job| one(buffers, job));
    }
}

/// Products of filters and all windows of an image at once.
fn whole_planes<T: Term>(
    sizes: Sizes,
    [m, k, n]: [usize; 3],
    filters: &[T],
    columns: &Columns<'_, T>,
    out: &mut [T],
) {
    let large = m.saturating_mul(k).saturating_mul(n) > SMALL;
    let split = large && sizes.images() < PARTS;
    let channels = sizes.channels.div_ceil(PARTS);
    let rows = m.div_ceil(PARTS).max(NARROWEST);
    let taps = k / sizes.channels;
    let one = |tile: &mut Vec<T>, (image, out): (usize, &mut [T])| {
        if or_refuse(try_resize(tile, k * n, T::default())).is_none() {
            return;
        }
        let group = image % sizes.groups;
        let filters = &filters[group * m * k..][..m * k];
        if !split {
            columns(image, 0..sizes.channels, 0..n, tile);
            let filters = Matrix::new(filters, m, k);
            T::product(filters, Matrix::new(tile, k, n), out, false);
            return;
        }
        let parts = tile.par_chunks_mut(channels * taps * n).enumerate();
        parts.share(|(part, tile)| {
            let from = part * channels;
            let to = (from + channels).min(sizes.channels);
            columns(image, from..to, 0..n, tile);
        });
        let tile = Matrix::new(tile, k, n);
        let parts = out
            .par_chunks_mut(rows * n)
            .zip(filters.par_chunks(rows * k));
        parts.share(|(out, filters)| {
            let filters = Matrix::new(filters, filters.len() / k, k);
            T::product(filters, tile, out, false);
        });
    };
    if split || !large && out.len().saturating_mul(k) <= SMALL {
        let mut tile = Vec::new();
        let images = out.chunks_mut(m * n).enumerate();
        images.for_each(|image| one(&mut tile, image));
    } else {
        let images = out.par_chunks_mut(m * n).enumerate();
        images.share_init(Vec::new, |tile, image| one(tile, image));
    }
}

/// A part of a row of windows.
struct Run {
    z: usize,
    y: usize,
    x: Range<usize>,
}

/// The rows of windows, or parts of them, that some windows are.
fn runs(window: &Window, windows: &Range<usize>) -> Vec<Run> {
    let [_, y, x] = window.axes();
    let mut runs = Vec::new();
    let mut at = windows.start;
    while at < windows.end {
        let (row, from) = (at / x.output, at % x.output);
        let to = x.output.min(from + windows.end - at);
        runs.push(Run {
            z: row / y.output,
            y: row % y.output,
            x: from..to,
        });
        at += to - from;
    }
    runs
}

/// The patches of a convolution's data.
struct Patches<'a, T> {
    window: &'a Window,
    data: &'a [T],
    channels: usize,
    pad: T,
}

impl<T: Copy> Patches<'_, T> {
    fn columns(&self, image: usize, channels: Range<usize>, windows: Range<usize>, out: &mut [T]) {
        let [z, y, x] = self.window.axes();
        let inputs = self.window.inputs();
        let runs = runs(self.window, &windows);
        let mut rows = out.chunks_exact_mut(windows.len());
        for channel in channels {
            let plane = &self.data[(image * self.channels + channel) * inputs..][..inputs];
            for tz in 0..z.kernel {
                for ty in 0..y.kernel {
                    for (tx, row) in (0..x.kernel).zip(&mut rows) {
                        let mut rest = row;
                        for run in &runs {
                            let (part, more) = rest.split_at_mut(run.x.len());
                            rest = more;
                            match (z.element(run.z, tz), y.element(run.y, ty)) {
                                (Some(iz), Some(iy)) => {
                                    let start = (iz * y.input + iy) * x.input;
                                    let line = &plane[start..start + x.input];
                                    self.line(line, tx, &run.x, part);
                                }
                                _ => part.fill(self.pad),
                            }
                        }
                    }
                }
            }
        }
    }

    /// The elements at one tap of some windows of a row.
    fn line(&self, line: &[T], tap: usize, windows: &Range<usize>, out: &mut [T]) {
        let [.., x] = self.window.axes();
        let inside = x.outputs(tap);
        let to = inside.end.clamp(windows.start, windows.end);
        let from = inside.start.clamp(windows.start, to);
        let (before, rest) = out.split_at_mut(from - windows.start);
        let (out, after) = rest.split_at_mut(to - from);
        before.fill(self.pad);
        after.fill(self.pad);
        let Some(at) = x.element(from, tap).filter(|_| from < to) else {
            return;
        };
        if x.stride == 1 {
            out.copy_from_slice(&line[at..at + out.len()]);
        } else {
            for (out, &x) in out.iter_mut().zip(line[at..].iter().step_by(x.stride)) {
                *out = x;
            }
        }
    }
}
