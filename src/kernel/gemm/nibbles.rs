//! Right sides of four bits an element that are multiplied with few rows where they lie.
//!
//! A model that writes a text reads all of its weights for each word. What those of a column in one
//! group can be are sixteen numbers, which fit a vector of AVX-512, or two of AVX2: an instruction looks
//! up as many weights as a vector has, or two do and one chooses, zero point, scale and rounding included.
//! The vectors are of terms that lie side by side in the file, so that nothing is packed and no other
//! memory is taken.

use std::fmt;
use std::ops::Range;

use half::f16;
use pulp::Arch;

use super::Panels;
use super::compressed::{Compressed, Sizes};
use super::rounding::Rounding;
use super::size::TileSize;
use super::target::Target;
use super::widen::{SIGNED, UNSIGNED};
use crate::tensor::{ElementType, Tensor, pack};

/// Terms whose codes are read at a time, at most: sixteen in the low bits of as many bytes, sixteen in the
/// high ones.
const LINE: usize = 32;

/// The right side of products of at most [`Nibbles::most_rows`] rows.
pub(crate) struct Nibbles {
    /// Of type u4 or i4, column after column.
    weights: Tensor,
    sizes: Sizes,
    /// What each column has in each of its groups.
    zero_points: Option<Vec<f32>>,
    scales: Option<Vec<f32>>,
    rounding: Rounding,
    arch: Arch,
}

impl fmt::Debug for Nibbles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (Panels::rows(self), Panels::columns(self));
        write!(f, "Nibbles({rows} x {columns})")
    }
}

impl Nibbles {
    /// More rows are multiplied faster with panels, as all are that fill more than a tile.
    pub(crate) fn most_rows() -> usize {
        TileSize::of::<f32>(crate::kernel::simd::arch()).rows
    }

    /// Weights of a form that this machine has instructions for.
    pub(crate) fn new(of: Compressed<'_>) -> Option<Self> {
        Self::for_arch(crate::kernel::simd::arch(), of)
    }

    pub(super) fn for_arch(arch: Arch, of: Compressed<'_>) -> Option<Self> {
        of.size()?;
        let sizes = of.sizes()?;
        let nibbles = matches!(of.weights.element_type(), ElementType::U4 | ElementType::I4);
        let whole = sizes.size > 0 && sizes.size.is_multiple_of(LINE);
        if !(has_instructions(arch) && nibbles && of.by_columns && whole) {
            return None;
        }
        let each = |tensor: Option<&Tensor>| match tensor {
            Some(tensor) => of.each(tensor, sizes, 1).map(Some),
            None => Some(None),
        };
        let (zero_points, scales) = (each(of.zero_point)?, each(of.scale)?);
        let (zeros, factors) = (zero_points.as_deref(), scales.as_deref());
        let rounding = Rounding::of(of.half, true, zeros, factors);
        Some(Self {
            weights: of.weights.clone(),
            sizes,
            zero_points,
            scales,
            rounding,
            arch,
        })
    }

    /// The numbers of the sixteen codes.
    fn numbers(&self) -> [f32; 16] {
        match self.weights.element_type() {
            ElementType::I4 => SIGNED,
            _ => UNSIGNED,
        }
    }

    /// Zero point and scale of a group of a column.
    #[inline(always)]
    fn affine(&self, column: usize, group: usize) -> (f32, f32) {
        let at = column * self.sizes.groups + group;
        let zero_point = self.zero_points.as_ref().map_or(0.0, |all| all[at]);
        (zero_point, self.scales.as_ref().map_or(1.0, |all| all[at]))
    }
}

impl Panels<f32> for Nibbles {
    fn rows(&self) -> usize {
        self.sizes.rows()
    }

    fn columns(&self) -> usize {
        self.sizes.columns
    }

