//! What MatrixNms and MulticlassNms have in common: their outputs.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::suppression::{Selected, Sizes, float, index, indices, limit, smaller};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_collect_ok, try_vec};
use crate::kernel::suppression::{Boxes, Scored, Sides, each_list, highest_first, leave_first};
use crate::op::{OpError, Output, Outputs, bail, expect_indices_fit};
use crate::ops::floats::{fill, real};
use crate::tensor::{Dimension, ElementType, Tensor};

/// The order of the boxes selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SortResult {
    /// By class.
    #[serde(alias = "class")]
    Classid,
    /// Any: by score in each batch.
    #[default]
    None,
    /// By score.
    Score,
}

/// Which boxes are selected, and in which order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrangement {
    pub(super) sort: SortResult,
    /// Whether all batches are ordered together.
    pub(super) across: bool,
    pub(super) nms_top_k: i64,
    pub(super) keep_top_k: i64,
    pub(super) background_class: i64,
    pub(super) output_type: ElementType,
}

/// A box that stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picked<T> {
    pub(super) selected: Selected<T>,
    pub(super) corners: [T; 4],
    /// Its place among all boxes.
    pub(super) place: usize,
}

/// The boxes of a list that stay, with the place that each has among all.
pub(super) fn picked<T: Real>(
    batch: usize,
    class: usize,
    kept: Vec<Scored<T>>,
    boxes: &Boxes<T>,
    place: impl Fn(usize) -> usize,
) -> Result<Vec<Picked<T>>, OpError> {
    let kept = kept.into_iter();
    try_collect(kept.map(|scored| Picked {
        selected: Selected {
            batch,
            class,
            scored,
        },
        corners: boxes.corners(scored.index),
        place: place(scored.index),
    }))
}

/// By class, then by batch, score and box.
fn by_class<T: Real>(a: &Picked<T>, b: &Picked<T>) -> Ordering {
    let (a, b) = (&a.selected, &b.selected);
    (a.class, a.batch)
        .cmp(&(b.class, b.batch))
        .then(highest_first(a.scored.score, b.scored.score))
        .then(a.scored.index.cmp(&b.scored.index))
}

fn by_score<T: Real>(a: &Picked<T>, b: &Picked<T>) -> Ordering {
    a.selected.by_score(&b.selected)
}

/// Each `count` lists as one.
pub(super) fn joined<T: Copy>(lists: &[Vec<T>], count: usize) -> Result<Vec<Vec<T>>, OpError> {
    let lists = lists.chunks_exact(count);
    try_collect_ok(lists.map(|lists| try_collect(lists.iter().flatten().copied())))
}

impl Arrangement {
    /// Whether boxes of the class are left out.
    pub(super) fn is_background(&self, class: usize) -> bool {
        usize::try_from(self.background_class).is_ok_and(|background| background == class)
    }

    /// The outputs for elements of `ty`.
    pub(super) fn infer(&self, ty: ElementType, sizes: Sizes) -> Outputs {
        let most = |attribute| Dimension::range(0, usize::try_from(attribute).ok());
        let background = usize::try_from(self.background_class).ok();
        let classes = match (sizes.classes.max(), background) {
            (Some(classes), Some(background)) if background < classes => {
                Dimension::range(0, Some(classes - 1))
            }
            _ => sizes.classes,
        };
        let each = smaller(sizes.boxes, most(self.nms_top_k)) * classes;
        let all = smaller(each, most(self.keep_top_k)) * sizes.batches;
        let count = Dimension::range(0, all.max());
        smallvec::smallvec![
            Output::new(ty, [count, Dimension::fixed(6)].as_slice()),
            Output::new(self.output_type, [count, Dimension::fixed(1)].as_slice()),
            Output::new(self.output_type, [sizes.batches].as_slice()),
        ]
    }

    /// The boxes that stay, batch by batch, of boxes and scores `[batches, classes, boxes]`; `keep`
    /// tells which boxes of a class do, by their scores.
    pub(super) fn select<T: Real>(
        &self,
        inputs: &[&Tensor],
        sides: Sides,
        keep: impl Fn(&Boxes<T>, &[T]) -> Result<Vec<Scored<T>>, OpError> + Send + Sync,
    ) -> Result<Vec<Vec<Picked<T>>>, OpError> {
        let (boxes, scores) = (real::<T>(inputs[0])?, real::<T>(inputs[1])?);
        let &[batches, classes, count] = &scores.shape()[..] else {
            bail!("the scores must be 3-D, got shape {}", scores.shape());
        };
        expect_indices_fit(batches.saturating_mul(count), self.output_type)?;
        if count == 0 || classes == 0 {
            return try_vec(Vec::new(), batches);
        }
        let all = Boxes::of_lists(sides, boxes.as_slice::<T>()?, count)?;
        let scores = scores.as_slice::<T>()?;
        let lists = each_list(batches * classes, count, |list| {
            let (batch, class) = (list / classes, list % classes);
            if self.is_background(class) {
                return Ok(Vec::new());
            }
            let boxes: &Boxes<T> = &all[batch];
            let kept = keep(boxes, &scores[list * count..][..count])?;
            picked(batch, class, kept, boxes, |index| batch * count + index)
        })?;
        joined(&lists, classes)
    }

    /// Orders the boxes of all batches and puts them into the three outputs.
    pub(super) fn put<T: Real>(
        &self,
        mut batches: Vec<Vec<Picked<T>>>,
        outputs: &mut [Tensor],
    ) -> Result<(), OpError> {
        for batch in &mut batches {
            leave_first(batch, limit(self.keep_top_k), by_score);
            if self.sort == SortResult::Classid {
                batch.sort_unstable_by(by_class);
            }
        }
        let counts = try_collect(batches.iter().map(|batch| index(batch.len())))?;
        let mut all = try_collect(batches.into_iter().flatten())?;
        match self.sort {
            SortResult::Score if self.across => all.sort_unstable_by(by_score),
            SortResult::Classid if self.across => all.sort_unstable_by(by_class),
            _ => {}
        }
        let mut rows = Tensor::zeros(outputs[0].element_type(), [all.len(), 6])?;
        fill(&mut rows, |out: &mut [T]| {
            for (row, picked) in out.chunks_exact_mut(6).zip(&all) {
                row[0] = float(picked.selected.class);
                row[1] = picked.selected.scored.score;
                row[2..].copy_from_slice(&picked.corners);
            }
            Ok(())
        })?;
        outputs[0] = rows;
        let places = try_collect(all.iter().map(|picked| index(picked.place)))?;
        outputs[1] = indices(&[all.len(), 1], &places, self.output_type)?;
        outputs[2] = indices(&[counts.len()], &counts, self.output_type)?;
        Ok(())
    }
}
