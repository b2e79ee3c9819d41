//! Convolutions of each channel by a filter of its own, with vectors along the rows of padded planes. These
//! are as far from each other as the compiler knows, so that what lies under several rows of windows is found
//! from one address. At a stride of two, a row is its even elements and then its odd ones.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::depthwise::own_filters;
use super::parting::Parting;
use super::same::{self, Same};
use super::twin;
use super::{Sizes, load, store};
use crate::kernel::gemm::{Lanes, dispatch};
use crate::kernel::phases::VECTOR;
use crate::kernel::scratch::{Reused, or_refuse, try_resize};
use crate::kernel::simd::arch;
use crate::kernel::window::{Axis, Window};
use crate::limits::Share;
use crate::op::Finish;

/// Multiplications below which work stays on the calling thread: another one is awake during a long evaluation.
const SMALL: usize = 1 << 17;

/// Multiplications of a part of larger work, at least.
const PART: usize = 1 << 16;

/// And at most: some tenths of a millisecond, after which a thread looks at limits.
const MOST: usize = 1 << 24;

/// Parts of the work for each thread: the first plane of a part is laid out while none is convolved.
const PARTS: usize = 4;

/// Multiplications that take as long as to lay out an element.
const LAYING: usize = 4;

/// Windows of a row, at least: with fewer much of a vector would be empty.
const NARROWEST: usize = 5;

/// Elements of a padded row, at most.
const WIDEST: usize = 128;

/// Rows of windows of a plane, at most, so that a padded one stays in a near cache.
const TALLEST: usize = 256;

/// Planes below which threads would not have the same share of them.
const FEWEST: usize = 8;

/// Elements of a padded plane up to which the next one is laid out before it is convolved: what was just
/// written is read late enough that it has left the processor's queue of stores.
const EARLY: usize = 1 << 11;

/// Elements of output planes that are finished together, if planes are small.
const TOGETHER: usize = 1 << 12;

/// How each channel is convolved by its filter.
#[derive(Debug)]
pub(crate) struct Padded {
    /// Channels of an image, and how many images there are.
    pub(super) channels: usize,
    batch: usize,
    pub(super) y: Axis,
    pub(super) x: Axis,
    /// From one row of a padded plane to the next: 32, 64 or 128.
    pitch: usize,
    /// Rows of windows that are computed at a time: 7 or 8.
    block: usize,
    arch: Arch,
}

