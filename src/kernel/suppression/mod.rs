//! Suppression: of boxes that overlap too much only the best stay.

mod boxes;
mod decay;
pub(crate) mod rotated;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

pub(crate) use boxes::{Boxes, Sides};
pub(crate) use decay::Decay;

use super::math;
use super::real::Real;
use super::scratch::{try_collect, try_collect_ok, try_push, try_room};
use crate::limits::{self, Share};
use crate::op::OpError;

/// Boxes from which several lists of them are worth several threads.
const PART: usize = 1 << 14;

/// A box of a list, and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored<T> {
    pub(crate) score: T,
    pub(crate) index: usize,
}

/// The order of scores: the highest first, NaN last.
pub(crate) fn highest_first<T: Real>(a: T, b: T) -> Ordering {
    let unordered = || a.is_nan().cmp(&b.is_nan());
    b.partial_cmp(&a).unwrap_or_else(unordered)
}

/// The order of boxes: the best first, equal ones by index.
pub(crate) fn best_first<T: Real>(a: &Scored<T>, b: &Scored<T>) -> Ordering {
    highest_first(a.score, b.score).then(a.index.cmp(&b.index))
}

/// Leaves the first `most` elements in `order`.
pub(crate) fn leave_first<T>(
    list: &mut Vec<T>,
    most: usize,
    order: impl Fn(&T, &T) -> Ordering + Copy,
) {
    if most == 0 {
        list.clear();
    } else if most < list.len() {
        list.select_nth_unstable_by(most - 1, order);
        list.truncate(most);
    }
    list.sort_unstable_by(order);
}

/// The best boxes whose score is accepted, the best first.
///
/// # Errors
/// When there is no memory for them.
pub(crate) fn rank<T: Real>(
    scores: impl Iterator<Item = T>,
    accept: impl Fn(T) -> bool,
    most: usize,
) -> Result<Vec<Scored<T>>, OpError> {
    let scored = scores
        .enumerate()
        .map(|(index, score)| Scored { score, index });
    let mut ranked = try_collect(scored.filter(|scored| accept(scored.score)))?;
    leave_first(&mut ranked, most, best_first);
    Ok(ranked)
}

/// What `f` gives for each of `lists` lists of boxes, in order; on several threads if the boxes
/// are many.
///
/// # Errors
/// One of those of `f`, or when there is no memory for as many.
pub(crate) fn each_list<R: Send>(
    lists: usize,
    boxes: usize,
    f: impl Fn(usize) -> Result<R, OpError> + Send + Sync,
) -> Result<Vec<R>, OpError> {
    if lists > 1 && lists.saturating_mul(boxes) >= PART {
        let mut all = try_room(lists)?;
        let lists = (0..lists).into_par_iter().share_map(f);
        lists.collect_into_vec(&mut all);
        try_collect_ok(all)
    } else {
        try_collect_ok((0..lists).map(f))
    }
}

/// Hard suppression: a box goes that overlaps a better one, which stayed, by more than a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hard<T> {
    /// How many boxes stay at most.
    pub(crate) most: usize,
    /// The limit for the overlaps with the first box.
    pub(crate) limit: T,
    /// If below 1, by what a limit above a half is multiplied with each box that stays.
    pub(crate) eta: T,
}

impl<T: Real> Hard<T> {
    /// The boxes that stay, in the order they are given in: the best first.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn keep(
        &self,
        boxes: &Boxes<T>,
        ranked: &[Scored<T>],
    ) -> Result<Vec<Scored<T>>, OpError> {
        let most = self.most.min(ranked.len());
        let mut kept = boxes.none(most)?;
        let mut limits = try_room(most)?;
        let mut limit = self.limit;
        let watch = limits::watch();
        let mut stays = |scored: &Scored<T>| {
            if watch.check().is_err() || kept.overlap(boxes, scored.index, &limits) {
                return false;
            }
            if self.eta < T::one() && limit > T::of(0.5) {
                limit *= self.eta;
            }
            kept.push_from(boxes, scored.index);
            limits.push(limit);
            true
        };
        let ranked = ranked.iter().copied();
        try_collect(ranked.filter(|s| stays(s)).take(self.most))
    }
}

/// Soft suppression: the score of a box falls with its overlap with better ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Soft<T> {
    /// How many boxes stay at most.
    pub(crate) most: usize,
    /// An overlap weighs `exp(scale * overlap²)`.
    pub(crate) scale: T,
    /// The overlap above which a box goes.
    pub(crate) limit: Option<T>,
    /// The score below which a box goes.
    pub(crate) lowest: T,
}

/// A box that waits, with the number of boxes it has been held against.
struct Waiting<T> {
    scored: Scored<T>,
    seen: usize,
}

impl<T: Real> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        best_first(&other.scored, &self.scored)
    }
}

impl<T: Real> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Real> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Real> Eq for Waiting<T> {}

