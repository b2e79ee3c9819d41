//! Normalization of groups of elements by their mean and the sum of their squares.
//!
//! Both are computed in `f64`, the squares in a second pass from the deviations themselves.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::moving::Odometer;
use super::real::Real;
use super::reduce::fold_run;
use super::scratch::{Reused, or_refuse, reused};
use super::simd::vectorize_mut;
use crate::limits::Share;

/// Elements one thread computes at a time.
const TASK: usize = 1 << 14;

/// Fewer elements stay on the calling thread.
const SMALL: usize = 1 << 16;

/// A quarter of the sums of a run that are added up at the same time.
const LANES: usize = 8;

/// A bias that changes no element, not even the sign of a zero.
const NOTHING: f64 = -0.0;

/// What the elements of a group are divided by; without it they keep their scale. Called with the
/// sum of squares and the number of elements, gives the factor.
pub(crate) type Factor<'a> = Option<&'a (dyn Fn(f64, usize) -> f64 + Sync)>;

/// How a group of elements is normalized.
#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    /// Whether the mean is subtracted first.
    pub(crate) center: bool,
    /// What is made of the squares that are left.
    pub(crate) factor: Factor<'a>,
}

/// One or several neighbouring axes.
#[derive(Debug, Clone, Copy)]
struct Axis {
    size: usize,
    reduced: bool,
}

/// Normalizes the elements along the axes marked in `reduced`, for each index of the others.
pub(crate) fn normalize<T: Real>(
    data: &[T],
    out: &mut [T],
    shape: &[usize],
    reduced: &[bool],
    norm: Norm<'_>,
) {
    if out.is_empty() {
        return;
    }
    let axes = merge(shape, reduced);
    let (count, axes) = match axes.split_first() {
        Some((first, rest)) if !first.reduced => (first.size, rest),
        _ => (1, &axes[..]),
    };
    let size = out.len() / count;
    parts(data, out, size, |_, data, out| {
        vectorize_mut(
            #[inline(always)]
            || match axes {
                [] | [_] => {
                    let (mean, factor) = norm.of_run(data);
                    affine(data, out, mean, factor, NOTHING);
                }
                _ => norm.grid(data, out, axes),
            },
        );
    });
}

/// Multiplies each run of as many elements as there are scales by what `factor` makes of the sum of its
/// squares and their number, and by the scales.
pub(crate) fn scale_runs<T: Real>(
    data: &[T],
    out: &mut [T],
    scale: &[T],
    factor: impl Fn(f64, usize) -> f64 + Sync,
) {
    if out.is_empty() {
        return;
    }
    parts(data, out, scale.len(), |_, data, out| {
        vectorize_mut(
            #[inline(always)]
            || {
                let factor = T::of(factor(squares(data, 0.0), data.len()));
                for ((out, &x), &scale) in out.iter_mut().zip(data).zip(scale) {
                    *out = x * factor * scale;
                }
            },
        );
    });
}

/// Normalizes each of the groups that the channels of each batch are cut into, all of them `spatial`
/// elements, and gives each channel its own scale and bias.
pub(crate) fn group_normalize<T: Real>(
    data: &[T],
    out: &mut [T],
    groups: usize,
    spatial: usize,
    [scale, bias]: [&[T]; 2],
    norm: Norm<'_>,
) {
    if out.is_empty() {
        return;
    }
    let channels = scale.len() / groups;
    parts(data, out, channels * spatial, |i, data, out| {
        let first = i % groups * channels;
        vectorize_mut(
            #[inline(always)]
            || {
                let (mean, factor) = norm.of_run(data);
                let channels = data
                    .chunks_exact(spatial)
                    .zip(out.chunks_exact_mut(spatial));
                for (i, (data, out)) in channels.enumerate() {
                    let (scale, bias) = (scale[first + i].wide(), bias[first + i].wide());
                    affine(data, out, mean, factor * scale, bias);
                }
            },
        );
    });
}

/// What is done to a channel: `(x - mean) * factor + bias`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Affine {
    pub(crate) mean: f64,
    pub(crate) factor: f64,
    pub(crate) bias: f64,
}

