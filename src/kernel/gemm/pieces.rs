//! Panels of the right side whose vectors lie in lines, or wherever they are.

use std::ops::Range;

use pulp::Simd;

use super::lanes::Lanes;

/// The vectors that a panel has for each term, at most.
pub(crate) const MOST_VECTORS: usize = 3;

/// Where the vectors lie that a panel is made of.
#[derive(Clone, Copy)]
pub(crate) struct Pieces<'a, T> {
    /// What they are in.
    pub(crate) data: &'a [T],
    /// For each term, where its elements begin.
    pub(crate) rows: &'a [usize],
    /// How far from there each vector is.
    pub(crate) vectors: [usize; MOST_VECTORS],
}

impl<T> Pieces<'_, T> {
    /// The same of some terms.
    pub(super) fn of(self, terms: Range<usize>) -> Self {
        Self {
            rows: &self.rows[terms],
            ..self
        }
    }
}

impl<T: Lanes> Pieces<'_, T> {
    /// The first `N` vectors of each term.
    #[inline(always)]
    pub(super) fn terms<S: Simd, const N: usize>(
        &self,
        simd: S,
    ) -> impl Iterator<Item = [T::Vector<S>; N]> {
        let lanes = T::lanes::<S>();
        // All equally long, so that one check holds for all.
        let furthest = self.vectors[..N].iter().fold(0, |most, &at| most.max(at));
        let len = self.data.len() - furthest;
        let mut parts = [self.data; N];
        for (part, &at) in parts.iter_mut().zip(&self.vectors) {
            *part = &self.data[at..][..len];
        }
        self.rows.iter().map(
            #[inline(always)]
            move |&row| {
                let mut term = [T::splat(simd, T::zeroed()); N];
                for (vector, part) in term.iter_mut().zip(&parts) {
                    *vector = T::vectors::<S>(&part[row..row.wrapping_add(lanes)]).0[0];
                }
                term
            },
        )
    }
}

/// The first `N` vectors of each line.
#[inline(always)]
pub(super) fn by_line<'a, T: Lanes, S: Simd, const N: usize>(
    lines: impl Iterator<Item = &'a [T]>,
) -> impl Iterator<Item = [T::Vector<S>; N]> {
    lines.map_while(
        #[inline(always)]
        |line| T::vectors::<S>(line).0.first_chunk().copied(),
    )
}
