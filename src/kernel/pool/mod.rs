//! The largest element, or the mean, of windows.

use std::num::NonZeroUsize;
use std::ops::Range;

use num_traits::{NumCast, PrimInt, WrappingAdd};
use rayon::prelude::*;

use super::window::{Fold, Taps, Window, sweep};
use crate::tensor::convert::Compute;

/// Elements looked at below which work stays on the calling thread.
const SMALL: usize = 1 << 15;

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
        let planes = planes.enumerate();
        planes.for_each_init(S::default, |scratch, plane| one(scratch, plane));
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
    planes(
        sizes,
        work,
        out,
        &mut nothing,
        |scratch: &mut Vec<T>, plane, out, _| {
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
pub(crate) fn max_with_indices<T: Pooled, O: Send + NumCast>(
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

fn find<T: Pooled, I: PrimInt + WrappingAdd + Send, O: Send + NumCast>(
    window: &Window,
    bound: usize,
    data: &[T],
    out: &mut [T],
    indices: &mut [O],
) {
    let (inputs, [_, y, x]) = (window.inputs(), window.axes());
    let work = work(window, out.len()).saturating_mul(2);
    let sizes = [window.outputs(), window.outputs()];
    type Scratch<T, I> = (Vec<T>, Vec<I>);
    let one =
        |(scratch, row): &mut Scratch<T, I>, plane: usize, out: &mut [T], indices: &mut [O]| {
            row.resize(x.output, I::zero());
            let before = plane * inputs;
            // A plane is a part of what is counted in, or the other way round.
            let within = NonZeroUsize::new(bound).filter(|_| bound < inputs);
            let first = if within.is_some() {
                0
            } else {
                before.checked_rem(bound).unwrap_or(0)
            };
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
            sweep(window, &data[before..][..inputs], scratch, &mut fold);
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
    type Scratch<T> = (Vec<T>, Vec<<T as Pooled>::Sum>);
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
            row.resize(x.output, T::NOTHING);
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

/// The windows that divide an axis of `input` elements into `output` parts that may overlap.
pub(crate) fn parts(input: usize, output: usize) -> Vec<Range<usize>> {
    let (input, output) = (input as u128, output as u128);
    let part = |i: u128| {
        let from = i * input / output;
        let to = ((i + 1) * input).div_ceil(output);
        // Neither is more than the input.
        usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0)
    };
    (0..output).map(part).collect()
}

/// Windows whose size follows from those of the data and the output.
pub(crate) struct Adaptive {
    inputs: [usize; 3],
    parts: [Vec<Range<usize>>; 3],
}

impl Adaptive {
    /// Windows over the last axes, at most three, from and to these sizes.
    pub(crate) fn new(from: &[usize], to: &[usize]) -> Self {
        let mut inputs = [1; 3];
        let mut sizes = [1; 3];
        let missing = inputs.len().saturating_sub(from.len());
        inputs
            .iter_mut()
            .skip(missing)
            .zip(from)
            .for_each(|(to, x)| *to = *x);
        sizes
            .iter_mut()
            .skip(missing)
            .zip(to)
            .for_each(|(to, x)| *to = *x);
        let parts = [0, 1, 2].map(|i| parts(inputs[i], sizes[i]));
        Self { inputs, parts }
    }

    fn outputs(&self) -> usize {
        self.parts.iter().map(Vec::len).product()
    }

    fn work(&self) -> usize {
        let elements = |parts: &Vec<Range<usize>>| parts.iter().map(Range::len).sum::<usize>();
        self.parts
            .iter()
            .map(elements)
            .fold(1, usize::saturating_mul)
    }

    /// Calls `f` with the index of every window, and those of its rows.
    fn each(&self, mut f: impl FnMut(usize, &mut dyn FnMut(&mut dyn FnMut(Range<usize>)))) {
        let [_, height, width] = self.inputs;
        let mut window = 0;
        for z in &self.parts[0] {
            for y in &self.parts[1] {
                for x in &self.parts[2] {
                    f(window, &mut |row| {
                        for (iz, iy) in z.clone().flat_map(|iz| y.clone().map(move |iy| (iz, iy))) {
                            let start = (iz * height + iy) * width;
                            row(start + x.start..start + x.end);
                        }
                    });
                    window += 1;
                }
            }
        }
    }

    /// The mean of every window.
    pub(crate) fn mean<T: Pooled>(&self, data: &[T], out: &mut [T]) {
        let (inputs, outputs) = (self.inputs.iter().product::<usize>(), self.outputs());
        let work = self.work().saturating_mul(out.len() / outputs.max(1));
        let mut nothing = vec![(); out.len()];
        planes(
            [outputs; 2],
            work,
            out,
            &mut nothing,
            |(): &mut (), plane, out, _| {
                let data = &data[plane * inputs..][..inputs];
                self.each(|window, rows| {
                    let (mut sum, mut count) = (T::NOTHING, 0);
                    rows(&mut |row| {
                        count += row.len();
                        sum = data[row].iter().fold(sum, |sum, &x| T::add(sum, x));
                    });
                    out[window] = T::mean(sum, count);
                });
            },
        );
    }

    /// The largest element of every window, and its index in the plane, the first of equal ones.
    pub(crate) fn max<T: Pooled, O: Send + NumCast>(
        &self,
        data: &[T],
        out: &mut [T],
        indices: &mut [O],
    ) {
        let (inputs, outputs) = (self.inputs.iter().product::<usize>(), self.outputs());
        let work = self.work().saturating_mul(out.len() / outputs.max(1));
        planes(
            [outputs; 2],
            work,
            out,
            indices,
            |(): &mut (), plane, out, indices| {
                let data = &data[plane * inputs..][..inputs];
                self.each(|window, rows| {
                    let (mut largest, mut found) = (T::LOWEST, None);
                    rows(&mut |row| {
                        for (at, &x) in row.clone().zip(&data[row]) {
                            if x > largest || found.is_none() {
                                found = Some(at);
                            }
                            largest = if x > largest { x } else { largest };
                        }
                    });
                    out[window] = largest;
                    let index = NumCast::from(found.unwrap_or(0));
                    indices[window] = index.unwrap_or_else(zero);
                });
            },
        );
    }
}
