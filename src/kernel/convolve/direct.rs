//! Convolutions without a product of matrices, for groups of few channels or filters: each tap of a
//! filter is applied to vectors of windows, of several rows at a time.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::{Sizes, load, store};
use crate::kernel::gemm::{Lanes, dispatch, lanes, registers};
use crate::kernel::phases::{Layout, VECTOR};
use crate::kernel::scratch::{Reused, or_refuse, reused_room, try_resize, try_room};
use crate::kernel::simd::arch;
use crate::kernel::window::Window;
use crate::limits::Share;
use crate::op::Finish;

/// Rows of windows that are computed at a time, so that an element that is loaded meets all taps of
/// its column.
const BLOCK: usize = 8;

/// Elements of a band of all planes with the fewest rows of windows, at most.
const LARGEST: usize = 1 << 17;

/// Taps of a column, at most.
const COLUMN: usize = 7;

/// Filters of a group below which a product of matrices would be thin.
const FEW: usize = 8;

/// Channels of a group, with [`FEW`] filters, from which products are better all the same.
const DEEP: usize = 32;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 19;

/// The parts that large work is cut into at least.
const PARTS: usize = 16;

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
    columns: Reused<Column>,
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
    bands: Reused<f32>,
    line: Reused<f32>,
    /// Whether what is padded of whole planes was written.
    padded: bool,
}

/// A part of the rows of some output planes of an image's group.
struct Job<'a> {
    image: usize,
    /// The first filter, within the group.
    filter: usize,
    /// The plane along the outermost axis.
    z: usize,
    /// The first row.
    row: usize,
    outs: SmallVec<[&'a mut [f32]; 1]>,
}

impl Direct {
    /// How to apply filters of these sizes; `None` where this would not be fast.
    pub(crate) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [z, y, x] = window.axes();
        let layout = Layout::new(window, BLOCK, sizes.channels * z.kernel, LARGEST)?;
        let lanes = lanes(arch());
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
        let mut all = or_refuse(reused_room(columns * x.kernel))?;
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

    /// Whether this is faster than a product of matrices: where elements that are loaded meet several
    /// taps, or the product would be thin.
    pub(crate) fn pays(&self) -> bool {
        let (m, channels) = (self.sizes.filters, self.sizes.channels);
        let width = self.window.axes()[2].output;
        match self.taps {
            _ if m < FEW => channels < DEEP,
            [1, _] => m <= 2 * FEW && channels < DEEP && !self.window.is_pointwise(),
            // One filter at a time meets what is loaded, and fewer taps of it where rows are strided.
            [longer, shorter] if longer != shorter && registers(arch()) < 32 => m <= 2 * FEW,
            _ if channels <= 2 * FEW => true,
            // Columns of strided rows ask for more registers than there are.
            [longer, shorter] if longer != shorter => m <= 2 * FEW,
            _ if width < 3 * VECTOR && !width.is_multiple_of(VECTOR) => m <= 4 * FEW,
            _ => m <= 8 * FEW,
        }
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
        // The work on few images is cut into bands, and by filters.
        let (mut rows, mut some) = (y.output, m);
        if work > SMALL && images * z.output < PARTS {
            rows = rows.div_ceil(PARTS).next_multiple_of(BLOCK).min(rows);
            let parts = PARTS.div_ceil(images * z.output * y.output.div_ceil(rows));
            some = m.div_ceil(parts).next_multiple_of(BLOCK).min(m);
        }
        let (parts, bands) = (m.div_ceil(some), y.output.div_ceil(rows));
        let Some(mut jobs) = or_refuse(try_room(images * parts * z.output * bands)) else {
            return;
        };
        for image in 0..images {
            for filter in (0..m).step_by(some) {
                for z in 0..z.output {
                    jobs.extend((0..y.output).step_by(rows).map(|row| Job {
                        image,
                        filter,
                        z,
                        row,
                        outs: SmallVec::new(),
                    }));
                }
            }
        }
        for (index, plane) in out.chunks_mut(plane).enumerate() {
            let (image, filter, z_of) =
                (index / z.output / m, index / z.output % m, index % z.output);
            let first = ((image * parts + filter / some) * z.output + z_of) * bands;
            for (job, out) in jobs[first..]
                .iter_mut()
                .zip(plane.chunks_mut(rows * x.output))
            {
                job.outs.push(out);
            }
        }
        let one = |scratch: &mut Scratch, mut job: Job<'_>| {
            self.job(data, filters, &mut job, scratch);
            if let Some(finish) = finish {
                for (out, filter) in job.outs.iter_mut().zip(job.filter..) {
                    let row = ((job.image * m + filter) * z.output + job.z) * y.output + job.row;
                    finish.part(row * x.output, out);
                }
            }
        };
        if work <= SMALL {
            let mut scratch = Scratch::default();
            jobs.into_iter().for_each(|job| one(&mut scratch, job));
        } else {
            let least = PART / (some * rows * x.output * taps).max(1);
            jobs.into_par_iter()
                .with_min_len(least.max(1))
                .share_init(Scratch::default, one);
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
            if or_refuse(try_resize(&mut scratch.bands, size + VECTOR, 0.0)).is_none() {
                return;
            }
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
            filters: &filters[(group * m + job.filter) * channels * taps..],
            len: self.layout.len(),
            row: job.row,
            rows,
            pad: pad.then_some(0.0),
            bands: &mut scratch.bands[skip..][..size],
            line: &mut scratch.line,
            outs: &mut job.outs,
        };
        let arch = arch();
        match self.taps {
            [3, 3] => dispatch(arch, Columns::<3, 0>(work)),
            [5, 5] => dispatch(arch, Columns::<5, 0>(work)),
            [7, 7] => dispatch(arch, Columns::<7, 0>(work)),
            [2, 1] => dispatch(arch, Columns::<2, 1>(work)),
            [3, 2] => dispatch(arch, Columns::<3, 2>(work)),
            [4, 3] => dispatch(arch, Columns::<4, 3>(work)),
            _ => dispatch(arch, Columns::<1, 0>(work)),
        }
    }
}

