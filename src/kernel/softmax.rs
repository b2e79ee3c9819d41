//! Softmax and its logarithm along an axis.
//!
//! The largest element is subtracted first, so that nothing overflows. Lines of nothing but
//! negative infinity give NaN, as the formula does.

use std::ops::Range;

use rayon::prelude::*;

use super::math;
use super::real::Real;
use super::scratch::{or_refuse, reused, reused_room};
use super::simd::vectorize_mut;
use crate::limits::Share;

/// Accumulators along a line: enough for the operations to follow each other without waiting.
const LANES: usize = 32;

/// Columns whose maxima and sums stay in the nearest cache.
const TILE: usize = 256;

/// Elements one thread computes at a time.
const PART: usize = 1 << 14;

/// Fewer elements stay on the calling thread.
const SMALL: usize = 1 << 16;

/// Elements read at a time, so that they are still in the nearest cache when they are used.
const NEAR: usize = 1 << 11;

/// A block of more elements is computed by all threads.
const LARGE: usize = 1 << 17;

/// Whether the result is the softmax or its logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The softmax.
    Softmax,
    /// Its natural logarithm.
    Log,
}

/// Fills `out` with the results along an axis of `axis` elements that are `inner` apart; `read`
/// writes the elements from an index on. Those that lie somewhere as they are needed are `straight`.
pub(crate) fn softmax<T: Real>(
    read: &(dyn Fn(usize, &mut [T]) + Sync),
    straight: Option<&[T]>,
    out: &mut [T],
    [axis, inner]: [usize; 2],
    kind: Kind,
) {
    if out.is_empty() {
        return;
    }
    let block = axis * inner;
    if block > LARGE {
        for (i, out) in out.chunks_exact_mut(block).enumerate() {
            let parts = out.par_chunks_mut(PART).enumerate();
            parts.share(|(j, out)| read(i * block + j * PART, out));
            if inner == 1 {
                long_line(out, kind);
            } else {
                wide_columns(out, inner, kind);
            }
        }
        return;
    }
    let part = (PART / block).max(1) * block;
    let near = (NEAR / block).max(1) * block;
    let compute = |(i, out): (usize, &mut [T])| {
        for (j, out) in out.chunks_mut(near).enumerate() {
            let at = i * part + j * near;
            if let (Some(data), 1, Kind::Softmax) = (straight, inner, kind) {
                let lines = data[at..].chunks_exact(axis);
                for (line, out) in lines.zip(out.chunks_exact_mut(axis)) {
                    softmax_line(Some(line), out);
                }
                continue;
            }
            read(at, out);
            for block in out.chunks_exact_mut(block) {
                if inner == 1 {
                    line(block, kind);
                } else {
                    columns(block, inner, kind);
                }
            }
        }
    };
    if out.len() <= SMALL {
        out.chunks_mut(part).enumerate().for_each(compute);
    } else {
        out.par_chunks_mut(part).enumerate().share(compute);
    }
}

/// The largest element; NaN is passed over.
#[inline(always)]
fn maximum<T: Real>(line: &[T]) -> T {
    let mut lanes = [T::neg_infinity(); LANES];
    let (blocks, rest) = line.as_chunks::<LANES>();
    for block in blocks {
        for (max, &x) in lanes.iter_mut().zip(block) {
            *max = larger(*max, x);
        }
    }
    let max = join(lanes, larger);
    rest.iter().fold(max, |max, &x| larger(max, x))
}

