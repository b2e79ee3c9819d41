//! Transposed convolutions: every element spreads the filters over a window of the output.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::convolve::single::{Filters, filtered};
use super::convolve::{Sizes, Term};
use super::gemm::{How, Matrix};
use super::scratch::{Reused, or_refuse, try_collect_ok, try_resize, try_room};
use super::simd::vectorize_mut;
use super::window::{Axis, Window};
use crate::limits::Share;
use crate::op::Finish;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 18;

/// Elements of what a tile of the data spreads.
const TILE: usize = 1 << 18;

/// Elements of the data to a tile, at least, unless that takes [`LARGEST_TILE`] elements.
const NARROWEST: usize = 32;

/// As [`TILE`], for tiles that are not too narrow.
const LARGEST_TILE: usize = 1 << 21;

/// Elements that one thread finishes in a row, at least.
const PART: usize = 1 << 15;

/// From as many groups of images on, each is computed by one thread.
const MANY: usize = 8;

/// Spreads `data` with `filters` over `out`. The window is that of the convolution this is the
/// transpose of: it slides over the output, and each element of the data stands for a window.
/// `filters` are by group, channel of the data, channel of the output.
pub(crate) fn convolve_back<T: Term>(
    sizes: Sizes,
    window: &Window,
    data: &[T],
    filters: &[T],
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let plane = window.inputs();
    let work = data.len().saturating_mul(sizes.filters * window.taps());
    if sizes.images() < MANY || work <= SMALL {
        let mut tile = Reused::default();
        let images = out.chunks_mut(sizes.filters * plane).enumerate();
        images.for_each(|(image, out)| {
            spread(
                sizes,
                window,
                image,
                data,
                filters,
                out,
                &mut tile,
                work > SMALL,
            );
        });
    } else {
        let images = out.par_chunks_mut(sizes.filters * plane).enumerate();
        images.share_init(Reused::default, |tile, (image, out)| {
            spread(sizes, window, image, data, filters, out, tile, false);
        });
    }
}

/// One group of an image.
#[allow(clippy::too_many_arguments)]
fn spread<T: Term>(
    sizes: Sizes,
    window: &Window,
    image: usize,
    data: &[T],
    filters: &[T],
    out: &mut [T],
    tile: &mut Reused<T>,
    all_threads: bool,
) {
    out.fill(T::default());
    let (k, elements) = (sizes.channels, window.outputs());
    let (taps, plane) = (window.taps(), window.inputs());
    let m = sizes.filters * taps;
    if m == 0 || k == 0 || elements == 0 {
        return;
    }
    let group = image % sizes.groups;
    let filters = Matrix::new(&filters[group * k * m..][..k * m], k, m).transposed();
    let data = &data[image * k * elements..][..k * elements];
    let [.., x] = window.axes();
    // Whole rows of the data, if a row is not too much.
    let width = (TILE / m).max(NARROWEST).min(LARGEST_TILE / m).max(1);
    let width = if width > x.output {
        width / x.output * x.output
    } else {
        width
    };
    for at in (0..elements).step_by(width) {
        let len = width.min(elements - at);
        if or_refuse(try_resize(tile, m * len, T::default())).is_none() {
            return;
        }
        let part = Matrix::with_strides(&data[at..], k, len, [elements, 1]);
        T::product(filters, part, tile, all_threads);
        let planes = (&mut *out, &*tile);
        if all_threads {
            let planes = planes
                .0
                .par_chunks_mut(plane)
                .zip(planes.1.par_chunks(taps * len));
            planes.share(|(out, tile)| add(window, at, len, tile, out));
        } else {
            let planes = planes.0.chunks_mut(plane).zip(planes.1.chunks(taps * len));
            planes.for_each(|(out, tile)| add(window, at, len, tile, out));
        }
    }
    if x.stride == 1 {
        return;
    }
    let order = |row: &mut Reused<T>, out: &mut [T]| {
        if or_refuse(try_resize(row, x.input, T::default())).is_some() {
            put_in_order(x, row, out);
        }
    };
    if all_threads {
        let planes = out.par_chunks_mut(plane);
        planes.share_init(Reused::default, order);
    } else {
        order(&mut Reused::default(), out);
    }
}

