//! A tile of a product, in registers.

use pulp::Simd;

use super::ahead::{Ahead, TERMS, soon};
use super::lanes::{Lanes, apart};
use super::size::{many_registers, rows};
use super::target::{Target, put_whole, write};
use super::terms::{add_term, add_terms, sums_of_few};
use crate::kernel::simd::{is_amd, prefetch};

/// Some rows of the result, of the columns of a panel.
pub(super) struct Tile<'a, 't, 'c, T> {
    /// A panel of the left side.
    pub(super) a: &'a [T],
    pub(super) ahead: Ahead<'a, T>,
    pub(super) target: &'t mut Target<'c, T>,
    /// The place in the target of the first element.
    pub(super) at: [usize; 2],
    pub(super) width: usize,
    pub(super) add: bool,
}

impl<'t, T: Lanes> Tile<'_, 't, '_, T> {
    /// A tile of up to `N` vectors a row.
    #[inline(always)]
    pub(super) fn of_rows<S: Simd, const N: usize>(
        self,
        simd: S,
        rows: usize,
        panel: &[T],
        vectors: usize,
    ) {
        rows!(S, rows, R => self.panel::<S, R, N>(simd, panel, vectors));
    }

    /// A tile of `N` whole vectors a row.
    #[inline(always)]
    pub(super) fn of_lines<S: Simd, const N: usize>(
        self,
        simd: S,
        rows: usize,
        terms: impl Iterator<Item = [T::Vector<S>; N]>,
        panel: &mut [T],
    ) {
        apart(
            simd,
            #[inline(always)]
            || rows!(S, rows, R => self.lines::<S, R, N>(simd, terms, panel)),
        );
    }

    /// A tile of `R` rows and up to `N` of the vectors that a panel has for each term.
    #[inline(always)]
    fn panel<S: Simd, const R: usize, const N: usize>(self, simd: S, panel: &[T], vectors: usize) {
        let (mut a, mut b) = (self.a.as_chunks::<R>().0, T::vectors::<S>(panel).0);
        let mut sums = [[T::splat(simd, T::zeroed()); N]; R];
        let (ahead, add) = (self.ahead, self.add);
        let outs = self.outs::<R>();
        if vectors == N {
            let (all_a, rest_a) = a.as_chunks::<TERMS>();
            let (all_b, rest_b) = b.as_chunks::<N>().0.as_chunks::<TERMS>();
            if R == 1 && T::lanes::<S>() > 1 && is_amd() {
                // One row waits for memory, which a processor of AMD brings as fast as it can by itself. Without
                // vectors sums are the same on all machines.
                sums = sums_of_few(simd, all_a, all_b);
            } else if const { many_registers::<S>() } {
                add_terms::<T, S, R, N, true>(simd, all_a, all_b, ahead, &mut sums);
            } else {
                // Panels of few vectors are in the first cache, or come there by themselves.
                add_terms::<T, S, R, N, false>(simd, all_a, all_b, ahead, &mut sums);
            }
            (a, b) = (rest_a, rest_b.as_flattened());
        }
        for (a, b) in a.iter().zip(b.chunks_exact(vectors)) {
            let Some(b) = b.first_chunk::<N>() else {
                break;
            };
            add_term(simd, a, b, &mut sums);
        }
        put(simd, sums, outs, add);
    }

    /// A tile of `R` rows, whose panel of the right side is written on the way.
    #[inline(always)]
    fn lines<S: Simd, const R: usize, const N: usize>(
        self,
        simd: S,
        terms: impl Iterator<Item = [T::Vector<S>; N]>,
        panel: &mut [T],
    ) {
        let a = self.a.as_chunks::<R>().0;
        let panel = T::vectors_mut::<S>(panel).0.as_chunks_mut::<N>().0;
        let mut sums = [[T::splat(simd, T::zeroed()); N]; R];
        let (mut ahead, add) = (self.ahead, self.add);
        let outs = self.outs::<R>();
        for (l, ((a, out), b)) in a.iter().zip(panel).zip(terms).enumerate() {
            if l % TERMS == 0 {
                ahead.ask::<N>();
            }
            if const { many_registers::<S>() } {
                soon(std::array::from_ref(a));
            }
            *out = b;
            add_term(simd, a, &b, &mut sums);
        }
        put(simd, sums, outs, add);
    }

    /// The elements of the result, which are asked for.
    #[inline(always)]
    fn outs<const R: usize>(self) -> [&'t mut [T]; R] {
        let [row, column] = self.at;
        let outs = self.target.rows::<R>(row, column..column + self.width);
        for out in &outs {
            prefetch(out.as_ptr(), 0);
            prefetch(out.as_ptr(), self.width / 2);
            prefetch(out.as_ptr(), self.width - 1);
        }
        outs
    }
}

/// The sums become elements of the result.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
fn put<T: Lanes, S: Simd, const N: usize, const R: usize>(
    simd: S,
    sums: [[T::Vector<S>; N]; R],
    outs: [&mut [T]; R],
    add: bool,
) {
    if outs[0].len() == N * T::lanes::<S>() {
        return put_whole(simd, sums, outs, add);
    }
    for i in 0..R {
        write(simd, &sums[i], outs[i], add);
    }
}
