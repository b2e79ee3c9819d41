//! What two tensors differ in, counted once.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;

use super::Tolerance;
use super::ulp::{position, ulp_type};
use crate::tensor::convert::{self, BLOCK};
use crate::tensor::{Class, ElementType, Shape, Tensor};

/// Elements that are counted together; sums of pieces are added in order, so that they do not
/// depend on threads.
const PIECE: usize = 1 << 16;

/// How a tensor differs from what is expected, counted for a [`Tolerance`].
///
/// Tensors of different types compare by value. Where shapes differ, or one holds strings and the
/// other does not, there are no numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The element types: what was found, what is expected.
    pub types: (ElementType, ElementType),
    /// The shapes: what was found, what is expected.
    pub shapes: (Shape, Shape),
    /// The numbers, where there are pairs of elements.
    pub values: Option<Values>,
}

/// The numbers of a [`Difference`]. Elements that are not finite are in no sum and no maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// How many elements there are on either side.
    pub elements: u64,
    /// How many are not equal.
    pub differing: u64,
    /// How many exceed the bound of elements.
    pub exceeding: u64,
    /// How many are NaN or infinite on one side and something else on the other.
    pub not_finite: u64,
    /// The largest absolute difference.
    pub max_abs: f64,
    /// The mean absolute difference.
    pub mean_abs: f64,
    /// The largest difference as a part of the larger of the two elements, so at most 2.
    pub max_rel: f64,
    /// The mean of these parts.
    pub mean_rel: f64,
    /// The largest distance in units in the last place: how many numbers of the narrower of the two
    /// types lie between, and one more. `None` unless both are floats.
    pub max_ulp: Option<u64>,
    /// The cosine of the angle between both as vectors; 1 if both are zero.
    pub cosine: f64,
    /// The norm of the difference as a part of the norm of what is expected; infinite where only
    /// zeros are expected and there is something else.
    pub rel_l2: f64,
    /// The largest absolute value that is expected.
    pub scale: f64,
    /// Whether booleans or strings were compared: they have no distances, differing is all.
    pub exact: bool,
    /// The element that exceeds its bound most, or without a bound differs most.
    pub worst: Option<Worst>,
}

/// One element on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// Its index in each dimension.
    pub index: Vec<usize>,
    /// What is there.
    pub found: Scalar,
    /// What is expected.
    pub expected: Scalar,
}

/// An element.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A float.
    Float(f64),
    /// An integer.
    Integer(i128),
    /// A boolean.
    Boolean(bool),
    /// A string.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The shortest of both; 9 digits tell any f32 from the next.
            Self::Float(x) if *x == 0.0 || (1e-4..1e7).contains(&x.abs()) => write!(f, "{x}"),
            Self::Float(x) if x.is_finite() => write!(f, "{x:e}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Integer(x) => write!(f, "{x}"),
            Self::Boolean(x) => write!(f, "{x}"),
            Self::Text(x) => f.write_str(&crate::error::quoted(x)),
        }
    }
}

impl Difference {
    /// Counts what `found` differs in from `expected`.
    pub fn between(found: &Tensor, expected: &Tensor, tolerance: &Tolerance) -> Self {
        let mut difference = Self {
            types: (found.element_type(), expected.element_type()),
            shapes: (found.shape().clone(), expected.shape().clone()),
            values: None,
        };
        if found.shape() != expected.shape() {
            return difference;
        }
        difference.values = match (found.as_strings(), expected.as_strings()) {
            (Ok(a), Ok(b)) => Some(strings(a, b, found.shape())),
            _ => numbers(found, expected, tolerance),
        };
        difference
    }

    /// Whether both hold the same values in the same shape.
    pub fn is_none(&self) -> bool {
        self.values.as_ref().is_some_and(|v| v.differing == 0)
    }
}

fn strings(a: &[crate::tensor::Text], b: &[crate::tensor::Text], shape: &Shape) -> Values {
    let mut pairs = a.iter().zip(b).enumerate();
    let differing = pairs.clone().filter(|(_, (a, b))| a != b).count() as u64;
    let first = pairs.find(|(_, (a, b))| a != b);
    let text = |text: &crate::tensor::Text| Scalar::Text(text.to_str().into_owned());
    let worst = first.map(|(at, (a, b))| Worst {
        index: index(at, shape),
        found: text(a),
        expected: text(b),
    });
    Values {
        worst,
        exceeding: differing,
        exact: true,
        ..Totals {
            differing,
            ..Totals::default()
        }
        .values(a.len())
    }
}

/// The index in each dimension of an element.
fn index(at: usize, shape: &Shape) -> Vec<usize> {
    let strides = shape.strides();
    let dims = shape.iter().zip(&strides);
    dims.map(|(&dim, &stride)| at / stride.max(1) % dim.max(1))
        .collect()
}

/// What is counted of a piece.
#[derive(Debug, Clone, Default)]
struct Totals {
    differing: u64,
    not_finite: u64,
    max_abs: f64,
    sum_abs: f64,
    max_rel: f64,
    sum_rel: f64,
    max_ulp: u64,
    squares: [f64; 3],
    product: f64,
    scale: f64,
}

