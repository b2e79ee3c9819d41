//! Boxes that deltas make of other boxes.

use super::math;
use super::real::Real;
use super::scratch::try_collect;
use super::suppression::{Boxes, Hard, Scored, Sides, best_first, leave_first};
use crate::op::OpError;

/// How deltas change a box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refine<T> {
    /// What a side is longer than the difference of its corners.
    pub(crate) pixel: T,
    /// The largest logarithm of a side's growth.
    pub(crate) most: T,
}

impl<T: Real> Refine<T> {
    /// The center and the sides of the box that deltas `[dx, dy, log(dw), log(dh)]` make of
    /// `[x0, y0, x1, y1]`.
    pub(crate) fn center(&self, [x0, y0, x1, y1]: [T; 4], [dx, dy, dw, dh]: [T; 4]) -> [T; 4] {
        let half = T::of(0.5);
        let (width, height) = (x1 - x0 + self.pixel, y1 - y0 + self.pixel);
        [
            dx * width + (x0 + half * width),
            dy * height + (y0 + half * height),
            math::exp(dw.min(self.most)) * width,
            math::exp(dh.min(self.most)) * height,
        ]
    }

    /// The same box by its corners, the last pixel inside.
    pub(crate) fn corners(&self, corners: [T; 4], deltas: [T; 4]) -> [T; 4] {
        let [x, y, width, height] = self.center(corners, deltas);
        let (w, h) = (T::of(0.5) * width, T::of(0.5) * height);
        [x - w, y - h, x + w - self.pixel, y + h - self.pixel]
    }

    /// Whether both sides of a box have at least these sizes.
    pub(crate) fn is_large(&self, [x0, y0, x1, y1]: [T; 4], [width, height]: [T; 2]) -> bool {
        width <= x1 - x0 + self.pixel && height <= y1 - y0 + self.pixel
    }
}

/// A box cut to what lies between 0 and these sizes.
pub(crate) fn clip<T: Real>([x0, y0, x1, y1]: [T; 4], [width, height]: [T; 2]) -> [T; 4] {
    let inside = |at: T, size: T| at.min(size).max(T::zero());
    [
        inside(x0, width),
        inside(y0, height),
        inside(x1, width),
        inside(y1, height),
    ]
}

/// A box proposed; the index is that of its anchor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proposal<T> {
    pub(crate) corners: [T; 4],
    pub(crate) scored: Scored<T>,
}

/// Anchors on a grid of cells, with their deltas and scores.
#[derive(Debug)]
pub(crate) struct Grid<'a, T> {
    pub(crate) cells: usize,
    /// `[cells, anchors]`.
    pub(crate) anchors: &'a [[T; 4]],
    /// `[anchors, 4, cells]`.
    pub(crate) deltas: &'a [T],
    /// `[anchors, cells]`.
    pub(crate) scores: &'a [T],
}

impl<T: Real> Grid<'_, T> {
    /// The boxes that the deltas make, cut to the image, in the order of the anchors.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn boxes(
        &self,
        refine: Refine<T>,
        [width, height]: [T; 2],
    ) -> Result<Vec<Proposal<T>>, OpError> {
        let count = self.anchors.len() / self.cells.max(1);
        let last = [width - refine.pixel, height - refine.pixel];
        let anchors = self.anchors.iter().enumerate();
        try_collect(anchors.map(|(index, &anchor)| {
            let (cell, nth) = (index / count, index % count);
            let delta = |i| self.deltas[(nth * 4 + i) * self.cells + cell];
            let deltas = [delta(0), delta(1), delta(2), delta(3)];
            let score = self.scores[nth * self.cells + cell];
            Proposal {
                corners: clip(refine.corners(anchor, deltas), last),
                scored: Scored { score, index },
            }
        }))
    }
}

/// Leaves the `most` best proposals, the best first.
pub(crate) fn leave_best<T: Real>(proposals: &mut Vec<Proposal<T>>, most: usize) {
    leave_first(proposals, most, |a, b| best_first(&a.scored, &b.scored));
}

/// The proposals that stay of those given, the best first.
///
/// # Errors
/// When there is no memory for as many again.
pub(crate) fn suppress<T: Real>(
    proposals: &[Proposal<T>],
    sides: Sides,
    hard: Hard<T>,
) -> Result<impl Iterator<Item = &Proposal<T>>, OpError> {
    let mut boxes = Boxes::new(sides, proposals.len())?;
    proposals.iter().for_each(|p| boxes.push(p.corners));
    let ranked = proposals.iter().enumerate();
    let ranked = try_collect(ranked.map(|(index, p)| Scored { index, ..p.scored }))?;
    let kept = hard.keep(&boxes, &ranked)?.into_iter();
    Ok(kept.map(|scored| &proposals[scored.index]))
}
