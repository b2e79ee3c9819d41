//! DetectionOutput-1, -8: the boxes of an SSD's predictions that stay, with their classes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/detectionoutput-8.html>
//!
//! Version 8 has no `num_classes`: it follows from the shapes. What the documents leave open
//! follows the runtime: the rows of an image are ordered by class, then by score; the first row
//! without a box has batch -1, and all else is 0; variances stand in fours, whatever the size of a
//! prior box; with `decrease_label_id` a prior has only its best class, and class 0 none.

use serde::{Deserialize, Serialize};

use crate::kernel::proposals::{Refine, clip};
use crate::kernel::real::Real;
use crate::kernel::scratch::{
    try_collect, try_collect_ok, try_copy, try_extend, try_push, try_vec,
};
use crate::kernel::suppression::{
    Boxes, Hard, Scored, Sides, best_first, each_list, highest_first, leave_first, rank,
};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    merge_types, same_dimension,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, Tensor};

/// How predictions change the prior boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
enum CodeType {
    /// They are added to the corners.
    #[default]
    #[serde(rename = "caffe.PriorBoxParameter.CORNER")]
    Corner,
    /// They move the center and scale the sides.
    #[serde(rename = "caffe.PriorBoxParameter.CENTER_SIZE")]
    CenterSize,
}

/// The boxes of an SSD's predictions that stay.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[allow(clippy::struct_excessive_bools)] // as the document has them
pub(super) struct DetectionOutput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    num_classes: Option<usize>,
    #[serde(default)]
    background_label_id: i64,
    #[serde(default = "all")]
    top_k: i64,
    #[serde(default)]
    variance_encoded_in_target: bool,
    keep_top_k: Vec<i64>,
    #[serde(default)]
    code_type: CodeType,
    #[serde(default = "yes")]
    share_location: bool,
    nms_threshold: f32,
    #[serde(default)]
    confidence_threshold: f32,
    #[serde(default)]
    clip_after_nms: bool,
    #[serde(default)]
    clip_before_nms: bool,
    #[serde(default)]
    decrease_label_id: bool,
    #[serde(default)]
    normalized: bool,
    #[serde(default = "one")]
    input_height: usize,
    #[serde(default = "one")]
    input_width: usize,
    #[serde(default)]
    objectness_score: f32,
}

fn all() -> i64 {
    -1
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

/// Reads DetectionOutput-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<DetectionOutput>(layer.attributes)?;
    if op.num_classes.is_none() {
        let missing = serde::de::Error::missing_field("num_classes");
        return Err(attrs::AttrError::into(missing));
    }
    Ok((Box::new(op), unknown))
}

/// Reads DetectionOutput-8.
pub(super) fn read_8(layer: &LayerData<'_>) -> ReadResult {
    let (op, mut unknown) = attrs::read::<DetectionOutput>(layer.attributes)?;
    unknown.extend(
        layer
            .attributes
            .iter()
            .position(|a| a.name == "num_classes"),
    );
    let num_classes = None;
    Ok((Box::new(DetectionOutput { num_classes, ..op }), unknown))
}

/// What the shapes say.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    images: Dimension,
    classes: Dimension,
    /// `priors * classes`.
    scores: Dimension,
}

/// The quotient of a product and a factor, as far as it is known.
fn quotient(product: Dimension, factor: Dimension, what: &str) -> Result<Dimension, OpError> {
    let Some(factor) = factor.value() else {
        return Ok(Dimension::dynamic());
    };
    ensure!(factor > 0, "there are no prior boxes");
    if let Some(product) = product.value() {
        ensure!(
            product.is_multiple_of(factor),
            "{what} {product} is not a multiple of {factor}"
        );
    }
    Ok(Dimension::range(
        product.min().div_ceil(factor),
        product.max().map(|max| max / factor),
    ))
}

impl DetectionOutput {
    fn keep_top_k(&self) -> Result<i64, OpError> {
        match self.keep_top_k.first() {
            Some(&keep) => Ok(keep),
            None => bail!("keep_top_k is empty, expected a number"),
        }
    }