impl Padded {
    /// `None` where channels have several filters or filters several channels, and for windows and planes that
    /// this is not made for.
    pub(crate) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [y, x] = own_filters(sizes, window)?;
        let fits = matches!((y.kernel, y.stride), (3 | 5, 1 | 2)) && sizes.images() >= FEWEST;
        if !fits || x.output < NARROWEST || y.output > TALLEST {
            return None;
        }
        let padded = x.input.checked_add(x.pad)?;
        let reach = padded.max((x.output - 1) * x.stride + x.kernel);
        // Vectors of rows that are narrower are written whole.
        let reach = reach
            .div_ceil(x.stride)
            .max(x.pad.div_ceil(x.stride) + VECTOR);
        let pitch = (reach.checked_next_power_of_two()? * x.stride).max(32);
        if pitch > WIDEST {
            return None;
        }
        let block = match y.output {
            ..7 => return None,
            n if n.next_multiple_of(7) < n.next_multiple_of(8) => 7,
            _ => 8,
        };
        let mut padded = Self {
            channels: sizes.groups,
            batch: sizes.batch,
            y,
            x,
            pitch,
            block,
            arch: arch(),
        };
        padded.arch = padded.vectors();
        Some(padded)
    }

    /// Whether a vector of AVX-512 holds two rows of a plane that stays as large.
    fn twin(&self) -> bool {
        self.same() && [self.y.input, self.x.input] == [twin::WIDTH; 2]
    }

    /// The machine's vectors; not those of AVX-512 where half of one is enough for a row, unless one holds two.
    fn vectors(&self) -> Arch {
        let narrow = self.x.output <= VECTOR / 2 && !self.twin();
        #[cfg(not(target_arch = "x86_64"))]
        let _ = narrow;
        match self.arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) if narrow => Arch::V3(*simd),
            arch => arch,
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
        let taps = self.y.kernel * self.x.kernel;
        let plane = self.y.output * self.x.output;
        let each = taps + LAYING * self.y.stride * self.x.stride;
        let planes = self.batch * self.channels;
        let out = &mut out[..planes * plane];
        let work = each.saturating_mul(out.len());
        let one = |scratch: &mut Reused<f32>, (first, out): (usize, &mut [f32])| {
            let ready = Ready {
                finish,
                first,
                plane,
                done: 0,
            };
            self.planes(first, data, filters, out, ready, scratch);
        };
        if work <= SMALL {
            one(&mut Reused::default(), (0, out));
        } else {
            let least = PART / (each * plane);
            let most = (MOST / (each * plane)).max(1);
            let parts = PARTS * rayon::current_num_threads();
            let part = planes.div_ceil(parts).max(least).min(most);
            out.par_chunks_mut(part * plane)
                .enumerate()
                .map(|(i, out)| (i * part, out))
                .share_init(Reused::default, one);
        }
    }

    /// Whether planes stay as large as they are, with rows of one of the lengths that there is code for.
    /// [`Work::by_stride`] has the same list: what it had not would be computed as any other plane.
    pub(super) fn same(&self) -> bool {
        let same = |axis: Axis| {
            axis.stride == 1 && axis.input == axis.output && axis.pad == axis.kernel / 2
        };
        let known = matches!(
            (self.block, self.x.input),
            (7, 7 | 10 | 14 | 20 | 28) | (8, 40 | 56 | 80 | 112)
        );
        known && same(self.y) && same(self.x)
    }

    /// The rows of a padded plane, and one behind them of which a vector is read.
    fn rows(&self) -> usize {
        (self.y.output - 1) * self.y.stride + self.y.kernel + 1
    }

    /// Convolves some planes, of which one has number `first`.
    fn planes(
        &self,
        first: usize,
        data: &[f32],
        filters: &[f32],
        out: &mut [f32],
        ready: Ready<'_>,
        scratch: &mut Vec<f32>,
    ) {
        // All planes have the same padding, which stays zero.
        let size = self.rows() * self.pitch + 2 * VECTOR;
        let bands = if size <= EARLY { 2 } else { 1 };
        // What is laid out begins behind the padding of a row, there at the beginning of a line of the cache.
        let (room, lead) = if self.same() {
            let planes = out.len() / (self.y.input * self.x.input);
            (same::room(data, first, planes, [self.y, self.x]), 0)
        } else if self.x.stride == 1 {
            (bands * size, self.x.pad)
        } else {
            (bands * size, 0)
        };
        let len = room + VECTOR;
        if scratch.len() < len && or_refuse(try_resize(scratch, len, 0.0)).is_none() {
            return;
        }
        let skip =
            (scratch.as_ptr().align_offset(64).min(VECTOR) + VECTOR - lead % VECTOR) % VECTOR;
        let work = Work {
            padded: self,
            first,
            data,
            filters,
            scratch: &mut scratch[skip..][..room],
            size,
            out,
            ready,
        };
        match (self.y.kernel, self.block) {
            (3, 7) => work.by_stride::<3, 7>(),
            (3, _) => work.by_stride::<3, 8>(),
            (_, 7) => work.by_stride::<5, 7>(),
            _ => work.by_stride::<5, 8>(),
        }
    }
}

/// Planes to be convolved.
pub(super) struct Work<'a> {
    pub(super) padded: &'a Padded,
    pub(super) first: usize,
    /// All planes.
    pub(super) data: &'a [f32],
    pub(super) filters: &'a [f32],
    /// One padded plane or two of so many elements; where planes are read in place, a copy of one.
    pub(super) scratch: &'a mut [f32],
    size: usize,
    pub(super) out: &'a mut [f32],
    pub(super) ready: Ready<'a>,
}

/// Who finishes planes, and which of them are finished.
pub(super) struct Ready<'a> {
    finish: Option<Finish<'a>>,
    /// The number of the first plane of a part.
    first: usize,
    /// Elements of a plane.
    plane: usize,
    done: usize,
}

impl Ready<'_> {
    /// Finishes the planes of a part's `out` up to `end` that are not yet, if they are enough or the last ones.
    #[inline(always)]
    pub(super) fn planes(&mut self, out: &mut [f32], end: usize) {
        let Self {
            finish,
            first,
            plane,
            done,
        } = *self;
        let ready = (end - done) * plane;
        if let Some(finish) = finish
            && (ready + plane > TOGETHER || end * plane == out.len())
        {
            finish.part((first + done) * plane, &mut out[done * plane..][..ready]);
            self.done = end;
        }
    }
}

