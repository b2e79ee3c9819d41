//! Convolutions of each channel by a filter of its own, with a lane of a vector to each channel:
//! windows of small planes and any stride fill vectors as well as those of long rows.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::Sizes;
use crate::kernel::across::{LANES, STEP, columns, lines};
use crate::kernel::gemm::{Lanes, dispatch, lanes};
use crate::kernel::scratch::{Reused, or_refuse, reused_all, try_extend, try_resize};
use crate::kernel::simd::arch;
use crate::kernel::window::{Axis, Window};
use crate::limits::Share;
use crate::op::Finish;

/// Vectors of a band's input, so many that they stay in a near cache.
const NEAR: usize = 1 << 10;

/// Elements of some channels' output that stay in the cache until they are finished.
const WHOLE: usize = 1 << 16;

/// Rows up to which a lane to each channel is faster than vectors along rows, at a stride of one.
const WIDEST: usize = 48;

/// What moving an element costs, in multiplications.
const MOVING: usize = 12;

/// Multiplications below which work stays on the calling thread: some thirty microseconds.
const SMALL: usize = 1 << 19;

/// How each channel is convolved by its filter.
#[derive(Debug)]
pub(crate) struct Depthwise {
    /// Channels of an image, and how many images there are.
    channels: usize,
    batch: usize,
    y: Axis,
    x: Axis,
    /// From one row of a band's input to the next, in vectors.
    pitch: usize,
    /// The rows of windows of a band.
    band: usize,
    /// Where the elements of a band's input go.
    places: Reused<usize>,
}

/// Rows of the output planes of some channels.
struct Job<'a> {
    image: usize,
    channel: usize,
    /// How many channels, at most as many as a vector has lanes.
    count: usize,
    rows: Range<usize>,
    /// Whole planes one after the other, or the rows of each.
    outs: SmallVec<[&'a mut [f32]; 1]>,
}

/// The axes of planes that are convolved by a filter each, in square windows without gaps that slide as far along
/// both axes; `None` of other convolutions.
pub(super) fn own_filters(sizes: Sizes, window: &Window) -> Option<[Axis; 2]> {
    let [z, y, x] = window.axes();
    let flat = z.input == 1 && z.kernel == 1 && z.output == 1 && z.pad == 0;
    let same = y.kernel == x.kernel && y.stride == x.stride;
    let dense = y.dilation == 1 && x.dilation == 1;
    let alone = sizes.channels == 1 && sizes.filters == 1;
    (flat && same && dense && alone).then_some([y, x])
}

/// The lanes of a vector of this machine.
fn vector() -> usize {
    lanes(arch()).min(LANES)
}

