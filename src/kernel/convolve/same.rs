//! Convolutions of each channel by a filter of its own whose planes stay as large as they are, with rows as long
//! as the compiler knows: what is read and written is checked once for several rows then, and nothing is
//! multiplied to find it. While some rows of windows are computed, rows that come two groups later are laid
//! out: what is copied costs nearly nothing beside multiplications, and was written long before it is read.

use pulp::{Simd, WithSimd};

use super::padded::{Padded, Work, sums, sums_of};
use super::{load, store};
use crate::kernel::simd::{HALF, narrower, pair, parts, prefetch};

/// Elements ahead of which large planes are asked for, 2 KiB: they come from the last cache, and multiplications would
/// wait for what is laid out.
const AHEAD: usize = 512;

/// Elements of a row up to which planes are not large.
const NEAR: usize = 32;

/// Groups of `B` rows of `W` elements, in padded planes with rows `P` elements apart, under windows of `K` by `K`
/// elements.
pub(super) struct Same<'a, const K: usize, const B: usize, const P: usize, const W: usize>(
    pub(super) Work<'a>,
);

/// A group of rows, and where it goes.
struct Group<'a> {
    rows: &'a [f32],
    lines: &'a mut [f32],
}

impl<const K: usize, const B: usize, const P: usize, const W: usize> Same<'_, K, B, P, W> {
    /// What is in front of the first row of a padded plane.
    const FRONT: usize = K / 2 * P + K / 2;

    /// Whether the last half of a vector of each row is computed with that of a row of the next group, so that no vector
    /// is half empty. Vectors of AVX-512 have narrower ones beside them.
    #[inline(always)]
    fn ends_in_pairs<S: Simd>(_: S, groups: usize) -> bool {
        S::F32_LANES == 2 * HALF && W % S::F32_LANES == HALF && groups.is_multiple_of(2)
    }

    /// The columns that vectors begin at. The last one goes back to be full.
    #[inline(always)]
    fn columns<S: Simd>(_: S) -> impl Iterator<Item = usize> {
        let last = W.saturating_sub(S::F32_LANES);
        (0..W).step_by(S::F32_LANES).map(move |at| at.min(last))
    }

    /// Lays out a vector of each row.
    #[inline(always)]
    fn lay<S: Simd>(simd: S, group: &mut Group<'_>, at: usize) {
        let Group { rows, lines } = group;
        let size = const { (B - 1) * P }.wrapping_add(S::F32_LANES);
        let lines = &mut lines[at..][..size];
        if W < S::F32_LANES {
            for (i, row) in rows.chunks_exact(W).enumerate().take(B) {
                store(simd, lines, i * P, simd.partial_load_f32s(row));
            }
            return;
        }
        let rows = &rows[at..][..const { (B - 1) * W }.wrapping_add(S::F32_LANES)];
        for i in 0..B {
            if W > NEAR {
                prefetch(rows[i * W..].as_ptr(), AHEAD);
            }
            store(simd, lines, i * P, load(simd, rows, i * W));
        }
    }

    /// Computes a vector of windows of each of a group's rows, and lays out as many of another group. Behind
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
        let sums = sums::<S, K, B, 1, P>(simd, columns, &band[at..], filter);
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

    /// Computes a group of rows of windows, and lays out another group. Of rows whose ends come in pairs, these are left.
    #[inline(always)]
    fn group<S: Simd>(
        simd: S,
        band: &[f32],
        filter: (&[f32], usize),
        out: &mut [f32],
        mut next: Group<'_>,
        in_pairs: bool,
    ) {
        let half = S::F32_LANES / 2;
        let narrow = narrower(simd).filter(|_| W % S::F32_LANES == half);
        if !in_pairs && narrow.is_none() {
            for at in Self::columns(simd) {
                Self::vector(simd, at, band, filter, out, &mut next);
            }
            return;
        }
        for at in (0..W - half).step_by(S::F32_LANES) {
            Self::vector(simd, at, band, filter, out, &mut next);
        }
        match narrow {
            // The last vector would be half full.
            Some(narrow) => Self::vector(narrow, W - half, band, filter, out, &mut next),
            None => Self::lay_ends(&mut next),
        }
    }

    /// Lays out the last half of a vector of each row.
    #[inline(always)]
    fn lay_ends(group: &mut Group<'_>) {
        let rows = &group.rows[W - HALF..][..const { (B - 1) * W + HALF }];
        let lines = &mut group.lines[W - HALF..][..const { (B - 1) * P + HALF }];
        for i in 0..B {
            lines[i * P..][..HALF].copy_from_slice(&rows[i * W..][..HALF]);
        }
    }

    /// Computes the last half of a vector of each row of two groups, of which `band` and `out` begin with the first.
    #[inline(always)]
    fn ends<S: Simd>(simd: S, band: &[f32], (filter, columns): (&[f32], usize), out: &mut [f32]) {
        let sums = sums_of::<S, K, B, 1, P>(
            simd,
            columns,
            (&band[W - HALF..], const { (2 * B + K - 2) * P + HALF }),
            filter,
            #[inline(always)]
            |band, at| {
                let [first, second] = [&band[at..][..HALF], &band[at + B * P..][..HALF]];
                pair(simd, first, second)
            },
        );
        let out = &mut out[W - HALF..][..const { (2 * B - 1) * W + HALF }];
        for (i, sum) in sums.into_iter().enumerate() {
            let [first, second] = parts(simd, sum);
            out[i * W..][..HALF].copy_from_slice(&first);
            out[(i + B) * W..][..HALF].copy_from_slice(&second);
        }
    }
}

impl<const K: usize, const B: usize, const P: usize, const W: usize> WithSimd
    for Same<'_, K, B, P, W>
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
        let in_pairs = Self::ends_in_pairs(simd, groups);
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
            let filter = &filters[(first + i) % channels * (K * K)..];
            // Of a filter whose end is known the compiler writes out all columns, which is slower where they are many.
            let filter = if K > 3 { filter } else { &filter[..K * K] };
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
                let filter = (filter, x.kernel);
                let (row, done) = (number * B, i * plane);
                let all = &mut out[done + row * W..];
                Self::group(simd, &band[row * P..], filter, all, group, in_pairs);
                if in_pairs && let Some(row) = row.checked_sub(B).filter(|_| number % 2 == 1) {
                    Self::ends(simd, &band[row * P..], filter, &mut out[done + row * W..]);
                }
            }
            ready.planes(out, i + 1);
            std::mem::swap(&mut this, &mut next);
        }
    }
}
