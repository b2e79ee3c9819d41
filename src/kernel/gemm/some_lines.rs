//! Some lines of a matrix that is read once, which are added to the sums of a few rows.

use std::ops::Range;

use pulp::Simd;

use super::lanes::Lanes;
use super::size::many_registers;
use crate::kernel::simd::prefetch;
use crate::tensor::LINE;

/// Pieces of some lines, `stride` from each other, and what each is multiplied by for `R` rows of the result.
pub(super) struct SomeLines<'a, T, const R: usize> {
    pub(super) factors: &'a [[T; R]],
    pub(super) data: &'a [T],
    pub(super) stride: usize,
}

impl<T: Lanes, const R: usize> SomeLines<'_, T, R> {
    /// Adds two vectors of each line to two sums for each row: so a line is read for as many multiplications as keep up
    /// with that, and sums need not wait for each other. Those of some rows fill the registers.
    #[inline(always)]
    pub(super) fn pair<S: Simd>(
        &self,
        simd: S,
        at: usize,
        ahead: usize,
        sums: &mut [[T::Vector<S>; R]; 2],
    ) {
        match (R, const { many_registers::<S>() }) {
            (7, false) => {
                self.rows_of_pair::<S, 0, 4>(simd, at, Some(ahead), sums);
                self.rows_of_pair::<S, 4, 3>(simd, at, None, sums);
            }
            (8, false) => {
                self.rows_of_pair::<S, 0, 4>(simd, at, Some(ahead), sums);
                self.rows_of_pair::<S, 4, 4>(simd, at, None, sums);
            }
            _ => self.rows_of_pair::<S, 0, R>(simd, at, Some(ahead), sums),
        }
    }

    /// The same for `N` of the rows.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn rows_of_pair<S: Simd, const FIRST: usize, const N: usize>(
        &self,
        simd: S,
        mut at: usize,
        ahead: Option<usize>,
        sums: &mut [[T::Vector<S>; R]; 2],
    ) {
        let mut of = [[T::splat(simd, T::zeroed()); 2]; N];
        for r in 0..N {
            for w in 0..2 {
                of[r][w] = sums[w][(FIRST + r) % R];
            }
        }
        for factors in self.factors {
            let line = &self.data[at..][..2 * T::lanes::<S>()];
            let pair = T::vectors::<S>(line).0;
            let pair = [pair[0], pair[1]];
            if let Some(ahead) = ahead {
                // A vector may be a line of the cache, or two a half of one.
                prefetch(line.as_ptr(), ahead);
                if size_of_val(line) > LINE {
                    prefetch(line.as_ptr(), ahead.wrapping_add(T::lanes::<S>()));
                }
            }
            for r in 0..N {
                let factor = T::splat(simd, factors[(FIRST + r) % R]);
                for w in 0..2 {
                    of[r][w] = T::mul_add(simd, factor, pair[w], of[r][w]);
                }
            }
            at = at.wrapping_add(self.stride);
        }
        for r in 0..N {
            for w in 0..2 {
                sums[w][(FIRST + r) % R] = of[r][w];
            }
        }
    }

    /// Adds one vector of each line, or a part of one.
    #[inline(always)]
    pub(super) fn part<S: Simd>(&self, simd: S, at: Range<usize>, sums: &mut [T::Vector<S>; R]) {
        let mut of = *sums;
        let mut from = at.start;
        for factors in self.factors {
            let line = T::load(simd, &self.data[from..][..at.len()]);
            for (of, &factor) in of.iter_mut().zip(factors) {
                *of = T::mul_add(simd, T::splat(simd, factor), line, *of);
            }
            from = from.wrapping_add(self.stride);
        }
        *sums = of;
    }
}
