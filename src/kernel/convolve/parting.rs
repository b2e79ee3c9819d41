//! Rows parted into their even elements and their odd ones, for windows that slide by two.

use pulp::Simd;

use super::{load, store};
use crate::kernel::simd::{keep, kept, unzip};

/// How the even elements of a row are copied and its odd ones.
pub(super) struct Parting<V> {
    /// Elements of the row.
    len: usize,
    /// Vectors of which the elements of the row are kept, of a row that is shorter than two.
    kept: [V; 2],
}

impl<V: Copy> Parting<V> {
    #[inline(always)]
    pub(super) fn new<S: Simd<f32s = V>>(simd: S, len: usize) -> Self {
        Self {
            len,
            kept: [kept(simd, len.div_ceil(2)), kept(simd, len / 2)],
        }
    }

    /// Copies a row, with which `from` begins. Behind one that is shorter than two vectors come zeros.
    #[inline(always)]
    pub(super) fn copy<S: Simd<f32s = V>>(
        &self,
        simd: S,
        from: &[f32],
        even: &mut [f32],
        odd: &mut [f32],
    ) {
        let (len, pair) = (self.len, 2 * S::F32_LANES);
        let row = &from[..len];
        let pairs = S::as_simd_f32s(row).0.as_chunks::<2>().0;
        let evens = S::as_mut_simd_f32s(even).0.iter_mut();
        let odds = S::as_mut_simd_f32s(odd).0.iter_mut();
        for ((&[a, b], even), odd) in pairs.iter().zip(evens).zip(odds) {
            [*even, *odd] = unzip(simd, a, b);
        }
        if len.is_multiple_of(pair) {
            return;
        }
        let Some(last) = len.checked_sub(pair) else {
            let [a, b] = match from.get(..pair) {
                Some(both) => [load(simd, both, 0), load(simd, both, S::F32_LANES)],
                None => {
                    let (a, b) = row.split_at(len.min(S::F32_LANES));
                    [simd.partial_load_f32s(a), simd.partial_load_f32s(b)]
                }
            };
            let [a, b] = unzip(simd, a, b);
            store(simd, even, 0, keep(simd, a, self.kept[0]));
            return store(simd, odd, 0, keep(simd, b, self.kept[1]));
        };
        // The last ones go back to be full, to an even element.
        let last = last - last % 2;
        let (a, b) = (load(simd, row, last), load(simd, row, last + S::F32_LANES));
        let [a, b] = unzip(simd, a, b);
        store(simd, even, last / 2, a);
        store(simd, odd, last / 2, b);
        if !len.is_multiple_of(2) {
            even[len / 2] = row[len - 1];
        }
    }
}
