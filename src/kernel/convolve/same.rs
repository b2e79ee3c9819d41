//! Convolutions of each channel by a filter of its own whose planes stay as large as they are, with rows as long
//! as the compiler knows: what is read and written is checked once for several rows then, and nothing is
//! multiplied to find it. Planes are read where they lie. What is in the neighbouring row or plane where the padding
//! should be becomes zero once it is read; of the first plane and the last, which have no neighbours, there are copies.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::padded::Work;
use super::planes::add;
use super::twin::{self, Twin};
use super::{load, store};
use crate::kernel::phases::VECTOR;
use crate::kernel::simd::{ALL, HALF, keep, narrower, pair, parts, prefetch};
use crate::kernel::window::Axis;
use crate::tensor::LINE;

/// Elements of a row up to which planes come from a near cache.
const NEAR: usize = 32;

/// Registers for groups of many rows: these read fewer elements twice, and add to more sums before one comes again.
const MANY: usize = 32;

/// Rows of a group that are few.
const FEW: usize = 8;

/// Elements that are read before a plane at most, for rows of `width` elements under a window of `size` elements each way.
pub(super) const fn front(size: usize, width: usize) -> usize {
    size / 2 * (width + 1)
}

/// Elements that are read behind it at most: vectors are checked for as many as they may have.
const fn back(size: usize, width: usize) -> usize {
    size / 2 * width + 2 * VECTOR
}

/// The numbers of the planes that have enough elements on both sides.
fn amid(data: &[f32], [y, x]: [Axis; 2]) -> Range<usize> {
    let plane = y.input * x.input;
    let enough = data.len().saturating_sub(back(y.kernel, x.input));
    front(y.kernel, x.input).div_ceil(plane)..enough / plane
}

/// The elements that some planes need beside `data`, of which the first has number `first`.
pub(super) fn room(data: &[f32], first: usize, planes: usize, axes: [Axis; 2]) -> usize {
    let [y, x] = axes;
    let amid = amid(data, axes);
    if first >= amid.start && first + planes <= amid.end {
        return 0;
    }
    front(y.kernel, x.input).next_multiple_of(VECTOR) + y.input * x.input + back(y.kernel, x.input)
}

/// Planes with rows of `W` elements, under windows of `K` by `K` elements, of which `B` rows are computed at a time,
/// or `T` where there are registers for so many and planes have a multiple of them.
pub(super) struct Same<'a, const K: usize, const B: usize, const T: usize, const W: usize>(
    pub(super) Work<'a>,
);

/// Groups of `B` rows of `W` elements. Some have `edges` of the plane: nothing of it is above them, or below.
struct Groups<const K: usize, const B: usize, const W: usize>;

/// All bits for each of so many elements, and none in front of them and behind.
const fn row(width: usize) -> [f32; 10 * VECTOR] {
    let (mut all, mut i) = ([0.0; 10 * VECTOR], 0);
    while i < width {
        all[VECTOR + i] = ALL;
        i += 1;
    }
    all
}

impl<const K: usize, const B: usize, const W: usize> Groups<K, B, W> {
    const FRONT: usize = front(K, W);

    /// Whether the compiler writes out all columns of a window. It loses more than it gains by those of large ones
    /// under few rows.
    const WRITTEN_OUT: bool = K == 3 || B > FEW;

    /// All bits for each element of a row, the first of which is a vector behind the beginning.
    const ROW: [f32; 10 * VECTOR] = row(W);

