//! Reduction of a tensor over any set of axes.
//!
//! Adjacent axes of the same kind are merged first, so that every case is a short alternation of
//! kept and reduced axes. The work is then halved until a part is small: along a kept axis (two
//! parts of the output) where that leaves long contiguous pieces, along a reduced axis (two sets
//! of accumulators, merged afterwards) elsewhere. The halves depend on sizes only, so the result
//! is the same for any number of threads.

mod coming;
mod compensated;
mod extremes;
mod fold;
mod folds;
mod halves;
mod product;
mod scalar;
mod sums;
#[cfg(test)]
mod tests;

use bytemuck::{cast_slice, cast_slice_mut};
use smallvec::SmallVec;

pub(crate) use extremes::{MAX, MIN};
pub(crate) use fold::{Fold, fold_run};
pub(crate) use folds::{Folds, Visitor};
pub(crate) use product::PRODUCT;
pub(crate) use scalar::{Accumulator, Number, Pair, Scalar};
pub(crate) use sums::{L1, L2, MEAN, Mapped, SUM, Sum};

use super::scratch::{Reused, or_refuse, reused, reused_any};
use super::simd::vectorize_mut;
use crate::limits::{self, Watch};
use crate::tensor::convert::{narrow, widen};
use crate::tensor::{ElementType, Tensor};

/// Parts of at most this many elements are not divided further,
const TASK: usize = 1 << 18;
/// unless they need more accumulators than this, which stay in the nearest cache.
const ACCUMULATORS: usize = 4096;
/// Those that are divided along a kept axis, so that no sums must be brought together, may have this many.
const KEPT_TASK: usize = 1 << 16;
/// Fewer elements than this stay on the calling thread, unless it is one of a pool's.
const PARALLEL: usize = 1 << 18;
/// Fewer than this do wherever that is.
const PARALLEL_HERE: usize = 1 << 16;
/// How many elements are widened at a time.
const BLOCK: usize = 2048;
/// An inner kept axis is only divided into pieces of at least this many contiguous elements.
const PIECE: usize = 2048;
/// Bytes of a tensor that the last cache does not have.
const FAR: usize = 48 << 20;

/// Reduces the axes marked in `reduced` (one mark for each axis of `input`). `output` has the
/// elements that the other axes leave, under any shape, and the type of `input`: a number, or
/// boolean, which is folded as an integer.
pub(crate) fn reduce(input: &Tensor, reduced: &[bool], folds: &Folds, output: &mut Tensor) {
    let axes = Axes::new(input.shape(), reduced);
    let ty = input.element_type();
    if ty == ElementType::F16
        && axes.inner() >= halves::LANES
        && let Some(fold) = folds.f16
    {
        let data = Source::Slice(cast_slice(input.bytes()));
        let job = Job::new(data, fold, &axes, rounded);
        return job.fill(cast_slice_mut(output.bytes_mut()), &axes.axes, 0);
    }
    folds.visit(
        ty,
        Reduction {
            input,
            axes,
            output,
        },
    );
}

/// What is reduced, before the types are known.
struct Reduction<'a> {
    input: &'a Tensor,
    axes: Axes,
    output: &'a mut Tensor,
}

impl Visitor for Reduction<'_> {
    fn visit<T: Number, A: Accumulator<T>>(self, fold: &dyn Fold<T, A>) {
        let Self {
            input,
            axes,
            output,
        } = self;
        let ty = input.element_type();
        let native = T::native(ty, input.bytes());
        if let (Some(data), Some(out)) = (native, T::native_mut(ty, output.bytes_mut())) {
            let job = Job::new(Source::Slice(data), fold, &axes, rounded);
            return job.fill(out, &axes.axes, 0);
        }
        let Some(mut wide) = or_refuse(reused_any(T::default(), output.len())) else {
            return;
        };
        let read = |start: usize, out: &mut [T]| widen(input, start, out);
        let job = Job::new(Source::Widened(&read), fold, &axes, rounded_again);
        job.fill(&mut wide, &axes.axes, 0);
        narrow(&wide, output, 0);
    }
}

/// One axis after merging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    len: usize,
    stride: usize,
    reduced: bool,
}

type AxisList = SmallVec<[Axis; 6]>;

/// The axes of the input, merged.
#[derive(Debug)]
struct Axes {
    axes: AxisList,
    /// The number of elements.
    total: usize,
    /// The number of elements that make one element of the output.
    count: usize,
}