/// Transforms channels of `spatial` elements each, as often as there are batches.
pub(crate) fn each_channel<T: Real>(
    data: &[T],
    out: &mut [T],
    spatial: usize,
    channels: &[Affine],
) {
    if out.is_empty() {
        return;
    }
    parts(data, out, spatial, |i, data, out| {
        let channel = channels[i % channels.len()];
        vectorize_mut(
            #[inline(always)]
            || affine(data, out, channel.mean, channel.factor, channel.bias),
        );
    });
}

/// Calls `f` for each part of `size` elements, with its number.
fn parts<T: Real>(
    data: &[T],
    out: &mut [T],
    size: usize,
    f: impl Fn(usize, &[T], &mut [T]) + Sync,
) {
    let count = (TASK / size).max(1);
    let task = |(i, (data, out)): (usize, (&[T], &mut [T]))| {
        let parts = data.chunks_exact(size).zip(out.chunks_exact_mut(size));
        for (part, (data, out)) in parts.enumerate() {
            f(i * count + part, data, out);
        }
    };
    if out.len() <= SMALL {
        let parts = data.chunks_exact(size).zip(out.chunks_exact_mut(size));
        parts
            .enumerate()
            .for_each(|(i, (data, out))| f(i, data, out));
        return;
    }
    data.par_chunks(count * size)
        .zip(out.par_chunks_mut(count * size))
        .enumerate()
        .share(task);
}

fn merge(shape: &[usize], reduced: &[bool]) -> SmallVec<[Axis; 6]> {
    let mut axes: SmallVec<[Axis; 6]> = SmallVec::new();
    for (&size, &reduced) in shape.iter().zip(reduced) {
        match axes.last_mut() {
            _ if size == 1 => {}
            Some(last) if last.reduced == reduced => last.size *= size,
            _ => axes.push(Axis { size, reduced }),
        }
    }
    axes
}

/// The sum of what `f` makes of the elements.
#[inline(always)]
fn sum<T: Real>(data: &[T], f: impl Fn(f64) -> f64 + Copy) -> f64 {
    fold_run::<LANES, T, f64>(
        [0.0; 2],
        data,
        #[inline(always)]
        |sum, x| sum + f(x.wide()),
        #[inline(always)]
        |a, b| a + b,
    )
}

/// The sum of the squares of what is left of the elements.
#[inline(always)]
fn squares<T: Real>(data: &[T], mean: f64) -> f64 {
    sum(
        data,
        #[inline(always)]
        |x| (x - mean) * (x - mean),
    )
}

/// Computes `(x - mean) * factor + bias`. The mean is subtracted in two parts, so that what it has
/// beyond `T` is not lost where elements are close to it.
#[inline(always)]
fn affine<T: Real>(data: &[T], out: &mut [T], mean: f64, factor: f64, bias: f64) {
    let high = T::of(mean);
    let low = mean - high.wide();
    let low = T::of(if low.is_finite() { low } else { 0.0 });
    let (factor, bias) = (T::of(factor), T::of(bias));
    for (out, &x) in out.iter_mut().zip(data) {
        *out = (x - high - low) * factor + bias;
    }
}

