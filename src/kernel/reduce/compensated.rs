//! Sums of `f64` beside which the errors of all additions are added up.

use std::marker::PhantomData;

use super::fold::Fold;
use super::scalar::{Accumulator, Map, Pair, two_sum};
use crate::kernel::simd::vectorize_mut;

/// The sum of what a [`Map`] makes of `f64`, compensated: the errors of all additions are added
/// up beside the sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compensated<M>(PhantomData<M>);

impl<M> Compensated<M> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

/// The result of a compensated sum.
pub(super) fn finish_sum<M: Map>(sum: Pair, count: usize) -> Pair {
    Pair::exact(if count == 0 {
        0.0
    } else {
        M::finish(sum.round(), count)
    })
}

impl Pair {
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        Self {
            high,
            low: self.low + other.low + error,
        }
    }
}

/// Columns added up at a time, sums and errors apart.
const PAIRS: usize = 256;

#[inline(always)]
fn push<M: Map>(acc: Pair, x: f64) -> Pair {
    acc.plus(Pair::exact(M::map(x)))
}

#[inline(always)]
fn run<M: Map>(acc: Pair, data: &[f64]) -> Pair {
    const LANES: usize = 16;
    let (mut acc, mut rest) = (acc, data);
    // Short runs do not repay setting up the lanes.
    if data.len() >= 16 * LANES {
        let (whole, remainder) = data.split_at(data.len() / LANES * LANES);
        let mut lanes = [Pair::EMPTY; LANES];
        rows::<M>(&mut lanes, whole, LANES);
        acc = lanes.into_iter().fold(acc, Pair::plus);
        rest = remainder;
    }
    rest.iter().fold(acc, |acc, &x| push::<M>(acc, x))
}

#[inline(always)]
fn rows<M: Map>(acc: &mut [Pair], data: &[f64], stride: usize) {
    let width = acc.len();
    for (i, acc) in acc.chunks_mut(PAIRS).enumerate() {
        let (mut high, mut low) = ([0.0; PAIRS], [0.0; PAIRS]);
        let high = &mut high[..acc.len()];
        let low = &mut low[..acc.len()];
        for ((high, low), acc) in high.iter_mut().zip(&mut *low).zip(&*acc) {
            (*high, *low) = (acc.high, acc.low);
        }
        for row in data.chunks(stride).filter(|row| row.len() >= width) {
            let row = &row[i * PAIRS..];
            for ((high, low), &x) in high.iter_mut().zip(&mut *low).zip(row) {
                let (sum, error) = two_sum(*high, M::map(x));
                *high = sum;
                *low += error;
            }
        }
        for ((acc, &high), &low) in acc.iter_mut().zip(&*high).zip(&*low) {
            *acc = Pair { high, low };
        }
    }
}

impl<M: Map> Fold<f64, Pair> for Compensated<M> {
    fn identity(&self) -> Pair {
        Pair::EMPTY
    }

    fn runs(&self, acc: &mut [Pair], data: &[f64]) {
        let len = data.len() / acc.len();
        vectorize_mut(
            #[inline(always)]
            || {
                for (acc, data) in acc.iter_mut().zip(data.chunks_exact(len.max(1))) {
                    *acc = run::<M>(*acc, data);
                }
            },
        );
    }

    fn rows(&self, acc: &mut [Pair], data: &[f64], stride: usize, _far: bool) {
        vectorize_mut(
            #[inline(always)]
            || rows::<M>(acc, data, stride),
        );
    }

    fn merge(&self, acc: &mut [Pair], other: &[Pair]) {
        for (acc, &other) in acc.iter_mut().zip(other) {
            *acc = acc.plus(other);
        }
    }

    fn finish(&self, acc: &mut [Pair], count: usize) {
        for acc in acc {
            *acc = finish_sum::<M>(*acc, count);
        }
    }
}
