//! The first elements of slices, by value.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::index::Index;
use super::moving::{Mover, Word, for_rows};
use super::scratch::{Reused, reused};
use super::simd::vectorize_mut;
use super::sort::{PIECE, sort};
use crate::limits::{self, Share};
use crate::op::OpError;
use crate::tensor::convert::{BLOCK, Compute, widen};
use crate::tensor::{Class, Tensor};

/// Elements one thread looks at a time; smaller work stays on the calling thread.
const PART: usize = 1 << 16;

/// Slices next to each other that are read together, so that each line of memory is read once.
const COLUMNS: usize = 64;

/// In longer slices the time is looked at while elements are picked.
const LONG: usize = 1 << 20;

/// Up to this many elements are kept in order while the others pass by.
const FEW: usize = 16;

/// Data seen as `[outer, axis, inner]` gives outputs `[outer, k, inner]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopK {
    pub(crate) axis: usize,
    pub(crate) inner: usize,
    /// How many elements of each slice are picked: at least one, at most all.
    pub(crate) k: usize,
    /// Whether the largest are picked, or the smallest.
    pub(crate) largest: bool,
    /// Whether they are ordered by their index, or by value.
    pub(crate) by_index: bool,
}

/// An element as a number: its rank by value, and its index. Equal values go by index.
trait Ranked: Ord + Copy + Default + Send + Sync + 'static {
    fn new(rank: u64, index: usize) -> Self;
    fn index(self) -> usize;
}

/// Ranks of 32 bits.
impl Ranked for u64 {
    #[inline(always)]
    fn new(rank: u64, index: usize) -> Self {
        rank << 32 | index as u64
    }

    #[allow(clippy::cast_possible_truncation)] // the half that is the index
    fn index(self) -> usize {
        self as u32 as usize
    }
}

/// Ranks of 64 bits.
impl Ranked for u128 {
    #[inline(always)]
    fn new(rank: u64, index: usize) -> Self {
        Self::from(rank) << 64 | index as u128
    }

    #[allow(clippy::cast_possible_truncation)] // the half that is the index
    fn index(self) -> usize {
        self as usize
    }
}

/// A type whose numbers can be ranked: the rank of a smaller number is smaller, that of NaN is the
/// smallest, zeros of both signs have the same.
trait Rank: Compute {
    type Ranked: Ranked;
    fn rank(self) -> u64;
    /// The rank with the order reversed.
    fn reversed(rank: u64) -> u64;
}

impl Rank for f32 {
    type Ranked = u64;

    #[inline(always)]
    fn rank(self) -> u64 {
        if self.is_nan() {
            return 0;
        }
        let bits = (self + 0.0).to_bits();
        let sign = 1 << 31;
        u64::from(if bits & sign == 0 { bits | sign } else { !bits })
    }

    #[inline(always)]
    fn reversed(rank: u64) -> u64 {
        u64::from(u32::MAX) - rank
    }
}

impl Rank for f64 {
    type Ranked = u128;

    #[inline(always)]
    fn rank(self) -> u64 {
        if self.is_nan() {
            return 0;
        }
        let bits = (self + 0.0).to_bits();
        let sign = 1 << 63;
        if bits & sign == 0 { bits | sign } else { !bits }
    }

    #[inline(always)]
    fn reversed(rank: u64) -> u64 {
        !rank
    }
}

impl Rank for i64 {
    type Ranked = u128;

    #[inline(always)]
    fn rank(self) -> u64 {
        self.cast_unsigned() ^ (1 << 63)
    }

    #[inline(always)]
    fn reversed(rank: u64) -> u64 {
        !rank
    }
}

impl Rank for i32 {
    type Ranked = u64;

    #[inline(always)]
    fn rank(self) -> u64 {
        u64::from(self.cast_unsigned() ^ (1 << 31))
    }

    #[inline(always)]
    fn reversed(rank: u64) -> u64 {
        u64::from(u32::MAX) - rank
    }
}

impl Rank for u64 {
    type Ranked = u128;

    #[inline(always)]
    fn rank(self) -> u64 {
        self
    }

    #[inline(always)]
    fn reversed(rank: u64) -> u64 {
        !rank
    }
}

/// The rank of an element, less for those that come first.
#[inline(always)]
fn rank<C: Rank>(x: C, largest: bool) -> u64 {
    if largest {
        C::reversed(x.rank())
    } else {
        x.rank()
    }
}