/// Where in a row element `at` stands while elements are added: those of one phase, whose distance is
/// a multiple of the stride, follow each other.
fn by_phase(x: Axis, at: usize) -> usize {
    let (phase, index) = (at % x.stride, at / x.stride);
    let longer = phase.min(x.input % x.stride);
    phase * (x.input / x.stride) + longer + index
}

/// Puts rows of elements by phase in order, by way of `row`.
fn put_in_order<T: Term>(x: Axis, row: &mut [T], out: &mut [T]) {
    vectorize_mut(
        #[inline(always)]
        || {
            for out in out.chunks_exact_mut(x.input) {
                row.copy_from_slice(out);
                if x.stride == 2 {
                    let (low, high) = row.split_at(x.input.div_ceil(2));
                    let (pairs, last) = out.as_chunks_mut::<2>();
                    for ((pair, &low), &high) in pairs.iter_mut().zip(low).zip(high) {
                        *pair = [low, high];
                    }
                    if let ([last], Some(&x)) = (last, low.last()) {
                        *last = x;
                    }
                    continue;
                }
                let mut phases = &*row;
                for first in 0..x.stride.min(x.input) {
                    let (phase, rest) = phases.split_at((x.input - first).div_ceil(x.stride));
                    phases = rest;
                    for (out, &x) in out[first..].iter_mut().step_by(x.stride).zip(phase) {
                        *out = x;
                    }
                }
            }
        },
    );
}

/// Adds what `len` elements from `at` on spread to one plane of the output, by phase.
fn add<T: Term>(window: &Window, at: usize, len: usize, tile: &[T], out: &mut [T]) {
    vectorize_mut(
        #[inline(always)]
        || add_rows(window, at, len, tile, out),
    );
}

#[inline(always)]
fn add_rows<T: Term>(window: &Window, at: usize, len: usize, tile: &[T], out: &mut [T]) {
    let [z, y, x] = window.axes();
    let mut rows = tile.chunks_exact(len);
    for tz in 0..z.kernel {
        for ty in 0..y.kernel {
            for (tx, row) in (0..x.kernel).zip(&mut rows) {
                let inside = x.outputs(tx);
                let mut done = 0;
                while done < len {
                    let (line, from) = ((at + done) / x.output, (at + done) % x.output);
                    let to = x.output.min(from + len - done);
                    let part = &row[done..done + to - from];
                    done += to - from;
                    let (iz, iy) = (line / y.output, line % y.output);
                    let (Some(oz), Some(oy)) = (z.element(iz, tz), y.element(iy, ty)) else {
                        continue;
                    };
                    let (first, last) = (from.max(inside.start), to.min(inside.end));
                    let Some(ox) = x.element(first, tx).filter(|_| first < last) else {
                        continue;
                    };
                    let out = &mut out[(oz * y.input + oy) * x.input..][..x.input];
                    let part = &part[first - from..last - from];
                    for (out, &x) in out[by_phase(x, ox)..].iter_mut().zip(part) {
                        *out = out.plus(x);
                    }
                }
            }
        }
    }
}

/// As [`convolve_back`] of `f32`, whose filters may be kept packed; calls `finish` for all elements.
pub(crate) fn convolve_back_single(
    sizes: Sizes,
    window: &Window,
    data: &[f32],
    filters: Filters<'_>,
    out: &mut [f32],
    finish: Option<Finish<'_>>,
) {
    let [z, y, x] = window.axes();
    let apart = |axis: Axis| {
        axis.stride == axis.kernel
            && (axis.dilation == 1 || axis.kernel == 1)
            && axis.pad == 0
            && axis.input == axis.output * axis.kernel
    };
    let sums = sizes.channels > 0 && !out.is_empty();
    if sums && z.kernel == 1 && apart(z) && apart(y) && apart(x) {
        return spread_apart(sizes, window, data, filters, out, finish);
    }
    let Some(filters) = filters.lying.elements() else {
        return;
    };
    convolve_back(sizes, window, data, filters, out);
    if let Some(finish) = finish {
        let plane = window.inputs().max(1);
        let planes = out.par_chunks_mut(plane).enumerate();
        planes
            .with_min_len(PART.div_ceil(plane))
            .share(|(index, out)| finish.part(index * plane, out));
    }
}

