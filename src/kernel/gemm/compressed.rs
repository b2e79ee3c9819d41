//! Right sides that are packed in a narrow type: their panels are widened while they are multiplied.

use std::fmt;
use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::Panels;
use super::coded::{Few, Lines, OnCodes, With, Write, for_way, is_fast, way};
use super::rounding::Rounding;
use super::size::TileSize;
use super::target::Target;
use super::widen::{Bfloat16, Code, Float16, I4, I8, U4, U8};
use crate::kernel::scratch::{Kept, or_refuse, try_room, try_zeroed};
use crate::kernel::simd::Converting;
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
    /// Whether the model computes all this in `f16`: the difference and the product are rounded to it.
    pub(crate) half: bool,
}

/// The sizes of compressed weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) groups: usize,
    /// The terms of a group.
    pub(super) size: usize,
    pub(super) columns: usize,
}

impl Sizes {
    /// The terms of a column.
    pub(super) fn rows(self) -> usize {
        self.groups * self.size
    }
}

impl Compressed<'_> {
    /// Rows and columns of the matrix, if it can be packed.
    pub(crate) fn size(&self) -> Option<[usize; 2]> {
        use ElementType as E;
        let ty = self.weights.element_type();
        // All but bf16 are numbers of `f16`.
        let known =
            matches!(ty, E::U4 | E::I4 | E::U8 | E::I8 | E::F16) || ty == E::Bf16 && !self.half;
        let sizes = self.sizes().filter(|_| known)?;
        let fits = |tensor: Option<&Tensor>| {
            tensor.is_none_or(|tensor| self.strides(tensor).is_some_and(|strides| strides[1] == 0))
        };
        let rows = sizes.groups.checked_mul(sizes.size)?;
        (fits(self.zero_point) && fits(self.scale)).then_some([rows, sizes.columns])
    }

    pub(super) fn sizes(&self) -> Option<Sizes> {
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
    pub(super) fn each(&self, tensor: &Tensor, sizes: Sizes, width: usize) -> Option<Vec<f32>> {
        let [of_group, _, of_column] = self.strides(tensor)?;
        let mut values = or_refuse(try_zeroed(tensor.len()))?;
        f32::widen_bytes(tensor.element_type(), tensor.bytes(), 0, &mut values);
        let len = sizes.columns.next_multiple_of(width) * sizes.groups;
        let mut out = or_refuse(try_room(len))?;
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

/// The right side of products, packed in a narrow type.
pub(crate) struct PackedNarrow {
    /// Panels of `width` columns, term after term.
    memory: Kept,
    code: Code,
    sizes: Sizes,
    pub(super) width: usize,
    vectors: Converting,
    zero_points: Option<Vec<f32>>,
    scales: Option<Vec<f32>>,
    /// What is done to the numbers of the codes: see [`way`].
    pub(super) way: u8,
}

impl fmt::Debug for PackedNarrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (Panels::rows(self), Panels::columns(self));
        write!(f, "PackedNarrow({rows} x {columns}, {:?})", self.code)
    }
}

impl PackedNarrow {
    /// Packs weights, if they are of a form that [`Compressed::size`] knows, and there is memory for
    /// them.
    pub(crate) fn new(of: Compressed<'_>) -> Option<Self> {
        Self::for_arch(crate::kernel::simd::arch(), of)
    }

    pub(super) fn for_arch(arch: Arch, of: Compressed<'_>) -> Option<Self> {
        let [rows, columns] = of.size()?;
        let sizes = of.sizes()?;
        let vectors = Converting::of(arch);
        let width = 2 * TileSize::of::<f32>(vectors.arch()).lanes;
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
        let mut memory = or_refuse(Kept::zeroed::<u8>(count))?;
        if count > 0 {
            let bytes: &mut [u8] = memory.elements_mut();
            let pack = |(i, out): (usize, &mut [u8])| match code {
                Code::F16 | Code::Bf16 => pack_wide(&of, sizes, i * width, width, out),
                _ => pack_codes(&of, sizes, i * width, width, out),
            };
            bytes.par_chunks_mut(panel).enumerate().for_each(pack);
        }
        let each = |tensor: Option<&Tensor>| tensor.and_then(|t| of.each(t, sizes, width));
        let (zero_points, scales) = (each(of.zero_point), each(of.scale));
        let integers = !matches!(code, Code::F16 | Code::Bf16);
        let (zeros, factors) = (zero_points.as_deref(), scales.as_deref());
        let rounding = Rounding::of(of.half, integers, zeros, factors);
        let way = match (&zero_points, &scales, rounding) {
            (None, None, _) => way::PLAIN,
            (_, _, Rounding::Each) => way::HALF,
            (None, _, Rounding::Normal) => way::SCALED_NORMAL,
            (_, Some(_), Rounding::Normal) => way::SHIFTED_NORMAL,
            (None, _, Rounding::Exact) => way::SCALED,
            // Differences of integers are exact.
            _ => way::SHIFTED,
        };
        Some(Self {
            memory,
            code,
            sizes,
            width,
            vectors,
            zero_points,
            scales,
            way,
        })
    }