impl TopK {
    /// The indices picked, `k` for each slice, slices in the order `[outer, inner]`.
    ///
    /// # Errors
    /// When there is no memory for them, or for a slice.
    pub(crate) fn pick(&self, data: &Tensor) -> Result<Reused<usize>, OpError> {
        let narrow = u32::try_from(self.axis).is_ok();
        match data.element_type().class() {
            Some(Class::F32) if narrow => self.ranked::<f32>(data),
            // The wider type has the same order.
            Some(Class::F32 | Class::F64) => self.ranked::<f64>(data),
            Some(Class::U64) => self.ranked::<u64>(data),
            _ if narrow && data.element_type().bits() <= 32 && fits_i32(data) => {
                self.ranked::<i32>(data)
            }
            _ => self.ranked::<i64>(data),
        }
    }

    fn ranked<C: Rank>(&self, data: &Tensor) -> Result<Reused<usize>, OpError> {
        let slices = data.len() / self.axis.max(1);
        let mut picked = reused(0, slices * self.k)?;
        let group = (PART / self.axis.max(1)).max(1);
        let failed = OnceLock::new();
        let work = |(i, picked): (usize, &mut [usize])| {
            if self.k == 1 && self.inner > 1 {
                self.firsts::<C>(data, i * group, picked);
            } else if let Err(error) = self.group::<C>(data, i * group, picked) {
                // The first error is as good as any other.
                failed.set(error).ok();
            }
        };
        if data.len() <= PART {
            picked.chunks_mut(group * self.k).enumerate().for_each(work);
        } else {
            picked
                .par_chunks_mut(group * self.k)
                .enumerate()
                .share(work);
        }
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(picked),
        }
    }

    /// The slices from `first` on.
    fn group<C: Rank>(
        &self,
        data: &Tensor,
        first: usize,
        picked: &mut [usize],
    ) -> Result<(), OpError> {
        let columns = (PART / self.axis).clamp(1, COLUMNS).min(self.inner);
        let mut ranked = reused(C::Ranked::default(), columns * self.axis)?;
        let mut slice = first;
        let mut picked = picked;
        while !picked.is_empty() {
            let column = slice % self.inner;
            let count = columns.min(self.inner - column).min(picked.len() / self.k);
            let start = slice / self.inner * self.axis * self.inner + column;
            self.read::<C>(data, start, count, &mut ranked);
            let (now, later) = picked.split_at_mut(count * self.k);
            let slices = ranked.chunks_exact_mut(self.axis);
            for (slice, out) in slices.zip(now.chunks_exact_mut(self.k)) {
                self.best(slice, out)?;
            }
            picked = later;
            slice += count;
        }
        Ok(())
    }

    /// As [`TopK::group`] for one element each of slices that lie next to each other, all of which are gone
    /// through at the same time.
    fn firsts<C: Rank>(&self, data: &Tensor, first: usize, picked: &mut [usize]) {
        let mut block = [C::default(); BLOCK];
        let mut best = [C::Ranked::default(); BLOCK];
        let mut slice = first;
        let mut picked = picked;
        while !picked.is_empty() {
            let column = slice % self.inner;
            let count = BLOCK.min(self.inner - column).min(picked.len());
            let start = slice / self.inner * self.axis * self.inner + column;
            let (block, best) = (&mut block[..count], &mut best[..count]);
            for i in 0..self.axis {
                widen(data, start + i * self.inner, block);
                let (block, best, largest) = (&*block, &mut *best, self.largest);
                vectorize_mut(
                    #[inline(always)]
                    move || {
                        for (best, &x) in best.iter_mut().zip(block) {
                            let ranked = C::Ranked::new(rank(x, largest), i);
                            *best = if i == 0 || ranked < *best {
                                ranked
                            } else {
                                *best
                            };
                        }
                    },
                );
            }
            let (now, later) = picked.split_at_mut(count);
            for (out, best) in now.iter_mut().zip(best) {
                *out = best.index();
            }
            picked = later;
            slice += count;
        }
    }

    /// Ranks the elements of `count` slices next to each other, slice by slice.
    fn read<C: Rank>(&self, data: &Tensor, start: usize, count: usize, ranked: &mut [C::Ranked]) {
        let rank = |x: C| rank(x, self.largest);
        let mut block = [C::default(); BLOCK];
        if self.inner == 1 {
            for (b, out) in ranked[..self.axis].chunks_mut(BLOCK).enumerate() {
                let at = b * BLOCK;
                widen(data, start + at, &mut block[..out.len()]);
                for (i, (out, &x)) in out.iter_mut().zip(&block).enumerate() {
                    *out = C::Ranked::new(rank(x), at + i);
                }
            }
            return;
        }
        for i in 0..self.axis {
            let block = &mut block[..count];
            widen(data, start + i * self.inner, block);
            for (slice, &x) in ranked.chunks_exact_mut(self.axis).zip(block.iter()) {
                slice[i] = C::Ranked::new(rank(x), i);
            }
        }
    }

    /// The indices of the first `k` of a slice, in the order asked for.
    fn best<R: Ranked>(&self, slice: &mut [R], out: &mut [usize]) -> Result<(), OpError> {
        let k = self.k;
        if k <= FEW && k < slice.len() {
            keep_first(slice, k);
        } else if slice.len() > LONG {
            if k <= PIECE {
                select_first(slice, k)?;
                slice[..k].sort_unstable();
            } else {
                sort(slice, R::cmp)?;
            }
        } else {
            if k < slice.len() {
                slice.select_nth_unstable(k - 1);
            }
            slice[..k].sort_unstable();
        }
        for (out, ranked) in out.iter_mut().zip(slice) {
            *out = ranked.index();
        }
        if self.by_index {
            sort(out, usize::cmp)?;
        }
        Ok(())
    }

    /// Calls `f(slab, column, index)` for each element of an output, in order.
    fn spread<T: Send>(
        &self,
        picked: &[usize],
        out: &mut [T],
        f: impl Fn(usize, usize, usize) -> T + Sync,
    ) {
        let (k, inner) = (self.k, self.inner);
        for_rows(out, inner, 1, |first, out| {
            let (mut slab, mut nth) = (first / k, first % k);
            for out in out.chunks_exact_mut(inner) {
                let picked = picked[slab * inner * k + nth..].iter().step_by(k);
                for ((column, out), &index) in out.iter_mut().enumerate().zip(picked) {
                    *out = f(slab, column, index);
                }
                nth += 1;
                if nth == k {
                    (slab, nth) = (slab + 1, 0);
                }
            }
        });
    }

    /// Writes the indices picked.
    pub(crate) fn indices<I: Index>(&self, picked: &[usize], out: &mut [I]) {
        self.spread(picked, out, |_, _, index| I::of(index));
    }
}

