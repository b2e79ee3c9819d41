//! Convolutions of each channel by a filter of its own at a stride of one, with vectors along the rows of
//! padded planes. These are as far from each other as the compiler knows, so that what lies under several
//! rows of windows is found from one address.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::depthwise::own_filters;
use super::{Sizes, load, store};
use crate::kernel::gemm::{Lanes, dispatch};
use crate::kernel::phases::VECTOR;
use crate::kernel::scratch::{Reused, or_refuse, try_resize};
use crate::kernel::simd::arch;
use crate::kernel::window::{Axis, Window};
use crate::limits::Share;
use crate::op::Finish;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 19;

/// Multiplications of a part of larger work, at least.
const PART: usize = 1 << 18;

/// Elements of a padded row, at most.
const WIDEST: usize = 128;

/// Rows of windows of a plane, at most, so that a padded one stays in a near cache.
const TALLEST: usize = 256;

/// Planes below which threads would not have the same share of them.
const FEWEST: usize = 8;

/// How each channel is convolved by its filter.
#[derive(Debug)]
pub(crate) struct Padded {
    /// Channels of an image, and how many images there are.
    channels: usize,
    batch: usize,
    y: Axis,
    x: Axis,
    /// From one row of a padded plane to the next: 32, 64 or 128.
    pitch: usize,
    /// Rows of windows that are computed at a time: 7 or 8.
    block: usize,
}

impl Padded {
    /// `None` where channels have several filters or filters several channels, and for windows and planes that
    /// this is not made for.
    pub(crate) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [y, x] = own_filters(sizes, window)?;
        let fits = matches!(y.kernel, 3 | 5) && y.stride == 1 && sizes.images() >= FEWEST;
        if !fits {
            return None;
        }
        let reach = (x.output + x.kernel - 1).max(x.input.checked_add(x.pad)?);
        let pitch = reach.next_power_of_two();
        if x.output < VECTOR || pitch > WIDEST || y.output > TALLEST {
            return None;
        }
        let block = match y.output {
            ..7 => return None,
            n if n.next_multiple_of(7) < n.next_multiple_of(8) => 7,
            _ => 8,
        };
        Some(Self {
            channels: sizes.groups,
            batch: sizes.batch,
            y,
            x,
            pitch,
            block,
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
        let (taps, inputs) = (self.y.kernel * self.x.kernel, self.y.input * self.x.input);
        let plane = self.y.output * self.x.output;
        let work = taps.saturating_mul(out.len());
        let one = |scratch: &mut Reused<f32>, (index, out): (usize, &mut [f32])| {
            let filter = &filters[index % self.channels * taps..][..taps];
            self.plane(&data[index * inputs..][..inputs], filter, out, scratch);
            if let Some(finish) = finish {
                finish(index * plane, out);
            }
        };
        let planes = self.batch * self.channels;
        if work <= SMALL {
            let mut scratch = Reused::default();
            let outs = out.chunks_exact_mut(plane).take(planes).enumerate();
            outs.for_each(|job| one(&mut scratch, job));
        } else {
            let outs = out.par_chunks_exact_mut(plane).take(planes).enumerate();
            outs.with_min_len((PART / (taps * plane)).max(1))
                .share_init(Reused::default, one);
        }
    }

    fn plane(&self, data: &[f32], filter: &[f32], out: &mut [f32], scratch: &mut Vec<f32>) {
        // Behind the last row a vector is read, and the taps of one.
        let rows = self.y.output + self.y.kernel;
        let size = rows * self.pitch + 2 * VECTOR;
        // All planes have the same padding, which stays zero.
        if scratch.len() < size + VECTOR
            && or_refuse(try_resize(scratch, size + VECTOR, 0.0)).is_none()
        {
            return;
        }
        let skip = scratch.as_ptr().align_offset(64).min(VECTOR);
        let work = Work {
            padded: self,
            data,
            filter,
            band: &mut scratch[skip..][..size],
            out,
        };
        match (self.y.kernel, self.block) {
            (3, 7) => work.by_pitch::<3, 7>(),
            (3, _) => work.by_pitch::<3, 8>(),
            (_, 7) => work.by_pitch::<5, 7>(),
            _ => work.by_pitch::<5, 8>(),
        }
    }
}

/// A plane to be convolved.
struct Work<'a> {
    padded: &'a Padded,
    data: &'a [f32],
    filter: &'a [f32],
    band: &'a mut [f32],
    out: &'a mut [f32],
}