impl Work<'_> {
    fn by_stride<const K: usize, const B: usize>(self) {
        let arch = self.padded.arch;
        if self.padded.same() {
            // Widths of images of 224 elements, and of 320 and 640.
            let width = self.padded.x.input;
            if const { B == 7 } {
                match width {
                    7 => return dispatch(arch, Same::<K, 7, 7, 7>(self)),
                    10 => return dispatch(arch, Same::<K, 7, 10, 10>(self)),
                    14 => return dispatch(arch, Same::<K, 7, 14, 14>(self)),
                    20 => return dispatch(arch, Same::<K, 7, 10, 20>(self)),
                    28 => return dispatch(arch, Same::<K, 7, 14, 28>(self)),
                    _ => {}
                }
            } else {
                match width {
                    40 => return dispatch(arch, Same::<K, 8, 10, 40>(self)),
                    56 => return dispatch(arch, Same::<K, 8, 14, 56>(self)),
                    80 => return dispatch(arch, Same::<K, 8, 10, 80>(self)),
                    112 => return dispatch(arch, Same::<K, 8, 14, 112>(self)),
                    _ => {}
                }
            }
        }
        match (self.padded.y.stride, self.padded.pitch) {
            (1, 32) => dispatch(arch, Planes::<K, B, 1, 32>(self)),
            (1, 64) => dispatch(arch, Planes::<K, B, 1, 64>(self)),
            (1, _) => dispatch(arch, Planes::<K, B, 1, WIDEST>(self)),
            (_, 64) => dispatch(arch, Planes::<K, B, 2, 64>(self)),
            _ => dispatch(arch, Planes::<K, B, 2, WIDEST>(self)),
        }
    }
}

/// Planes with rows `P` elements apart, of which `B` rows of windows of `K` by `K` elements, `N` apart, are
/// computed at a time.
struct Planes<'a, const K: usize, const B: usize, const N: usize, const P: usize>(Work<'a>);

/// Copies a row. Behind one that is shorter than a vector come zeros.
#[inline(always)]
fn copy<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let Some(last) = from.len().checked_sub(S::F32_LANES) else {
        return store(simd, to, 0, simd.partial_load_f32s(from));
    };
    for at in (0..last).step_by(S::F32_LANES) {
        store(simd, to, at, load(simd, from, at));
    }
    // The last vector goes back to be full.
    store(simd, to, last, load(simd, from, last));
}

/// The sums of a vector of windows of each of some rows, whose first element `band` begins with.
#[inline(always)]
fn sums<S: Simd, const K: usize, const B: usize, const N: usize, const P: usize>(
    simd: S,
    columns: usize,
    band: &[f32],
    filter: &[f32],
) -> [S::f32s; B] {
    let mut sums = [simd.splat_f32s(0.0); B];
    // A number of columns that the compiler knows would be unrolled, for more sums than registers hold.
    for tx in 0..columns {
        // One check for all.
        let band = &band[tx % N * (P / N) + tx / N..];
        let band = &band[..const { ((B - 1) * N + K - 1) * P + VECTOR }];
        add::<S, K, B, N, P, 0>(
            simd,
            band,
            &filter[tx..],
            #[inline(always)]
            |band, at, _| Some(load(simd, band, at)),
            &mut sums,
        );
        if N == 2 {
            add::<S, K, B, N, P, 1>(
                simd,
                band,
                &filter[tx..],
                #[inline(always)]
                |band, at, _| Some(load(simd, band, at)),
                &mut sums,
            );
        }
    }
    sums
}

/// Adds a column of the products with every `N`th row from row `F` on. `load(band, place, row)` is a vector of a row,
/// if that is none of zeros.
#[inline(always)]
pub(super) fn add<
    S: Simd,
    const K: usize,
    const B: usize,
    const N: usize,
    const P: usize,
    const F: usize,
