//! Right sides that are packed in a narrow type: their panels are widened while they are multiplied.

use std::fmt;
use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::Arch;
use rayon::prelude::*;

use super::Panels;
use super::pack::Line;
use super::tile::TileSize;
use crate::kernel::simd::vectorize;
use crate::tensor::convert::Compute;
use crate::tensor::{ElementType, Tensor, pack};

/// Weights as models store them to be small: `(weights - zero_point) * scale`.
///
/// The weights are of shape `[k, n]`, or `[n, k]` if `by_columns`; the terms may be cut into groups
/// of the same size: `[groups, size, n]` or `[n, groups, size]`. Zero points and scales are broadcast
/// to them as NumPy does, and are the same for all terms of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compressed<'a> {
    /// Weights of type u4, i4, u8, i8, f16 or bf16.
    pub(crate) weights: &'a Tensor,
    /// What is taken from the weights.
    pub(crate) zero_point: Option<&'a Tensor>,
    /// What they are multiplied with then.
    pub(crate) scale: Option<&'a Tensor>,
    /// Whether the terms of a column follow each other.
    pub(crate) by_columns: bool,
    /// Whether the model computes all this in `f16`: the result is rounded to it.
    pub(crate) half: bool,
}

/// The sizes of compressed weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    groups: usize,
    /// The terms of a group.
    size: usize,
    columns: usize,
}

impl Compressed<'_> {
    /// Rows and columns of the matrix, if it can be packed.
    pub(crate) fn size(&self) -> Option<[usize; 2]> {
        use ElementType as E;
        let ty = self.weights.element_type();
        let known = matches!(ty, E::U4 | E::I4 | E::U8 | E::I8 | E::F16 | E::Bf16);
        let sizes = self.sizes().filter(|_| known)?;
        let fits = |tensor: Option<&Tensor>| {
            tensor.is_none_or(|tensor| self.strides(tensor).is_some_and(|strides| strides[1] == 0))
        };
        let rows = sizes.groups.checked_mul(sizes.size)?;
        (fits(self.zero_point) && fits(self.scale)).then_some([rows, sizes.columns])
    }

    fn sizes(&self) -> Option<Sizes> {
        let [groups, size, columns] = match (&self.weights.shape()[..], self.by_columns) {
            (&[n, k], true) => [1, k, n],
            (&[k, n], false) => [1, k, n],
            (&[n, groups, size], true) => [groups, size, n],
            (&[groups, size, n], false) => [groups, size, n],
            _ => return None,
        };
        Some(Sizes {
            groups,
            size,
            columns,
        })
    }

    /// The steps in a tensor that is broadcast to the weights, from group to group, from term to
    /// term and from column to column.
    fn strides(&self, tensor: &Tensor) -> Option<[usize; 3]> {
        let (own, all) = (tensor.shape(), self.weights.shape());
        let missing = all.len().checked_sub(own.len())?;
        let mut strides = [0; 3];
        let first = 3 - all.len();
        let mut step = 1;
        for (axis, &size) in own.iter().enumerate().rev() {
            match size {
                1 => {}
                _ if size == all[missing + axis] => strides[first + missing + axis] = step,
                _ => return None,
            }
            step *= size;
        }
        let [a, b, c] = strides;
        Some(match (self.by_columns, all.len()) {
            (true, 3) => [b, c, a],
            // There is no axis of groups.
            (true, _) => [0, c, b],
            (false, _) => [a, b, c],
        })
    }

    /// A number for each panel, group and column of the panel.
    fn each(&self, tensor: &Tensor, sizes: Sizes, width: usize) -> Option<Vec<f32>> {
        let [of_group, _, of_column] = self.strides(tensor)?;
        let mut values = vec![0.0; tensor.len()];
        f32::widen_bytes(tensor.element_type(), tensor.bytes(), 0, &mut values);
        let mut out = Vec::with_capacity(sizes.columns.next_multiple_of(width) * sizes.groups);
        for panel in (0..sizes.columns).step_by(width) {
            for group in 0..sizes.groups {
                let column = |j: usize| (panel + j).min(sizes.columns - 1);
                let at = |j: usize| values[group * of_group + column(j) * of_column];
                out.extend((0..width).map(at));
            }
        }
        Some(out)
    }
}

/// How the elements of a panel are stored. Two codes of four bits share a byte: that of a column in
/// the first half of the panel, in the low bits, and that of the same place in the second half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    U4,
    I4,
    U8,
    I8,
    F16,
    Bf16,
}

impl Code {
    /// The bytes of so many elements.
    fn bytes(self, elements: usize) -> usize {
        match self {
            Self::U4 | Self::I4 => elements / 2,
            Self::U8 | Self::I8 => elements,
            Self::F16 | Self::Bf16 => 2 * elements,
        }
    }
}

