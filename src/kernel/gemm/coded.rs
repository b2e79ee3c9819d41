//! Loops over lines of codes: they write panels, or multiply few rows.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Panels;
use super::compressed::PackedNarrow;
use super::lanes::Lanes;
use super::rounding::{Split, to_half, to_normal_half};
use super::size::height;
use super::target::{Target, write};
use super::widen::{Code, Converted, Known, read};
use crate::kernel::simd::Converting;

/// An operation, and how the elements it reads are stored.
pub(super) struct With<C, F>(pub(super) C, pub(super) F);

/// An operation on elements, however they are stored.
pub(super) trait OnCodes {
    fn run<C: Known, S: Simd>(self, simd: S, code: C);
}

impl<C: Known, F: OnCodes> With<C, F> {
    /// Calls the operation compiled for some vectors.
    pub(super) fn call(self, vectors: Converting) {
        let with = |f16c, Self(code, op)| With(Converted(code, f16c), op);
        vectors.dispatch(self, with, |plain| plain);
    }
}

impl<C: Known, F: OnCodes> WithSimd for With<C, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.1.run(simd, self.0);
    }
}

/// Some lines of codes, of one group.
pub(super) struct Lines<'a> {
    pub(super) codes: &'a [u8],
    /// The bytes of a line.
    pub(super) size: usize,
    pub(super) zero_points: Option<&'a [f32]>,
    pub(super) scales: Option<&'a [f32]>,
}

impl Lines<'_> {
    /// Two vectors of the zero points.
    #[inline(always)]
    fn zero<S: Simd>(&self, simd: S) -> [S::f32s; 2] {
        Self::pair(simd, self.zero_points, 0.0)
    }

    /// Two of the scales.
    #[inline(always)]
    fn scale<S: Simd>(&self, simd: S) -> [Scale<S::f32s>; 2] {
        let [first, second] = Self::pair(simd, self.scales, 1.0);
        [Scale::new(simd, first), Scale::new(simd, second)]
    }

    /// Two vectors of the numbers of a line, or of another number.
    #[inline(always)]
    fn pair<S: Simd>(simd: S, numbers: Option<&[f32]>, other: f32) -> [S::f32s; 2] {
        match numbers {
            Some(numbers) => match S::as_simd_f32s(numbers).0 {
                [a, b, ..] => [*a, *b],
                _ => [simd.splat_f32s(other); 2],
            },
            None => [simd.splat_f32s(other); 2],
        }
    }
}

/// What is done to the numbers of codes: nothing, a multiplication, or a subtraction before it; rounded to
/// `f16` after each, or after both if they are such as [`to_normal_half`] is for. Constants, since loops are
/// compiled for each.
pub(super) mod way {
    pub(in super::super) const PLAIN: u8 = 0;
    pub(in super::super) const SCALED: u8 = 1;
    pub(in super::super) const SHIFTED: u8 = 2;
    pub(in super::super) const HALF: u8 = 3;
    pub(in super::super) const SCALED_NORMAL: u8 = 4;
    pub(in super::super) const SHIFTED_NORMAL: u8 = 5;
}

/// Calls a method that is compiled for each [`way`].
macro_rules! for_way {
    ($way:expr, |$WAY:ident| $call:expr) => {
        match $way {
            way::PLAIN => {
                const $WAY: u8 = way::PLAIN;
                $call
            }
            way::SCALED => {
                const $WAY: u8 = way::SCALED;
                $call
            }
            way::SHIFTED => {
                const $WAY: u8 = way::SHIFTED;
                $call
            }
            way::SCALED_NORMAL => {
                const $WAY: u8 = way::SCALED_NORMAL;
                $call
            }
            way::SHIFTED_NORMAL => {
                const $WAY: u8 = way::SHIFTED_NORMAL;
                $call
            }
            _ => {
                const $WAY: u8 = way::HALF;
                $call
            }
        }
    };
}

pub(super) use for_way;

/// Whether nothing is rounded to `f16`: that takes as many instructions as all the rest, and registers that sums
/// need.
pub(super) const fn is_fast(way: u8) -> bool {
    matches!(way, way::PLAIN | way::SCALED | way::SHIFTED)
}