>(
    simd: S,
    band: &[f32],
    filter: &[f32],
    load: impl Fn(&[f32], usize, usize) -> Option<S::f32s>,
    sums: &mut [S::f32s; B],
) {
    let filter = &filter[..const { (K - 1) * K + 1 }];
    let mut taps = [simd.splat_f32s(0.0); K];
    let count = const { (K - F).div_ceil(N) };
    for t in 0..count {
        taps[t] = simd.splat_f32s(filter[(t * N + F) * K]);
    }
    // Rows as far from each other as there are taps have no sum in common: nearly all sums are added to before any is
    // again, for each waits for itself.
    for first in 0..count {
        for step in 0..const { B.div_ceil((K - F).div_ceil(N)) + 1 } {
            let row = first + step * count;
            if row >= B + count - 1 {
                continue;
            }
            let Some(x) = load(band, (row * N + F) * P, row * N + F) else {
                continue;
            };
            for t in 0..count {
                if row >= t && row - t < B {
                    sums[row - t] = <f32 as Lanes>::mul_add(simd, taps[t], x, sums[row - t]);
                }
            }
        }
    }
}

impl<const K: usize, const B: usize, const N: usize, const P: usize> Planes<'_, K, B, N, P> {
    /// Lays out the plane that `data` begins with.
    #[inline(always)]
    fn lay<S: Simd>(&self, simd: S, data: &[f32], band: &mut [f32]) {
        let Padded { y, x, .. } = *self.0.padded;
        let lines = band.get_mut(y.pad * P..).unwrap_or_default();
        let lines = lines.as_chunks_mut::<P>().0.iter_mut().take(y.input);
        if N == 1 {
            for (line, row) in lines.zip(data.chunks_exact(x.input)) {
                copy(simd, row, &mut line[x.pad..]);
            }
            return;
        }
        let (parting, half) = (Parting::new(simd, x.input), x.pad / 2);
        for (i, line) in lines.enumerate() {
            let (row, (even, odd)) = (&data[i * x.input..], line.split_at_mut(P / 2));
            if x.pad.is_multiple_of(2) {
                parting.copy(simd, row, &mut even[half..], &mut odd[half..]);
            } else {
                parting.copy(simd, row, &mut odd[half..], &mut even[half + 1..]);
            }
        }
    }

    /// Convolves a plane that was laid out. Behind the end of `out` nothing is written, behind that of the
    /// plane what is to be written over.
    #[inline(always)]
    fn plane<S: Simd>(&self, simd: S, band: &[f32], filter: &[f32], out: &mut [f32]) {
        let Padded { y, x, .. } = *self.0.padded;
        let (width, lanes) = (x.output, S::F32_LANES);
        for row in (0..y.output).step_by(B) {
            // The last rows go back to be as many, as the last vector of a row.
            let row = row.min(y.output - B);
            let (band, out) = (&band[row * N * P..], &mut out[row * width..]);
            let Some(last) = width.checked_sub(lanes) else {
                let sums = sums::<S, K, B, N, P>(simd, x.kernel, band, filter);
                for (i, sum) in sums.into_iter().enumerate() {
                    match out[i * width..].split_at_mut_checked(lanes) {
                        Some((out, _)) => store(simd, out, 0, sum),
                        None => simd.partial_store_f32s(&mut out[i * width..][..width], sum),
                    }
                }
                continue;
            };
            let out = &mut out[..B * width];
            for at in (0..width).step_by(lanes) {
                let at = at.min(last);
                let sums = sums::<S, K, B, N, P>(simd, x.kernel, &band[at..], filter);
                for (i, sum) in sums.into_iter().enumerate() {
                    store(simd, out, i * width + at, sum);
                }
            }
        }
    }
}

impl<const K: usize, const B: usize, const N: usize, const P: usize> WithSimd
    for Planes<'_, K, B, N, P>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Padded { y, x, channels, .. } = *self.0.padded;
        let (inputs, outputs) = (y.input * x.input, y.output * x.output);
        let bands = std::mem::take(&mut self.0.scratch);
        let out = std::mem::take(&mut self.0.out);
        let (mut this, mut next) = bands.split_at_mut(self.0.size);
        let early = !next.is_empty();
        let data = &self.0.data[self.0.first * inputs..];
        let count = out.len() / outputs;
        if count > 0 {
            self.lay(simd, data, this);
        }
        for i in 0..count {
            let filter = &self.0.filters[(self.0.first + i) % channels * (K * K)..][..K * K];
            let rest = &mut out[i * outputs..];
            if early && i + 1 < count {
                self.lay(simd, &data[(i + 1) * inputs..], next);
            }
            self.plane(simd, this, filter, rest);
            self.0.ready.planes(out, i + 1);
            if early {
                std::mem::swap(&mut this, &mut next);
            } else if i + 1 < count {
                self.lay(simd, &data[(i + 1) * inputs..], this);
            }
        }
    }
}
