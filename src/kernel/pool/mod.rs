//! The largest element, or the mean, of windows.

mod adaptive;
mod plane;
mod rows;

use std::num::NonZeroUsize;

use num_traits::{NumCast, PrimInt, WrappingAdd};
use rayon::prelude::*;

use super::scratch::{Reused, or_refuse, reused_all, try_resize};
use crate::kernel::window::{Axis, Fold, Taps, Window, sweep};
use crate::limits::Share;
use crate::tensor::convert::Compute;
pub(crate) use adaptive::Adaptive;
pub(crate) use rows::Index;
use rows::{Found as FoundByRows, Largest as LargestByRows, Means, Scratch, Sum, compute};

/// Elements looked at below which work stays on the calling thread.
const SMALL: usize = 1 << 17;

/// Elements that one thread looks at in a row, of larger work.
const PART: usize = 1 << 15;

/// A number that windows are pooled of.
pub(crate) trait Pooled: Compute {
    /// No number is lower.
    const LOWEST: Self;

    /// What sums are kept in.
    type Sum: Copy + Send + Sync;

    /// The sum of no numbers.
    const NOTHING: Self::Sum;

    /// The sum with one more number.
    fn add(sum: Self::Sum, x: Self) -> Self::Sum;

    /// The mean of `count` numbers: the nearest integer, ties to even, or zero of no integers.
    fn mean(sum: Self::Sum, count: usize) -> Self;
}

macro_rules! pooled_floats {
    ($($T:ty),+) => {$(
        #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)]
        impl Pooled for $T {
            const LOWEST: Self = Self::NEG_INFINITY;

            type Sum = f64;

            const NOTHING: f64 = 0.0;

            fn add(sum: f64, x: Self) -> f64 {
                sum + x as f64
            }

            fn mean(sum: f64, count: usize) -> Self {
                (sum / count as f64) as Self
            }
        }
    )+};
}

macro_rules! pooled_integers {
    ($($T:ty),+) => {$(
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_lossless)]
        impl Pooled for $T {
            const LOWEST: Self = Self::MIN;

            type Sum = i128;

            const NOTHING: i128 = 0;

            fn add(sum: i128, x: Self) -> i128 {
                sum.wrapping_add(x as i128)
            }

            // The mean of numbers of a type fits in it.
            fn mean(sum: i128, count: usize) -> Self {
                if count == 0 {
                    return 0;
                }
                let count = count as i128;
                let (low, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
                let up = 2 * rest > count || 2 * rest == count && low % 2 != 0;
                (low + up as i128) as Self
            }
        }
    )+};
}

pooled_floats!(f32, f64);
pooled_integers!(i32, i64, u64);

/// Calls `f` with every plane of the output, its number, and memory to use.
fn planes<T: Send, U: Send, S: Default>(
    [out, other]: [usize; 2],
    work: usize,
    outs: &mut [T],
    others: &mut [U],
    f: impl Fn(&mut S, usize, &mut [T], &mut [U]) + Sync,
) {
    if outs.is_empty() {
        return;
    }
    let outs_len = outs.len();
    let one = |scratch: &mut S, (index, (out, other)): (usize, (&mut [T], &mut [U]))| {
        f(scratch, index, out, other);
    };
    if work <= SMALL {
        let mut scratch = S::default();
        let planes = outs.chunks_mut(out).zip(others.chunks_mut(other));
        planes
            .enumerate()
            .for_each(|plane| one(&mut scratch, plane));
    } else {
        let planes = outs.par_chunks_mut(out).zip(others.par_chunks_mut(other));
        let least = PART / (work / outs_len.div_ceil(out)).max(1);
        let planes = planes.enumerate().with_min_len(least.max(1));
        planes.share_init(S::default, |scratch, plane| one(scratch, plane));
    }
}

/// How many elements all windows take together, at most.
fn work(window: &Window, outputs: usize) -> usize {
    let axes = window.axes();
    axes.iter().fold(outputs, |work, axis| {
        work.saturating_mul(axis.kernel.min(axis.input))
    })
}

/// The largest elements of a plane's windows.
struct Largest<'a, T> {
    out: &'a mut [T],
    size: [usize; 2],
    start: usize,
}

impl<T: Pooled> Fold<T> for Largest<'_, T> {
    fn begin(&mut self, [z, y]: [usize; 2]) {
        self.start = (z * self.size[0] + y) * self.size[1];
        self.out[self.start..][..self.size[1]].fill(T::LOWEST);
    }

    fn take(&mut self, taps: Taps<'_, T>) {
        let out = &mut self.out[self.start + taps.first..];
        for (out, &x) in out.iter_mut().zip(taps.values) {
            *out = if x > *out { x } else { *out };
        }
    }

    fn end(&mut self, _: [usize; 2]) {}
}

