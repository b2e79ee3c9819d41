//! Convolutions without a product of matrices, for groups of few channels or filters: each tap of a
//! filter is applied to vectors of windows, of several rows at a time.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::Sizes;
use crate::kernel::phases::{Layout, VECTOR};
use crate::kernel::window::Window;
use crate::op::Finish;

/// Rows of windows that are computed at a time, so that an element that is loaded meets all taps of
/// its column.
const BLOCK: usize = 8;

/// Taps of a column, at most.
const COLUMN: usize = 7;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 19;

/// Multiplications of a part of larger work, at least.
const PART: usize = 1 << 18;

/// Taps in a column whose elements are as far from each other as rows of windows.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// Where the element at the first tap is.
    offset: usize,
    /// The index of its weight, and from there to the next.
    weight: [usize; 2],
}

/// How filters are applied tap by tap.
#[derive(Debug)]
pub(crate) struct Direct {
    sizes: Sizes,
    window: Window,
    layout: Layout,
    /// The columns of taps; those of more taps first.
    columns: Vec<Column>,
    /// How many are of more taps.
    longer: usize,
    /// The taps of longer and of shorter columns.
    taps: [usize; 2],
    /// Whether the windows of a band are computed as one line, with those that would begin in one
    /// row and end in the next.
    flat: bool,
}

/// What a thread computes in.
#[derive(Debug, Default)]
struct Scratch {
    bands: Vec<f32>,
    line: Vec<f32>,
    /// Whether what is padded of whole planes was written.
    padded: bool,
}

/// A part of the rows of the output planes of an image's group.
struct Job<'a> {
    image: usize,
    /// The plane along the outermost axis.
    z: usize,
    /// The first row.
    row: usize,
    outs: SmallVec<[&'a mut [f32]; 1]>,
}

/// The elements of a vector.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