/// What a job reads and writes.
struct Work<'a, 'b> {
    direct: &'a Direct,
    /// Planes of the data, and where their weights begin in a filter.
    planes: &'a [(&'a [f32], usize)],
    /// The filters, from the first of the job on.
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

/// Sums of vectors of `B` rows for `F` filters.
type Sums<S, const B: usize, const F: usize> = [[<S as Simd>::f32s; B]; F];

/// Adds the products of a column's `N` taps.
#[allow(clippy::needless_range_loop)] // unrolled, so that sums stay in registers
#[inline(always)]
fn column<S: Simd, const N: usize, const B: usize, const F: usize>(
    simd: S,
    rows: &Rows<'_>,
    at: usize,
    weights: &[&[f32]; F],
    column: &Column,
    sums: &mut Sums<S, B, F>,
) {
    let at = at.wrapping_add(column.offset);
    let [first, step] = column.weight;
    let mut taps = [[simd.splat_f32s(0.0); N]; F];
    for (taps, weights) in taps.iter_mut().zip(weights) {
        for (i, tap) in taps.iter_mut().enumerate() {
            *tap = simd.splat_f32s(weights[first.wrapping_add(i.wrapping_mul(step))]);
        }
    }
    for row in 0..const { B + N - 1 } {
        let x = load(simd, rows[row], at);
        for i in 0..N {
            if row >= i && row - i < B {
                for f in 0..F {
                    sums[f][row - i] =
                        <f32 as Lanes>::mul_add(simd, taps[f][i], x, sums[f][row - i]);
                }
            }
        }
    }
}

impl<const N: usize, const M: usize> Columns<'_, '_, N, M> {
    /// The sums of `B` vectors of windows for `F` filters.
    #[inline(always)]
    fn sums<S: Simd, const B: usize, const F: usize>(
        &self,
        simd: S,
        rows: &Rows<'_>,
        at: usize,
        filter: usize,
    ) -> Sums<S, B, F> {
        let Work {
            direct,
            planes,
            filters,
            len,
            ..
        } = &self.0;
        let mut sums = [[simd.splat_f32s(0.0); B]; F];
        let size = direct.sizes.channels * direct.window.taps();
        let (longer, shorter) = direct.columns.split_at(direct.longer);
        for (plane, (_, weights)) in planes.iter().enumerate() {
            let mut of = [*filters; F];
            for (f, of) in of.iter_mut().enumerate() {
                *of = &filters[(filter + f) * size + weights..];
            }
            let at = at.wrapping_add(plane.wrapping_mul(*len));
            for taps in longer {
                column::<S, N, B, F>(simd, rows, at, &of, taps, &mut sums);
            }
            if M > 0 {
                for taps in shorter {
                    column::<S, M, B, F>(simd, rows, at, &of, taps, &mut sums);
                }
            }
        }
        sums
    }