impl Depthwise {
    /// `None` where channels have several filters or filters several channels, and for windows that
    /// this is not made for.
    pub(crate) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [y, x] = own_filters(sizes, window)?;
        let fits = matches!((y.kernel, y.stride), (3 | 5, 1 | 2) | (7, 1));
        if !fits || x.input < STEP || x.output < STEP {
            return None;
        }
        let under = (x.output - 1) * x.stride + x.kernel;
        let pitch = under.max(x.input.checked_add(x.pad)?);
        if pitch > NEAR {
            return None;
        }
        let rows = (NEAR / pitch).saturating_sub(y.kernel) / y.stride + 1;
        let bands = y.output.div_ceil(rows.min(y.output));
        let band = y.output.div_ceil(bands);
        let lines = (band - 1) * y.stride + y.kernel;
        let places = (0..lines * pitch)
            .step_by(pitch)
            .flat_map(|line| (0..x.input).map(move |i| line + x.pad + i));
        Some(Self {
            channels: sizes.groups,
            batch: sizes.batch,
            y,
            x,
            pitch,
            band,
            places: or_refuse(reused_all(places))?,
        })
    }

    /// Whether this is faster than vectors along rows.
    pub(crate) fn pays(&self) -> bool {
        self.x.stride > 1 || self.x.input <= WIDEST
    }

    /// Convolves `data` with `filters`, and finishes what is ready.
    pub(crate) fn run(
        &self,
        data: &[f32],
        filters: &[f32],
        out: &mut [f32],
        finish: Option<Finish<'_>>,
    ) {
        let (lanes, plane) = (vector(), self.y.output * self.x.output);
        let groups = self.channels.div_ceil(lanes);
        let work = (self.y.kernel * self.x.kernel + MOVING).saturating_mul(out.len());
        let alone = work <= SMALL || groups * self.batch >= 2 * rayon::current_num_threads();
        let whole = plane * lanes <= WHOLE && alone;
        let rows = if whole { self.y.output } else { self.band };
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for (image, out) in out.chunks_mut(self.channels * plane).enumerate() {
            for (group, out) in out.chunks_mut(lanes * plane).enumerate() {
                let first = jobs.len();
                let count = out.len() / plane;
                let new = (0..self.y.output).step_by(rows).map(|row| Job {
                    image,
                    channel: group * lanes,
                    count,
                    rows: row..(row + rows).min(self.y.output),
                    outs: SmallVec::new(),
                });
                if or_refuse(try_extend(&mut jobs, new)).is_none() {
                    return;
                }
                if whole {
                    jobs[first].outs.push(out);
                    continue;
                }
                for plane in out.chunks_mut(plane) {
                    let parts = plane.chunks_mut(rows * self.x.output);
                    for (job, part) in jobs[first..].iter_mut().zip(parts) {
                        job.outs.push(part);
                    }
                }
            }
        }
        let one = |scratch: &mut Reused<f32>, mut job: Job<'_>| {
            self.job(data, filters, &mut job, scratch);
            let Some(finish) = finish else { return };
            for (out, channel) in job.outs.iter_mut().zip(job.channel..) {
                let plane = job.image * self.channels + channel;
                finish.part(
                    (plane * self.y.output + job.rows.start) * self.x.output,
                    out,
                );
            }
        };
        if work <= SMALL {
            let mut scratch = Reused::default();
            jobs.into_iter().for_each(|job| one(&mut scratch, job));
        } else {
            jobs.into_par_iter().share_init(Reused::default, one);
        }
    }

    /// Vectors of a band's input.
    fn inputs(&self) -> usize {
        self.pitch * ((self.band - 1) * self.y.stride + self.y.kernel)
    }

    fn job(&self, data: &[f32], filters: &[f32], job: &mut Job<'_>, scratch: &mut Vec<f32>) {
        let taps = self.y.kernel * self.x.kernel;
        let inputs = self.y.input * self.x.input;
        let vectors = taps + self.inputs() + self.band * self.x.output;
        let size = (vectors + 1) * LANES;
        if scratch.len() < size && or_refuse(try_resize(scratch, size, 0.0)).is_none() {
            return;
        }
        let skip = scratch.as_ptr().align_offset(64).min(LANES);
        let channel = job.image * self.channels + job.channel;
        let work = Work {
            depthwise: self,
            data: &data[channel * inputs..][..job.count * inputs],
            filters: &filters[job.channel * taps..][..job.count * taps],
            count: job.count,
            rows: job.rows.clone(),
            scratch: &mut scratch[skip..],
            outs: &mut job.outs,
        };
        let arch = arch();
        match (self.y.kernel, self.y.stride) {
            (3, 1) => dispatch(arch, Windows::<3, 1>(work)),
            (3, _) => dispatch(arch, Windows::<3, 2>(work)),
            (5, 1) => dispatch(arch, Windows::<5, 1>(work)),
            (5, _) => dispatch(arch, Windows::<5, 2>(work)),
            _ => dispatch(arch, Windows::<7, 1>(work)),
        }
    }
}

/// What a job reads and writes.
struct Work<'a, 'b> {
    depthwise: &'a Depthwise,
    /// The planes of its channels.
    data: &'a [f32],
    /// Their filters.
    filters: &'a [f32],
    count: usize,
    rows: Range<usize>,
    scratch: &'a mut [f32],
    outs: &'a mut [&'b mut [f32]],
}