/// A scale, and what [`to_normal_half`] makes of it: loops leave out what their way does not use.
#[derive(Clone, Copy)]
struct Scale<V> {
    whole: V,
    split: Split<V>,
}

impl<V: Copy> Scale<V> {
    #[inline(always)]
    fn new<S: Simd<f32s = V>>(simd: S, scale: V) -> Self {
        Self {
            whole: scale,
            split: Split::new(simd, scale),
        }
    }
}

/// The two vectors of a line of codes.
#[inline(always)]
fn weights<C: Known, S: Simd, const WAY: u8>(
    simd: S,
    code: C,
    line: &[u8],
    zero: [S::f32s; 2],
    scale: [Scale<S::f32s>; 2],
) -> [S::f32s; 2] {
    let [mut x, mut y] = read(simd, code, line);
    if WAY == way::PLAIN {
        return [x, y];
    }
    if WAY != way::SCALED && WAY != way::SCALED_NORMAL {
        (x, y) = (simd.sub_f32s(x, zero[0]), simd.sub_f32s(y, zero[1]));
    }
    let f16c = code.f16c();
    if WAY == way::HALF {
        (x, y) = (to_half(simd, f16c, x), to_half(simd, f16c, y));
    }
    let [first, second] = scale;
    if WAY == way::SCALED_NORMAL || WAY == way::SHIFTED_NORMAL {
        return [
            to_normal_half(simd, x, first.split),
            to_normal_half(simd, y, second.split),
        ];
    }
    (x, y) = (
        simd.mul_f32s(x, first.whole),
        simd.mul_f32s(y, second.whole),
    );
    if WAY == way::HALF {
        (x, y) = (to_half(simd, f16c, x), to_half(simd, f16c, y));
    }
    [x, y]
}

/// Writes lines as numbers.
pub(super) struct Write<'a, const WAY: u8> {
    pub(super) lines: Lines<'a>,
    pub(super) out: &'a mut [f32],
}

impl<const WAY: u8> OnCodes for Write<'_, WAY> {
    #[inline(always)]
    fn run<C: Known, S: Simd>(self, simd: S, code: C) {
        let Self { lines, out } = self;
        if const { !C::CODE.comes(WAY) } {
            no_loop(C::CODE, WAY);
        }
        let (zero, scale) = (lines.zero(simd), lines.scale(simd));
        let out = S::as_mut_simd_f32s(out).0.as_chunks_mut::<2>().0;
        for (line, out) in lines.codes.chunks_exact(lines.size).zip(out) {
            *out = weights::<C, S, WAY>(simd, code, line, zero, scale);
        }
    }
}

/// Multiplies few rows with some columns. Of as many rows as a tile has, the elements of a term stand side
/// by side.
pub(super) struct Few<'a, 'c> {
    pub(super) a: &'a [f32],
    pub(super) rows: Range<usize>,
    pub(super) b: &'a PackedNarrow,
    pub(super) columns: Range<usize>,
    /// The column that the target begins with.
    pub(super) origin: usize,
    pub(super) target: &'a mut Target<'c, f32>,
    pub(super) add: bool,
}

/// `R` rows with `P` panels at a time: sums that are few wait for themselves.
pub(super) struct Rows<'a, 'c, const R: usize, const P: usize, const WAY: u8>(Few<'a, 'c>);

impl<const R: usize, const P: usize, const WAY: u8> OnCodes for Rows<'_, '_, R, P, WAY> {
    #[inline(always)]
    fn run<C: Known, S: Simd>(self, simd: S, code: C) {
        let Self(mut few) = self;
        // More rows than four are for some vectors only: no other loop is compiled.
        if const { !fits::<C, S>(R, WAY) } {
            no_loop(C::CODE, WAY);
        }
        let (mut start, end) = (few.columns.start, few.columns.end);
        while start < end {
            if end - start > (P - 1) * few.b.width {
                few.panels::<C, S, R, P, WAY>(simd, code, start);
                start += P * few.b.width;
            } else {
                few.panels::<C, S, R, 1, WAY>(simd, code, start);
                start += few.b.width;
            }
        }
    }
}

