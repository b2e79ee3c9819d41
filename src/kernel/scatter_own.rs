//! Which of some updates are for the places that a thread owns.

use std::ops::Range;

use pulp::Arch;

use super::scatter_group::TOGETHER;
use crate::tensor::simd::machine;

/// Places that are looked at in one vector, at most.
const LANES: usize = 16;

/// Room for all that are found, and for a vector after these.
const ROOM: usize = TOGETHER + LANES;

/// Whether this machine has vectors that do it.
pub(super) fn finds_in_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    let finds = matches!(machine(), Arch::V3(_) | Arch::V4(_));
    #[cfg(not(target_arch = "x86_64"))]
    let finds = false;
    finds
}

/// Updates of a thread, in their order.
pub(super) struct Own {
    /// Where they go, counted from the first place that is the thread's.
    places: [u32; ROOM],
    /// Which they are of those that were looked at.
    updates: [u32; ROOM],
    count: usize,
}

impl Own {
    pub(super) fn none() -> Self {
        Self {
            places: [0; ROOM],
            updates: [0; ROOM],
            count: 0,
        }
    }

    /// Finds those of up to [`TOGETHER`] updates that go to places in `own`.
    #[inline(always)]
    pub(super) fn find(&mut self, places: &[u32], own: Range<u32>) {
        self.find_on(machine(), places, own);
    }

    #[inline(always)]
    fn find_on(&mut self, arch: Arch, places: &[u32], own: Range<u32>) {
        self.count = 0;
        match arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) => simd.vectorize(
                #[inline(always)]
                || x86::find(simd, self, places, own),
            ),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(simd) => simd.vectorize(
                #[inline(always)]
                || x86::find_by_table(simd, self, places, own),
            ),
            _ => self.find_each(0, places, own),
        }
    }

    /// Finds those from `first` on. No branch depends on which they are: that cannot be foretold.
    #[inline(always)]
    fn find_each(&mut self, first: usize, places: &[u32], own: Range<u32>) {
        for (update, &place) in (first as u32..).zip(&places[first..]) {
            let at = place.wrapping_sub(own.start);
            self.places[self.count] = at;
            self.updates[self.count] = update;
            self.count += usize::from(at < own.end - own.start);
        }
    }

    /// Place and update.
    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = self.places.iter().zip(&self.updates).take(self.count);
        all.map(|(&place, &update)| (place as usize, update as usize))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::ops::Range;

    use bytemuck::must_cast;
    use pulp::x86::{V3, V4};

    use super::{LANES, Own};

    const COUNTED: [u32; LANES] = {
        let (mut lanes, mut i) = ([0; LANES], 0);
        while i < LANES {
            lanes[i] = i as u32;
            i += 1;
        }
        lanes
    };

    #[inline(always)]
    pub(super) fn find(simd: V4, found: &mut Own, places: &[u32], own: Range<u32>) {
        let f = simd.avx512f;
        let (vectors, _) = places.as_chunks::<LANES>();
        let mut updates = must_cast(COUNTED);
        let mut count = 0;
        for &places in vectors {
            let at = f._mm512_sub_epi32(must_cast(places), must_cast([own.start; LANES]));
            let mine = f._mm512_cmplt_epu32_mask(at, must_cast([own.end - own.start; LANES]));
            let packed = [at, updates].map(
                #[inline(always)]
                |all| must_cast::<_, [u32; LANES]>(f._mm512_maskz_compress_epi32(mine, all)),
            );
            found.places[count..][..LANES].copy_from_slice(&packed[0]);
            found.updates[count..][..LANES].copy_from_slice(&packed[1]);
            count += mine.count_ones() as usize;
            updates = f._mm512_add_epi32(updates, must_cast([LANES as u32; LANES]));
        }
        found.count = count;
        found.find_each(vectors.len() * LANES, places, own);
    }

    /// The elements of a vector without AVX-512.
    const FEW: usize = 8;

    /// For each mask of lanes, those that are in it, one after another.
    static PACKED: [[u8; FEW]; 256] = {
        let (mut all, mut mask) = ([[0; FEW]; 256], 0);
        while mask < 256 {
            let (mut count, mut lane) = (0, 0);
            while lane < FEW {
                if mask >> lane & 1 == 1 {
                    all[mask][count] = lane as u8;
                    count += 1;
                }
                lane += 1;
            }
            mask += 1;
        }
        all
    };

    /// As [`find`], by permutations that a table has: AVX2 packs nothing itself.
    #[inline(always)]
    pub(super) fn find_by_table(simd: V3, found: &mut Own, places: &[u32], own: Range<u32>) {
        let (avx, avx2) = (simd.avx, simd.avx2);
        let (vectors, _) = places.as_chunks::<FEW>();
        let [start, len] = [own.start, own.end - own.start].map(|x| must_cast([x; FEW]));
        let mut updates = must_cast(COUNTED.as_chunks::<FEW>().0[0]);
        let mut count = 0;
        for &places in vectors {
            let at = avx2._mm256_sub_epi32(must_cast(places), start);
            let others = avx2._mm256_cmpeq_epi32(avx2._mm256_max_epu32(at, len), at);
            let mine = !(avx._mm256_movemask_ps(must_cast(others)) as u8);
            let lanes = [u64::from_le_bytes(PACKED[usize::from(mine)]), 0];
            let lanes = avx2._mm256_cvtepu8_epi32(must_cast(lanes));
            let packed = [at, updates].map(
                #[inline(always)]
                |all| must_cast::<_, [u32; FEW]>(avx2._mm256_permutevar8x32_epi32(all, lanes)),
            );
            found.places[count..][..FEW].copy_from_slice(&packed[0]);
            found.updates[count..][..FEW].copy_from_slice(&packed[1]);
            count += mine.count_ones() as usize;
            updates = avx2._mm256_add_epi32(updates, must_cast([FEW as u32; FEW]));
        }
        found.count = count;
        found.find_each(vectors.len() * FEW, places, own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::simd::machines;

    #[test]
    fn all_that_go_to_a_part_are_found_in_order() {
        let number = |i: usize| (i * 7919 % 1009) as u32;
        for count in [0, 1, 15, 16, 33, TOGETHER] {
            // Places of indices out of range are anywhere.
            let places: Vec<u32> = (0..count)
                .map(|i| {
                    if i % 21 == 5 {
                        u32::MAX - number(i)
                    } else {
                        number(i)
                    }
                })
                .collect();
            for own in [0..0, 0..500, 500..1009, 0..1009, 1000..1 << 31] {
                let expected: Vec<(usize, usize)> = (0..count)
                    .filter(|&i| own.contains(&places[i]))
                    .map(|i| ((places[i] - own.start) as usize, i))
                    .collect();
                for arch in machines() {
                    let mut found = Own::none();
                    found.find_on(arch, &places, own.clone());
                    assert_eq!(
                        found.iter().collect::<Vec<_>>(),
                        expected,
                        "{count} {own:?}"
                    );
                }
            }
        }
    }
}
