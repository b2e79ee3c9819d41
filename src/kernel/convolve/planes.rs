//! Convolutions of planes whose rows are laid out beside each other with their padding, by a filter each.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::padded::{Padded, Work};
use super::parting::Parting;
use super::{load, store};
use crate::kernel::gemm::Lanes;
use crate::kernel::phases::VECTOR;

/// Planes with rows `P` elements apart, of which `B` rows of windows of `K` by `K` elements, `N` apart, are
/// computed at a time.
pub(super) struct Planes<'a, const K: usize, const B: usize, const N: usize, const P: usize>(
    pub(super) Work<'a>,
);

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
    /// Lays out what some rows of `windows` read of the plane that `data` begins with. Rows beyond its ends are never
    /// written if these are all.
    #[inline(always)]
    fn lay<S: Simd>(
        &self,
        simd: S,
        parting: &Parting<S::f32s>,
        data: &[f32],
        windows: Range<usize>,
        band: &mut [f32],
    ) {
        let Padded { y, x, .. } = *self.0.padded;
        let (lines, first) = (band.as_chunks_mut::<P>().0, windows.start * N);
        let lines = &mut lines[..self.0.padded.rows(windows.len())];
        let (above, lines) = lines.split_at_mut(y.pad.saturating_sub(first).min(lines.len()));
        let first = first.saturating_sub(y.pad);
        let (lines, below) = lines.split_at_mut(y.input.saturating_sub(first).min(lines.len()));
        if windows.len() < y.output {
            above.fill([0.0; P]);
            below.fill([0.0; P]);
        }
        let half = x.pad / 2;
        for (i, line) in lines.iter_mut().enumerate() {
            let row = &data[(first + i) * x.input..];
            if N == 1 {
                copy(simd, &row[..x.input], &mut line[x.pad..]);
                continue;
            }
            let (even, odd) = line.split_at_mut(P / 2);
            if x.pad.is_multiple_of(2) {
                parting.copy(simd, row, &mut even[half..], &mut odd[half..]);
            } else {
                parting.copy(simd, row, &mut odd[half..], &mut even[half + 1..]);
            }
        }
    }

    /// Computes rows of windows that were laid out. Behind the end of `out` nothing is written, behind that of the
    /// plane what is to be written over.
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, band: &[f32], filter: &[f32], out: &mut [f32]) {
        let x = self.0.padded.x;
        let (width, lanes) = (x.output, S::F32_LANES);
        let Some(last) = width.checked_sub(lanes) else {
            let sums = sums::<S, K, B, N, P>(simd, x.kernel, band, filter);
            for (i, sum) in sums.into_iter().enumerate() {
                match out[i * width..].split_at_mut_checked(lanes) {
                    Some((out, _)) => store(simd, out, 0, sum),
                    None => simd.partial_store_f32s(&mut out[i * width..][..width], sum),
                }
            }
            return;
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
        let data = &self.0.data[self.0.first * inputs..];
        let count = out.len() / outputs;
        let (parting, height) = (Parting::new(simd, x.input), self.0.padded.height());
        if count > 0 {
            self.lay(simd, &parting, data, 0..height, this);
        }
        for i in 0..count {
            let filter = &self.0.filters[(self.0.first + i) % channels * (K * K)..][..K * K];
            let mut first = 0;
            while first < y.output {
                // The last rows go back to be as many.
                let start = first.min(y.output - height);
                first += height;
                let (after, next_start) = match first < y.output {
                    true => (i, first.min(y.output - height)),
                    false => (i + 1, 0),
                };
                // What was just written is read late enough that it has left the processor's queue of stores.
                if after < count {
                    let windows = next_start..next_start + height;
                    self.lay(simd, &parting, &data[after * inputs..], windows, next);
                }
                for row in (0..height).step_by(B) {
                    let row = row.min(height - B);
                    let out = &mut out[i * outputs + (start + row) * x.output..];
                    self.block(simd, &this[row * N * P..], filter, out);
                }
                std::mem::swap(&mut this, &mut next);
            }
            self.0.ready.planes(out, i + 1);
        }
    }
}
