//! Weighted sums along axes: each position of an output axis is made of neighbouring positions of
//! the input's.

use rayon::prelude::*;

use smallvec::SmallVec;

use super::real::Real;
use super::scratch::{Reused, or_refuse, reused, reused_any, reused_room};
use crate::limits::Share;
use crate::op::OpError;
use crate::tensor::Few;

/// Work smaller than this, in elements, stays on the calling thread.
const PARALLEL: usize = 1 << 15;

/// Elements one thread computes at a time.
const TASK: usize = 1 << 13;

/// Where a position comes from: positions of the other axis, which may lie outside of it, with
/// weights.
pub(crate) type Taps<T> = SmallVec<[(i64, T); 4]>;

/// The matrix from an axis to a resampled one: each row has `width` weights in a row.
#[derive(Debug)]
pub(crate) struct Band<T: 'static> {
    /// The size of the axis.
    size: usize,
    width: usize,
    /// Where the weights of each row begin.
    first: Reused<usize>,
    weights: Reused<T>,
}

impl<T: Real> Band<T> {
    /// The rows of an axis of `size` elements, that `taps` count from position `-before` on. What
    /// is outside adds nothing.
    ///
    /// # Errors
    /// When there is no memory for the weights.
    pub(crate) fn new(taps: &[Taps<T>], before: usize, size: usize) -> Result<Self, OpError> {
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let place = |at: i64| usize::try_from(at - before).ok().filter(|&at| at < size);
        let inside = |taps: &Taps<T>| -> Option<(usize, usize)> {
            let places = taps.iter().filter_map(|&(at, _)| place(at));
            places.fold(None, |range, at| match range {
                None => Some((at, at)),
                Some((from, to)) => Some((at.min(from), at.max(to))),
            })
        };
        let widths = taps
            .iter()
            .filter_map(inside)
            .map(|(from, to)| to - from + 1);
        let width = widths.max().unwrap_or(0);
        let mut first = reused_room(taps.len())?;
        let mut weights = reused(T::zero(), taps.len().saturating_mul(width))?;
        for (taps, weights) in taps.iter().zip(weights.chunks_mut(width.max(1))) {
            let from = inside(taps).map_or(0, |(from, _)| from.min(size - width));
            for &(at, weight) in taps {
                if let Some(at) = place(at) {
                    weights[at - from] += weight;
                }
            }
            first.push(from);
        }
        first.resize(taps.len(), 0);
        Ok(Self {
            size,
            width,
            first,
            weights,
        })
    }

    /// How many positions the axis has afterwards.
    fn len(&self) -> usize {
        self.first.len()
    }

    /// The first position and the weights of each row.
    fn rows(&self) -> impl Iterator<Item = (usize, &[T])> {
        (0..self.len()).map(|i| (self.first[i], self.weights_of(i)))
    }

    fn weights_of(&self, row: usize) -> &[T] {
        &self.weights[row * self.width..][..self.width]
    }

    /// Resamples an axis with `inner` elements below it, in every index of those above.
    fn resample(&self, data: &[T], out: &mut [T], inner: usize, parallel: bool) {
        if self.width == 0 {
            return out.fill(T::zero());
        }
        if inner == 1 {
            let row = self.len();
            return pieces(out, row, parallel, |first, out| {
                let data = &data[first * self.size..];
                for (data, out) in data.chunks_exact(self.size).zip(out.chunks_exact_mut(row)) {
                    self.line(data, out);
                }
            });
        }
        pieces(out, inner, parallel, |first, out| {
            for (i, out) in out.chunks_exact_mut(inner).enumerate() {
                let (above, row) = ((first + i) / self.len(), (first + i) % self.len());
                let from = above * self.size + self.first[row];
                let data = &data[from * inner..][..self.width * inner];
                combine(data, self.weights_of(row), out);
            }
        });
    }

    /// Resamples one line of elements.
    fn line(&self, data: &[T], out: &mut [T]) {
        match self.width {
            1 => self.short_line::<1>(data, out),
            2 => self.short_line::<2>(data, out),
            4 => self.short_line::<4>(data, out),
            _ => {
                for (out, (first, weights)) in out.iter_mut().zip(self.rows()) {
                    let data = data[first..].iter().zip(weights);
                    *out = data.fold(T::zero(), |sum, (&x, &w)| sum + x * w);
                }
            }
        }
    }

    /// A line of a width the compiler knows.
    fn short_line<const N: usize>(&self, data: &[T], out: &mut [T]) {
        let weights = self.weights.as_chunks::<N>().0;
        for ((out, &first), weights) in out.iter_mut().zip(self.first.iter()).zip(weights) {
            let mut sum = T::zero();
            for (&x, &w) in data[first..first + N].iter().zip(weights) {
                sum += x * w;
            }
            *out = sum;
        }
    }
}

/// The sum of rows of `out.len()` elements, each times its weight.
fn combine<T: Real>(data: &[T], weights: &[T], out: &mut [T]) {
    let inner = out.len();
    if let &[low, high] = weights {
        let (a, b) = data.split_at(inner);
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = a * low + b * high;
        }
        return;
    }
    for (i, (row, &weight)) in data.chunks_exact(inner).zip(weights).enumerate() {
        if i == 0 {
            for (out, &x) in out.iter_mut().zip(row) {
                *out = x * weight;
            }
        } else if weight != T::zero() {
            for (out, &x) in out.iter_mut().zip(row) {
                *out += x * weight;
            }
        }
    }
}

