//! What the operations that suppress boxes have in common.

use std::cmp::Ordering;

use crate::kernel::real::Real;
use crate::kernel::scratch::try_collect;
use crate::kernel::suppression::{Scored, highest_first};
use crate::op::{Input, OpError, Output, Outputs, ensure, same_dimension};
use crate::ops::floats::{fill, real};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, Tensor};

/// What the shapes of boxes `[batches, boxes, width]` and scores `[batches, classes, boxes]` say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) batches: Dimension,
    pub(super) classes: Dimension,
    pub(super) boxes: Dimension,
}

impl Sizes {
    /// # Errors
    /// When the shapes do not belong together.
    pub(super) fn of(boxes: &Input<'_>, scores: &Input<'_>, width: usize) -> Result<Self, OpError> {
        let [batches, count, numbers] = boxes.dims("the boxes")?;
        let [score_batches, classes, score_count] = scores.dims("the scores")?;
        ensure!(
            numbers.contains(width),
            "a box must have {width} numbers, got shape {}",
            boxes.shape
        );
        Ok(Self {
            batches: same_dimension(batches, score_batches, "batches of boxes and scores")?,
            classes,
            boxes: same_dimension(count, score_count, "numbers of boxes and scores")?,
        })
    }
}

/// The smaller of two sizes.
pub(super) fn smaller(a: Dimension, b: Dimension) -> Dimension {
    let below = |a: Dimension, b: Dimension| a.max().is_some_and(|max| max <= b.min());
    if below(a, b) || a == b {
        return a;
    }
    if below(b, a) {
        return b;
    }
    let max = match (a.max(), b.max()) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Dimension::range(a.min().min(b.min()), max)
}

/// A number of boxes that an attribute limits: a negative one does not.
pub(super) fn limit(attribute: i64) -> usize {
    usize::try_from(attribute).unwrap_or(usize::MAX)
}

/// The number of boxes that `max_output_boxes_per_class` allows: none if there is no such input.
pub(super) fn most_per_class(input: Option<&Input<'_>>) -> Result<Dimension, OpError> {
    input.map_or(Ok(Dimension::fixed(0)), |most| {
        most.size_scalar("max_output_boxes_per_class")
    })
}

/// The inputs after `max_output_boxes_per_class`.
const NUMBERS: [&str; 3] = ["iou_threshold", "score_threshold", "soft_nms_sigma"];

/// Checks the inputs that are single floats: those from the fourth on.
pub(super) fn check_numbers(inputs: &[Input<'_>]) -> Result<(), OpError> {
    for (input, name) in inputs.iter().skip(3).zip(NUMBERS) {
        input.expect_float(name)?;
        input.expect_one(name)?;
    }
    Ok(())
}

/// The single float that an input holds: 0 if there is no such input.
pub(super) fn number<T: Real>(input: Option<&&Tensor>) -> Result<T, OpError> {
    let Some(input) = input else {
        return Ok(T::zero());
    };
    let number = real::<T>(input)?;
    Ok(number.as_slice::<T>()?.first().copied().unwrap_or_default())
}

/// The boxes that each class of each batch may keep: `max_output_boxes_per_class` at run time.
pub(super) fn most_of(input: Option<&&Tensor>) -> Result<usize, OpError> {
    let input = input.map(|most| Input::of(most));
    let most = most_per_class(input.as_ref())?;
    Ok(most.value().unwrap_or_default())
}

/// A box that stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selected<T> {
    pub(super) batch: usize,
    pub(super) class: usize,
    pub(super) scored: Scored<T>,
}

impl<T: Real> Selected<T> {
    /// By score, then by batch, class and box.
    pub(super) fn by_score(&self, other: &Self) -> Ordering {
        let place = |s: &Self| (s.batch, s.class, s.scored.index);
        highest_first(self.scored.score, other.scored.score).then(place(self).cmp(&place(other)))
    }
}

/// The boxes of all lists, one list for each class of each batch; across them by score if `sorted`.
pub(super) fn join<T: Real>(
    lists: Vec<Vec<Scored<T>>>,
    classes: usize,
    sorted: bool,
) -> Result<Vec<Selected<T>>, OpError> {
    let lists = lists.into_iter().enumerate();
    let all = lists.flat_map(|(list, kept)| {
        kept.into_iter().map(move |scored| Selected {
            batch: list / classes,
            class: list % classes,
            scored,
        })
    });
    let mut all = try_collect(all)?;
    if sorted {
        all.sort_unstable_by(Selected::by_score);
    }
    Ok(all)
}

/// Indices as a tensor of this type.
pub(super) fn indices(
    shape: &[usize],
    indices: &[i64],
    ty: ElementType,
) -> Result<Tensor, OpError> {
    Ok(convert(&Tensor::new(shape, indices)?, ty)?)
}

/// An index as elements hold it.
#[allow(clippy::cast_possible_wrap)] // no size is that large
pub(super) fn index(index: usize) -> i64 {
    index as i64
}

/// A number of things as a float.
pub(super) fn float<T: Real>(count: usize) -> T {
    T::from_usize(count).unwrap_or_else(T::infinity)
}

/// `[batch, class, box]` of every box selected.
pub(super) fn triples<T>(selected: &[Selected<T>]) -> impl Iterator<Item = i64> + '_ {
    let triple = |s: &Selected<T>| [s.batch, s.class, s.scored.index].map(index);
    selected.iter().flat_map(triple)
}

/// The outputs of the operations that give as many boxes as stay: at most `most`.
pub(super) fn infer_selected(ty: ElementType, most: Dimension) -> Outputs {
    let count = Dimension::range(0, most.max());
    let rows = [count, Dimension::fixed(3)];
    smallvec::smallvec![
        Output::new(ty, rows.as_slice()),
        // Files say so, whatever the type of the thresholds.
        Output::new(ElementType::F32, rows.as_slice()),
        Output::new(ty, [Dimension::fixed(1)].as_slice()),
    ]
}

/// Puts the boxes selected into three outputs: indices, scores, and their number.
pub(super) fn put_selected<T: Real>(
    selected: &[Selected<T>],
    outputs: &mut [Tensor],
    ty: ElementType,
) -> Result<(), OpError> {
    let shape = [selected.len(), 3];
    let triples = try_collect(triples(selected))?;
    outputs[0] = indices(&shape, &triples, ty)?;
    let mut scores = Tensor::zeros(outputs[1].element_type(), shape)?;
    fill(&mut scores, |out: &mut [T]| {
        for (row, s) in out.chunks_exact_mut(3).zip(selected) {
            row.copy_from_slice(&[float(s.batch), float(s.class), s.scored.score]);
        }
        Ok(())
    })?;
    outputs[1] = scores;
    outputs[2] = indices(&[1], &[index(selected.len())], ty)?;
    Ok(())
}