    /// Number by number: products of few rows do not need panels.
    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [f32]) {
        let (ty, numbers) = (self.weights.element_type(), self.numbers());
        for (line, term) in panel.chunks_exact_mut(width).zip(rows) {
            for (out, column) in line.iter_mut().zip(columns.clone()) {
                let mut code = [0];
                let at = column * Panels::rows(self) + term;
                pack::unpack(ty, self.weights.bytes(), at, &mut code);
                let (zero_point, scale) = self.affine(column, term / self.sizes.size);
                let round = |x: f32| match self.rounding {
                    Rounding::Exact => x,
                    Rounding::Normal | Rounding::Each => f16::from_f32(x).to_f32(),
                };
                *out = round(round(numbers[usize::from(code[0] & 15)] - zero_point) * scale);
            }
        }
    }

    fn multiplies_few(&self, rows: usize) -> Option<usize> {
        (rows <= TileSize::of::<f32>(self.arch).rows).then_some(rows)
    }

    fn multiply_few(
        &self,
        a: &[f32],
        rows: usize,
        columns: Range<usize>,
        target: &mut Target<'_, f32>,
        add: bool,
    ) {
        // Others have no such right side.
        match self.arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) => self.multiply(simd, a, rows, columns, target, add),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(simd) => self.multiply(simd, a, rows, columns, target, add),
            _ => {
                let _ = (a, rows, columns, target, add);
            }
        }
    }
}