/// The largest element of every window; the lowest number where there are none. What is not a
/// number is never the largest.
pub(crate) fn max<T: Pooled>(window: &Window, data: &[T], out: &mut [T]) {
    let (inputs, [_, y, x]) = (window.inputs(), window.axes());
    let work = work(window, out.len());
    // There is nothing beside the output.
    let mut nothing = vec![(); out.len()];
    let sizes = [window.outputs(), window.outputs()];
    if rows::suits(window) {
        let one = |scratch: &mut Scratch<T>, plane: usize, out: &mut [T], _: &mut [()]| {
            let plane = &data[plane * inputs..][..inputs];
            compute(LargestByRows {
                window,
                plane,
                out,
                scratch,
            });
        };
        return planes(sizes, work, out, &mut nothing, one);
    }
    planes(
        sizes,
        work,
        out,
        &mut nothing,
        |scratch: &mut Reused<T>, plane, out, _| {
            let mut fold = Largest {
                out,
                size: [y.output, x.output],
                start: 0,
            };
            sweep(
                window,
                &data[plane * inputs..][..inputs],
                scratch,
                &mut fold,
            );
        },
    );
}

/// The largest elements of a plane's windows, and which they are.
struct Found<'a, T, I, O> {
    out: &'a mut [T],
    /// Where the largest elements of the row are; -1 for none.
    row: &'a mut [I],
    indices: &'a mut [O],
    size: [usize; 2],
    start: usize,
    stride: I,
    /// The index of the plane's first element.
    first: usize,
    /// What indices within the plane are counted modulo, if it is less than the plane.
    modulo: Option<NonZeroUsize>,
}

impl<T: Pooled, I: PrimInt + WrappingAdd, O: NumCast> Fold<T> for Found<'_, T, I, O> {
    fn begin(&mut self, [z, y]: [usize; 2]) {
        self.start = (z * self.size[0] + y) * self.size[1];
        self.out[self.start..][..self.size[1]].fill(T::LOWEST);
        self.row.fill(I::zero() - I::one());
    }

    fn take(&mut self, taps: Taps<'_, T>) {
        let Some(mut at) = <I as NumCast>::from(taps.at) else {
            return;
        };
        let out = &mut self.out[self.start + taps.first..];
        let row = &mut self.row[taps.first..];
        for ((out, index), &x) in out.iter_mut().zip(row).zip(taps.values) {
            let larger = x > *out;
            *out = if larger { x } else { *out };
            *index = if larger | (*index < I::zero()) {
                at
            } else {
                *index
            };
            at = at.wrapping_add(&self.stride);
        }
    }

    fn end(&mut self, _: [usize; 2]) {
        let indices = self.indices[self.start..].iter_mut();
        for (out, index) in indices.zip(&*self.row) {
            let at = index.to_usize().unwrap_or(0);
            let index = match self.modulo {
                None => self.first + at,
                Some(modulo) => at % modulo,
            };
            // The caller knows that every index fits.
            *out = NumCast::from(index).unwrap_or_else(zero);
        }
    }
}

/// As [`max`], with the index of every largest element, the first of equal ones: in the data from
/// the dimension on of which `bound` elements are left, and zero where a window has no elements.
pub(crate) fn max_with_indices<T: Pooled, O: Index>(
    window: &Window,
    bound: usize,
    data: &[T],
    out: &mut [T],
    indices: &mut [O],
) {
    // Narrow indices fit more of them in a register.
    if i32::try_from(window.inputs()).is_ok() {
        find::<T, i32, O>(window, bound, data, out, indices);
    } else {
        find::<T, i64, O>(window, bound, data, out, indices);
    }
}