/// The right side of products, packed in a narrow type.
#[derive(Clone)]
pub(crate) struct PackedNarrow {
    /// Panels of `width` columns, term after term.
    memory: Vec<Line>,
    code: Code,
    sizes: Sizes,
    width: usize,
    zero_points: Option<Vec<f32>>,
    scales: Option<Vec<f32>>,
    /// Whether what is widened is rounded to `f16`.
    half: bool,
}

impl fmt::Debug for PackedNarrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (Panels::rows(self), Panels::columns(self));
        write!(f, "PackedNarrow({rows} x {columns}, {:?})", self.code)
    }
}

impl PackedNarrow {
    /// Packs weights, if they are of a form that [`Compressed::size`] knows.
    pub(crate) fn new(of: Compressed<'_>) -> Option<Self> {
        Self::for_arch(Arch::new(), of)
    }

    pub(super) fn for_arch(arch: Arch, of: Compressed<'_>) -> Option<Self> {
        let [rows, columns] = of.size()?;
        let sizes = of.sizes()?;
        let width = TileSize::of::<f32>(arch).columns;
        let code = match of.weights.element_type() {
            ElementType::U4 => Code::U4,
            ElementType::I4 => Code::I4,
            ElementType::U8 => Code::U8,
            ElementType::I8 => Code::I8,
            ElementType::F16 => Code::F16,
            _ => Code::Bf16,
        };
        let panel = code.bytes(rows * width);
        let count = panel * columns.div_ceil(width);
        let mut memory = vec![bytemuck::Zeroable::zeroed(); count.div_ceil(size_of::<Line>())];
        if count > 0 {
            let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut memory)[..count];
            let pack = |(i, out): (usize, &mut [u8])| match code {
                Code::F16 | Code::Bf16 => pack_wide(&of, sizes, i * width, width, out),
                _ => pack_codes(&of, sizes, i * width, width, out),
            };
            bytes.par_chunks_mut(panel).enumerate().for_each(pack);
        }
        let each = |tensor: Option<&Tensor>| tensor.and_then(|t| of.each(t, sizes, width));
        Some(Self {
            memory,
            code,
            sizes,
            width,
            zero_points: each(of.zero_point),
            scales: each(of.scale),
            half: of.half,
        })
    }

    /// The bytes of some terms of a panel.
    fn codes(&self, panel: usize, terms: Range<usize>) -> &[u8] {
        let from = (panel * Panels::rows(self) + terms.start) * self.width;
        let bytes: &[u8] = bytemuck::cast_slice(&self.memory);
        &bytes[self.code.bytes(from)..][..self.code.bytes(terms.len() * self.width)]
    }

    /// Writes terms of one group.
    fn write_group<const W: usize>(&self, panel: usize, terms: Range<usize>, out: &mut [f32]) {
        let group = panel * self.sizes.groups + terms.start / self.sizes.size;
        let numbers = |all: &Option<Vec<f32>>| -> Option<[f32; W]> {
            all.as_ref()?[group * W..].first_chunk().copied()
        };
        let (zero, scale) = (numbers(&self.zero_points), numbers(&self.scales));
        let codes = self.codes(panel, terms);
        match self.code {
            Code::U4 => vectorize(|| halves(codes, out, zero, scale, |x| f32::from(x & 15))),
            Code::I4 => vectorize(|| {
                let number = |x: u8| f32::from((x << 4).cast_signed() >> 4);
                halves(codes, out, zero, scale, number);
            }),
            Code::U8 => vectorize(|| bytes(codes, out, zero, scale, f32::from)),
            Code::I8 => vectorize(|| {
                bytes(codes, out, zero, scale, |x| f32::from(x.cast_signed()));
            }),
            Code::F16 => {
                let codes: &[f16] = bytemuck::cast_slice(codes);
                codes.convert_to_f32_slice(out);
                vectorize(|| affine(out, zero, scale));
            }
            Code::Bf16 => {
                let codes: &[u16] = bytemuck::cast_slice(codes);
                vectorize(|| {
                    for (out, &x) in out.iter_mut().zip(codes) {
                        *out = f32::from_bits(u32::from(x) << 16);
                    }
                    affine(out, zero, scale);
                });
            }
        }
        if self.half && self.scales.is_some() {
            round_to_half(out);
        }
    }
}

/// Rounds to the nearest `f16`.
fn round_to_half(numbers: &mut [f32]) {
    let mut half = [f16::ZERO; 256];
    for numbers in numbers.chunks_mut(half.len()) {
        let half = &mut half[..numbers.len()];
        half.convert_from_f32_slice(numbers);
        half.convert_to_f32_slice(numbers);
    }
}

impl Panels<f32> for PackedNarrow {
    fn rows(&self) -> usize {
        self.sizes.groups * self.sizes.size
    }