impl Direct {
    /// How to apply filters of these sizes; `None` where this would not be fast.
    pub(crate) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [z, y, x] = window.axes();
        let layout = Layout::new(window, BLOCK, sizes.channels * z.kernel)?;
        let lanes = Arch::new().dispatch(Lanes);
        let by_rows = y.output.div_ceil(BLOCK) * x.output.div_ceil(lanes);
        let in_line = (layout.band() * layout.pitch()).div_ceil(lanes * BLOCK)
            * y.output.div_ceil(layout.band());
        // Rows of windows share what is loaded, half a load to a tap.
        let flat = x.output < lanes || 3 * in_line < 2 * by_rows;
        let taps = [y.kernel.div_ceil(y.stride), y.kernel / y.stride];
        let columns = match (taps, y.dilation) {
            ([3 | 5 | 7, n], 1) if !flat && n == taps[0] => y.stride,
            ([2..=4, n], 1) if !flat && n + 1 == taps[0] => y.stride,
            _ => y.kernel,
        };
        let taps = if columns == y.kernel { [1, 1] } else { taps };
        let mut all = Vec::with_capacity(columns * x.kernel);
        for (ty, tx) in (0..columns).flat_map(|ty| (0..x.kernel).map(move |tx| (ty, tx))) {
            all.push(Column {
                offset: layout.offset(ty, tx),
                weight: [ty * x.kernel + tx, columns * x.kernel],
            });
        }
        let longer = if taps[0] == taps[1] {
            all.len()
        } else {
            y.kernel % y.stride * x.kernel
        };
        Some(Self {
            sizes,
            window: *window,
            layout,
            columns: all,
            longer,
            taps,
            flat,
        })
    }

    /// Convolves `data` with `filters`, and finishes what is ready.
    pub(crate) fn run(
        &self,
        data: &[f32],
        filters: &[f32],
        out: &mut [f32],
        finish: Option<Finish<'_>>,
    ) {
        let [z, y, x] = self.window.axes();
        let (m, plane) = (self.sizes.filters, y.output * x.output);
        let images = self.sizes.images();
        let taps = self.sizes.channels * self.window.taps();
        let work = out.len().saturating_mul(taps);
        // Few planes are cut into bands.
        let mut rows = y.output;
        if work > SMALL && images * z.output < BLOCK {
            rows = rows.div_ceil(BLOCK).next_multiple_of(BLOCK).min(rows);
        }
        let parts = y.output.div_ceil(rows);
        let mut jobs: Vec<Job<'_>> = Vec::with_capacity(images * z.output * parts);
        for (image, planes) in out.chunks_mut(m * z.output * plane).enumerate() {
            let first = jobs.len();
            for (index, plane) in planes.chunks_mut(plane).enumerate() {
                for (part, out) in plane.chunks_mut(rows * x.output).enumerate() {
                    let (z, row) = (index % z.output, part * rows);
                    if index < self.window.axes()[0].output {
                        jobs.push(Job {
                            image,
                            z,
                            row,
                            outs: SmallVec::new(),
                        });
                    }
                    jobs[first + z * parts + part].outs.push(out);
                }
            }
        }
        let one = |scratch: &mut Scratch, mut job: Job<'_>| {
            self.job(data, filters, &mut job, scratch);
            if let Some(finish) = finish {
                for (filter, out) in job.outs.iter_mut().enumerate() {
                    let row = ((job.image * m + filter) * z.output + job.z) * y.output + job.row;
                    finish(row * x.output, out);
                }
            }
        };
        if work <= SMALL {
            let mut scratch = Scratch::default();
            jobs.into_iter().for_each(|job| one(&mut scratch, job));
        } else {
            let least = (PART / (m * rows * x.output * taps).max(1)).max(1);
            jobs.into_par_iter()
                .with_min_len(least)
                .for_each_init(Scratch::default, one);
        }
    }

    /// Elements that are read behind those of the last plane, whatever they are.
    fn slack(&self) -> usize {
        (BLOCK + COLUMN - 2) * self.layout.pitch().max(VECTOR) + (BLOCK + 2) * VECTOR
    }

    fn job(&self, data: &[f32], filters: &[f32], job: &mut Job<'_>, scratch: &mut Scratch) {
        let Sizes {
            groups,
            channels,
            filters: m,
            ..
        } = self.sizes;
        let [z, y, x] = self.window.axes();
        let (inputs, taps) = (self.window.inputs(), self.window.taps());
        let mut planes: SmallVec<[(&[f32], usize); 4]> = SmallVec::new();
        for channel in 0..channels {
            let data = &data[(job.image * channels + channel) * inputs..][..inputs];
            for tz in z.taps(job.z) {
                if let Some(at) = z.element(job.z, tz) {
                    let plane = &data[at * y.input * x.input..][..y.input * x.input];
                    planes.push((plane, channel * taps + tz * y.kernel * x.kernel));
                }
            }
        }
        let group = job.image % groups;
        let rows = job.outs.first().map_or(0, |out| out.len() / x.output);
        let size = planes.len() * self.layout.len() + self.slack();
        if scratch.bands.len() < size + VECTOR {
            scratch.bands.resize(size + VECTOR, 0.0);
            scratch.padded = false;
        }
        // Rows begin where a line of the cache does.
        let skip = scratch.bands.as_ptr().align_offset(64).min(VECTOR);
        let whole = z.kernel == 1 && rows == y.output && self.layout.band() >= rows;
        let pad = !(whole && scratch.padded);
        scratch.padded = whole;
        let work = Work {
            direct: self,
            planes: &planes,
            filters: &filters[group * m * channels * taps..][..m * channels * taps],
            len: self.layout.len(),
            row: job.row,
            rows,
            pad: pad.then_some(0.0),
            bands: &mut scratch.bands[skip..][..size],
            line: &mut scratch.line,
            outs: &mut job.outs,
        };
        let arch = Arch::new();
        match self.taps {
            [3, 3] => arch.dispatch(Columns::<3, 0>(work)),
            [5, 5] => arch.dispatch(Columns::<5, 0>(work)),
            [7, 7] => arch.dispatch(Columns::<7, 0>(work)),
            [2, 1] => arch.dispatch(Columns::<2, 1>(work)),
            [3, 2] => arch.dispatch(Columns::<3, 2>(work)),
            [4, 3] => arch.dispatch(Columns::<4, 3>(work)),
            _ => arch.dispatch(Columns::<1, 0>(work)),
        }
    }
}

/// What a job reads and writes.
struct Work<'a, 'b> {
    direct: &'a Direct,
    /// Planes of the data, and where their weights begin in a filter.
    planes: &'a [(&'a [f32], usize)],
    /// The filters of the group.
    filters: &'a [f32],
    /// The elements of a plane's band.
    len: usize,
    row: usize,
    rows: usize,
    pad: Option<f32>,
    bands: &'a mut [f32],
    line: &'a mut Vec<f32>,
    outs: &'a mut [&'b mut [f32]],
}

/// Work with `N` taps in a longer column, and `M` in a shorter one, if there are any.
struct Columns<'a, 'b, const N: usize, const M: usize>(Work<'a, 'b>);

#[inline(always)]
fn load<S: Simd>(_: S, line: &[f32], at: usize) -> S::f32s {
    S::as_simd_f32s(&line[at..at.wrapping_add(S::F32_LANES)]).0[0]
}

#[inline(always)]
fn store<S: Simd>(_: S, line: &mut [f32], at: usize, x: S::f32s) {
    S::as_mut_simd_f32s(&mut line[at..at.wrapping_add(S::F32_LANES)]).0[0] = x;
}

/// A buffer from each of some rows on, all equally long, so that one check holds for all.
type Rows<'a> = [&'a [f32]; BLOCK + COLUMN - 1];

#[inline(always)]
fn rows(band: &[f32], pitch: usize) -> Rows<'_> {
    let len = band.len() - (BLOCK + COLUMN - 2) * pitch;
    let mut rows = [band; BLOCK + COLUMN - 1];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = &band[i * pitch..][..len];
    }
    rows
}