    /// Which elements are of the row, of those that column `tx` of windows reads, the first of which are at `at`.
    #[inline(always)]
    fn mask(at: usize, tx: usize) -> &'static [f32] {
        let row: &'static [f32; 10 * VECTOR] = const { &Self::ROW };
        &row[const { VECTOR - K / 2 }..][at + tx..]
    }

    /// Whether the last half of a vector of each row is computed with that of a row of the next group, so that no vector
    /// is half empty. Vectors of AVX-512 have narrower ones beside them.
    #[inline(always)]
    fn ends_in_pairs<S: Simd>(_: S, height: usize) -> bool {
        S::F32_LANES == 2 * HALF && W % S::F32_LANES == HALF && height.is_multiple_of(2 * B)
    }

    /// Whether what column `tx` of `lanes` windows reads, the first of which are at `at`, is taken for no more than its
    /// row. Of three columns, to ask which reaches beyond takes longer than to mask them all.
    #[inline(always)]
    fn is_masked(at: usize, tx: usize, lanes: usize) -> bool {
        K == 3 || at + tx < K / 2 || at + tx + lanes.min(W) > W + K / 2
    }

    /// A vector that is read for a group, as far as it is in its row; `None` if it is padding above or below.
    #[inline(always)]
    fn read<S: Simd>(
        simd: S,
        (band, at): (&[f32], usize),
        row: usize,
        [above, below]: [bool; 2],
        mask: Option<S::f32s>,
    ) -> Option<S::f32s> {
        if row < K / 2 && above || row >= K / 2 + B && below {
            return None;
        }
        let x = load(simd, band, at);
        Some(match mask {
            Some(mask) => keep(simd, x, mask),
            None => x,
        })
    }

    /// The sums of a vector of windows of each of a group's rows. `band` begins with the first element that the group
    /// reads. If they are `INSIDE`, all that is read is of the plane, and of its row.
    #[inline(always)]
    fn sums<S: Simd, const INSIDE: bool>(
        simd: S,
        at: usize,
        band: &[f32],
        (filter, columns): (&[f32], usize),
        edges: [bool; 2],
    ) -> [S::f32s; B] {
        let edges = if INSIDE { [false; 2] } else { edges };
        let mut sums = [simd.splat_f32s(0.0); B];
        for tx in 0..columns {
            let band = &band[at + tx..][..const { (B + K - 2) * W + VECTOR }];
            let filter = &filter[tx..];
            if !INSIDE && Self::is_masked(at, tx, S::F32_LANES) {
                let mask = Some(load(simd, Self::mask(at, tx), 0));
                add::<S, K, B, 1, W, 0>(
                    simd,
                    band,
                    filter,
                    #[inline(always)]
                    |band, at, row| Self::read(simd, (band, at), row, edges, mask),
                    &mut sums,
                );
            } else {
                add::<S, K, B, 1, W, 0>(
                    simd,
                    band,
                    filter,
                    #[inline(always)]
                    |band, at, row| Self::read(simd, (band, at), row, edges, None),
                    &mut sums,
                );
            }
        }
        sums
    }

    /// Computes a vector of windows of each of a group's rows. Behind the end of `out` nothing is written, behind that of
    /// the group what is to be written over.
    #[inline(always)]
    fn vector<S: Simd>(
        simd: S,
        at: usize,
        band: &[f32],
        filter: (&[f32], usize),
        out: &mut [f32],
        edges: [bool; 2],
    ) {
        let sums = if const { K / 2 * 2 + S::F32_LANES <= W }
            && at >= K / 2
            && at + S::F32_LANES + K / 2 <= W
            && edges == [false; 2]
        {
            Self::sums::<S, true>(simd, at, band, filter, edges)
        } else {
            Self::sums::<S, false>(simd, at, band, filter, edges)
        };
        let size = const { (B - 1) * W }.wrapping_add(S::F32_LANES);
        if W >= S::F32_LANES || out.len() >= size {
            let out = &mut out[at..][..size];
            for (i, sum) in sums.into_iter().enumerate() {
                store(simd, out, i * W, sum);
            }
            return;
        }
        for (row, sum) in out.chunks_exact_mut(W).zip(sums) {
            simd.partial_store_f32s(row, sum);
        }
    }

    /// Computes a group of rows of windows. Of rows whose ends come in pairs, these are left.
    #[inline(always)]
    fn group<S: Simd>(
        simd: S,
        band: &[f32],
        filter: (&[f32], usize),
        out: &mut [f32],
        edges: [bool; 2],
        in_pairs: bool,
    ) {
        let half = S::F32_LANES / 2;
        let narrow = narrower(simd).filter(|_| W % S::F32_LANES == half);
        let end = if in_pairs || narrow.is_some() {
            W - half
        } else {
            W
        };
        // The last vector goes back to be full, unless it is half of one.
        let last = end.saturating_sub(S::F32_LANES);
        for at in (0..end).step_by(S::F32_LANES) {
            if W > NEAR {
                Self::ask(band, at * B, S::F32_LANES * B);
            }
            Self::vector(simd, at.min(last), band, filter, out, edges);
        }
        if const { W % S::F32_LANES == S::F32_LANES / 2 }
            && let Some(narrow) = narrow
        {
            Self::vector(narrow, W - half, band, filter, out, edges);
        }
    }

    /// Asks for a part of the next group, in the order in which it lies in memory.
    #[inline(always)]
    fn ask(band: &[f32], from: usize, count: usize) {
        for i in (0..count).step_by(LINE / size_of::<f32>()) {
            prefetch(
                band.as_ptr(),
                const { Self::FRONT + (B + K / 2) * W } + from + i,
            );
        }
    }

    /// Computes the last half of a vector of each row of two groups, of which `band` and `out` begin with the first.
    #[inline(always)]
    fn ends<S: Simd>(
        simd: S,
        band: &[f32],
        (filter, columns): (&[f32], usize),
        out: &mut [f32],
        edges: [bool; 2],
    ) {
        let left = |edge: bool| [if edge { 0.0 } else { ALL }; HALF];
        let above = pair(simd, &left(edges[0]), &[ALL; HALF]);
        let below = pair(simd, &[ALL; HALF], &left(edges[1]));
        let mut sums = [simd.splat_f32s(0.0); B];
        for tx in 0..columns {
            let band = &band[W - HALF + tx..][..const { (2 * B + K - 2) * W + HALF }];
            let mask = &Self::mask(W - HALF, tx)[..HALF];
            let mask = pair(simd, mask, mask);
            add::<S, K, B, 1, W, 0>(
                simd,
                band,
                &filter[tx..],
                #[inline(always)]
                |band, at, row| {
                    let x = pair(simd, &band[at..][..HALF], &band[at + B * W..][..HALF]);
                    let x = keep(simd, x, mask);
                    Some(match row {
                        row if row < K / 2 => keep(simd, x, above),
                        row if row >= K / 2 + B => keep(simd, x, below),
                        _ => x,
                    })
                },
                &mut sums,
            );
        }
        let out = &mut out[W - HALF..][..const { (2 * B - 1) * W + HALF }];
        for (i, sum) in sums.into_iter().enumerate() {
            let [first, second] = parts(simd, sum);
            out[i * W..][..HALF].copy_from_slice(&first);
            out[(i + B) * W..][..HALF].copy_from_slice(&second);
        }
    }
}