impl Totals {
    fn add(mut self, other: Self) -> Self {
        self.differing += other.differing;
        self.not_finite += other.not_finite;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.sum_abs += other.sum_abs;
        self.max_rel = self.max_rel.max(other.max_rel);
        self.sum_rel += other.sum_rel;
        self.max_ulp = self.max_ulp.max(other.max_ulp);
        for (sum, other) in self.squares.iter_mut().zip(other.squares) {
            *sum += other;
        }
        self.product += other.product;
        self.scale = self.scale.max(other.scale);
        self
    }

    #[allow(clippy::cast_precision_loss)] // the purpose
    fn values(self, elements: usize) -> Values {
        let [difference, found, expected] = self.squares.map(f64::sqrt);
        let cosine = match (found == 0.0, expected == 0.0) {
            (true, true) => 1.0,
            (true, false) | (false, true) => 0.0,
            (false, false) => (self.product / found / expected).clamp(-1.0, 1.0),
        };
        let rel_l2 = match difference == 0.0 {
            true => 0.0,
            false => difference / expected,
        };
        let mean = |sum: f64| sum / elements.max(1) as f64;
        Values {
            elements: elements as u64,
            differing: self.differing,
            exceeding: 0,
            not_finite: self.not_finite,
            max_abs: self.max_abs,
            mean_abs: mean(self.sum_abs),
            max_rel: self.max_rel,
            mean_rel: mean(self.sum_rel),
            max_ulp: None,
            cosine,
            rel_l2,
            scale: self.scale,
            exact: false,
            worst: None,
        }
    }
}

/// A pair of elements: both, and the size of their difference.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    a: f64,
    b: f64,
    off: f64,
}

impl Pair {
    fn of(a: f64, b: f64) -> Self {
        let same = a == b || a.is_nan() && b.is_nan();
        let off = if same { 0.0 } else { (a - b).abs() };
        Self { a, b, off }
    }

    /// NaN or infinite on one side only, or on both with another sign.
    fn is_odd(self) -> bool {
        !self.off.is_finite()
    }
}

/// The elements of two tensors as pairs.
struct Pairs<'t> {
    found: &'t Tensor,
    expected: &'t Tensor,
    /// Whether both are integers or booleans.
    integers: bool,
    ulp: Option<ElementType>,
}

impl Pairs<'_> {
    /// Calls `f` with the pairs of a range, block by block, and the first one's position.
    fn blocks(&self, range: Range<usize>, mut f: impl FnMut(usize, &[Pair])) {
        let mut pairs = [Pair::default(); BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let pairs = &mut pairs[..BLOCK.min(range.end - start)];
            if self.integers {
                let (mut a, mut b) = ([0i64; BLOCK], [0i64; BLOCK]);
                let (a, b) = (&mut a[..pairs.len()], &mut b[..pairs.len()]);
                convert::widen(self.found, start, a);
                convert::widen(self.expected, start, b);
                for (pair, (&a, &b)) in pairs.iter_mut().zip(a.iter().zip(&*b)) {
                    let (a, b) = (whole(self.found, a), whole(self.expected, b));
                    #[allow(clippy::cast_precision_loss)] // a distance, not a value
                    let off = a.abs_diff(b) as f64;
                    #[allow(clippy::cast_precision_loss)]
                    let (a, b) = (a as f64, b as f64);
                    *pair = Pair { a, b, off };
                }
            } else {
                let (mut a, mut b) = ([0f64; BLOCK], [0f64; BLOCK]);
                let (a, b) = (&mut a[..pairs.len()], &mut b[..pairs.len()]);
                convert::widen(self.found, start, a);
                convert::widen(self.expected, start, b);
                for (pair, (&a, &b)) in pairs.iter_mut().zip(a.iter().zip(&*b)) {
                    *pair = Pair::of(a, b);
                }
            }
            f(start, pairs);
        }
    }

    fn totals(&self, range: Range<usize>) -> Totals {
        let mut totals = Totals::default();
        self.blocks(range, |_, pairs| {
            for &Pair { a, b, off } in pairs {
                if b.is_finite() {
                    totals.scale = totals.scale.max(b.abs());
                }
                if !off.is_finite() {
                    totals.differing += 1;
                    totals.not_finite += 1;
                    continue;
                }
                if !b.is_finite() {
                    continue;
                }
                let squares = [off * off, a * a, b * b];
                for (sum, square) in totals.squares.iter_mut().zip(squares) {
                    *sum += square;
                }
                totals.product += a * b;
                if off == 0.0 {
                    continue;
                }
                totals.differing += 1;
                totals.max_abs = totals.max_abs.max(off);
                totals.sum_abs += off;
                let rel = off / a.abs().max(b.abs());
                totals.max_rel = totals.max_rel.max(rel);
                totals.sum_rel += rel;
                if let Some(ty) = self.ulp {
                    let distance = position(ty, a).abs_diff(position(ty, b));
                    totals.max_ulp = totals.max_ulp.max(distance);
                }
            }
        });
        totals
    }

    /// How many elements exceed their bound, the one that does most, and by how much.
    fn exceeding(&self, range: Range<usize>, bound: &Bound<'_>) -> (u64, Option<(f64, usize)>) {
        let mut count = 0;
        let mut worst: Option<(f64, usize)> = None;
        self.blocks(range, |start, pairs| {
            for (at, pair) in pairs.iter().enumerate().filter(|(_, p)| p.off != 0.0) {
                let by = bound.exceeded(*pair);
                count += u64::from(by > 1.0);
                // Without a bound, the largest difference is the worst.
                let by = if bound.tolerance.bounds_elements() || pair.is_odd() {
                    by
                } else {
                    pair.off
                };
                if worst.is_none_or(|(most, _)| by > most) {
                    worst = Some((by, start + at));
                }
            }
        });
        (count, worst)
    }
}