/// Brings the first `k` of a long slice to its beginning in any order, and ends before when the
/// time is over.
///
/// # Errors
/// When there is no memory for `k` and a piece more.
fn select_first<R: Ranked>(slice: &mut [R], k: usize) -> Result<(), OpError> {
    let watch = limits::watch();
    let (first, rest) = slice.split_at_mut(k);
    let mut best = reused(R::default(), k + PIECE)?;
    best.clear();
    best.extend_from_slice(first);
    for piece in rest.chunks(PIECE) {
        if watch.check().is_err() {
            break;
        }
        best.extend_from_slice(piece);
        best.select_nth_unstable(k - 1);
        best.truncate(k);
    }
    first.copy_from_slice(&best);
    Ok(())
}

/// Brings the first `k` of a slice, which has more, to its beginning in order.
fn keep_first<R: Ranked>(slice: &mut [R], k: usize) {
    let (first, rest) = slice.split_at_mut(k);
    first.sort_unstable();
    for &ranked in rest.iter() {
        if ranked >= first[k - 1] {
            continue;
        }
        let at = first.partition_point(|&other| other < ranked);
        first.copy_within(at..k - 1, at + 1);
        first[at] = ranked;
    }
}

fn fits_i32(data: &Tensor) -> bool {
    let ty = data.element_type();
    ty.is_signed_integer() || ty.bits() < 32
}

/// The values of the elements picked.
pub(crate) struct Values<'a> {
    pub(crate) of: TopK,
    pub(crate) picked: &'a [usize],
}

impl Mover for Values<'_> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let TopK { axis, inner, .. } = self.of;
        let data = inputs[0];
        self.of
            .spread(self.picked, outputs[0], |slab, column, index| {
                data[(slab * axis + index) * inner + column].clone()
            });
        Ok(())
    }
}
