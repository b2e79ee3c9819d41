//! Sums of `f16`, read where they lie.
//!
//! Making an `f64` of each number takes much longer than reading it. An `f32` has more than twice the bits of an
//! `f16`, so two sums of them are exact, of what numbers have above some bit and below it.

// Elsewhere numbers are added up as `f64` alone.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_macros))]

#[cfg(target_arch = "x86_64")]
mod floats;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use half::f16;
use pulp::{Arch, NullaryFnOnce};

use super::fold::Fold;
use super::scalar::{Accumulator, Map, Scalar};
use super::sums::Mapped;
use crate::tensor::convert::wide;
#[cfg(target_arch = "x86_64")]
use crate::tensor::simd::F16c;
use crate::tensor::simd::{machine, vectorize};

/// Numbers that are worked on side by side.
pub(super) const LANES: usize = 32;
/// Rows of them whose sum is exact, as that of their `f64` is.
const BLOCK: usize = 256;
/// Rows that are added to sums together.
const GROUP: usize = 8;
/// The exponent of the last bit of the least numbers.
const LAST: i32 = -24;
/// A negative zero adds nothing, even to a negative zero.
const NOTHING: f16 = f16::NEG_ZERO;
const EMPTY: f64 = -0.0;

type Row = [f16; LANES];
type Sums = [f64; LANES];

/// Adds up, of each element, what the bits `KEPT` are. `M` makes the result of the sum.
pub(super) struct Halves<M, const KEPT: u16>(PhantomData<M>);

impl<M, const KEPT: u16> Halves<M, KEPT> {
    pub(super) const NEW: Self = Self(PhantomData);
}

/// How numbers are added up exactly, if none is infinite or NaN.
trait Exact: Copy {
    /// The sum of at most [`BLOCK`] rows, in units of the last bit of the least numbers.
    fn total<const KEPT: u16>(self, rows: &[Row]) -> Option<i64>;

    /// Adds the sum of each column to what there is, or does nothing.
    fn add<const KEPT: u16>(self, sums: &mut Sums, rows: [&Row; GROUP]) -> Option<()>;
}

/// Not at all.
#[derive(Clone, Copy)]
struct No;

impl Exact for No {
    fn total<const KEPT: u16>(self, _: &[Row]) -> Option<i64> {
        None
    }

    fn add<const KEPT: u16>(self, _: &mut Sums, _: [&Row; GROUP]) -> Option<()> {
        None
    }
}

/// Adds the sum of rows, in loops that the compiler makes vectors of.
#[inline(always)]
fn add_each<'a, const KEPT: u16>(sums: &mut Sums, rows: impl IntoIterator<Item = &'a Row>) {
    let mut all = [EMPTY; LANES];
    for row in rows {
        // Twice as many in a vector as of f64.
        let mut floats = [0f32; LANES];
        for (x, half) in floats.iter_mut().zip(row) {
            *x = wide(f16::from_bits(half.to_bits() & KEPT));
        }
        for (sum, x) in all.iter_mut().zip(floats) {
            *sum += f64::from(x);
        }
    }
    for (sum, all) in sums.iter_mut().zip(all) {
        *sum += all;
    }
}

#[inline(always)]
fn is_nothing<const KEPT: u16>(half: f16) -> bool {
    half.to_bits() & KEPT == NOTHING.to_bits()
}

#[inline(always)]
fn sum_of_rows<F: Exact, const KEPT: u16>(how: F, rows: &[Row]) -> f64 {
    let nothing = || {
        rows.as_flattened()
            .iter()
            .all(|&half| is_nothing::<KEPT>(half))
    };
    match how.total::<KEPT>(rows) {
        Some(0) if nothing() => EMPTY,
        #[allow(clippy::cast_precision_loss)] // of a few thousand numbers of 40 bits
        Some(units) => units as f64 * f64::powi(2.0, LAST),
        None => {
            let mut sums = [EMPTY; LANES];
            add_each::<KEPT>(&mut sums, rows);
            sums.iter().fold(EMPTY, |all, sum| all + sum)
        }
    }
}

#[inline(always)]
fn sum_of_run<F: Exact, const KEPT: u16>(how: F, data: &[f16]) -> f64 {
    let (rows, rest) = data.as_chunks::<LANES>();
    let mut sum = EMPTY;
    for rows in rows.chunks(BLOCK) {
        sum += sum_of_rows::<F, KEPT>(how, rows);
    }
    if !rest.is_empty() {
        let mut row = [NOTHING; LANES];
        row[..rest.len()].copy_from_slice(rest);
        sum += sum_of_rows::<F, KEPT>(how, &[row]);
    }
    sum
}