/// The bound of elements of one tensor.
struct Bound<'t> {
    tolerance: &'t Tolerance,
    scale: f64,
    ulp: Option<ElementType>,
    exact: bool,
}

impl Bound<'_> {
    /// How far off a pair is as a part of what is allowed.
    fn exceeded(&self, pair: Pair) -> f64 {
        if pair.is_odd() || self.exact {
            return f64::INFINITY;
        }
        if !self.tolerance.bounds_elements() {
            return 0.0;
        }
        let allowed = self.tolerance.allowed(pair.b, self.scale);
        let by = match pair.off <= allowed {
            true if allowed == 0.0 => 0.0,
            _ => pair.off / allowed,
        };
        match (self.tolerance.ulp, self.ulp) {
            (Some(most), Some(ty)) => {
                let distance = position(ty, pair.a).abs_diff(position(ty, pair.b));
                #[allow(clippy::cast_precision_loss)]
                let ulps = if distance <= most {
                    0.0
                } else {
                    distance as f64 / most as f64
                };
                by.min(ulps)
            }
            _ => by,
        }
    }
}

/// An integer of a tensor that was widened modulo 2^64.
fn whole(tensor: &Tensor, x: i64) -> i128 {
    match tensor.element_type().class() {
        Some(Class::U64) => x.cast_unsigned().into(),
        _ => x.into(),
    }
}

fn numbers(found: &Tensor, expected: &Tensor, tolerance: &Tolerance) -> Option<Values> {
    if let (Some(a), Some(b)) = (found.complex_parts(), expected.complex_parts()) {
        return numbers(&a, &b, tolerance);
    }
    let types = [found.element_type(), expected.element_type()];
    if types.iter().any(|ty| ty.class().is_none()) {
        return None;
    }
    let elements = found.len();
    let exact = types == [ElementType::Boolean; 2];
    let pairs = Pairs {
        found,
        expected,
        integers: types.iter().all(|ty| !ty.is_float()),
        ulp: ulp_type(types[0], types[1]),
    };
    let totals = pieces(elements, |range| pairs.totals(range));
    let totals = totals.into_iter().fold(Totals::default(), Totals::add);
    let max_ulp = pairs.ulp.map(|_| totals.max_ulp);
    let mut values = Values {
        max_ulp,
        exact,
        ..totals.values(elements)
    };
    if values.differing == 0 {
        return Some(values);
    }
    let bound = Bound {
        tolerance,
        scale: values.scale,
        ulp: pairs.ulp,
        exact,
    };
    let mut worst: Option<(f64, usize)> = None;
    for (count, found) in pieces(elements, |range| pairs.exceeding(range, &bound)) {
        values.exceeding += count;
        if let Some((by, at)) = found
            && worst.is_none_or(|(most, _)| by > most)
        {
            worst = Some((by, at));
        }
    }
    values.worst = worst.map(|(_, at)| Worst {
        index: index(at, found.shape()),
        found: scalar(found, at),
        expected: scalar(expected, at),
    });
    Some(values)
}

/// Does the work for every piece of so many elements; the results are in order.
fn pieces<R: Send>(elements: usize, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let count = elements.div_ceil(PIECE);
    let range = |piece: usize| piece * PIECE..elements.min((piece + 1) * PIECE);
    match count {
        0 | 1 => (0..count).map(|piece| work(range(piece))).collect(),
        _ => (0..count)
            .into_par_iter()
            .map(|piece| work(range(piece)))
            .collect(),
    }
}

/// One element of a tensor of numbers or booleans.
fn scalar(tensor: &Tensor, at: usize) -> Scalar {
    // Packed types begin at whole bytes.
    let (start, skip) = (at / 8 * 8, at % 8);
    if tensor.element_type().is_float() {
        let mut block = [0f64; 8];
        convert::widen(tensor, start, &mut block[..=skip]);
        return Scalar::Float(block[skip]);
    }
    let mut block = [0i64; 8];
    convert::widen(tensor, start, &mut block[..=skip]);
    match tensor.element_type() {
        ElementType::Boolean => Scalar::Boolean(block[skip] != 0),
        _ => Scalar::Integer(whole(tensor, block[skip])),
    }
}

#[cfg(test)]
#[path = "tests/difference.rs"]
mod tests;