fn find<T: Pooled, I: PrimInt + WrappingAdd + Send + 'static, O: Index>(
    window: &Window,
    bound: usize,
    data: &[T],
    out: &mut [T],
    indices: &mut [O],
) {
    let (inputs, [_, y, x]) = (window.inputs(), window.axes());
    let work = work(window, out.len()).saturating_mul(2);
    let sizes = [window.outputs(), window.outputs()];
    let by_rows = rows::suits(window) && i32::try_from(inputs).is_ok();
    type Memory<T, I> = ((Reused<T>, Reused<I>), Scratch<T>);
    let one = |memory: &mut Memory<T, I>, plane: usize, out: &mut [T], indices: &mut [O]| {
        let ((scratch, row), by_row) = memory;
        if or_refuse(try_resize(row, x.output, I::zero())).is_none() {
            return;
        }
        let before = plane * inputs;
        // A plane is a part of what is counted in, or the other way round.
        let within = NonZeroUsize::new(bound).filter(|_| bound < inputs);
        let first = if within.is_some() {
            0
        } else {
            before.checked_rem(bound).unwrap_or(0)
        };
        let plane = &data[before..][..inputs];
        if let (true, None, Some(first)) = (by_rows, within, O::from(first)) {
            let largest = LargestByRows {
                window,
                plane,
                out: &mut *out,
                scratch: by_row,
            };
            let mut rows = indices.chunks_exact_mut(x.output);
            let mut put = |places: &[i32]| {
                for (index, &place) in rows.next().into_iter().flatten().zip(places) {
                    *index = first.plus(place);
                }
            };
            let put = &mut put;
            compute(FoundByRows { largest, put });
            // Only where nothing is larger than padding the place may be that of padding.
            if out.iter().all(|&x| x > T::LOWEST) {
                return;
            }
        }
        let mut fold = Found {
            out,
            row,
            indices,
            size: [y.output, x.output],
            start: 0,
            stride: NumCast::from(x.stride).unwrap_or(I::zero()),
            first,
            modulo: within,
        };
        sweep(window, plane, scratch, &mut fold);
    };
    planes(sizes, work, out, indices, one);
}

/// The index in place of one that does not fit its type.
fn zero<O: NumCast>() -> O {
    NumCast::from(0u8).expect("every number type has a zero")
}

/// The sums of a plane's windows.
struct Sums<'a, T: Pooled> {
    out: &'a mut [T],
    row: &'a mut [T::Sum],
    size: [usize; 2],
    window: &'a Window,
    all: Option<usize>,
}

impl<T: Pooled> Fold<T> for Sums<'_, T> {
    fn begin(&mut self, _: [usize; 2]) {
        self.row.fill(T::NOTHING);
    }

    fn take(&mut self, taps: Taps<'_, T>) {
        for (sum, &x) in self.row[taps.first..].iter_mut().zip(taps.values) {
            *sum = T::add(*sum, x);
        }
    }

    fn end(&mut self, [oz, oy]: [usize; 2]) {
        let [z, y, x] = self.window.axes();
        let start = (oz * self.size[0] + oy) * self.size[1];
        let rows = z.taps(oz).len() * y.taps(oy).len();
        let out = self.out[start..].iter_mut().zip(&*self.row);
        for (ox, (out, &sum)) in out.enumerate() {
            let count = self.all.unwrap_or_else(|| rows * x.taps(ox).len());
            *out = T::mean(sum, count);
        }
    }
}

/// The mean of every window: of its elements, or of as many as `all` says, the others being zero.
pub(crate) fn mean<T: Pooled>(window: &Window, all: Option<usize>, data: &[T], out: &mut [T]) {
    type Scratch<T> = (Reused<T>, Reused<<T as Pooled>::Sum>);
    let (inputs, [_, y, x]) = (window.inputs(), window.axes());
    let work = work(window, out.len());
    let mut nothing = vec![(); out.len()];
    let sizes = [window.outputs(), window.outputs()];
    planes(
        sizes,
        work,
        out,
        &mut nothing,
        |(scratch, row): &mut Scratch<T>, plane, out, _| {
            if or_refuse(try_resize(row, x.output, T::NOTHING)).is_none() {
                return;
            }
            let mut fold = Sums {
                out,
                row,
                size: [y.output, x.output],
                window,
                all,
            };
            sweep(
                window,
                &data[plane * inputs..][..inputs],
                scratch,
                &mut fold,
            );
        },
    );
}

/// As [`mean`], of `f32`, whose sums are added up in their own type where they are short.
pub(crate) fn mean_single(window: &Window, all: Option<usize>, data: &[f32], out: &mut [f32]) {
    let (inputs, [.., x]) = (window.inputs(), window.axes());
    let one =
        |axis: Axis| axis.output == 1 && axis.taps(0).len() == axis.input && axis.dilation == 1;
    let whole = window.axes().into_iter().all(one);
    if !whole && !rows::sums_suit(window) {
        return mean(window, all, data, out);
    }
    let counts = reused_all((0..x.output).map(|ox| x.taps(ox).len() as f32));
    let Some(counts) = or_refuse(counts) else {
        return;
    };
    let mut nothing = vec![(); out.len()];
    let sizes = [window.outputs(), window.outputs()];
    let one = |scratch: &mut Scratch<f32>, plane: usize, out: &mut [f32], _: &mut [()]| {
        let plane = &data[plane * inputs..][..inputs];
        if whole {
            out.fill(f32::mean(compute(Sum(plane)), all.unwrap_or(inputs)));
            return;
        }
        let counts = &counts[..];
        compute(Means {
            window,
            all,
            counts,
            plane,
            out,
            scratch,
        });
    };
    planes(sizes, work(window, out.len()), out, &mut nothing, one);
}