/// Windows of `K` by `K` elements, `N` apart.
struct Windows<'a, 'b, const K: usize, const N: usize>(Work<'a, 'b>);

/// The elements at a place of a line.
#[inline(always)]
fn four(line: &[f32], at: usize) -> [f32; STEP] {
    let rest = line.get(at..).unwrap_or(&[]);
    rest.first_chunk().copied().unwrap_or([0.0; STEP])
}

/// Hands the elements of `lines`, which are equally long, to `to` as vectors, four at a time, with
/// where they are from. There are four elements at least; some at the end may come twice.
#[allow(clippy::needless_range_loop)] // unrolled, so that lanes stay apart
#[inline(always)]
fn turn<S: Simd>(simd: S, lines: &[&[f32]; LANES], mut to: impl FnMut(usize, [S::f32s; STEP])) {
    let len = lines[0].len();
    let mut fours: [&[[f32; STEP]]; LANES] = [&[]; LANES];
    for lane in 0..LANES {
        fours[lane] = &lines[lane].as_chunks().0[..len / STEP];
    }
    for i in 0..len / STEP {
        let column = columns(
            simd,
            #[inline(always)]
            |lane| fours[lane][i],
        );
        to(i * STEP, column);
    }
    if !len.is_multiple_of(STEP) {
        let from = len - STEP;
        let column = columns(
            simd,
            #[inline(always)]
            |lane| four(lines[lane], from),
        );
        to(from, column);
    }
}

/// A part of each of `count` lines of `size` elements; the last line stands for further ones.
#[inline(always)]
fn parts(data: &[f32], count: usize, size: usize, part: Range<usize>) -> [&[f32]; LANES] {
    let mut all: [&[f32]; LANES] = [&[]; LANES];
    for (lane, all) in all.iter_mut().enumerate() {
        *all = &data[lane.min(count - 1) * size..][part.clone()];
    }
    all
}

impl<const K: usize, const N: usize> Windows<'_, '_, K, N> {
    /// The sums of `T` windows of a row that follow each other, whose first element at tap
    /// `taps.start` is at `at`.
    #[allow(clippy::needless_range_loop)] // unrolled, so that sums stay in registers
    #[inline(always)]
    fn sums<S: Simd, const T: usize>(
        &self,
        simd: S,
        input: &[S::f32s],
        weights: &[S::f32s],
        taps: Range<usize>,
        at: usize,
    ) -> [S::f32s; T] {
        let zero = simd.splat_f32s(0.0);
        let mut sums = [zero; T];
        let mut at = at;
        for ty in taps {
            let line = &input[at..][..const { (T - 1) * N + K }];
            let weights = &weights[ty.wrapping_mul(K)..][..K];
            let mut own = [zero; K];
            own.copy_from_slice(weights);
            for tx in 0..K {
                for t in 0..T {
                    sums[t] = <f32 as Lanes>::mul_add(simd, own[tx], line[t * N + tx], sums[t]);
                }
            }
            at = at.wrapping_add(self.0.depthwise.pitch);
        }
        sums
    }

    /// A row of windows, `T` at a time.
    #[inline(always)]
    fn row<S: Simd, const T: usize>(
        &self,
        simd: S,
        input: &[S::f32s],
        weights: &[S::f32s],
        taps: Range<usize>,
        out: &mut [S::f32s],
    ) {
        let mut at = 0;
        while at < out.len() {
            // The last windows go back to be so many.
            let from = at.min(out.len() - T);
            let sums = self.sums::<S, T>(simd, input, weights, taps.clone(), from * N);
            if let Some(out) = out[from..].first_chunk_mut() {
                *out = sums;
            }
            at += T;
        }
    }

