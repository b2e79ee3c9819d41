//! How the sums of a tile grow, term by term.

use pulp::Simd;

use super::ahead::{Ahead, TERMS, soon};
use super::lanes::Lanes;

/// Adds the products of several terms at a time, so that there is little else to do but to multiply and to
/// add: on processors whose threads share a core, every instruction costs. The next panels are asked for before
/// they are read, and these if that is to be (`SOON`).
#[inline(always)]
pub(super) fn add_terms<T: Lanes, S: Simd, const R: usize, const N: usize, const SOON: bool>(
    simd: S,
    a: &[[[T; R]; TERMS]],
    b: &[[[T::Vector<S>; N]; TERMS]],
    mut ahead: Ahead<'_, T>,
    sums: &mut [[T::Vector<S>; N]; R],
) {
    for (a, b) in a.iter().zip(b) {
        ahead.ask::<N>();
        if SOON {
            soon(a);
        }
        for (a, b) in a.iter().zip(b) {
            if SOON {
                soon(std::array::from_ref(b));
            }
            add_term(simd, a, b, sums);
        }
    }
}

/// The sums of few rows, which would wait for themselves: every second term goes to sums of its own.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
pub(super) fn sums_of_few<T: Lanes, S: Simd, const R: usize, const N: usize>(
    simd: S,
    a: &[[[T; R]; TERMS]],
    b: &[[[T::Vector<S>; N]; TERMS]],
) -> [[T::Vector<S>; N]; R] {
    let zero = [[T::splat(simd, T::zeroed()); N]; R];
    let (mut even, mut odd) = (zero, zero);
    for (a, b) in a.iter().zip(b) {
        for l in (0..TERMS).step_by(2) {
            add_term(simd, &a[l], &b[l], &mut even);
            add_term(simd, &a[l + 1], &b[l + 1], &mut odd);
        }
    }
    for i in 0..R {
        for v in 0..N {
            even[i][v] = T::add_vectors(simd, even[i][v], odd[i][v]);
        }
    }
    even
}

/// Adds the products of a term: of an element for each row and a few vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that the sums stay in registers
pub(super) fn add_term<T: Lanes, S: Simd, const R: usize, const N: usize>(
    simd: S,
    a: &[T; R],
    b: &[T::Vector<S>; N],
    sums: &mut [[T::Vector<S>; N]; R],
) {
    for i in 0..R {
        let x = T::splat(simd, a[i]);
        for v in 0..N {
            sums[i][v] = T::mul_add(simd, x, b[v], sums[i][v]);
        }
    }
}
