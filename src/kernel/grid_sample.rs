//! Samples of images at points of a grid.

use rayon::prelude::*;

use super::gather::{OUTSIDE, pick};
use super::moving::{Mover, Word};
use super::real::Real;
use crate::limits::Share;
use crate::op::OpError;

/// Work smaller than this, in elements of the output, stays on the calling thread.
const PARALLEL: usize = 1 << 14;

/// The neighbours of a point along one axis, [`NOWHERE`] where they are outside, and their weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbours<T, const N: usize> {
    pub(crate) places: [usize; N],
    pub(crate) weights: [T; N],
}

/// Far from every element, also when two are added.
pub(crate) const NOWHERE: usize = usize::MAX / 2 - 1;

/// The points of each image of a batch: neighbours along the height, counted in elements, and along
/// the width.
pub(crate) type Points<T, const N: usize> = Vec<[Neighbours<T, N>; 2]>;

/// Samples every channel of every image. `planes` is how many channels an image has; `area` how many
/// elements a channel.
pub(crate) fn sample<T: Real, const N: usize>(
    data: &[T],
    area: usize,
    planes: usize,
    points: &[Points<T, N>],
    out: &mut [T],
) {
    let Some(row) = points.first().map(Vec::len).filter(|&row| row > 0) else {
        return;
    };
    let plane = |(i, out): (usize, &mut [T])| {
        let data = &data[i * area..][..area];
        for (out, [y, x]) in out.iter_mut().zip(&points[i / planes]) {
            let mut sum = T::zero();
            for (y, wy) in y.places.into_iter().zip(y.weights) {
                let mut line = T::zero();
                for (x, wx) in x.places.into_iter().zip(x.weights) {
                    line += data.get(y + x).copied().unwrap_or(T::zero()) * wx;
                }
                sum += line * wy;
            }
            *out = sum;
        }
    };
    if out.len() < PARALLEL {
        out.chunks_exact_mut(row).enumerate().for_each(plane);
    } else {
        out.par_chunks_exact_mut(row).enumerate().share(plane);
    }
}

/// One element of every channel for each point, or zero if it is [`OUTSIDE`].
#[derive(Debug)]
pub(crate) struct Nearest {
    pub(crate) area: usize,
    pub(crate) planes: usize,
    /// For each image the places of its points.
    pub(crate) points: Vec<Vec<usize>>,
}

impl Mover for Nearest {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, out) = (inputs[0], &mut *outputs[0]);
        let Some(row) = self.points.first().map(Vec::len).filter(|&row| row > 0) else {
            return Ok(());
        };
        let plane = |(i, out): (usize, &mut [T])| {
            let data = &data[i * self.area..][..self.area];
            pick(data, &self.points[i / self.planes], 1, out);
        };
        if out.len() < PARALLEL {
            out.chunks_exact_mut(row).enumerate().for_each(plane);
        } else {
            out.par_chunks_exact_mut(row).enumerate().share(plane);
        }
        Ok(())
    }
}

/// The place of an element, [`OUTSIDE`] if one of its neighbours is none.
pub(crate) fn place(y: usize, x: usize) -> usize {
    if y == NOWHERE || x == NOWHERE {
        OUTSIDE
    } else {
        y + x
    }
}