impl<T: Real> Soft<T> {
    /// The boxes that stay, in the order they are picked, with the scores they were picked by.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn keep(
        &self,
        boxes: &Boxes<T>,
        ranked: Vec<Scored<T>>,
    ) -> Result<Vec<Scored<T>>, OpError> {
        let waiting = ranked.into_iter().map(|scored| Waiting { scored, seen: 0 });
        // What comes back was there before: the heap never grows.
        let mut waiting = BinaryHeap::from(try_collect(waiting)?);
        let mut kept: Vec<Scored<T>> = Vec::new();
        while kept.len() < self.most {
            let Some(Waiting { scored, seen }) = waiting.pop() else {
                break;
            };
            match self.weigh(boxes, scored, &kept[seen..]) {
                Some(score) if score == scored.score => try_push(&mut kept, scored)?,
                Some(score) => waiting.push(Waiting {
                    scored: Scored { score, ..scored },
                    seen: kept.len(),
                }),
                None => {}
            }
        }
        Ok(kept)
    }

    /// The score that the overlaps with `kept` leave, if the box does not go.
    fn weigh(&self, boxes: &Boxes<T>, scored: Scored<T>, kept: &[Scored<T>]) -> Option<T> {
        let mut score = scored.score;
        for better in kept {
            let overlap = boxes.iou(scored.index, better.index);
            if self.limit.is_some_and(|limit| overlap > limit) {
                return None;
            }
            score *= math::exp(self.scale * overlap * overlap);
            if score < self.lowest || score.is_nan() {
                return None;
            }
        }
        Some(score)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn boxes(all: &[[u8; 4]]) -> Boxes<f32> {
        let mut boxes = Boxes::new(Sides::Continuous, all.len()).expect("memory");
        for &[x, y, w, h] in all {
            let [x, y, w, h] = [x, y, w, h].map(f32::from);
            boxes.push([x, y, x + w, y + h]);
        }
        boxes
    }

    proptest! {
        /// As its definition: the best box stays, then all that overlap it go.
        #[test]
        fn hard(
            all in prop::collection::vec([0u8..20, 0u8..20, 0u8..9, 0u8..9], 0..60),
            scores in prop::collection::vec(0u8..9, 60),
            (limit, eta) in (0u8..10, prop::sample::select(vec![1.0f32, 0.8])),
            most in 0usize..30,
        ) {
            let boxes = boxes(&all);
            let limit = f32::from(limit) / 10.0;
            let scores: Vec<f32> = scores[..all.len()].iter().map(|&s| f32::from(s)).collect();
            let ranked = rank(scores.iter().copied(), |s| s > 1.0, usize::MAX).expect("memory");
            let kept = Hard { most, limit, eta }.keep(&boxes, &ranked).expect("memory");

            let mut left: Vec<usize> = (0..all.len()).filter(|&i| scores[i] > 1.0).collect();
            let (mut expected, mut limit) = (Vec::new(), limit);
            while !left.is_empty() && expected.len() < most {
                let best = left.iter().copied().rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).expect("some");
                expected.push(best);
                if eta < 1.0 && limit > 0.5 {
                    limit *= eta;
                }
                left.retain(|&i| i != best && boxes.iou(i, best) <= limit);
            }
            prop_assert_eq!(kept.iter().map(|s| s.index).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn soft(
            all in prop::collection::vec([0u8..20, 0u8..20, 0u8..9, 0u8..9], 0..40),
            scores in prop::collection::vec(0u8..9, 40),
            limit in prop::option::of(0.0f32..1.0),
            most in 0usize..30,
        ) {
            let boxes = boxes(&all);
            let lowest = 1.5;
            let mut scores: Vec<f32> = scores[..all.len()].iter().map(|&s| f32::from(s)).collect();
            let ranked = rank(scores.iter().copied(), |s| s >= lowest, usize::MAX).expect("memory");
            let kept = Soft { most, scale: -1.0, limit, lowest }.keep(&boxes, ranked).expect("memory");

            let mut left: Vec<usize> = (0..all.len()).collect();
            let mut expected = Vec::new();
            while expected.len() < most {
                left.retain(|&i| scores[i] >= lowest);
                let best = left.iter().copied().rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
                let Some(best) = best else { break };
                expected.push(Scored { index: best, score: scores[best] });
                left.retain(|&i| i != best && limit.is_none_or(|limit| boxes.iou(i, best) <= limit));
                for &i in &left {
                    let overlap = boxes.iou(i, best);
                    scores[i] *= math::exp(-overlap * overlap);
                }
            }
            prop_assert_eq!(kept, expected);
        }
    }

    #[test]
    fn ranks() {
        let scores = [1.0f32, f32::NAN, 3.0, -0.0, 3.0, 0.0];
        let ranked = |most| {
            let ranked = rank(scores.into_iter(), |_| true, most).expect("memory");
            ranked.into_iter().map(|s| s.index).collect::<Vec<_>>()
        };
        assert_eq!(ranked(9), [2, 4, 0, 3, 5, 1]);
        assert_eq!(ranked(2), [2, 4]);
        assert_eq!(ranked(0), [0usize; 0]);
    }
}