/// Calls `f(first row, rows)` for pieces of whole rows.
fn pieces<T: Real>(out: &mut [T], row: usize, parallel: bool, f: impl Fn(usize, &mut [T]) + Sync) {
    if !parallel {
        return f(0, out);
    }
    let rows = (TASK / row).max(1);
    out.par_chunks_mut(rows * row)
        .enumerate()
        .share(|(i, out)| f(i * rows, out));
}

/// One resampled axis of a tensor.
#[derive(Debug)]
pub(crate) struct Pass<T: 'static> {
    pub(crate) axis: usize,
    pub(crate) band: Band<T>,
}

impl<T: Real> Pass<T> {
    /// Orders passes that may come in any order, so that little is left to do where it is slow:
    /// along the last axis.
    pub(crate) fn order(passes: &mut [Self], rank: usize) {
        passes.sort_by_key(|pass| match &pass.band {
            band if band.len() < band.size && pass.axis + 1 < rank => 0,
            _ if pass.axis + 1 == rank => 1,
            _ => 2,
        });
    }
}

/// Resamples `data` of this shape along the axes of `passes`, one after the other. `finish` is
/// called with the elements after each pass.
pub(crate) fn resample<T: Real>(
    data: &[T],
    shape: &[usize],
    passes: &[Pass<T>],
    finish: &(dyn Fn(&mut [T]) + Sync),
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let Some(first) = passes.iter().map(|pass| pass.axis).min() else {
        return out.copy_from_slice(data);
    };
    // What lies above all axes is resampled independently.
    let count: usize = shape[..first].iter().product();
    let (from, to) = (data.len() / count, out.len() / count);
    let parallel = data.len().max(out.len()) >= PARALLEL;
    let part = |data: &[T], out: &mut [T], parallel: bool| {
        run(data, &shape[first..], first, passes, finish, out, parallel);
    };
    if count == 1 || !parallel || from == 0 {
        for (i, out) in out.chunks_exact_mut(to).enumerate() {
            part(&data[i * from..][..from], out, parallel);
        }
    } else {
        data.par_chunks(from)
            .zip(out.par_chunks_mut(to))
            .share(|(data, out)| part(data, out, false));
    }
}

fn run<T: Real>(
    data: &[T],
    shape: &[usize],
    above: usize,
    passes: &[Pass<T>],
    finish: &(dyn Fn(&mut [T]) + Sync),
    out: &mut [T],
    parallel: bool,
) {
    let mut shape: SmallVec<[usize; 6]> = SmallVec::from_slice(shape);
    let mut last: Option<Reused<T>> = None;
    for (i, Pass { axis, band }) in passes.iter().enumerate() {
        let inner = shape[axis - above + 1..].iter().product();
        shape[axis - above] = band.len();
        let from = last.as_ref().map_or(data, |last| &last[..]);
        if i + 1 == passes.len() {
            band.resample(from, out, inner, parallel);
            finish(out);
            return;
        }
        let Some(mut to) = or_refuse(reused_any(T::zero(), shape.iter().product())) else {
            return;
        };
        if !to.is_empty() {
            band.resample(from, &mut to, inner, parallel);
        }
        finish(&mut to);
        last = Some(to);
    }
}

/// Weighted sums over several axes at once, in the order that the runtime adds them up in. Slower
/// than [`resample`], for elements whose rounding makes every bit count.
#[derive(Debug)]
pub(crate) struct Direct<'a> {
    /// The axes with their taps, and how far the positions of the taps are ahead.
    pub(crate) axes: Few<(usize, Reused<Taps<f32>>, usize)>,
    /// What every product of weights begins with.
    pub(crate) scale: f32,
    /// Whether the sum is divided by that of the weights.
    pub(crate) mean: bool,
    pub(crate) shape: &'a [usize],
    pub(crate) out_shape: &'a [usize],
}

impl Direct<'_> {
    pub(crate) fn run(&self, data: &[f32], out: &mut [f32]) {
        let rank = self.shape.len();
        let mut strides: Few<usize> = Few::from_elem(1, rank);
        for axis in (1..rank).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis];
        }
        let mut index: Few<usize> = Few::from_elem(0, rank);
        for out in out {
            let base = (0..rank)
                .filter(|axis| self.axes.iter().all(|(a, ..)| a != axis))
                .map(|axis| index[axis] * strides[axis])
                .sum();
            let mut sums = (0.0, 0.0);
            self.visit(data, &strides, &index, 0, Some(base), self.scale, &mut sums);
            let (sum, weights) = sums;
            *out = match self.mean {
                true if weights == 0.0 => 0.0,
                true => sum / weights,
                false => sum,
            };
            for axis in (0..rank).rev() {
                index[axis] += 1;
                if index[axis] < self.out_shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    /// Adds the taps of the axes from `depth` on; `place` is `None` outside of the data.
    #[allow(clippy::too_many_arguments)]
    fn visit(
        &self,
        data: &[f32],
        strides: &[usize],
        index: &[usize],
        depth: usize,
        place: Option<usize>,
        weight: f32,
        sums: &mut (f32, f32),
    ) {
        let Some((axis, taps, before)) = self.axes.get(depth) else {
            sums.1 += weight;
            if let Some(place) = place {
                sums.0 += weight * data[place];
            }
            return;
        };
        for &(at, w) in &taps[index[*axis]] {
            let at = usize::try_from(at)
                .ok()
                .and_then(|at| at.checked_sub(*before));
            let at = at.filter(|&at| at < self.shape[*axis]);
            let place = place.and_then(|place| Some(place + at? * strides[*axis]));
            self.visit(data, strides, index, depth + 1, place, weight * w, sums);
        }
    }
}