impl<const K: usize, const B: usize, const W: usize> Groups<K, B, W> {
    /// Convolves all planes.
    #[inline(always)]
    fn planes<S: Simd>(simd: S, work: Work<'_>) {
        let Axis { input: height, .. } = work.padded.y;
        let in_pairs = Self::ends_in_pairs(simd, height);
        let columns = if Self::WRITTEN_OUT {
            K
        } else {
            work.padded.x.kernel
        };
        // The last group goes back to have as many rows. What the one before found beyond the plane is written over.
        let last = height - B;
        each_plane::<K, W>(
            work,
            #[inline(always)]
            |all, filter, out| {
                let filter = if Self::WRITTEN_OUT {
                    &filter[..K * K]
                } else {
                    filter
                };
                let filter = (filter, columns);
                for row in (0..height).step_by(B) {
                    let row = row.min(last);
                    let below = row == last;
                    let (band, rows) = (&all[row * W..], &mut out[row * W..]);
                    Self::group(simd, band, filter, rows, [row == 0, below], in_pairs);
                    if const { W % S::F32_LANES == HALF } && in_pairs && row % (2 * B) == B {
                        let row = row - B;
                        let (band, rows) = (&all[row * W..], &mut out[row * W..]);
                        Self::ends(simd, band, filter, rows, [row == 0, below]);
                    }
                }
            },
        );
    }
}

/// Calls `convolve(elements, filter, out)` for each plane of rows of `W` elements. The elements begin as far before the
/// plane as windows of `K` by `K` elements reach, its filter and its output have others behind them.
#[inline(always)]
pub(super) fn each_plane<const K: usize, const W: usize>(
    work: Work<'_>,
    mut convolve: impl FnMut(&[f32], &[f32], &mut [f32]),
) {
    let Work {
        padded,
        first,
        data,
        filters,
        scratch,
        out,
        mut ready,
        ..
    } = work;
    let plane = padded.y.input * W;
    let amid = amid(data, [padded.y, padded.x]);
    let mut channel = first % padded.channels;
    for i in 0..out.len() / plane {
        let start = (first + i) * plane;
        let all = if amid.contains(&(first + i)) {
            &data[start - const { front(K, W) }..]
        } else {
            let at = const { front(K, W).next_multiple_of(VECTOR) };
            scratch[at..][..plane].copy_from_slice(&data[start..][..plane]);
            &scratch[at - const { front(K, W) }..]
        };
        convolve(all, &filters[channel * (K * K)..], &mut out[i * plane..]);
        // Without a division.
        channel = match channel + 1 {
            next if next < padded.channels => next,
            _ => 0,
        };
        ready.planes(out, i + 1);
    }
}

impl<const K: usize, const B: usize, const T: usize, const W: usize> WithSimd
    for Same<'_, K, B, T, W>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let height = self.0.padded.y.input;
        // What is a constant is asked for itself: nothing else is compiled.
        if const { W == twin::WIDTH } && height == twin::WIDTH && Twin::<K>::fits(simd) {
            Twin::<K>::planes(simd, self.0);
        } else if const { S::REGISTER_COUNT >= MANY && (K > 3 || W <= NEAR) }
            && height.is_multiple_of(T)
        {
            Groups::<K, T, W>::planes(simd, self.0);
        } else {
            Groups::<K, B, W>::planes(simd, self.0);
        }
    }
}