    fn prior_size(&self) -> usize {
        if self.normalized { 4 } else { 5 }
    }

    fn sizes(&self, inputs: &[Input<'_>]) -> Result<Sizes, OpError> {
        let [logits, predictions, proposals, more @ ..] = inputs else {
            bail!("expected 3 or 5 inputs, got {}", inputs.len());
        };
        let [images, numbers] = logits.dims("the box logits")?;
        let [score_images, scores] = predictions.dims("the class predictions")?;
        let [prior_images, kinds, prior_numbers] = proposals.dims("the proposals")?;
        let images = same_dimension(images, score_images, "batches of logits and predictions")?;
        ensure!(
            prior_images.contains(1) || prior_images.compatible(images),
            "the batch of the proposals is {prior_images}, expected 1 or {images}"
        );
        let rows = if self.variance_encoded_in_target {
            1
        } else {
            2
        };
        ensure!(
            kinds.contains(rows),
            "the proposals must have {rows} rows, got shape {}",
            proposals.shape
        );
        let size = Dimension::fixed(self.prior_size());
        let priors = quotient(prior_numbers, size, "the length of the proposals")?;
        let found = quotient(scores, priors, "the length of the class predictions")?;
        let classes = match self.num_classes {
            None => found,
            Some(classes) => same_dimension(
                found,
                Dimension::fixed(classes),
                "classes of the predictions and num_classes",
            )?,
        };
        let places = if self.share_location {
            Dimension::fixed(1)
        } else {
            classes
        };
        let expected = priors * places * Dimension::fixed(4);
        same_dimension(
            numbers,
            expected,
            "lengths of the logits and of their boxes",
        )?;
        if let [arm_scores, arm_logits] = more {
            let [arm_images, two] = arm_scores.dims("the additional class predictions")?;
            same_dimension(images, arm_images, "batches of all predictions")?;
            let expected = priors * Dimension::fixed(2);
            same_dimension(two, expected, "additional predictions and twice the boxes")?;
            ensure!(
                arm_logits.shape.compatible(&logits.shape),
                "the additional box predictions have shape {}, the logits {}",
                arm_logits.shape,
                logits.shape
            );
        }
        Ok(Sizes {
            images,
            classes,
            scores: same_dimension(scores, priors * classes, "lengths of the predictions")?,
        })
    }
}

/// The inputs of one image.
struct Image<'a, T> {
    /// `[priors, places, 4]`.
    logits: &'a [[T; 4]],
    /// `[priors, classes]`.
    scores: &'a [T],
    priors: Vec<[T; 4]>,
    /// None if the predictions are multiplied already.
    variances: &'a [[T; 4]],
    /// Of another network before this one: whether there is an object, and where the boxes are.
    arm: Option<(&'a [T], &'a [[T; 4]])>,
}

/// A box that stays.
struct Found<T> {
    class: usize,
    scored: Scored<T>,
    corners: [T; 4],
}

impl DetectionOutput {
    /// The box that a prediction makes of a prior one.
    fn decode<T: Real>(&self, prior: [T; 4], logits: [T; 4], variance: Option<&[T; 4]>) -> [T; 4] {
        let mut deltas = logits;
        if let Some(variance) = variance {
            deltas.iter_mut().zip(variance).for_each(|(d, &v)| *d *= v);
        }
        let corners = match self.code_type {
            CodeType::Corner => [0, 1, 2, 3].map(|i| prior[i] + deltas[i]),
            CodeType::CenterSize => {
                let refine = Refine {
                    pixel: T::zero(),
                    most: T::infinity(),
                };
                refine.corners(prior, deltas)
            }
        };
        if self.clip_before_nms {
            clip(corners, [T::one(); 2])
        } else {
            corners
        }
    }

    /// The boxes of a place: one for all classes, or one a class.
    fn boxes<T: Real>(
        &self,
        image: &Image<'_, T>,
        place: usize,
        places: usize,
    ) -> Result<Boxes<T>, OpError> {
        let mut boxes = Boxes::new(Sides::Continuous, image.priors.len())?;
        for (i, &prior) in image.priors.iter().enumerate() {
            let (at, variance) = (i * places + place, image.variances.get(i));
            let prior = match image.arm {
                Some((_, logits)) => self.decode(prior, logits[at], variance),
                None => prior,
            };
            boxes.push(self.decode(prior, image.logits[at], variance));
        }
        Ok(boxes)
    }