/// Adds the products of a column's `N` taps to vectors of `B` rows.
#[inline(always)]
fn column<S: Simd, const N: usize, const B: usize>(
    simd: S,
    rows: &Rows<'_>,
    at: usize,
    weights: &[f32],
    column: &Column,
    sums: &mut [S::f32s; B],
) {
    let at = at.wrapping_add(column.offset);
    let [first, step] = column.weight;
    let mut taps = [simd.splat_f32s(0.0); N];
    for (i, tap) in taps.iter_mut().enumerate() {
        *tap = simd.splat_f32s(weights[first.wrapping_add(i.wrapping_mul(step))]);
    }
    // Loops that are unrolled: iterators would not be.
    for row in 0..const { B + N - 1 } {
        let x = load(simd, rows[row], at);
        for i in 0..N {
            if row >= i && row - i < B {
                sums[row - i] = simd.mul_add_f32s(taps[i], x, sums[row - i]);
            }
        }
    }
}

impl<const N: usize, const M: usize> Columns<'_, '_, N, M> {
    /// The sums of `B` vectors of windows for one filter.
    #[inline(always)]
    fn sums<S: Simd, const B: usize>(
        &self,
        simd: S,
        rows: &Rows<'_>,
        at: usize,
        filter: usize,
    ) -> [S::f32s; B] {
        let Work {
            direct,
            planes,
            filters,
            len,
            ..
        } = &self.0;
        let mut sums = [simd.splat_f32s(0.0); B];
        let (longer, shorter) = direct.columns.split_at(direct.longer);
        for (plane, (_, weights)) in planes.iter().enumerate() {
            let weights = &filters[filter.wrapping_add(*weights)..];
            let at = at.wrapping_add(plane.wrapping_mul(*len));
            for taps in longer {
                column::<S, N, B>(simd, rows, at, weights, taps, &mut sums);
            }
            if M > 0 {
                for taps in shorter {
                    column::<S, M, B>(simd, rows, at, weights, taps, &mut sums);
                }
            }
        }
        sums
    }

    /// Computes a band row by row of vectors.
    #[inline(always)]
    fn by_rows<S: Simd>(&self, simd: S, filter: usize, out: &mut [f32]) {
        let [.., x] = self.0.direct.window.axes();
        let (width, pitch, lanes) = (x.output, self.0.direct.layout.pitch(), S::F32_LANES);
        let rows = rows(self.0.bands, pitch);
        for (block, out) in out.chunks_mut(BLOCK * width).enumerate() {
            let start = block * BLOCK * pitch;
            let mut at = 0;
            while at < width {
                // The last vector goes back to be full.
                let from = at.min(width - lanes);
                let sums = self.sums::<S, BLOCK>(simd, &rows, start + from, filter);
                let len = out.len();
                for i in 0..BLOCK {
                    if i * width < len {
                        store(simd, out, i * width + from, sums[i]);
                    }
                }
                at += lanes;
            }
        }
    }

    /// Computes a band as one line.
    #[inline(always)]
    fn in_line<S: Simd>(&self, simd: S, filter: usize, line: &mut [f32]) {
        let rows = rows(self.0.bands, S::F32_LANES);
        let mut at = 0;
        while at < line.len() {
            let left = (line.len() - at) / S::F32_LANES;
            macro_rules! part {
                ($n:literal) => {{
                    let sums = self.sums::<S, $n>(simd, &rows, at, filter);
                    for i in 0..$n {
                        store(simd, line, at + i * S::F32_LANES, sums[i]);
                    }
                    at += $n * S::F32_LANES;
                }};
            }
            match left {
                1 => part!(1),
                2 => part!(2),
                3 => part!(3),
                4 => part!(4),
                5 => part!(5),
                6 | 7 => part!(6),
                _ => part!(8),
            }
        }
    }
}

impl<const N: usize, const M: usize> WithSimd for Columns<'_, '_, N, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Direct {
            window,
            layout,
            sizes,
            flat,
            ..
        } = self.0.direct;
        let width = window.axes()[2].output;
        let taps = sizes.channels * window.taps();
        let outs = std::mem::take(&mut self.0.outs);
        let mut line = std::mem::take(self.0.line);
        for first in (0..self.0.rows).step_by(layout.band()) {
            let count = layout.band().min(self.0.rows - first);
            let bands = self.0.bands.chunks_exact_mut(self.0.len);
            for ((plane, _), band) in self.0.planes.iter().zip(bands) {
                layout.fill(plane, self.0.row + first, count, self.0.pad, band);
            }
            for (filter, out) in outs.iter_mut().enumerate() {
                let out = &mut out[first * width..][..count * width];
                if N > 1 || !flat {
                    self.by_rows(simd, filter * taps, out);
                    continue;
                }
                let len = (count - 1) * layout.pitch() + width;
                let len = len.next_multiple_of(S::F32_LANES);
                if line.len() < len {
                    line.resize(len, 0.0);
                }
                self.in_line(simd, filter * taps, &mut line[..len]);
                let rows = line.chunks(layout.pitch());
                for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                    out.copy_from_slice(&row[..width]);
                }
            }
        }
        *self.0.line = line;
    }
}