/// Who asks has made sure that there is a loop: to leave the result as it was would be a wrong answer.
#[cold]
fn no_loop(code: Code, way: u8) -> ! {
    unreachable!("no such loop is compiled for {code:?}, way {way}")
}

/// Whether there is a loop for so many rows of such codes with these vectors.
const fn fits<C: Known, S: Simd>(rows: usize, way: u8) -> bool {
    let height = match rows {
        0..=4 => true,
        8 => height::<S>() == 8,
        _ => height::<S>() == 6 && is_fast(way),
    };
    height && C::CODE.comes(way)
}

/// The rows of a tile of which two are multiplied at the same time.
const FOUR: usize = 4;

/// Eight rows with half of the registers that AVX-512 has: two tiles of [`FOUR`] and one vector of a panel at a
/// time, so that no weight is made twice.
struct Eight<'a, 'c, const WAY: u8>(Few<'a, 'c>);

impl<const WAY: u8> OnCodes for Eight<'_, '_, WAY> {
    #[inline(always)]
    fn run<C: Known, S: Simd>(self, simd: S, code: C) {
        let Self(mut few) = self;
        if const { height::<S>() != 6 || !C::CODE.comes(WAY) } {
            no_loop(C::CODE, WAY);
        }
        for start in few.columns.clone().step_by(few.b.width) {
            few.vector::<C, S, 0, WAY>(simd, code, start);
            few.vector::<C, S, 1, WAY>(simd, code, start);
        }
    }
}

impl Few<'_, '_> {
    /// Multiplies as many rows as [`Panels::multiplies_few`] says, or some tiles of them.
    pub(super) fn multiply(self) {
        let (rows, depth) = (self.rows.len(), Panels::rows(self.b));
        let tile = self.b.multiplies_few(rows).unwrap_or(rows);
        if rows <= tile {
            return self.of_a_tile();
        }
        if tile == FOUR {
            return for_way!(self.b.way, |WAY| {
                self.b.dispatch(Eight::<'_, '_, WAY>(self));
            });
        }
        // All rows are multiplied with two panels before the next: these stay in a near cache.
        for start in self.columns.clone().step_by(2 * self.b.width) {
            for first in self.rows.clone().step_by(tile) {
                let part = Few {
                    a: &self.a[first * depth..],
                    rows: first..self.rows.end.min(first + tile),
                    columns: start..self.columns.end.min(start + 2 * self.b.width),
                    target: &mut *self.target,
                    ..self
                };
                part.of_a_tile();
            }
        }
    }

    /// Multiplies as many rows as a tile may have.
    fn of_a_tile(self) {
        macro_rules! rows {
            ($R:literal, $P:literal) => {
                for_way!(self.b.way, |WAY| {
                    self.b.dispatch(Rows::<'_, '_, $R, $P, WAY>(self));
                })
            };
        }
        match self.rows.len() {
            1 => rows!(1, 4),
            2 => rows!(2, 2),
            3 => rows!(3, 1),
            4 => rows!(4, 1),
            5 => rows!(5, 1),
            6 => rows!(6, 1),
            8 => rows!(8, 1),
            _ => {}
        }
    }

    /// The panels from the one that begins with column `start` on.
    #[inline(always)]
    fn panels<C: Known, S: Simd, const R: usize, const P: usize, const WAY: u8>(
        &mut self,
        simd: S,
        code: C,
        start: usize,
    ) {
        let width = self.b.width;
        let sums = self.sums::<C, S, R, P, WAY>(simd, code, start / width);
        for (r, sums) in sums.iter().enumerate() {
            for (p, sums) in sums.iter().enumerate() {
                let start = start + p * width;
                let end = self.columns.end.min(start + width);
                let at = start - self.origin..end - self.origin;
                let out = self.target.row(self.rows.start + r, at);
                write(simd, sums, out, self.add);
            }
        }
    }

