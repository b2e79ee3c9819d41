//! Convolutions of each channel by a filter of its own whose planes stay as large as they are, for planes whose rows
//! are so short that a vector holds two of them, which lie one behind the other: [`same`](super::same) reads the same.

use pulp::Simd;

use super::padded::Work;
use super::same::{each_plane, front};
use super::{load, store};
use crate::kernel::phases::VECTOR;
use crate::kernel::simd::{ALL, keep};

/// Elements of a row, and rows.
pub(super) const WIDTH: usize = 7;

/// Pairs of rows, the last of which has one.
const PAIRS: usize = WIDTH.div_ceil(2);

/// Planes of [`WIDTH`] by as many elements, under windows of `K` by `K` elements.
pub(super) struct Twin<const K: usize>;

/// Which rows of a pair are of the plane: the second, both, or the first.
const KINDS: [[bool; 2]; 3] = [[false, true], [true, true], [true, false]];

/// All bits for those elements of two rows that are of their rows and of the plane, for each of the [`KINDS`], of what
/// each column of windows of `K` by `K` elements reads.
const fn masks<const K: usize>() -> [[[f32; VECTOR]; K]; 3] {
    let (mut all, mut kind) = ([[[0.0; VECTOR]; K]; 3], 0);
    while kind < 3 {
        let mut tx = 0;
        while tx < K {
            let mut lane = 0;
            while lane < 2 * WIDTH {
                let column = lane % WIDTH + tx;
                let inside = column >= K / 2 && column < WIDTH + K / 2;
                if inside && KINDS[kind][lane / WIDTH] {
                    all[kind][tx][lane] = ALL;
                }
                lane += 1;
            }
            tx += 1;
        }
        kind += 1;
    }
    all
}

impl<const K: usize> Twin<K> {
    const MASKS: [[[f32; VECTOR]; K]; 3] = masks();

    /// Whether vectors hold two rows.
    pub(super) fn fits<S: Simd>(_: S) -> bool {
        S::F32_LANES == VECTOR
    }

    /// Convolves all planes.
    #[inline(always)]
    pub(super) fn planes<S: Simd>(simd: S, work: Work<'_>) {
        each_plane::<K, WIDTH>(
            work,
            #[inline(always)]
            |all, filter, out| Self::plane(simd, all, &filter[..K * K], out),
        );
    }

    /// Convolves a plane. `all` begins as far before it as windows reach.
    #[inline(always)]
    fn plane<S: Simd>(simd: S, all: &[f32], filter: &[f32], out: &mut [f32]) {
        let out = &mut out[..WIDTH * WIDTH];
        let mut sums = [simd.splat_f32s(0.0); PAIRS];
        for tx in 0..K {
            // From the row above the plane on.
            let band = &all[const { front(K, WIDTH) - WIDTH - K / 2 } + tx..];
            let band = &band[..const { WIDTH * WIDTH + VECTOR }];
            let mut taps = [simd.splat_f32s(0.0); K];
            for (ty, tap) in taps.iter_mut().enumerate() {
                *tap = simd.splat_f32s(filter[ty * K + tx]);
            }
            let masks: &'static [[[f32; VECTOR]; K]; 3] = const { &Self::MASKS };
            for row in 0..=WIDTH {
                let kind = match row {
                    0 => 0,
                    WIDTH => 2,
                    _ => 1,
                };
                let mask = load(simd, &masks[kind][tx], 0);
                let x = keep(simd, load(simd, band, row * WIDTH), mask);
                // A pair is two rows behind the one before.
                for (pair, sum) in sums.iter_mut().enumerate() {
                    let ty = (row + K / 2).wrapping_sub(2 * pair + 1);
                    if ty < K {
                        *sum = simd.mul_add_e_f32s(taps[ty], x, *sum);
                    }
                }
            }
        }
        for (pair, sum) in sums.into_iter().enumerate() {
            let out = &mut out[2 * WIDTH * pair..];
            // The next pair is written over what is behind this one.
            match out.split_at_mut_checked(VECTOR) {
                Some((out, _)) => store(simd, out, 0, sum),
                None => simd.partial_store_f32s(out, sum),
            }
        }
    }
}
