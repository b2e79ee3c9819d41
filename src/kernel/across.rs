//! Lines turned into vectors with a lane to each line, and back.

use pulp::Simd;

/// Elements of a line that are turned at a time.
pub(crate) const STEP: usize = 4;

/// Lanes of a vector, at most.
pub(crate) const LANES: usize = 16;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;

    use bytemuck::cast;
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use super::STEP;

    macro_rules! turned {
        ($avx:expr, $unpack_low:ident, $unpack_high:ident, $shuffle:ident, $rows:expr) => {{
            let [a, b, c, d] = $rows;
            let (low_ab, high_ab) = ($avx.$unpack_low(a, b), $avx.$unpack_high(a, b));
            let (low_cd, high_cd) = ($avx.$unpack_low(c, d), $avx.$unpack_high(c, d));
            [
                $avx.$shuffle::<0x44>(low_ab, low_cd),
                $avx.$shuffle::<0xee>(low_ab, low_cd),
                $avx.$shuffle::<0x44>(high_ab, high_cd),
                $avx.$shuffle::<0xee>(high_ab, high_cd),
            ]
        }};
    }

    #[inline(always)]
    pub(super) fn columns<S: Simd>(
        simd: S,
        line: impl Fn(usize) -> [f32; STEP],
    ) -> Option<[S::f32s; STEP]> {
        let any: &dyn Any = &simd;
        if let Some(simd) = any.downcast_ref::<V4>() {
            let avx = simd.avx512f;
            // No closure here: the compiler would leave it a function of its own.
            macro_rules! row {
                ($i:literal) => {{
                    let row = avx._mm512_castps128_ps512(cast(line($i)));
                    let row = avx._mm512_insertf32x4::<1>(row, cast(line($i + 4)));
                    let row = avx._mm512_insertf32x4::<2>(row, cast(line($i + 8)));
                    avx._mm512_insertf32x4::<3>(row, cast(line($i + 12)))
                }};
            }
            let rows = [row!(0), row!(1), row!(2), row!(3)];
            let columns = turned!(
                avx,
                _mm512_unpacklo_ps,
                _mm512_unpackhi_ps,
                _mm512_shuffle_ps,
                rows
            );
            let [a, b, c, d] = columns;
            return Some([cast(a), cast(b), cast(c), cast(d)]);
        }
        let simd = any.downcast_ref::<V3>()?;
        let avx = simd.avx;
        macro_rules! row {
            ($i:literal) => {{
                let row = avx._mm256_castps128_ps256(cast(line($i)));
                avx._mm256_insertf128_ps::<1>(row, cast(line($i + 4)))
            }};
        }
        let rows = [row!(0), row!(1), row!(2), row!(3)];
        let columns = turned!(
            avx,
            _mm256_unpacklo_ps,
            _mm256_unpackhi_ps,
            _mm256_shuffle_ps,
            rows
        );
        let [a, b, c, d] = columns;
        Some([cast(a), cast(b), cast(c), cast(d)])
    }

    #[inline(always)]
    pub(super) fn lines<S: Simd>(
        simd: S,
        columns: [S::f32s; STEP],
        mut to: impl FnMut(usize, [f32; STEP]),
    ) -> bool {
        let any: &dyn Any = &simd;
        let [a, b, c, d] = columns;
        if let Some(simd) = any.downcast_ref::<V4>() {
            let avx = simd.avx512f;
            let rows = turned!(
                avx,
                _mm512_unpacklo_ps,
                _mm512_unpackhi_ps,
                _mm512_shuffle_ps,
                [cast(a), cast(b), cast(c), cast(d)]
            );
            for (i, row) in rows.into_iter().enumerate() {
                to(i, cast(avx._mm512_castps512_ps128(row)));
                to(4 + i, cast(avx._mm512_extractf32x4_ps::<1>(row)));
                to(8 + i, cast(avx._mm512_extractf32x4_ps::<2>(row)));
                to(12 + i, cast(avx._mm512_extractf32x4_ps::<3>(row)));
            }
            return true;
        }
        let Some(simd) = any.downcast_ref::<V3>() else {
            return false;
        };
        let avx = simd.avx;
        let rows = turned!(
            avx,
            _mm256_unpacklo_ps,
            _mm256_unpackhi_ps,
            _mm256_shuffle_ps,
            [cast(a), cast(b), cast(c), cast(d)]
        );
        for (i, row) in rows.into_iter().enumerate() {
            to(i, cast(avx._mm256_castps256_ps128(row)));
            to(4 + i, cast(avx._mm256_extractf128_ps::<1>(row)));
        }
        true
    }
}

/// The vectors of the elements at each of four places of as many lines as a vector has lanes.
#[inline(always)]
pub(crate) fn columns<S: Simd>(simd: S, line: impl Fn(usize) -> [f32; STEP]) -> [S::f32s; STEP] {
    #[cfg(target_arch = "x86_64")]
    if let Some(columns) = x86::columns(simd, &line) {
        return columns;
    }
    let lanes = S::F32_LANES.min(LANES);
    let mut all = [[0.0; LANES]; STEP];
    for lane in 0..lanes {
        for (all, x) in all.iter_mut().zip(line(lane)) {
            all[lane] = x;
        }
    }
    let [a, b, c, d] = &all;
    [
        simd.partial_load_f32s(&a[..lanes]),
        simd.partial_load_f32s(&b[..lanes]),
        simd.partial_load_f32s(&c[..lanes]),
        simd.partial_load_f32s(&d[..lanes]),
    ]
}

/// Hands each line's elements at four places to `to`, of which `columns` has vectors.
#[inline(always)]
pub(crate) fn lines<S: Simd>(
    simd: S,
    columns: [S::f32s; STEP],
    mut to: impl FnMut(usize, [f32; STEP]),
) {
    #[cfg(target_arch = "x86_64")]
    if x86::lines(simd, columns, &mut to) {
        return;
    }
    let lanes = S::F32_LANES.min(LANES);
    let mut all = [[0.0; LANES]; STEP];
    for (all, column) in all.iter_mut().zip(columns) {
        simd.partial_store_f32s(&mut all[..lanes], column);
    }
    let [a, b, c, d] = all;
    for lane in 0..lanes {
        to(lane, [a[lane], b[lane], c[lane], d[lane]]);
    }
}