/// Whether [`Nibbles`] can be multiplied.
fn has_instructions(arch: Arch) -> bool {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) | Arch::V4(_) => true,
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::ops::Range;

    use bytemuck::{Pod, cast_slice, must_cast};
    use pulp::x86::{V3, V4};
    use pulp::{NullaryFnOnce, Simd};

    use super::super::Panels;
    use super::super::rounding::{Rounding, Split, to_half, to_normal_half};
    use super::super::target::Target;
    use super::{LINE, Nibbles};
    use crate::kernel::scratch::with_scratch;

    /// Rows whose sums stay in registers.
    const ROWS: usize = 4;

    /// Vectors that look up numbers.
    pub(super) trait LookUp: Simd {
        /// The codes of two vectors, a byte for each lane.
        type Codes: Pod;

        /// Sixteen numbers.
        type Table: Copy;

        /// Calls a function compiled for these vectors.
        fn compile<F: NullaryFnOnce>(self, f: F) -> F::Output;

        /// What is made of sixteen numbers.
        fn table(self, of: &[f32; 16], make: impl Fn(Self::f32s) -> Self::f32s) -> Self::Table;

        /// Looks up what the low bits and the high bits of bytes stand for.
        fn look_up(self, table: Self::Table, codes: Self::Codes) -> [Self::f32s; 2];
    }

    impl LookUp for V4 {
        type Codes = [u8; 16];
        type Table = Self::f32s;

        #[inline(always)]
        fn compile<F: NullaryFnOnce>(self, f: F) -> F::Output {
            self.vectorize(f)
        }

        #[inline(always)]
        fn table(self, of: &[f32; 16], make: impl Fn(Self::f32s) -> Self::f32s) -> Self::f32s {
            make(must_cast(*of))
        }

        #[inline(always)]
        fn look_up(self, table: Self::f32s, codes: [u8; 16]) -> [Self::f32s; 2] {
            let f = self.avx512f;
            // Only the low four bits of an index count.
            let low = f._mm512_cvtepu8_epi32(must_cast(codes));
            let high = f._mm512_srli_epi32::<4>(low);
            [low, high].map(
                #[inline(always)]
                |codes| must_cast(f._mm512_permutexvar_ps(codes, must_cast(table))),
            )
        }
    }

    impl LookUp for V3 {
        type Codes = [u8; 8];
        type Table = [Self::f32s; 2];

        #[inline(always)]
        fn compile<F: NullaryFnOnce>(self, f: F) -> F::Output {
            self.vectorize(f)
        }

        #[inline(always)]
        fn table(self, of: &[f32; 16], make: impl Fn(Self::f32s) -> Self::f32s) -> [Self::f32s; 2] {
            let [first, second]: [Self::f32s; 2] = must_cast(*of);
            [make(first), make(second)]
        }

        #[inline(always)]
        fn look_up(self, [first, second]: [Self::f32s; 2], codes: [u8; 8]) -> [Self::f32s; 2] {
            let (avx, avx2) = (self.avx, self.avx2);
            // Only the low three bits of an index count; the fourth becomes a sign, which chooses.
            let low = avx2._mm256_cvtepu8_epi32(must_cast([u64::from_le_bytes(codes), 0]));
            let high = avx2._mm256_srli_epi32::<4>(low);
            let choice = [
                avx2._mm256_slli_epi32::<28>(low),
                avx2._mm256_slli_epi32::<24>(low),
            ];
            let mut weights = [first; 2];
            for i in 0..2 {
                let codes = [low, high][i];
                let a = avx2._mm256_permutevar8x32_ps(must_cast(first), codes);
                let b = avx2._mm256_permutevar8x32_ps(must_cast(second), codes);
                weights[i] = must_cast(avx._mm256_blendv_ps(a, b, must_cast(choice[i])));
            }
            weights
        }
    }

    /// Some rows of the left side, each as the lines of codes are: first the even terms of a line, then
    /// the odd ones.
    struct Few<'a, 'c, 't> {
        a: &'a [f32],
        /// All codes. To ask the tensor for each group would empty the registers.
        codes: &'a [u8],
        columns: Range<usize>,
        target: &'t mut Target<'c, f32>,
        /// The first row in the target.
        first: usize,
        add: bool,
    }

    impl Nibbles {
        /// Multiplies rows, of which the elements of a term stand side by side.
        pub(super) fn multiply<S: LookUp>(
            &self,
            simd: S,
            a: &[f32],
            rows: usize,
            columns: Range<usize>,
            target: &mut Target<'_, f32>,
            add: bool,
        ) {
            let (k, lanes) = (Panels::rows(self), S::F32_LANES);
            with_scratch(rows * k, |turned: &mut [f32]| {
                for (row, turned) in turned.chunks_exact_mut(k).enumerate() {
                    let terms = a.chunks_exact(2 * lanes * rows);
                    for (line, terms) in turned.chunks_exact_mut(2 * lanes).zip(terms) {
                        let (even, odd) = line.split_at_mut(lanes);
                        let pairs = terms.chunks_exact(2 * rows);
                        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(pairs) {
                            (*even, *odd) = (pair[row], pair[rows + row]);
                        }
                    }
                }
                for (i, a) in turned.chunks(ROWS * k).enumerate() {
                    let few = Few {
                        a,
                        codes: self.weights.bytes(),
                        columns: columns.clone(),
                        target: &mut *target,
                        first: i * ROWS,
                        add,
                    };
                    // The fewer rows, the more columns, for sums wait for those before them; AVX2 has half of the
                    // registers. One row waits for memory, which gives one column after another, as they lie, faster
                    // than several at the same time.
                    match (a.len() / k, 2 * lanes == LINE) {
                        (1, _) => self.rows::<S, 1, 1>(simd, few),
                        (2, true) => self.rows::<S, 2, 2>(simd, few),
                        (2, false) => self.rows::<S, 2, 1>(simd, few),
                        (3, _) => self.rows::<S, 3, 1>(simd, few),
                        _ => self.rows::<S, 4, 1>(simd, few),
                    }
                }
            });
        }

        /// `R` rows, with `C` columns at a time.
        fn rows<S: LookUp, const R: usize, const C: usize>(&self, simd: S, few: Few<'_, '_, '_>) {
            simd.compile(
                #[inline(always)]
                || {
                    let columns = few.columns.clone();
                    let mut at = columns.start;
                    while at < columns.end {
                        let count = if columns.end - at < C { 1 } else { C };
                        let mut sums = [[0.0; C]; R];
                        if count == C {
                            sums = self.columns::<S, R, C>(simd, &few, at);
                        } else {
                            let one = self.columns::<S, R, 1>(simd, &few, at);
                            for r in 0..R {
                                sums[r][0] = one[r][0];
                            }
                        }
                        let place = at - columns.start..at - columns.start + count;
                        for (r, sums) in sums.iter().enumerate() {
                            let out = few.target.row(few.first + r, place.clone());
                            for (out, sum) in out.iter_mut().zip(sums) {
                                *out = if few.add { *out + sum } else { *sum };
                            }
                        }
                        at += count;
                    }
                },
            );
        }

        /// The sums of some columns.
        #[inline(always)]
        #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
        fn columns<S: LookUp, const R: usize, const C: usize>(
            &self,
            simd: S,
            few: &Few<'_, '_, '_>,
            first: usize,
        ) -> [[f32; C]; R] {
            let zero = simd.splat_f32s(0.0);
            let (k, groups, rounding) = (Panels::rows(self), self.sizes.groups, self.rounding);
            let (count, numbers) = (self.sizes.size / (2 * S::F32_LANES), self.numbers());
            let none = simd.table(
                &numbers,
                #[inline(always)]
                |x| x,
            );
            // What is the same for all groups is looked at once: there are few steps in each.
            let (mut all_codes, mut affine) = ([&[][..]; C], [[None; 2]; C]);
            for c in 0..C {
                let codes = &few.codes[(first + c) * k / 2..][..k / 2];
                all_codes[c] = cast_slice::<u8, S::Codes>(codes);
                let own = (first + c) * groups..(first + c + 1) * groups;
                for (numbers, all) in affine[c].iter_mut().zip([&self.zero_points, &self.scales]) {
                    *numbers = all.as_ref().map(|all| &all[own.clone()]);
                }
            }
            let mut all_rows: [&[[S::f32s; 2]]; R] = [&[]; R];
            for r in 0..R {
                all_rows[r] = S::as_simd_f32s(&few.a[r * k..][..k]).0.as_chunks().0;
            }
            let mut sums = [[[zero; 2]; C]; R];
            let mut from = 0;
            for group in 0..groups {
                let mut table = [none; C];
                let mut codes: [&[S::Codes]; C] = [&[]; C];
                let mut rows: [&[[S::f32s; 2]]; R] = [&[]; R];
                for c in 0..C {
                    let [zero_point, scale] = affine[c];
                    let zero_point = simd.splat_f32s(zero_point.map_or(0.0, |all| all[group]));
                    let scale = simd.splat_f32s(scale.map_or(1.0, |all| all[group]));
                    table[c] = simd.table(
                        &numbers,
                        #[inline(always)]
                        |numbers| {
                            let mut weights = simd.sub_f32s(numbers, zero_point);
                            if rounding == Rounding::Each {
                                weights = to_half(simd, None, weights);
                            }
                            let product = simd.mul_f32s(weights, scale);
                            match rounding {
                                Rounding::Exact => product,
                                Rounding::Normal => {
                                    to_normal_half(simd, weights, Split::new(simd, scale))
                                }
                                Rounding::Each => to_half(simd, None, product),
                            }
                        },
                    );
                    codes[c] = &all_codes[c][from..][..count];
                }
                for r in 0..R {
                    rows[r] = &all_rows[r][from..][..count];
                }
                from = from.wrapping_add(count);
                for i in 0..count {
                    let mut weights = [[zero; 2]; C];
                    for c in 0..C {
                        weights[c] = simd.look_up(table[c], codes[c][i]);
                    }
                    for r in 0..R {
                        let [even, odd] = rows[r][i];
                        for c in 0..C {
                            let [a, b] = sums[r][c];
                            sums[r][c] = [
                                simd.mul_add_f32s(even, weights[c][0], a),
                                simd.mul_add_f32s(odd, weights[c][1], b),
                            ];
                        }
                    }
                }
            }
            let mut out = [[0.0; C]; R];
            for r in 0..R {
                for c in 0..C {
                    let [a, b] = sums[r][c];
                    out[r][c] = simd.reduce_sum_f32s(simd.add_f32s(a, b));
                }
            }
            out
        }
    }
}

#[cfg(test)]
#[path = "nibbles_tests.rs"]
mod tests;