#[allow(clippy::cast_precision_loss)] // no memory holds 2^53 elements
impl Norm<'_> {
    /// What to subtract from the elements of a run that is one group, and the factor.
    #[inline(always)]
    fn of_run<T: Real>(&self, data: &[T]) -> (f64, f64) {
        let mean = if self.center {
            sum(
                data,
                #[inline(always)]
                |x| x,
            ) / data.len() as f64
        } else {
            0.0
        };
        // A closure would not be compiled for the vectors of the machine.
        let factor = match self.factor {
            Some(factor) => factor(squares(data, mean), data.len()),
            None => 1.0,
        };
        (mean, factor)
    }

    /// Normalizes a part whose axes begin with a reduced one.
    #[inline(always)]
    fn grid<T: Real>(&self, data: &[T], out: &mut [T], axes: &[Axis]) {
        let groups = axes.iter().filter(|axis| !axis.reduced).map(|a| a.size);
        let groups: usize = groups.product();
        let lines = Lines::new(axes);
        let Some(means) = self.means(data, &lines, groups) else {
            return;
        };
        let Some(factors) = self.factors(data, &lines, &means) else {
            return;
        };
        lines.walk(
            #[inline(always)]
            |at, line, width| {
                let (data, out) = (&data[line.clone()], &mut out[line]);
                if width == 1 {
                    return affine(data, out, means[at], factors[at], NOTHING);
                }
                let groups = means[at..at + width].iter().zip(&factors[at..]);
                for ((out, x), (mean, factor)) in out.iter_mut().zip(data).zip(groups) {
                    *out = T::of((x.wide() - mean) * factor);
                }
            },
        );
    }

    /// What to subtract from the elements of each group, if there is memory for that.
    #[inline(always)]
    fn means<T: Real>(&self, data: &[T], lines: &Lines, groups: usize) -> Option<Reused<f64>> {
        let mut means = or_refuse(reused(0.0, groups))?;
        if !self.center {
            return Some(means);
        }
        lines.walk(
            #[inline(always)]
            |at, line, width| {
                let data = &data[line];
                if width == 1 {
                    means[at] += sum(
                        data,
                        #[inline(always)]
                        |x| x,
                    );
                    return;
                }
                for (mean, x) in means[at..at + width].iter_mut().zip(data) {
                    *mean += x.wide();
                }
            },
        );
        let count = (data.len() / groups) as f64;
        means.iter_mut().for_each(|mean| *mean /= count);
        Some(means)
    }

    /// The factor of each group, if there is memory for that.
    #[inline(always)]
    fn factors<T: Real>(&self, data: &[T], lines: &Lines, means: &[f64]) -> Option<Reused<f64>> {
        let Some(factor) = self.factor else {
            return or_refuse(reused(1.0, means.len()));
        };
        let mut sums = or_refuse(reused(0.0, means.len()))?;
        lines.walk(
            #[inline(always)]
            |at, line, width| {
                let data = &data[line];
                if width == 1 {
                    let mean = means[at];
                    sums[at] += squares(data, mean);
                    return;
                }
                let groups = sums[at..at + width].iter_mut().zip(&means[at..]);
                for ((sum, mean), x) in groups.zip(data) {
                    let deviation = x.wide() - mean;
                    *sum += deviation * deviation;
                }
            },
        );
        let count = data.len() / means.len();
        sums.iter_mut().for_each(|sum| *sum = factor(*sum, count));
        Some(sums)
    }
}

/// The runs along the last axis of a part, in order, with the group each begins with.
struct Lines {
    sizes: SmallVec<[usize; 6]>,
    /// How far the group is from the one a step before, along each axis but the last.
    strides: SmallVec<[usize; 6]>,
    count: usize,
    len: usize,
    /// How many groups a run has: one, or one an element.
    width: usize,
}

impl Lines {
    fn new(axes: &[Axis]) -> Self {
        let (last, outer) = axes
            .split_last()
            .map_or((None, axes), |(l, o)| (Some(l), o));
        let len = last.map_or(1, |axis| axis.size);
        let width = last
            .filter(|axis| !axis.reduced)
            .map_or(1, |axis| axis.size);
        let mut strides: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
        let mut stride = width;
        for (slot, axis) in strides.iter_mut().zip(outer).rev() {
            if !axis.reduced {
                *slot = stride;
                stride *= axis.size;
            }
        }
        Self {
            sizes: outer.iter().map(|axis| axis.size).collect(),
            strides,
            count: outer.iter().map(|axis| axis.size).product(),
            len,
            width,
        }
    }

    /// Calls `f` with the first group, the range of elements, and the number of groups of each run.
    #[inline(always)]
    fn walk(&self, mut f: impl FnMut(usize, std::ops::Range<usize>, usize)) {
        let mut group = Odometer::at(0, &self.sizes, &self.strides);
        for i in 0..self.count {
            f(group.offset(), i * self.len..(i + 1) * self.len, self.width);
            group.step();
        }
    }
}