    /// Vector `V` of the panel that begins with column `start`, for eight rows.
    #[inline(always)]
    fn vector<C: Known, S: Simd, const V: usize, const WAY: u8>(
        &mut self,
        simd: S,
        code: C,
        start: usize,
    ) {
        let panel = start / self.b.width;
        let end = self.columns.end.min(start + (V + 1) * S::F32_LANES);
        let start = end.min(start + V * S::F32_LANES);
        let at = start - self.origin..end - self.origin;
        let sums = self.sums_of_eight::<C, S, V, WAY>(simd, code, panel);
        for (row, sum) in (self.rows.start..).zip(sums.as_flattened()) {
            let out = self.target.row(row, at.clone());
            write(simd, std::array::from_ref(sum), out, self.add);
        }
    }

    /// The sums of vector `V` of a panel, for the rows of two tiles.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn sums_of_eight<C: Known, S: Simd, const V: usize, const WAY: u8>(
        &self,
        simd: S,
        code: C,
        panel: usize,
    ) -> [[S::f32s; FOUR]; 2] {
        let depth = Panels::rows(self.b);
        let (all, _) = self.a.as_chunks::<FOUR>();
        let (first, second) = all[..2 * depth].split_at(depth);
        let mut sums = [[simd.splat_f32s(0.0); FOUR]; 2];
        for terms in self.b.groups(0..depth) {
            let lines = self.b.lines(panel, terms.clone());
            let (zero, scale) = (lines.zero(simd), lines.scale(simd));
            let line = C::CODE.bytes(2 * S::F32_LANES);
            let rows = first[terms.clone()].iter().zip(&second[terms]);
            for (line, (first, second)) in lines.codes.chunks_exact(line).zip(rows) {
                let b = weights::<C, S, WAY>(simd, code, line, zero, scale)[V];
                for r in 0..FOUR {
                    let x = simd.splat_f32s(first[r]);
                    sums[0][r] = <f32 as Lanes>::mul_add(simd, x, b, sums[0][r]);
                }
                for r in 0..FOUR {
                    let x = simd.splat_f32s(second[r]);
                    sums[1][r] = <f32 as Lanes>::mul_add(simd, x, b, sums[1][r]);
                }
            }
        }
        // A copy, as below.
        let mut out = [[simd.splat_f32s(0.0); FOUR]; 2];
        for i in 0..2 {
            for r in 0..FOUR {
                out[i][r] = sums[i][r];
            }
        }
        out
    }

    /// The sums of the columns of some panels.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // so that the sums stay in registers
    fn sums<C: Known, S: Simd, const R: usize, const P: usize, const WAY: u8>(
        &self,
        simd: S,
        code: C,
        first: usize,
    ) -> [[[S::f32s; 2]; P]; R] {
        let (b, all) = (self.b, self.a.as_chunks::<R>().0);
        let mut sums = [[[simd.splat_f32s(0.0); 2]; P]; R];
        for terms in b.groups(0..Panels::rows(b)) {
            let a = &all[terms.clone()];
            let mut codes: [&[u8]; P] = [&[]; P];
            let mut zero = [[simd.splat_f32s(0.0); 2]; P];
            let mut scale = [[Scale::new(simd, simd.splat_f32s(1.0)); 2]; P];
            for p in 0..P {
                let lines = b.lines(first + p, terms.clone());
                (zero[p], scale[p]) = (lines.zero(simd), lines.scale(simd));
                codes[p] = lines.codes;
            }
            let line = C::CODE.bytes(2 * S::F32_LANES);
            for a in a {
                for p in 0..P {
                    let Some((line, rest)) = codes[p].split_at_checked(line) else {
                        break;
                    };
                    codes[p] = rest;
                    let b = weights::<C, S, WAY>(simd, code, line, zero[p], scale[p]);
                    for r in 0..R {
                        let x = simd.splat_f32s(a[r]);
                        let [first, second] = sums[r][p];
                        sums[r][p] = [
                            <f32 as Lanes>::mul_add(simd, x, b[0], first),
                            <f32 as Lanes>::mul_add(simd, x, b[1], second),
                        ];
                    }
                }
            }
        }
        // A copy: what is given away by its address does not stay in registers.
        let mut out = [[[simd.splat_f32s(0.0); 2]; P]; R];
        for r in 0..R {
            for p in 0..P {
                out[r][p] = sums[r][p];
            }
        }
        out
    }
}

#[cfg(test)]
#[path = "coded_tests.rs"]
mod tests;
