//! Convolutions of each channel by a filter of its own, with vectors along the rows of padded planes. These
//! are as far from each other as the compiler knows, so that what lies under several rows of windows is found
//! from one address. At a stride of two, a row is its even elements and then its odd ones.

use pulp::Arch;
use rayon::prelude::*;

use super::Sizes;
use super::depthwise::own_filters;
use super::planes::Planes;
use super::same::{self, Same};
use super::twin;
use crate::kernel::gemm::dispatch;
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

/// Elements of a padded plane up to which all of it is laid out at once. Of a larger one, what a few rows of windows read
/// stays in the nearest cache.
const SMALL_PLANE: usize = 1 << 11;

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

    /// The rows of windows for which rows are laid out at a time: a block, or all of a small plane.
    pub(super) fn height(&self) -> usize {
        match self.rows(self.y.output) * self.pitch <= SMALL_PLANE {
            true => self.y.output,
            false => self.block,
        }
    }

    /// The rows that so many rows of windows read.
    pub(super) fn rows(&self, windows: usize) -> usize {
        (windows - 1) * self.y.stride + self.y.kernel
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
        // All rows have the same padding, which stays zero.
        // Behind the last row is one of which a vector is read.
        let size = (self.rows(self.height()) + 1) * self.pitch + 2 * VECTOR;
        // What is laid out begins behind the padding of a row, there at the beginning of a line of the cache.
        let (room, lead) = if self.same() {
            let planes = out.len() / (self.y.input * self.x.input);
            (same::room(data, first, planes, [self.y, self.x]), 0)
        } else if self.x.stride == 1 {
            (2 * size, self.x.pad)
        } else {
            (2 * size, 0)
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
    /// Two bands of so many elements for rows that are laid out; where planes are read in place, a copy of one.
    pub(super) scratch: &'a mut [f32],
    pub(super) size: usize,
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