    /// The tiles that the panels are for.
    pub(super) fn tile(&self) -> TileSize {
        TileSize::of::<f32>(self.vectors.arch())
    }

    /// The lines of some terms of a panel, all of one group: codes, zero points and scales.
    pub(super) fn lines(&self, panel: usize, terms: Range<usize>) -> Lines<'_> {
        let from = (panel * Panels::rows(self) + terms.start) * self.width;
        let bytes: &[u8] = self.memory.elements();
        let group = panel * self.sizes.groups + terms.start / self.sizes.size;
        let numbers = |all: &'_ Option<Vec<f32>>| -> Option<Range<usize>> {
            all.as_ref()
                .map(|_| group * self.width..(group + 1) * self.width)
        };
        let zero_points = numbers(&self.zero_points).zip(self.zero_points.as_deref());
        let scales = numbers(&self.scales).zip(self.scales.as_deref());
        Lines {
            codes: &bytes[self.code.bytes(from)..][..self.code.bytes(terms.len() * self.width)],
            size: self.code.bytes(self.width),
            zero_points: zero_points.map(|(range, all)| &all[range]),
            scales: scales.map(|(range, all)| &all[range]),
        }
    }

    /// Some terms, cut where a group begins.
    pub(super) fn groups(&self, terms: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let size = self.sizes.size;
        let mut first = terms.start;
        std::iter::from_fn(move || {
            let from = first;
            first = terms.end.min((from / size + 1) * size);
            (from < terms.end).then_some(from..first)
        })
    }

    /// Calls an operation compiled for the way the elements are stored.
    pub(super) fn dispatch<F: OnCodes>(&self, op: F) {
        match self.code {
            Code::U4 => With(U4, op).call(self.vectors),
            Code::I4 => With(I4, op).call(self.vectors),
            Code::U8 => With(U8, op).call(self.vectors),
            Code::I8 => With(I8, op).call(self.vectors),
            Code::F16 => With(Float16, op).call(self.vectors),
            Code::Bf16 => With(Bfloat16, op).call(self.vectors),
        }
    }
}

impl Panels<f32> for PackedNarrow {
    fn rows(&self) -> usize {
        self.sizes.rows()
    }

    fn columns(&self) -> usize {
        self.sizes.columns
    }

    /// Two vectors, since two codes of four bits share a byte.
    fn width(&self, _: TileSize) -> usize {
        self.width
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [f32]) {
        assert_eq!(width, self.width, "panels are as wide as they were packed");
        let mut rest = panel;
        for terms in self.groups(rows) {
            let (out, others) = rest.split_at_mut(terms.len() * width);
            let lines = self.lines(columns.start / width, terms);
            for_way!(self.way, |WAY| self
                .dispatch(Write::<'_, WAY> { lines, out }));
            rest = others;
        }
    }

    fn source(&self, column: usize, term: usize) -> (&[f32], usize) {
        let from = column / self.width * Panels::rows(self) + term;
        let bytes: &[u8] = self.memory.elements();
        let codes = bytes.get(self.code.bytes(from * self.width)..);
        let codes = bytemuck::try_cast_slice(codes.unwrap_or_default());
        let line = self.code.bytes(self.width) / size_of::<f32>();
        (codes.unwrap_or_default(), line)
    }

    fn multiplies_few(&self, rows: usize) -> Option<usize> {
        // AVX-512, whose vectors are the longest, has registers for the sums of eight rows. AVX2 has for six, and
        // widens once more for others what takes few instructions, or for eight of one vector.
        match (rows, self.tile().rows) {
            (1..=4, _) | (8, 8) => Some(rows),
            (5..=12, 6) if is_fast(self.way) => Some(6),
            (8, 6) => Some(4),
            _ => None,
        }
    }

    fn multiply_few(
        &self,
        a: &[f32],
        rows: usize,
        columns: Range<usize>,
        target: &mut Target<'_, f32>,
        add: bool,
    ) {
        let few = Few {
            a,
            rows: 0..rows,
            b: self,
            origin: columns.start,
            columns,
            target,
            add,
        };
        few.multiply();
    }
}

/// The place in the weights of a term of a column.
fn place(of: &Compressed<'_>, sizes: Sizes, term: usize, column: usize) -> usize {
    match of.by_columns {
        true => column * sizes.rows() + term,
        false => term * sizes.columns + column,
    }
}

/// Writes the codes of a panel, one or two to a byte.
fn pack_codes(of: &Compressed<'_>, sizes: Sizes, start: usize, width: usize, out: &mut [u8]) {
    let (ty, bytes) = (of.weights.element_type(), of.weights.bytes());
    let rows = sizes.rows();
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
    let Some(mut some) = or_refuse(try_zeroed(along)) else {
        return;
    };
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