/// Where the windows of elements lie side by side, each element of the output is one product.
fn spread_apart(
    sizes: Sizes,
    window: &Window,
    data: &[f32],
    filters: Filters<'_>,
    out: &mut [f32],
    finish: Option<Finish<'_>>,
) {
    let [_, y, x] = window.axes();
    let (k, elements) = (sizes.channels, window.outputs());
    let (taps, plane) = (window.taps(), window.inputs());
    let m = sizes.filters * taps;
    let matrix = |group: usize| {
        let filters = filters.lying.elements()?;
        Some(Matrix::new(&filters[group * k * m..][..k * m], k, m).transposed())
    };
    let packed = filters.packed(sizes.groups, &matrix, false);
    // Rows of the data to a job: what they spread stays in a cache, panels are filled.
    let rows = (PART * 2 / m / x.output).max(NARROWEST.div_ceil(x.output));
    let piece = (rows * y.kernel * x.input).min(plane);
    let bands = plane.div_ceil(piece);
    let jobs = (0..sizes.images() * bands).map(|_| try_room(sizes.filters));
    let Some(mut jobs) = or_refuse(try_collect_ok::<Vec<&mut [f32]>, _>(jobs)) else {
        return;
    };
    for (index, plane) in out.chunks_mut(plane).enumerate() {
        let first = index / sizes.filters * bands;
        for (job, out) in jobs[first..].iter_mut().zip(plane.chunks_mut(piece)) {
            job.push(out);
        }
    }
    let one = |tile: &mut Reused<f32>, (job, mut outs): (usize, Vec<&mut [f32]>)| {
        let (image, at) = (job / bands, job % bands * piece);
        let first = at / taps;
        let len = outs.first().map_or(0, |out| out.len()) / taps;
        let group = image % sizes.groups;
        let data = &data[image * k * elements..][..k * elements];
        let data = Matrix::with_strides(&data[first..], k, len, [elements, 1]);
        if tile.len() < m * len && or_refuse(try_resize(tile, m * len, 0.0)).is_none() {
            return;
        }
        let tile = &mut tile[..m * len];
        let how = How {
            alone: true,
            ..How::default()
        };
        let packed = packed.map(|packed| &packed[group]);
        filtered(packed, [m, k], || matrix(group), data.into(), tile, how);
        for (filter, (out, lines)) in outs
            .iter_mut()
            .zip(tile.chunks_exact(taps * len))
            .enumerate()
        {
            let kernel = [y.kernel, x.kernel];
            let width = x.output;
            crate::kernel::simd::arch().dispatch(Interleave {
                lines,
                kernel,
                width,
                out,
            });
            if let Some(finish) = finish {
                finish.part((image * sizes.filters + filter) * plane + at, out);
            }
        }
    };
    if out_of(m, k, elements * sizes.images()) <= SMALL {
        let mut tile = Reused::default();
        let jobs = jobs.into_iter().enumerate();
        jobs.for_each(|job| one(&mut tile, job));
    } else {
        jobs.into_par_iter()
            .enumerate()
            .share_init(Reused::default, |tile, job| one(tile, job));
    }
}

/// The multiplications of a product.
fn out_of(m: usize, k: usize, n: usize) -> usize {
    m.saturating_mul(k).saturating_mul(n)
}

/// Puts what stands at each tap, a line each, to its place in the output.
struct Interleave<'a> {
    lines: &'a [f32],
    kernel: [usize; 2],
    /// Elements of a row of the data.
    width: usize,
    out: &'a mut [f32],
}

impl WithSimd for Interleave<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [height, kernel] = self.kernel;
        let line = self.lines.len() / (height * kernel);
        let rows = self.out.chunks_exact_mut(self.width * kernel);
        for (row, out) in rows.enumerate() {
            let first = row % height * kernel * line + row / height * self.width;
            if kernel == 2 {
                let low = &self.lines[first..][..self.width];
                let high = &self.lines[first + line..][..self.width];
                let pairs = out.as_chunks_mut::<2>().0.iter_mut();
                for ((out, &low), &high) in pairs.zip(low).zip(high) {
                    *out = [low, high];
                }
                continue;
            }
            for tap in 0..kernel {
                let line = &self.lines[first + tap * line..][..self.width];
                for (out, &x) in out[tap..].iter_mut().step_by(kernel).zip(line) {
                    *out = x;
                }
            }
        }
    }
}
