//! Right sides of four bits an element that are multiplied with few rows where they lie.
//!
//! A model that writes a text reads all of its weights for each word. What those of a column in one
//! group can be are sixteen numbers, which fit a vector of AVX-512: an instruction looks up sixteen
//! weights at a time, zero point, scale and rounding included. The vectors are of terms that lie side
//! by side in the file, so that nothing is packed and no other memory is taken.

use std::fmt;
use std::ops::Range;

use half::f16;
use pulp::Arch;

use super::Panels;
use super::compressed::{Compressed, Sizes};
use super::target::Target;
use super::widen::{SIGNED, UNSIGNED};
use crate::tensor::{ElementType, Tensor, pack};

/// Terms whose codes are read at a time: sixteen in the low bits of as many bytes, sixteen in the
/// high ones.
const LINE: usize = 32;

/// The right side of products of at most [`Nibbles::MOST_ROWS`] rows.
pub(crate) struct Nibbles {
    /// Of type u4 or i4, column after column.
    weights: Tensor,
    sizes: Sizes,
    /// What each column has in each of its groups.
    zero_points: Option<Vec<f32>>,
    scales: Option<Vec<f32>>,
    /// Whether the weights are rounded to `f16`.
    half: bool,
    arch: Arch,
}

impl fmt::Debug for Nibbles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (Panels::rows(self), Panels::columns(self));
        write!(f, "Nibbles({rows} x {columns})")
    }
}

impl Nibbles {
    /// More rows are multiplied faster with panels.
    pub(crate) const MOST_ROWS: usize = 8;

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
        Some(Self {
            weights: of.weights.clone(),
            sizes,
            zero_points: each(of.zero_point)?,
            scales: each(of.scale)?,
            half: of.half,
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
                let weight = (numbers[usize::from(code[0] & 15)] - zero_point) * scale;
                *out = if self.half {
                    f16::from_f32(weight).to_f32()
                } else {
                    weight
                };
            }
        }
    }

    fn multiply_few(
        &self,
        a: &[f32],
        rows: usize,
        columns: Range<usize>,
        target: &mut Target<'_, f32>,
        add: bool,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Arch::V4(simd), 1..=Self::MOST_ROWS) = (self.arch, rows) {
            self.multiply(simd, a, rows, columns, target, add);
            return true;
        }
        let _ = (a, rows, columns, target, add, self.arch);
        false
    }
}