    /// The score of a class at a prior box.
    fn score<T: Real>(&self, image: &Image<'_, T>, prior: usize, class: usize) -> T {
        let classes = image.scores.len() / image.priors.len();
        match image.arm {
            Some((objects, _)) if objects[prior * 2 + 1] < T::of(self.objectness_score.into()) => {
                if self.is_background(class) {
                    T::one()
                } else {
                    T::zero()
                }
            }
            _ => image.scores[prior * classes + class],
        }
    }

    fn is_background(&self, class: usize) -> bool {
        usize::try_from(self.background_label_id).is_ok_and(|background| background == class)
    }

    /// The prior boxes of each class in question, the best first.
    fn candidates<T: Real>(
        &self,
        image: &Image<'_, T>,
        classes: usize,
    ) -> Result<Vec<Vec<Scored<T>>>, OpError> {
        let lowest = T::of(self.confidence_threshold.into());
        let most = usize::try_from(self.top_k).unwrap_or(usize::MAX);
        let priors = image.priors.len();
        if !self.decrease_label_id {
            let one = |class: usize| {
                if self.is_background(class) {
                    return Ok(Vec::new());
                }
                let scores = (0..priors).map(|prior| self.score(image, prior, class));
                rank(scores, |score| score > lowest, most)
            };
            return try_collect_ok((0..classes).map(one));
        }
        let mut best: Vec<(usize, Scored<T>)> = Vec::new();
        for index in 0..priors {
            let scored = (1..classes)
                .filter(|&class| !self.is_background(class))
                .map(|class| (class, self.score(image, index, class)))
                .filter(|&(_, score)| score > -T::one())
                .min_by(|a, b| highest_first(a.1, b.1));
            if let Some((class, score)) = scored.filter(|&(_, score)| score >= lowest) {
                try_push(&mut best, (class, Scored { score, index }))?;
            }
        }
        leave_first(&mut best, most, |a, b| best_first(&a.1, &b.1));
        let mut lists = try_vec(Vec::new(), classes)?;
        for (class, scored) in best {
            try_push(&mut lists[class], scored)?;
        }
        Ok(lists)
    }

    /// The boxes of an image that stay, by class.
    fn find<T: Real>(&self, image: &Image<'_, T>, keep: i64) -> Result<Vec<Found<T>>, OpError> {
        let classes = image.scores.len() / image.priors.len();
        let places = if self.share_location { 1 } else { classes };
        let shared = self.share_location.then(|| self.boxes(image, 0, places));
        let shared = shared.transpose()?;
        let hard = Hard {
            most: usize::MAX,
            limit: T::of(self.nms_threshold.into()),
            eta: T::one(),
        };
        let mut found = Vec::new();
        for (class, ranked) in self.candidates(image, classes)?.into_iter().enumerate() {
            if ranked.is_empty() {
                continue;
            }
            let own;
            let boxes = match &shared {
                Some(shared) => shared,
                None => {
                    own = self.boxes(image, class, places)?;
                    &own
                }
            };
            let kept = hard.keep(boxes, &ranked)?.into_iter();
            let kept = kept.map(|scored| Found {
                class,
                scored,
                corners: boxes.corners(scored.index),
            });
            try_extend(&mut found, kept)?;
        }
        if let Ok(keep) = usize::try_from(keep)
            && keep < found.len()
        {
            // Of one class no two boxes have the same index.
            let by_class = |a: &Found<T>, b: &Found<T>| a.class.cmp(&b.class);
            found.sort_unstable_by(|a, b| best_first(&a.scored, &b.scored).then(by_class(a, b)));
            found.truncate(keep);
            found.sort_unstable_by(|a, b| by_class(a, b).then(best_first(&a.scored, &b.scored)));
        }
        Ok(found)
    }