    /// Computes a band row by row of vectors, for filters from one on.
    #[allow(clippy::needless_range_loop)] // unrolled, so that sums stay in registers
    #[inline(always)]
    fn by_rows<S: Simd, const F: usize>(&self, simd: S, filter: usize, outs: &mut [&mut [f32]]) {
        let [.., x] = self.0.direct.window.axes();
        let (width, pitch, lanes) = (x.output, self.0.direct.layout.pitch(), S::F32_LANES);
        let rows = rows(self.0.bands, pitch);
        let count = outs[0].len() / width;
        for y in (0..count).step_by(BLOCK) {
            let mut at = 0;
            while at < width {
                // The last vector goes back to be full.
                let from = at.min(width - lanes);
                let sums = self.sums::<S, BLOCK, F>(simd, &rows, y * pitch + from, filter);
                for f in 0..F {
                    for i in 0..BLOCK {
                        if y + i < count {
                            store(simd, outs[f], (y + i) * width + from, sums[f][i]);
                        }
                    }
                }
                at += lanes;
            }
        }
    }

    /// Computes a band as one line for filters from one on, whose lines follow each other.
    #[inline(always)]
    fn in_line<S: Simd, const F: usize>(&self, simd: S, filter: usize, lines: &mut [f32]) {
        let rows = rows(self.0.bands, S::F32_LANES);
        let len = lines.len() / F;
        let mut at = 0;
        while at < len {
            macro_rules! part {
                ($n:literal) => {{
                    let sums = self.sums::<S, $n, F>(simd, &rows, at, filter);
                    for f in 0..F {
                        for i in 0..$n {
                            let to = f * len + at + i * S::F32_LANES;
                            store(simd, lines, to, sums[f][i]);
                        }
                    }
                    at += $n * S::F32_LANES;
                }};
            }
            match (len - at) / S::F32_LANES {
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

    /// Computes `count` rows of a band from row `first` of the outputs on, for `F` filters.
    #[inline(always)]
    fn band<S: Simd, const F: usize>(
        &self,
        simd: S,
        filter: usize,
        [first, count]: [usize; 2],
        outs: &mut [&mut [f32]],
        lines: &mut Vec<f32>,
    ) {
        let Direct {
            window,
            layout,
            flat,
            ..
        } = self.0.direct;
        let width = window.axes()[2].output;
        let mut parts: SmallVec<[&mut [f32]; 2]> = outs
            .iter_mut()
            .map(|out| &mut out[first * width..][..count * width])
            .collect();
        // No loops for a line are compiled but those of columns of one tap.
        if const { N > 1 } || !flat {
            return self.by_rows::<S, F>(simd, filter, &mut parts);
        }
        let len = (count - 1) * layout.pitch() + width;
        let len = len.next_multiple_of(S::F32_LANES);
        if lines.len() < F * len && or_refuse(try_resize(lines, F * len, 0.0)).is_none() {
            return;
        }
        self.in_line::<S, F>(simd, filter, &mut lines[..F * len]);
        for (out, line) in parts.iter_mut().zip(lines.chunks(len)) {
            let rows = line.chunks(layout.pitch());
            for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                out.copy_from_slice(&row[..width]);
            }
        }
    }
}

impl<const N: usize, const M: usize> WithSimd for Columns<'_, '_, N, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let layout = &self.0.direct.layout;
        let outs = std::mem::take(&mut self.0.outs);
        let mut lines = std::mem::take(self.0.line);
        for first in (0..self.0.rows).step_by(layout.band()) {
            let count = layout.band().min(self.0.rows - first);
            let bands = self.0.bands.chunks_exact_mut(self.0.len);
            for ((plane, _), band) in self.0.planes.iter().zip(bands) {
                layout.fill(plane, self.0.row + first, count, self.0.pad, band);
            }
            let mut filter = 0;
            while filter < outs.len() {
                let rest = &mut outs[filter..];
                // What is loaded meets two filters if there are registers for their sums.
                if const { S::REGISTER_COUNT >= 32 } && rest.len() > 1 {
                    let two = &mut rest[..2];
                    self.band::<S, 2>(simd, filter, [first, count], two, &mut lines);
                    filter += 2;
                } else {
                    let one = &mut rest[..1];
                    self.band::<S, 1>(simd, filter, [first, count], one, &mut lines);
                    filter += 1;
                }
            }
        }
        *self.0.line = lines;
    }
}
