//! Pooling of regions of feature maps.

use rayon::prelude::*;

use super::real::Real;
use crate::limits::Share;

/// Work smaller than this, in elements of the output, stays on the calling thread.
const PARALLEL: usize = 1 << 12;

/// Feature maps of `[N, C, H, W]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maps<'a, T> {
    data: &'a [T],
    channels: usize,
    height: usize,
    width: usize,
}

impl<'a, T: Real> Maps<'a, T> {
    /// The maps of a tensor of this shape, which has four dimensions.
    pub(crate) fn new(data: &'a [T], shape: &[usize]) -> Self {
        Self {
            data,
            channels: shape[1],
            height: shape[2],
            width: shape[3],
        }
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The map of one channel of one image.
    pub(crate) fn plane(&self, image: usize, channel: usize) -> Plane<'a, T> {
        let area = self.height * self.width;
        Plane {
            data: &self.data[(image * self.channels + channel) * area..][..area],
            height: self.height,
            width: self.width,
        }
    }
}

/// One map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane<'a, T> {
    data: &'a [T],
    height: usize,
    width: usize,
}

impl<T: Real> Plane<'_, T> {
    /// The rows of a window.
    pub(crate) fn rows(
        &self,
        [top, bottom]: [usize; 2],
        [left, right]: [usize; 2],
    ) -> impl Iterator<Item = &[T]> {
        let rows = self.data[top * self.width..bottom * self.width].chunks_exact(self.width);
        rows.map(move |row| &row[left..right])
    }

    /// The value at a point, which lies in the map, between the four elements around it.
    pub(crate) fn at(&self, y: T, x: T) -> T {
        let index = |x: T, size: usize| x.to_usize().map_or(0, |x| x.min(size - 1));
        let (top, bottom) = (index(y.floor(), self.height), index(y.ceil(), self.height));
        let (left, right) = (index(x.floor(), self.width), index(x.ceil(), self.width));
        let (dy, dx) = (y - y.floor(), x - x.floor());
        let between = |y: usize| {
            let row = &self.data[y * self.width..][..self.width];
            row[left] + (row[right] - row[left]) * dx
        };
        let (upper, lower) = (between(top), between(bottom));
        upper + (lower - upper) * dy
    }
}

/// Calls `f` for each region with its number and its part of the output, of `size` elements.
pub(crate) fn each<T: Real>(out: &mut [T], size: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    if out.is_empty() {
        return;
    }
    let task = |(i, out): (usize, &mut [T])| f(i, out);
    if out.len() < PARALLEL {
        out.chunks_exact_mut(size).enumerate().for_each(task);
    } else {
        out.par_chunks_exact_mut(size).enumerate().share(task);
    }
}

/// A point of a map: the four elements around it with their weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<T> {
    places: [usize; 4],
    weights: [T; 4],
}

impl<T: Real> Sample<T> {
    /// The point at `(y, x)`. Beyond the last element and one before the first there is nothing;
    /// between them lies the border.
    pub(crate) fn new(maps: &Maps<'_, T>, y: T, x: T) -> Self {
        let along = |x: T, size: usize| {
            let end = T::from_usize(size).unwrap_or_else(T::infinity);
            // No number is nowhere, too.
            if !(x >= -T::one() && x <= end) {
                return None;
            }
            let x = x.max(T::zero());
            let low = x.to_usize().unwrap_or(0);
            if low + 1 >= size {
                return Some((size - 1, size - 1, T::zero()));
            }
            Some((low, low + 1, x - x.floor()))
        };
        let (Some((top, bottom, dy)), Some((left, right, dx))) =
            (along(y, maps.height), along(x, maps.width))
        else {
            return Self {
                places: [0; 4],
                weights: [T::zero(); 4],
            };
        };
        let (top, bottom) = (top * maps.width, bottom * maps.width);
        let one = T::one();
        Self {
            places: [top + left, top + right, bottom + left, bottom + right],
            weights: [
                (one - dy) * (one - dx),
                (one - dy) * dx,
                dy * (one - dx),
                dy * dx,
            ],
        }
    }

    fn of(&self, plane: &Plane<'_, T>) -> T {
        let pairs = self.places.iter().zip(self.weights);
        pairs.fold(T::zero(), |sum, (&place, weight)| {
            // What weighs nothing is not looked at: it may be infinite.
            if weight == T::zero() {
                sum
            } else {
                sum + weight * plane.data[place]
            }
        })
    }
}

/// How the samples of a bin become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Average,
    Maximum,
}

/// Pools the bins of one region, each of `count` samples, for every channel of an image.
pub(crate) fn align<T: Real>(
    maps: &Maps<'_, T>,
    image: usize,
    samples: &[Sample<T>],
    count: usize,
    pooling: Pooling,
    out: &mut [T],
) {
    if count == 0 {
        return out.fill(T::zero());
    }
    let number = T::from_usize(count).unwrap_or_else(T::infinity);
    let bins = samples.len() / count;
    for (channel, out) in out.chunks_exact_mut(bins).enumerate() {
        let plane = maps.plane(image, channel);
        for (out, bin) in out.iter_mut().zip(samples.chunks_exact(count)) {
            let values = bin.iter().map(|sample| sample.of(&plane));
            *out = match pooling {
                Pooling::Average => values.fold(T::zero(), |sum, x| sum + x) / number,
                Pooling::Maximum => values.fold(T::neg_infinity(), T::max),
            };
        }
    }
}