impl Work<'_> {
    fn by_pitch<const K: usize, const B: usize>(self) {
        match self.padded.pitch {
            32 => dispatch(arch(), Plane::<K, B, 32>(self)),
            64 => dispatch(arch(), Plane::<K, B, 64>(self)),
            _ => dispatch(arch(), Plane::<K, B, WIDEST>(self)),
        }
    }
}

/// A plane with rows `P` elements apart, of which `B` rows of windows of `K` by `K` elements are computed at a
/// time.
struct Plane<'a, const K: usize, const B: usize, const P: usize>(Work<'a>);

/// Copies a row.
#[inline(always)]
fn copy<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let Some(last) = from.len().checked_sub(S::F32_LANES) else {
        return to.copy_from_slice(from);
    };
    let to = &mut to[..from.len()];
    for at in (0..last).step_by(S::F32_LANES) {
        store(simd, to, at, load(simd, from, at));
    }
    // The last vector goes back to be full.
    store(simd, to, last, load(simd, from, last));
}

impl<const K: usize, const B: usize, const P: usize> Plane<'_, K, B, P> {
    /// The sums of a vector of windows of each of some rows, whose first element `band` begins with.
    #[inline(always)]
    fn sums<S: Simd>(&self, simd: S, band: &[f32]) -> [S::f32s; B] {
        let mut sums = [simd.splat_f32s(0.0); B];
        // A number of columns that the compiler knows would be unrolled, for more sums than registers hold.
        for tx in 0..self.0.padded.x.kernel {
            // One check for all.
            let band = &band[tx..][..const { (B + K - 2) * P + VECTOR }];
            let filter = &self.0.filter[tx..][..const { (K - 1) * K + 1 }];
            let mut taps = [simd.splat_f32s(0.0); K];
            for (ty, tap) in taps.iter_mut().enumerate() {
                *tap = simd.splat_f32s(filter[ty * K]);
            }
            for row in 0..const { B + K - 1 } {
                let x = load(simd, band, row * P);
                for (ty, &tap) in taps.iter().enumerate() {
                    if row >= ty && row - ty < B {
                        sums[row - ty] = <f32 as Lanes>::mul_add(simd, tap, x, sums[row - ty]);
                    }
                }
            }
        }
        sums
    }
}

impl<const K: usize, const B: usize, const P: usize> WithSimd for Plane<'_, K, B, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Padded { y, x, .. } = *self.0.padded;
        let (width, lanes) = (x.output, S::F32_LANES);
        let band = std::mem::take(&mut self.0.band);
        let out = std::mem::take(&mut self.0.out);
        let lines = band.get_mut(y.pad * P..).unwrap_or_default();
        let lines = lines.as_chunks_mut::<P>().0.iter_mut();
        for (line, row) in lines.zip(self.0.data.chunks_exact(x.input)) {
            copy(simd, row, &mut line[x.pad..][..x.input]);
        }
        for row in (0..y.output).step_by(B) {
            // The last rows go back to be as many, as the last vector of a row.
            let row = row.min(y.output - B);
            let out = &mut out[row * width..][..B * width];
            for at in (0..width).step_by(lanes) {
                let at = at.min(width - lanes);
                let sums = self.sums(simd, &band[row * P + at..]);
                for (i, sum) in sums.into_iter().enumerate() {
                    store(simd, out, i * width + at, sum);
                }
            }
        }
    }
}
