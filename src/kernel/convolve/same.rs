//! Convolutions of each channel by a filter of its own whose planes stay as large as they are, with rows as long
//! as the compiler knows: what is read and written is checked once for several rows then, and nothing is
//! multiplied to find it. While some rows of windows are computed, rows that come two groups later are laid
//! out: what is copied costs nearly nothing beside multiplications, and was written long before it is read.

use pulp::{Simd, WithSimd};

use super::padded::{Padded, Work, sums};
use super::{load, store};
use crate::kernel::simd::{narrower, prefetch};

/// Elements ahead of which large planes are asked for, 2 KiB: they come from the last cache, and multiplications would
/// wait for what is laid out.
const AHEAD: usize = 512;

/// Elements of a row up to which planes are not large.
const NEAR: usize = 32;

/// Groups of `B` rows of `W` elements, in padded planes with rows `P` elements apart, under windows of `K` by `K`
/// elements, of which `V` vectors are computed at a time.
pub(super) struct Same<
    'a,
    const K: usize,
    const B: usize,
    const P: usize,
    const W: usize,
    const V: usize = 1,
>(pub(super) Work<'a>);

/// A group of rows, and where it goes.
struct Group<'a> {
    rows: &'a [f32],
    lines: &'a mut [f32],
}

impl<const K: usize, const B: usize, const P: usize, const W: usize, const V: usize>
    Same<'_, K, B, P, W, V>
{
    /// What is in front of the first row of a padded plane.
    const FRONT: usize = K / 2 * P + K / 2;

    /// The columns that `V` vectors begin at. The last ones go back to be full.
    #[inline(always)]
    fn columns<S: Simd>(_: S) -> impl Iterator<Item = usize> {
        let last = W.saturating_sub(V * S::F32_LANES);
        (0..W).step_by(V * S::F32_LANES).map(move |at| at.min(last))
    }

    /// Lays out `V` vectors of each row.
    #[inline(always)]
    fn lay<S: Simd>(simd: S, group: &mut Group<'_>, at: usize) {
        let Group { rows, lines } = group;
        let size = const { (B - 1) * P }.wrapping_add(V * S::F32_LANES);
        let lines = &mut lines[at..][..size];
        if W < S::F32_LANES {
            for (i, row) in rows.chunks_exact(W).enumerate().take(B) {
                store(simd, lines, i * P, simd.partial_load_f32s(row));
            }
            return;
        }
        let rows = &rows[at..][..const { (B - 1) * W }.wrapping_add(V * S::F32_LANES)];
        for i in 0..B {
            for v in (0..V).map(|v| v * S::F32_LANES) {
                if W > NEAR {
                    prefetch(rows[i * W + v..].as_ptr(), AHEAD);
                }
                store(simd, lines, i * P + v, load(simd, rows, i * W + v));
            }
        }
    }

    /// Computes `V` vectors of windows of each of a group's rows, and lays out as many of another group. Behind
    /// the end of `out` nothing is written, behind that of the group what is to be written over.
    #[inline(always)]
    fn vector<S: Simd>(
        simd: S,
        at: usize,
        band: &[f32],
        (filter, columns): (&[f32], usize),
        out: &mut [f32],
        next: &mut Group<'_>,
    ) {
        Self::lay(simd, next, at);
        let sums = sums::<S, K, B, 1, P, V>(simd, columns, &band[at..], filter);
        let size = const { (B - 1) * W }.wrapping_add(V * S::F32_LANES);
        if W >= S::F32_LANES || out.len() >= size {
            let out = &mut out[at..][..size];
            for (i, sums) in sums.into_iter().enumerate() {
                for (v, sum) in sums.into_iter().enumerate() {
                    store(simd, out, i * W + v * S::F32_LANES, sum);
                }
            }
            return;
        }
        // Rows shorter than a vector have one.
        for (row, sums) in out.chunks_exact_mut(W).zip(sums) {
            simd.partial_store_f32s(row, sums[0]);
        }
    }

    /// Computes a group of rows of windows, and lays out another group.
    #[inline(always)]
    fn group<S: Simd>(
        simd: S,
        band: &[f32],
        filter: (&[f32], usize),
        out: &mut [f32],
        mut next: Group<'_>,
    ) {
        let half = S::F32_LANES / 2;
        if V == 1
            && W % S::F32_LANES == half
            && let Some(narrow) = narrower(simd)
        {
            // The last vector would be half full.
            for at in (0..W - half).step_by(S::F32_LANES) {
                Self::vector(simd, at, band, filter, out, &mut next);
            }
            Self::vector(narrow, W - half, band, filter, out, &mut next);
            return;
        }
        for at in Self::columns(simd) {
            Self::vector(simd, at, band, filter, out, &mut next);
        }
    }
}

impl<const K: usize, const B: usize, const P: usize, const W: usize, const V: usize> WithSimd
    for Same<'_, K, B, P, W, V>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Work {
            padded,
            first,
            data,
            filters,
            bands,
            size,
            out,
            mut ready,
        } = self.0;
        let Padded { y, x, channels, .. } = *padded;
        let (plane, groups) = (y.input * W, y.input / B);
        // A group needs a few rows of the next one.
        let ahead = groups.min(2);
        let (mut this, mut next) = bands.split_at_mut(size);
        for number in 0..ahead {
            let mut group = Group {
                rows: &data[number * B * W..],
                lines: &mut this[Self::FRONT + number * B * P..],
            };
            for at in Self::columns(simd) {
                Self::lay(simd, &mut group, at);
            }
        }
        let planes = out.len() / plane;
        for i in 0..planes {
            let filter = &filters[(first + i) % channels * (K * K)..][..K * K];
            let rows = &data[i * plane..][..plane];
            // Behind the last plane its own rows are laid out, and not used.
            let coming = data[i * plane..].get(plane..2 * plane).unwrap_or(rows);
            for number in 0..groups {
                let (band, group) = match (number + ahead).checked_sub(groups) {
                    None => {
                        let at = number + ahead;
                        let (band, lines) = this.split_at_mut(Self::FRONT + at * B * P);
                        let rows = &rows[at * B * W..];
                        (&*band, Group { rows, lines })
                    }
                    Some(at) => {
                        let rows = &coming[at * B * W..];
                        let lines = &mut next[Self::FRONT + at * B * P..];
                        (&*this, Group { rows, lines })
                    }
                };
                let out = &mut out[i * plane + number * B * W..];
                Self::group(
                    simd,
                    &band[number * B * P..],
                    (filter, x.kernel),
                    out,
                    group,
                );
            }
            ready.planes(out, i + 1);
            std::mem::swap(&mut this, &mut next);
        }
    }
}