    /// The prior boxes of an image, between 0 and 1.
    #[allow(clippy::cast_precision_loss)] // no image is that large
    fn priors<T: Real>(&self, numbers: &[T]) -> Result<Vec<[T; 4]>, OpError> {
        if self.normalized {
            return try_copy(numbers.as_chunks::<4>().0);
        }
        let width = T::of(self.input_width as f64);
        let height = T::of(self.input_height as f64);
        let fives = numbers.as_chunks::<5>().0.iter();
        try_collect(
            fives.map(|&[_, x0, y0, x1, y1]| [x0 / width, y0 / height, x1 / width, y1 / height]),
        )
    }

    fn run<T: Real>(&self, inputs: &[&Tensor], output: &mut Tensor) -> Result<(), OpError> {
        let wide = inputs.iter().map(|input| real::<T>(input));
        let wide = wide.collect::<Result<Vec<Tensor>, _>>()?;
        let slices = wide.iter().map(|tensor| tensor.as_slice::<T>());
        let slices = slices.collect::<Result<Vec<&[T]>, _>>()?;
        let images = inputs[0].shape()[0];
        let (prior_images, length) = (inputs[2].shape()[0], inputs[2].shape()[2]);
        let keep = self.keep_top_k()?;
        if output.shape().rank() != 4 {
            return Err(OpError::limit("there are too many boxes"));
        }
        let part = |index: usize, image: usize| {
            let each = slices[index].len() / images.max(1);
            &slices[index][image * each..][..each]
        };
        let quads = |index: usize, image: usize| part(index, image).as_chunks::<4>().0;
        let found = each_list(images, inputs[1].shape()[1], |i| {
            let each = slices[2].len() / prior_images;
            let at = if prior_images == 1 { 0 } else { i * each };
            let (priors, variances) = slices[2][at..][..each].split_at(length);
            let image = Image {
                logits: quads(0, i),
                scores: part(1, i),
                priors: self.priors(priors)?,
                variances: variances.as_chunks::<4>().0,
                arm: (slices.len() == 5).then(|| (part(3, i), quads(4, i))),
            };
            self.find(&image, keep)
        })?;
        fill(output, |out: &mut [T]| {
            self.put(&found, out);
            Ok(())
        })
    }

    /// Writes rows `[image, class, score, corners]`.
    #[allow(clippy::cast_precision_loss)] // there are not that many images and classes
    fn put<T: Real>(&self, found: &[Vec<Found<T>>], out: &mut [T]) {
        out.fill(T::zero());
        let mut rows = out.as_chunks_mut::<7>().0.iter_mut();
        let all = found.iter().enumerate();
        let all = all.flat_map(|(image, found)| found.iter().map(move |found| (image, found)));
        for ((image, found), row) in all.zip(rows.by_ref()) {
            let corners = if self.clip_after_nms {
                clip(found.corners, [T::one(); 2])
            } else {
                found.corners
            };
            let class = found.class - usize::from(self.decrease_label_id);
            row[0] = T::of(image as f64);
            row[1] = T::of(class as f64);
            row[2] = found.scored.score;
            row[3..].copy_from_slice(&corners);
        }
        if let Some(row) = rows.next() {
            row[0] = -T::one();
        }
    }
}

impl Op for DetectionOutput {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            matches!(inputs.len(), 3 | 5),
            "expected 3 or 5 inputs (box logits, class predictions, proposals, and two of another network), got {}",
            inputs.len()
        );
        inputs[0].expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let sizes = self.sizes(inputs)?;
        let each = match (self.keep_top_k()?, usize::try_from(self.top_k)) {
            (keep @ 1.., _) => Dimension::fixed(usize::try_from(keep).unwrap_or(usize::MAX)),
            (-1, Ok(top_k @ 1..)) => Dimension::fixed(top_k) * sizes.classes,
            _ => sizes.scores,
        };
        let one = Dimension::fixed(1);
        let shape = [one, one, sizes.images * each, Dimension::fixed(7)];
        Ok(Output::single(ty, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, &mut io.outputs[0]))
    }
}

#[cfg(test)]
#[path = "detection_output_tests.rs"]
mod tests;