impl Axes {
    fn new(shape: &[usize], reduced: &[bool]) -> Self {
        let empty = shape.contains(&0);
        let mut axes = AxisList::new();
        let (mut stride, mut count) = (1usize, 1usize);
        for (&len, &reduced) in shape.iter().zip(reduced).rev() {
            if len == 0 && reduced {
                count = 0;
            }
            if len == 1 || empty {
                continue;
            }
            match axes.last_mut() {
                Some(inner) if inner.reduced == reduced => inner.len *= len,
                _ => axes.push(Axis {
                    len,
                    stride,
                    reduced,
                }),
            }
            stride *= len;
            if reduced {
                count *= len;
            }
        }
        axes.reverse();
        Self {
            axes,
            total: if empty { 0 } else { stride },
            count,
        }
    }

    /// The length of the innermost axis.
    fn inner(&self) -> usize {
        self.axes.last().map_or(1, |axis| axis.len)
    }
}

fn total(axes: &[Axis]) -> usize {
    axes.iter().map(|a| a.len).product()
}

fn kept(axes: &[Axis]) -> usize {
    axes.iter().filter(|a| !a.reduced).map(|a| a.len).product()
}

/// Whether the elements lie next to each other.
fn is_contiguous(axes: &[Axis]) -> bool {
    axes.windows(2)
        .all(|w| w[0].stride == w[1].stride * w[1].len)
        && axes.last().is_none_or(|a| a.stride == 1)
}

/// The same axes with another length of one of them; an axis of length 1 is left out.
fn with_len(axes: &[Axis], index: usize, len: usize) -> AxisList {
    let mut axes = AxisList::from_slice(axes);
    if len == 1 {
        axes.remove(index);
    } else {
        axes[index].len = len;
    }
    axes
}

/// Where to divide a part.
enum Split {
    /// Not at all: it is small.
    No,
    /// Along this kept axis, the outermost of the kept ones.
    Kept(usize),
    /// Along the first axis, which is reduced.
    Reduced,
}

fn split(axes: &[Axis]) -> Split {
    let most = if axes.first().is_some_and(|axis| !axis.reduced) {
        KEPT_TASK
    } else {
        TASK
    };
    if total(axes) <= most && kept(axes) <= ACCUMULATORS {
        return Split::No;
    }
    match axes.iter().position(|a| !a.reduced) {
        Some(0) => Split::Kept(0),
        // Memory is gone through from one end to the other where few enough accumulators are kept.
        Some(i) if i + 1 < axes.len() && kept(axes) <= 2 * ACCUMULATORS => Split::Reduced,
        Some(i) if axes[i].len / 2 * axes[i].stride >= PIECE => Split::Kept(i),
        _ => Split::Reduced,
    }
}

/// Where elements come from: a slice, or a function that widens those from a position on.
enum Source<'a, T> {
    Slice(&'a [T]),
    Widened(&'a (dyn Fn(usize, &mut [T]) + Sync)),
}

/// The nearest elements.
fn rounded<T, A: Accumulator<T>>(out: &mut [T], acc: &[A]) {
    vectorize_mut(
        #[inline(always)]
        || {
            for (out, acc) in out.iter_mut().zip(acc) {
                *out = acc.round();
            }
        },
    );
}

/// Elements that still round correctly when they are narrowed further.
fn rounded_again<T, A: Accumulator<T>>(out: &mut [T], acc: &[A]) {
    for (out, acc) in out.iter_mut().zip(acc) {
        *out = acc.round_again();
    }
}

struct Job<'a, T, A> {
    source: Source<'a, T>,
    fold: &'a dyn Fold<T, A>,
    count: usize,
    empty: bool,
    parallel: bool,
    /// Whether elements come from memory, not from a cache.
    far: bool,
    /// Turns accumulators into elements.
    round: fn(&mut [T], &[A]),
    watch: Watch,
}