#[inline(always)]
fn add_group<F: Exact, const KEPT: u16>(how: F, sums: &mut Sums, rows: [&Row; GROUP]) {
    if how.add::<KEPT>(sums, rows).is_none() {
        add_each::<KEPT>(sums, rows);
    }
}

#[inline(always)]
fn add_rows<F: Exact, const KEPT: u16>(how: F, acc: &mut [f64], data: &[f16], stride: usize) {
    let left = acc.len() % LANES;
    let (acc, last) = acc.split_at_mut(acc.len() - left);
    for group in data.chunks(GROUP * stride) {
        for (i, sums) in acc.as_chunks_mut().0.iter_mut().enumerate() {
            add_group::<F, KEPT>(how, sums, rows_at(group, i * LANES, stride));
        }
        if left == 0 {
            continue;
        }
        let mut sums = [EMPTY; LANES];
        let new = if let Some(before) = (acc.len() + left).checked_sub(LANES) {
            add_group::<F, KEPT>(how, &mut sums, rows_at(group, before, stride));
            &sums[LANES - left..]
        } else {
            let mut rows = [[NOTHING; LANES]; GROUP];
            for (to, row) in rows.iter_mut().zip(group.chunks(stride)) {
                to[..left].copy_from_slice(&row[..left]);
            }
            add_group::<F, KEPT>(how, &mut sums, rows.each_ref());
            &sums[..left]
        };
        for (acc, new) in last.iter_mut().zip(new) {
            *acc += new;
        }
    }
}

/// The rows there are, from a column on.
#[inline(always)]
fn rows_at(group: &[f16], column: usize, stride: usize) -> [&Row; GROUP] {
    let mut rows = [&[NOTHING; LANES]; GROUP];
    for (i, row) in rows.iter_mut().enumerate() {
        let at = group.get(i * stride + column..);
        *row = at.and_then(|at| at.first_chunk()).unwrap_or(*row);
    }
    rows
}

/// Runs of equal length, or rows that begin `stride` apart.
struct Work<'a, F, const KEPT: u16> {
    how: F,
    acc: &'a mut [f64],
    data: &'a [f16],
    stride: Option<usize>,
}

impl<F: Exact, const KEPT: u16> NullaryFnOnce for Work<'_, F, KEPT> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            how,
            acc,
            data,
            stride,
        } = self;
        if let Some(stride) = stride {
            return add_rows::<F, KEPT>(how, acc, data, stride);
        }
        let len = data.len() / acc.len();
        for (acc, run) in acc.iter_mut().zip(data.chunks_exact(len.max(1))) {
            *acc += sum_of_run::<F, KEPT>(how, run);
        }
    }
}

fn work<const KEPT: u16>(acc: &mut [f64], data: &[f16], stride: Option<usize>) {
    work_on::<KEPT>(machine(), acc, data, stride);
}

fn work_on<const KEPT: u16>(arch: Arch, acc: &mut [f64], data: &[f16], stride: Option<usize>) {
    macro_rules! exactly {
        ($how:ident) => {{
            return $how.vectorize(Work::<_, KEPT> {
                how: floats::Floats::new($how),
                acc,
                data,
                stride,
            });
        }};
    }
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(how) => exactly!(how),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => {
            if let Some(how) = F16c::try_new() {
                exactly!(how);
            }
        }
        _ => {}
    }
    vectorize(Work::<_, KEPT> {
        how: No,
        acc,
        data,
        stride,
    });
}

impl<M: Map, const KEPT: u16> Fold<f16, f64> for Halves<M, KEPT> {
    fn identity(&self) -> f64 {
        EMPTY
    }

    fn runs(&self, acc: &mut [f64], data: &[f16]) {
        work::<KEPT>(acc, data, None);
    }

    fn rows(&self, acc: &mut [f64], data: &[f16], stride: usize, _far: bool) {
        work::<KEPT>(acc, data, Some(stride));
    }

    fn merge(&self, acc: &mut [f64], other: &[f64]) {
        for (acc, &other) in acc.iter_mut().zip(other) {
            *acc += other;
        }
    }

    fn finish(&self, acc: &mut [f64], count: usize) {
        for acc in acc {
            *acc = <Mapped<M> as Scalar<f32, f64>>::finish(*acc, count);
        }
    }
}

impl Accumulator<f16> for f64 {
    fn round(self) -> f16 {
        f16::from_f32(self.round_again())
    }
}