/// What `f` makes of all lanes, of half of them and the other half at a time.
#[inline(always)]
fn join<T: Real>(mut lanes: [T; LANES], f: impl Fn(T, T) -> T) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = lanes.split_at_mut(width);
        for (low, &mut high) in low.iter_mut().zip(high) {
            *low = f(*low, high);
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn larger<T: Real>(max: T, x: T) -> T {
    if x > max { x } else { max }
}

#[inline(always)]
fn sum<T: Real>(line: &[T]) -> T {
    let mut lanes = [T::zero(); LANES];
    let (blocks, rest) = line.as_chunks::<LANES>();
    for block in blocks {
        for (sum, &x) in lanes.iter_mut().zip(block) {
            *sum += x;
        }
    }
    rest.iter().fold(join(lanes, T::add), |sum, &x| sum + x)
}

/// [`math::exp_share`] of `x - max` for each, and their sum. They are read from another line, or else from
/// where they are written.
#[inline(always)]
fn exponentials<T: Real>(from: Option<&[T]>, line: &mut [T], max: T) -> T {
    let power = |x: T| math::exp_share(x - max);
    let mut lanes = [T::zero(); LANES];
    let mut add = |block: &mut [T; LANES], from: &[T; LANES]| {
        for ((sum, out), &x) in lanes.iter_mut().zip(block).zip(from) {
            *out = power(x);
            *sum += *out;
        }
    };
    let (blocks, rest) = line.as_chunks_mut();
    if let Some((from, others)) = from.map(<[T]>::as_chunks) {
        for (block, from) in blocks.iter_mut().zip(from) {
            // Of a copy the compiler knows that it is not written to: the sums stay in registers.
            let from = *from;
            add(block, &from);
        }
        for (out, &x) in rest.iter_mut().zip(others) {
            *out = power(x);
        }
    } else {
        for block in blocks {
            let from = *block;
            add(block, &from);
        }
        for x in rest.iter_mut() {
            *x = power(*x);
        }
    }
    rest.iter().fold(join(lanes, T::add), |sum, &x| sum + x)
}

/// `x - max`, and the sum of `exp(x - max)`.
#[inline(always)]
fn shift<T: Real>(line: &mut [T], max: T) -> T {
    let mut total = T::zero();
    let mut block = [T::zero(); TILE];
    for line in line.chunks_mut(TILE) {
        let block = &mut block[..line.len()];
        for (e, x) in block.iter_mut().zip(line.iter_mut()) {
            *x -= max;
            *e = math::exp(*x);
        }
        total += sum(block);
    }
    total
}

fn line<T: Real>(line: &mut [T], kind: Kind) {
    match kind {
        Kind::Softmax => softmax_line(None, line),
        Kind::Log => vectorize_mut(
            #[inline(always)]
            || {
                let max = maximum(line);
                let log = math::ln(shift(line, max));
                for x in line.iter_mut() {
                    *x -= log;
                }
            },
        ),
    }
}

/// The softmax of a line, or of what is written to it.
fn softmax_line<T: Real>(from: Option<&[T]>, line: &mut [T]) {
    vectorize_mut(
        #[inline(always)]
        || weigh(from, line, None, Small::Kept),
    );
}

/// The softmax of a line, and of one more element that takes its share but has no result, for attention,
/// which multiplies by the results: those that are not normal numbers are zero instead, for a processor
/// takes its time with these.
pub(crate) fn weights<T: Real>(line: &mut [T], other: Option<T>) {
    vectorize_mut(
        #[inline(always)]
        || weights_here(line, other),
    );
}

/// As [`weights`], for callers that are compiled for the machine themselves.
#[inline(always)]
pub(crate) fn weights_here<T: Real>(line: &mut [T], other: Option<T>) {
    weigh(None, line, other, Small::Zero);
}

/// What becomes of results that are less than every normal number.
#[derive(Clone, Copy)]
enum Small {
    Kept,
    Zero,
}

/// The softmax of a line, or of what is written to it, and of one more element.
#[inline(always)]
fn weigh<T: Real>(from: Option<&[T]>, line: &mut [T], other: Option<T>, small: Small) {
    let max = maximum(from.unwrap_or(line));
    let max = other.map_or(max, |other| larger(max, other));
    let sum = exponentials(from, line, max);
    let other = other.map_or(T::zero(), |other| math::exp_share(other - max));
    divide(line, sum + other, small);
}

/// Divides what [`exponentials`] gave by their sum, at least one: multiplies by its reciprocal.
#[inline(always)]
fn divide<T: Real>(line: &mut [T], total: T, small: Small) {
    let share = T::one() / total;
    // Where multiplying would round to zero, and take long to find out, there is no need to: half the least
    // number there is has a half of epsilon of the least normal one.
    let least = T::min_positive_value() * total;
    let least = match small {
        Small::Kept => least * (T::epsilon() / T::of(2.0)),
        Small::Zero => least,
    };
    for x in line {
        *x = if *x < least { T::zero() } else { *x * share };
    }
}

/// A line for all threads.
fn long_line<T: Real>(line: &mut [T], kind: Kind) {
    let count = line.len().div_ceil(PART);
    let memory = reused_room(count).and_then(|m| Ok((m, reused_room(count)?)));
    let Some((mut maxima, mut sums)) = or_refuse(memory) else {
        return;
    };
    let parts = line.par_chunks(PART).map(|part| {
        vectorize_mut(
            #[inline(always)]
            || maximum(part),
        )
    });
    parts.collect_into_vec(&mut maxima);
    let max = maximum(&maxima);
    let parts = line.par_chunks_mut(PART).map(|part| {
        vectorize_mut(
            #[inline(always)]
            || match kind {
                Kind::Softmax => exponentials(None, part, max),
                Kind::Log => shift(part, max),
            },
        )
    });
    parts.collect_into_vec(&mut sums);
    let total = sum(&sums);
    let log = math::ln(total);
    line.par_chunks_mut(PART).share(|part| {
        vectorize_mut(
            #[inline(always)]
            || match kind {
                Kind::Softmax => divide(part, total, Small::Kept),
                Kind::Log => part.iter_mut().for_each(|x| *x -= log),
            },
        );
    });
}

/// Raises maxima to those of further elements.
#[inline(always)]
fn raise<T: Real>(maxima: &mut [T], row: &[T]) {
    for (max, &x) in maxima.iter_mut().zip(row) {
        *max = larger(*max, x);
    }
}

/// One step of a row of a block: `x - max`, or its exponential.
#[inline(always)]
fn step<T: Real>(row: &mut [T], maxima: &[T], kind: Kind) {
    match kind {
        Kind::Softmax => {
            for (x, &max) in row.iter_mut().zip(maxima) {
                *x = math::exp(*x - max);
            }
        }
        Kind::Log => {
            for (x, &max) in row.iter_mut().zip(maxima) {
                *x -= max;
            }
        }
    }
}

/// Adds the exponentials of a row to sums.
#[inline(always)]
fn add<T: Real>(sums: &mut [T], row: &[T], kind: Kind) {
    match kind {
        Kind::Softmax => {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
        Kind::Log => {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += math::exp(x);
            }
        }
    }
}

/// The last step of a row: `totals` are shares, or logarithms of sums.
#[inline(always)]
fn finish<T: Real>(row: &mut [T], totals: &[T], kind: Kind) {
    match kind {
        Kind::Softmax => {
            for (x, &share) in row.iter_mut().zip(totals) {
                *x *= share;
            }
        }
        Kind::Log => {
            for (x, &log) in row.iter_mut().zip(totals) {
                *x -= log;
            }
        }
    }
}

#[inline(always)]
fn totals<T: Real>(sums: &mut [T], kind: Kind) {
    for x in sums {
        *x = match kind {
            Kind::Softmax => T::one() / *x,
            Kind::Log => math::ln(*x),
        };
    }
}

/// Every column of a block of rows of `inner` elements.
fn columns<T: Real>(block: &mut [T], inner: usize, kind: Kind) {
    let (mut maxima, mut sums) = ([T::zero(); TILE], [T::zero(); TILE]);
    for start in (0..inner).step_by(TILE) {
        let range = start..inner.min(start + TILE);
        let maxima = &mut maxima[..range.len()];
        let sums = &mut sums[..range.len()];
        vectorize_mut(
            #[inline(always)]
            || tile(block, inner, &range, maxima, sums, kind),
        );
    }
}

/// Some of the columns; `maxima` and `sums` have room for as many.
#[inline(always)]
fn tile<T: Real>(
    block: &mut [T],
    inner: usize,
    range: &Range<usize>,
    maxima: &mut [T],
    sums: &mut [T],
    kind: Kind,
) {
    maxima.fill(T::neg_infinity());
    sums.fill(T::zero());
    for row in block.chunks_exact(inner) {
        raise(maxima, &row[range.clone()]);
    }
    for row in block.chunks_exact_mut(inner) {
        let row = &mut row[range.clone()];
        step(row, maxima, kind);
        add(sums, row, kind);
    }
    totals(sums, kind);
    for row in block.chunks_exact_mut(inner) {
        finish(&mut row[range.clone()], sums, kind);
    }
}

/// The same for all threads, which take turns at columns and at rows.
fn wide_columns<T: Real>(block: &mut [T], inner: usize, kind: Kind) {
    let rows = (PART / inner).max(1) * inner;
    let memory = reused(T::neg_infinity(), inner).and_then(|m| Ok((m, reused(T::zero(), inner)?)));
    let Some((mut maxima, mut sums)) = or_refuse(memory) else {
        return;
    };
    let read = &*block;
    let tiles = maxima.par_chunks_mut(TILE).enumerate();
    tiles.share(|(i, maxima)| {
        vectorize_mut(
            #[inline(always)]
            || {
                for row in read.chunks_exact(inner) {
                    raise(maxima, &row[i * TILE..]);
                }
            },
        );
    });
    block.par_chunks_mut(rows).share(|part| {
        vectorize_mut(
            #[inline(always)]
            || {
                for row in part.chunks_exact_mut(inner) {
                    step(row, &maxima, kind);
                }
            },
        );
    });
    let read = &*block;
    sums.par_chunks_mut(TILE).enumerate().share(|(i, sums)| {
        vectorize_mut(
            #[inline(always)]
            || {
                for row in read.chunks_exact(inner) {
                    add(sums, &row[i * TILE..], kind);
                }
                totals(sums, kind);
            },
        );
    });
    block.par_chunks_mut(rows).share(|part| {
        vectorize_mut(
            #[inline(always)]
            || {
                for row in part.chunks_exact_mut(inner) {
                    finish(row, &sums, kind);
                }
            },
        );
    });
}

#[cfg(test)]
#[path = "softmax_tests.rs"]
mod tests;