impl<'a, T: Copy + Default + Send + Sync + 'static, A: Accumulator<T>> Job<'a, T, A> {
    fn new(
        source: Source<'a, T>,
        fold: &'a dyn Fold<T, A>,
        axes: &Axes,
        round: fn(&mut [T], &[A]),
    ) -> Self {
        // Others take long to hear of work from outside of their pool.
        let here = rayon::current_thread_index().is_some();
        let least = if here { PARALLEL_HERE } else { PARALLEL };
        let far = matches!(source, Source::Slice(data) if size_of_val(data) >= FAR);
        Self {
            source,
            fold,
            count: axes.count,
            empty: axes.total == 0,
            parallel: axes.total >= least,
            far,
            round,
            watch: limits::watch(),
        }
    }

    /// Both halves of the work, at the same time where that pays; neither when the time is over.
    fn join(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        if self.watch.check().is_err() {
            return;
        }
        if self.parallel {
            rayon::join(a, b);
        } else {
            a();
            b();
        }
    }

    /// Writes the output of the part at `base` with these axes.
    fn fill(&self, out: &mut [T], axes: &[Axis], base: usize) {
        if self.empty {
            let mut acc = [self.fold.identity()];
            self.fold.finish(&mut acc, self.count);
            let mut one = [T::default()];
            (self.round)(&mut one, &acc);
            return out.fill(one[0]);
        }
        if let Split::Kept(i) = split(axes) {
            let half = axes[i].len / 2;
            let (low, high) = out.split_at_mut(out.len() / axes[i].len * half);
            let rest = base + half * axes[i].stride;
            return self.join(
                || self.fill(low, &with_len(axes, i, half), base),
                || self.fill(high, &with_len(axes, i, axes[i].len - half), rest),
            );
        }
        let mut acc: SmallVec<[A; 32]> = SmallVec::new();
        if acc.try_reserve_exact(out.len()).is_err() {
            return limits::refuse();
        }
        acc.resize(out.len(), self.fold.identity());
        self.accumulate(&mut acc, axes, base);
        self.fold.finish(&mut acc, self.count);
        (self.round)(out, &acc);
    }

    /// Folds the part at `base` with these axes into accumulators, one for each kept element.
    fn accumulate(&self, acc: &mut [A], axes: &[Axis], base: usize) {
        match split(axes) {
            Split::No => {
                let mut scratch = match self.source {
                    Source::Slice(_) => Reused::default(),
                    Source::Widened(_) => {
                        let block = or_refuse(reused(T::default(), BLOCK.min(total(axes))));
                        let Some(block) = block else { return };
                        block
                    }
                };
                self.walk(acc, axes, base, &mut scratch);
            }
            Split::Kept(i) => {
                let half = axes[i].len / 2;
                let (low, high) = acc.split_at_mut(acc.len() / axes[i].len * half);
                let rest = base + half * axes[i].stride;
                self.join(
                    || self.accumulate(low, &with_len(axes, i, half), base),
                    || self.accumulate(high, &with_len(axes, i, axes[i].len - half), rest),
                );
            }
            Split::Reduced => {
                let half = axes[0].len / 2;
                let rest = base + half * axes[0].stride;
                let Some(mut other) = or_refuse(reused(self.fold.identity(), acc.len())) else {
                    return;
                };
                self.join(
                    || self.accumulate(acc, &with_len(axes, 0, half), base),
                    || self.accumulate(&mut other, &with_len(axes, 0, axes[0].len - half), rest),
                );
                self.fold.merge(acc, &other);
            }
        }
    }

    /// Cuts a part into contiguous pieces, of at most a block where elements are widened.
    fn walk(&self, acc: &mut [A], axes: &[Axis], base: usize, scratch: &mut [T]) {
        let len = total(axes);
        if is_contiguous(axes) {
            match self.source {
                Source::Slice(data) => return self.piece(acc, axes, &data[base..base + len]),
                Source::Widened(read) if len <= BLOCK => {
                    let block = &mut scratch[..len];
                    read(base, block);
                    return self.piece(acc, axes, block);
                }
                Source::Widened(_) => {}
            }
        }
        if let (Source::Slice(data), [outer, inner]) = (&self.source, axes)
            && (outer.reduced, inner.reduced, inner.stride) == (true, false, 1)
        {
            let len = (outer.len - 1) * outer.stride + inner.len;
            let rows = &data[base..base + len];
            return self.fold.rows(acc, rows, outer.stride, self.far);
        }
        let Some((first, rest)) = axes.split_first() else {
            return;
        };
        // As many steps of the first axis at a time as fit in a block and are contiguous.
        let step = if is_contiguous(axes) {
            (BLOCK / first.stride).max(1)
        } else {
            1
        };
        let inner = kept(rest);
        for start in (0..first.len).step_by(step) {
            let n = step.min(first.len - start);
            let acc = if first.reduced {
                &mut *acc
            } else {
                &mut acc[start * inner..(start + n) * inner]
            };
            self.walk(
                acc,
                &with_len(axes, 0, n),
                base + start * first.stride,
                scratch,
            );
        }
    }

    /// Folds a contiguous piece.
    fn piece(&self, acc: &mut [A], axes: &[Axis], data: &[T]) {
        match axes {
            [] => self.fold.rows(acc, data, 1, self.far),
            [axis] if !axis.reduced => self.fold.rows(acc, data, axis.len, self.far),
            [outer, inner] if outer.reduced && !inner.reduced => {
                self.fold.rows(acc, data, outer.stride, self.far);
            }
            [axis] if axis.reduced => self.fold.runs(acc, data),
            [outer, inner] if !outer.reduced && inner.reduced => self.fold.runs(acc, data),
            [first, rest @ ..] => {
                let parts = data.chunks_exact(data.len() / first.len);
                if first.reduced {
                    parts.for_each(|part| self.piece(acc, rest, part));
                } else {
                    let n = acc.len() / first.len;
                    let acc = acc.chunks_exact_mut(n);
                    acc.zip(parts)
                        .for_each(|(a, part)| self.piece(a, rest, part));
                }
            }
        }
    }
}