/// Whether [`Nibbles`] can be multiplied.
fn has_instructions(arch: Arch) -> bool {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => true,
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::ops::Range;

    use bytemuck::{cast_slice, must_cast};
    use pulp::x86::V4;
    use pulp::{Simd, f32x16};

    use super::super::Panels;
    use super::super::target::Target;
    use super::super::widen::to_half;
    use super::{LINE, Nibbles};
    use crate::kernel::scratch::with_scratch;

    /// Rows whose sums stay in registers.
    const ROWS: usize = 4;

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
        pub(super) fn multiply(
            &self,
            simd: V4,
            a: &[f32],
            rows: usize,
            columns: Range<usize>,
            target: &mut Target<'_, f32>,
            add: bool,
        ) {
            let k = Panels::rows(self);
            with_scratch(rows * k, |turned: &mut [f32]| {
                for (row, turned) in turned.chunks_exact_mut(k).enumerate() {
                    let terms = a.chunks_exact(LINE * rows);
                    for (line, terms) in turned.chunks_exact_mut(LINE).zip(terms) {
                        let (even, odd) = line.split_at_mut(LINE / 2);
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
                    // The fewer rows, the more columns: sums wait for those before them.
                    match a.len() / k {
                        1 => self.rows::<1, 4>(simd, few),
                        2 => self.rows::<2, 4>(simd, few),
                        3 => self.rows::<3, 2>(simd, few),
                        _ => self.rows::<4, 2>(simd, few),
                    }
                }
            });
        }

        /// `R` rows, with `C` columns at a time.
        fn rows<const R: usize, const C: usize>(&self, simd: V4, few: Few<'_, '_, '_>) {
            simd.vectorize(
                #[inline(always)]
                || {
                    let columns = few.columns.clone();
                    let mut at = columns.start;
                    while at < columns.end {
                        let count = if columns.end - at < C { 1 } else { C };
                        let mut sums = [[0.0; C]; R];
                        if count == C {
                            sums = self.columns::<R, C>(simd, &few, at);
                        } else {
                            let one = self.columns::<R, 1>(simd, &few, at);
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
        fn columns<const R: usize, const C: usize>(
            &self,
            simd: V4,
            few: &Few<'_, '_, '_>,
            first: usize,
        ) -> [[f32; C]; R] {
            let f = simd.avx512f;
            let zero = simd.splat_f32x16(0.0);
            let (k, size) = (Panels::rows(self), self.sizes.size);
            let numbers: f32x16 = must_cast(self.numbers());
            let mut sums = [[[zero; 2]; C]; R];
            for group in 0..self.sizes.groups {
                let mut table = [zero; C];
                let mut codes: [&[[u8; 16]]; C] = [&[]; C];
                let mut rows: [&[[f32x16; 2]]; R] = [&[]; R];
                for c in 0..C {
                    let (zero_point, scale) = self.affine(first + c, group);
                    let shifted = simd.sub_f32x16(numbers, simd.splat_f32x16(zero_point));
                    let weights = simd.mul_f32x16(shifted, simd.splat_f32x16(scale));
                    table[c] = match self.half {
                        true => to_half(simd, weights),
                        false => weights,
                    };
                    let start = ((first + c) * self.sizes.groups + group) * size / 2;
                    let own = &few.codes[start..start + size / 2];
                    codes[c] = &own.as_chunks().0[..size / LINE];
                }
                for r in 0..R {
                    let row = &few.a[r * k + group * size..][..size];
                    rows[r] = &cast_slice(row)[..size / LINE];
                }
                for i in 0..size / LINE {
                    let mut x = [[zero; 2]; R];
                    for r in 0..R {
                        x[r] = rows[r][i];
                    }
                    for c in 0..C {
                        // Only the low four bits of an index count.
                        let low = f._mm512_cvtepu8_epi32(must_cast(codes[c][i]));
                        let high = f._mm512_srli_epi32::<4>(low);
                        let low = f._mm512_permutexvar_ps(low, must_cast(table[c]));
                        let high = f._mm512_permutexvar_ps(high, must_cast(table[c]));
                        let (even, odd): (f32x16, f32x16) = (must_cast(low), must_cast(high));
                        for r in 0..R {
                            let [a, b] = sums[r][c];
                            sums[r][c] = [
                                simd.mul_add_f32x16(x[r][0], even, a),
                                simd.mul_add_f32x16(x[r][1], odd, b),
                            ];
                        }
                    }
                }
            }
            let mut out = [[0.0; C]; R];
            for r in 0..R {
                for c in 0..C {
                    let [a, b] = sums[r][c];
                    out[r][c] = simd.reduce_sum_f32s(simd.add_f32x16(a, b));
                }
            }
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gemm::PackedNarrow;
    use crate::kernel::gemm::size::TileSize;
    use crate::kernel::gemm::tests::machines;
    use crate::tensor::Shape;
    use crate::tensor::convert::from_codes;

    #[test]
    fn panels_are_those_of_packed_weights() {
        let codes: Vec<u8> = (0..5 * 64).map(|i| (i * 7 % 251) as u8).collect();
        let of_groups = |start: f32| {
            let numbers: Vec<f32> = (0..10u8).map(|i| start + f32::from(i) / 3.0).collect();
            Tensor::new(Shape::from([5, 2, 1]), &numbers).expect("ten")
        };
        let (zero, scale) = (of_groups(2.0), of_groups(0.01));
        for (ty, arch) in [ElementType::U4, ElementType::I4]
            .into_iter()
            .flat_map(|ty| machines().into_iter().map(move |arch| (ty, arch)))
        {
            let weights = from_codes(ty, Shape::from([5, 2, 32]), &codes).expect("as many");
            for (zero_point, half) in [(None, false), (Some(&zero), true)] {
                let of = Compressed {
                    weights: &weights,
                    zero_point,
                    scale: Some(&scale),
                    by_columns: true,
                    half,
                };
                let Some(direct) = Nibbles::for_arch(arch, of) else {
                    assert!(!has_instructions(arch));
                    continue;
                };
                let packed = PackedNarrow::for_arch(arch, of).expect("memory");
                let width = packed.width(TileSize::of::<f32>(arch));
                let mut panels = [vec![7.0; 20 * width], vec![7.0; 20 * width]];
                direct.write(30..50, 0..5, width, &mut panels[0]);
                packed.write(30..50, 0..5, width, &mut panels[1]);
                for (a, b) in panels[0].chunks(width).zip(panels[1].chunks(width)) {
                    assert_eq!(a[..5], b[..5], "{ty} {arch:?}");
                }
            }
        }
    }
}