    fn columns(&self) -> usize {
        self.sizes.columns
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [f32]) {
        assert_eq!(width, self.width, "panels are as wide as they were packed");
        let mut first = rows.start;
        let mut rest = panel;
        while first < rows.end {
            let end = rows
                .end
                .min((first / self.sizes.size + 1) * self.sizes.size);
            let (out, others) = rest.split_at_mut((end - first) * width);
            match width {
                8 => self.write_group::<8>(columns.start / 8, first..end, out),
                16 => self.write_group::<16>(columns.start / 16, first..end, out),
                _ => self.write_group::<32>(columns.start / 32, first..end, out),
            }
            (first, rest) = (end, others);
        }
    }
}

/// `(x - zero) * scale` for the columns of a panel.
#[inline(always)]
fn one<const W: usize>(x: [f32; W], zero: &Option<[f32; W]>, scale: &Option<[f32; W]>) -> [f32; W] {
    let mut x = x;
    if let Some(zero) = zero {
        for (x, zero) in x.iter_mut().zip(zero) {
            *x -= zero;
        }
    }
    if let Some(scale) = scale {
        for (x, scale) in x.iter_mut().zip(scale) {
            *x *= scale;
        }
    }
    x
}

#[inline(always)]
fn affine<const W: usize>(out: &mut [f32], zero: Option<[f32; W]>, scale: Option<[f32; W]>) {
    if zero.is_some() || scale.is_some() {
        for out in out.as_chunks_mut::<W>().0 {
            *out = one(*out, &zero, &scale);
        }
    }
}

#[inline(always)]
fn bytes<const W: usize>(
    codes: &[u8],
    out: &mut [f32],
    zero: Option<[f32; W]>,
    scale: Option<[f32; W]>,
    number: impl Fn(u8) -> f32,
) {
    let codes = codes.as_chunks::<W>().0;
    for (out, codes) in out.as_chunks_mut::<W>().0.iter_mut().zip(codes) {
        let mut x = [0.0; W];
        for (x, &code) in x.iter_mut().zip(codes) {
            *x = number(code);
        }
        *out = one(x, &zero, &scale);
    }
}

/// `number` is given a byte of which the low half counts.
#[inline(always)]
fn halves<const W: usize>(
    codes: &[u8],
    out: &mut [f32],
    zero: Option<[f32; W]>,
    scale: Option<[f32; W]>,
    number: impl Fn(u8) -> f32,
) {
    let codes = codes.chunks_exact(W / 2);
    for (out, codes) in out.as_chunks_mut::<W>().0.iter_mut().zip(codes) {
        let mut x = [0.0; W];
        let (low, high) = x.split_at_mut(W / 2);
        for ((low, high), &code) in low.iter_mut().zip(high).zip(codes) {
            *low = number(code);
            *high = number(code >> 4);
        }
        *out = one(x, &zero, &scale);
    }
}

/// The place in the weights of a term of a column.
fn place(of: &Compressed<'_>, sizes: Sizes, term: usize, column: usize) -> usize {
    match of.by_columns {
        true => column * sizes.groups * sizes.size + term,
        false => term * sizes.columns + column,
    }
}

/// Writes the codes of a panel, one or two to a byte.
fn pack_codes(of: &Compressed<'_>, sizes: Sizes, start: usize, width: usize, out: &mut [u8]) {
    let (ty, bytes) = (of.weights.element_type(), of.weights.bytes());
    let rows = sizes.groups * sizes.size;
    let count = width.min(sizes.columns - start);
    let nibbles = matches!(ty, ElementType::U4 | ElementType::I4);
    let line = if nibbles { width / 2 } else { width };
    let mut put = |term: usize, j: usize, code: u8| match (nibbles, j < width / 2) {
        (true, true) => out[term * line + j] |= code & 15,
        (true, false) => out[term * line + j - width / 2] |= code << 4,
        (false, _) => out[term * line + j] = code,
    };
    let (across, along) = match of.by_columns {
        true => (count, rows),
        false => (rows, count),
    };
    let mut some = vec![0; along];
    for i in 0..across {
        let (term, column) = if of.by_columns { (0, i) } else { (i, 0) };
        let from = place(of, sizes, term, start + column);
        match nibbles {
            true => pack::unpack(ty, bytes, from, &mut some),
            false => some.copy_from_slice(&bytes[from..from + along]),
        }
        for (l, &code) in some.iter().enumerate() {
            let (term, column) = if of.by_columns { (l, i) } else { (i, l) };
            put(term, column, code);
        }
    }
}

/// Writes the elements of a panel, of two bytes each.
fn pack_wide(of: &Compressed<'_>, sizes: Sizes, start: usize, width: usize, out: &mut [u8]) {
    let data: &[u16] = bytemuck::cast_slice(of.weights.bytes());
    let count = width.min(sizes.columns - start);
    let out: &mut [u16] = bytemuck::cast_slice_mut(out);
    for (term, out) in out.chunks_exact_mut(width).enumerate() {
        for (j, out) in out.iter_mut().take(count).enumerate() {
            *out = data[place(of, sizes, term, start + j)];
        }
    }
}