    /// Computes a band of windows.
    #[inline(always)]
    fn band<S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        first: usize,
        [weights, input, out]: [&mut [S::f32s]; 3],
    ) {
        let Depthwise { y, x, pitch, .. } = self.0.depthwise;
        for (row, out) in rows.zip(out.chunks_exact_mut(x.output)) {
            let taps = y.taps(row);
            // Without any tap nothing is read.
            let at = (row * N + taps.start).saturating_sub(y.pad + first) * pitch;
            let input = &input[at.min(input.len())..];
            macro_rules! row {
                ($t:literal) => {
                    self.row::<S, $t>(simd, input, weights, taps, out)
                };
            }
            match x.output {
                n if n.is_multiple_of(7) => row!(7),
                n if n < 8 && n != 5 => row!(4),
                n if n.is_multiple_of(5) && !n.is_multiple_of(8) => row!(5),
                _ => row!(8),
            }
        }
    }
}

impl<const K: usize, const N: usize> WithSimd for Windows<'_, '_, K, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Depthwise {
            y,
            x,
            pitch,
            band,
            ref places,
            ..
        } = *self.0.depthwise;
        let (count, inputs) = (self.0.count, y.input * x.input);
        let outs = std::mem::take(&mut self.0.outs);
        let scratch = std::mem::take(&mut self.0.scratch);
        let (vectors, _) = S::as_mut_simd_f32s(scratch);
        let (weights, rest) = vectors.split_at_mut(K * K);
        let (input, rest) = rest.split_at_mut(self.0.depthwise.inputs());
        let filters = parts(self.0.filters, count, K * K, 0..K * K);
        turn(
            simd,
            &filters,
            #[inline(always)]
            |at, column| {
                if let Some(to) = weights[at..].first_chunk_mut() {
                    *to = column;
                }
            },
        );
        let zero = simd.splat_f32s(0.0);
        for line in input.chunks_exact_mut(pitch) {
            line[..x.pad].fill(zero);
            line[x.pad + x.input..].fill(zero);
        }
        for start in self.0.rows.clone().step_by(band) {
            let rows = start..(start + band).min(self.0.rows.end);
            let first = (start * N).saturating_sub(y.pad);
            let last = ((rows.end - 1) * N + K).saturating_sub(y.pad).min(y.input);
            if first < last {
                let part = first * x.input..last * x.input;
                let planes = parts(self.0.data, count, inputs, part);
                turn(
                    simd,
                    &planes,
                    #[inline(always)]
                    |at, column| {
                        for (place, x) in places[at..].iter().zip(column) {
                            input[*place] = x;
                        }
                    },
                );
            }
            let size = rows.len() * x.output;
            let out = &mut rest[..size];
            self.band::<S>(
                simd,
                rows.clone(),
                first,
                [&mut *weights, &mut *input, &mut *out],
            );
            let place = (start - self.0.rows.start) * x.output;
            let mut lanes: [&mut [f32]; LANES] = [(); LANES].map(|()| &mut [][..]);
            match &mut *outs {
                [out] => {
                    let planes = out.chunks_exact_mut(self.0.rows.len() * x.output);
                    for (lane, plane) in lanes.iter_mut().zip(planes) {
                        *lane = &mut plane[place..place + size];
                    }
                }
                outs => {
                    for (lane, out) in lanes.iter_mut().zip(outs) {
                        *lane = &mut out[place..place + size];
                    }
                }
            }
            let mut at = 0;
            while at < size {
                // The last vectors go back to be four.
                let from = at.min(size - STEP);
                if let Some(column) = out[from..].first_chunk() {
                    lines(
                        simd,
                        *column,
                        #[inline(always)]
                        |lane, four| {
                            let rest = lanes[lane].get_mut(from..).unwrap_or_default();
                            if let Some(to) = rest.first_chunk_mut() {
                                *to = four;
                            }
                        },
                    );
                }
                at += STEP;
            }
        }
    }
}

#[cfg(test)]
#[path = "depthwise_tests.rs"]
mod tests;
