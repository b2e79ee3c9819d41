//! CTCLoss-4: how improbable targets are, summed over all paths that decode to them.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/ctc-loss-4.html>
//!
//! The paths are not enumerated: sums of probabilities go from step to step, as logarithms. A target
//! that no path decodes to has an infinite loss.

use serde::{Deserialize, Serialize};

use super::lengths::lengths_in;
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_copy, try_room, try_vec};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::try_i64;
use crate::tensor::{ElementType, PartialShape};

/// The loss of targets.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CtcLoss {
    pub(super) preprocess_collapse_repeated: bool,
    pub(super) ctc_merge_repeated: bool,
    pub(super) unique: bool,
}

impl Default for CtcLoss {
    fn default() -> Self {
        Self {
            preprocess_collapse_repeated: false,
            ctc_merge_repeated: true,
            unique: false,
        }
    }
}

impl Op for CtcLoss {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            matches!(inputs.len(), 4 | 5),
            "expected 4 or 5 inputs (logits, logit_length, labels, label_length, blank_index), got {}",
            inputs.len()
        );
        let logits = &inputs[0];
        let ty = logits.element_type;
        ensure!(
            ty.is_float() || ty == ElementType::Dynamic,
            "logits must be floats, got {ty}"
        );
        let mut shape = PartialShape::of_rank(3);
        let names = ["logits", "logit_length", "labels", "label_length"];
        let ranks = [3, 1, 2, 1];
        for ((input, name), rank) in inputs.iter().zip(names).zip(ranks) {
            if name != "logits" {
                input.expect_integer(name)?;
            }
            let dims = shape.dims_mut().unwrap_or_default();
            let expected: PartialShape = dims[..rank].iter().copied().collect();
            let Some(both) = expected.intersect(&input.shape) else {
                bail!("{name} have shape {}, expected {expected}", input.shape);
            };
            for (dim, both) in dims.iter_mut().zip(both.dims().unwrap_or_default()) {
                *dim = *both;
            }
        }
        let [batch, _, classes] = shape.dims().unwrap_or_default() else {
            bail!("logits must be 3-D, got shape {}", logits.shape);
        };
        ensure!(classes.max() != Some(0), "logits have no classes");
        if let Some(blank) = inputs.get(4) {
            blank.int_scalar("blank_index")?;
        }
        let shape: PartialShape = [*batch].as_slice().into();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => self.run::<T>(io))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let [_, steps, classes] = inputs.first()?.shape.dims()? else {
            return None;
        };
        let steps = i64::try_from(steps.min()).ok()?;
        let classes = i64::try_from(classes.min()).ok()?;
        match index {
            1 => Some((steps, steps)),
            2 => Some((0, classes - 2)),
            3 => Some((0, steps)),
            4 => Some((0, classes - 1)),
            _ => None,
        }
    }
}

impl CtcLoss {
    fn run<T: Real>(&self, io: Io<'_>) -> Result<(), OpError> {
        let [logits, logit_length, labels, label_length, ..] = io.inputs else {
            bail!("expected 4 or 5 inputs, got {}", io.inputs.len());
        };
        let [_, steps, classes] = logits.shape()[..] else {
            bail!("logits must be 3-D, got shape {}", logits.shape());
        };
        let last = classes.saturating_sub(1);
        let blank = match io.inputs.get(4) {
            None => last,
            Some(blank) => {
                let blank = try_i64(blank)?.first().copied().unwrap_or(-1);
                match usize::try_from(blank) {
                    Ok(blank) if blank < classes => blank,
                    _ => bail!("blank_index is {blank}, expected 0 to {last}"),
                }
            }
        };
        let times = lengths_in("logit length", logit_length, steps)?;
        let counts = lengths_in("label length", label_length, steps)?;
        let labels = try_i64(labels)?;
        let logits = real::<T>(logits)?;
        let logits = logits.as_slice::<T>()?;
        fill::<T, _>(&mut io.outputs[0], |out| {
            for (row, out) in out.iter_mut().enumerate() {
                let (time, count) = (times[row], counts[row]);
                ensure!(
                    count <= time,
                    "label length {row} is {count}, expected at most {time}, the logit length"
                );
                let target = self.target(&labels[row * steps..][..count], blank, classes)?;
                let logits = &logits[row * steps * classes..][..time * classes];
                *out = T::of(self.loss(logits, classes, &target, blank)?);
            }
            Ok(())
        })
    }

    /// The labels that paths must decode to.
    fn target(&self, labels: &[i64], blank: usize, classes: usize) -> Result<Vec<usize>, OpError> {
        let mut target = try_room(labels.len())?;
        let mut seen = try_vec(false, if self.unique { classes } else { 0 })?;
        for &label in labels {
            let class = match usize::try_from(label) {
                Ok(class) if class < classes && class != blank => class,
                _ => bail!("label {label} is not one of the {classes} classes, or the blank"),
            };
            let again = if self.unique {
                std::mem::replace(&mut seen[class], true)
            } else {
                self.preprocess_collapse_repeated && target.last() == Some(&class)
            };
            if !again {
                target.push(class);
            }
        }
        Ok(target)
    }

    /// The negative logarithm of the probability of all paths that decode to the target.
    ///
    /// State `2 i` is after `i` labels and at a blank, `2 i + 1` at label `i`.
    fn loss<T: Real>(
        &self,
        logits: &[T],
        classes: usize,
        target: &[usize],
        blank: usize,
    ) -> Result<f64, OpError> {
        let none = f64::NEG_INFINITY;
        let mut states = try_vec(none, 2 * target.len() + 1)?;
        let mut next = try_copy(&states)?;
        states[0] = 0.0;
        for step in logits.chunks_exact(classes) {
            let total = log_sum(step);
            let log_of = |class: usize| step[class].wide() - total;
            let at_blank = log_of(blank);
            for (i, next) in next.iter_mut().enumerate() {
                let before = i.checked_sub(1).map_or(none, |i| states[i]);
                if i.is_multiple_of(2) {
                    *next = at_blank + add(states[i], before);
                    continue;
                }
                let class = target[i / 2];
                let skipped = i.checked_sub(2).map_or(none, |i| states[i]);
                let from = if !self.ctc_merge_repeated {
                    // Every step at a label is one label more.
                    add(before, skipped)
                } else if i > 1 && target[i / 2 - 1] == class {
                    add(states[i], before)
                } else {
                    add(states[i], add(before, skipped))
                };
                *next = log_of(class) + from;
            }
            std::mem::swap(&mut states, &mut next);
        }
        let at_label = states.len().checked_sub(2).map_or(none, |i| states[i]);
        Ok(-add(states[states.len() - 1], at_label))
    }
}

/// The logarithm of the sum of the exponentials.
fn log_sum<T: Real>(xs: &[T]) -> f64 {
    let most = xs
        .iter()
        .fold(f64::NEG_INFINITY, |most, x| most.max(x.wide()));
    let sum: f64 = xs.iter().map(|x| math::exp(x.wide() - most)).sum();
    most + math::ln(sum)
}

/// `ln(exp(a) + exp(b))`.
fn add(a: f64, b: f64) -> f64 {
    let (least, most) = if a < b { (a, b) } else { (b, a) };
    if least == f64::NEG_INFINITY {
        return most;
    }
    most + math::ln(1.0 + math::exp(least - most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{dynamic, run};
    use crate::tensor::Tensor;

    fn inputs(
        dims: [usize; 3],
        logits: &[f32],
        times: &[i32],
        labels: &[i64],
        counts: &[i32],
        blank: Option<i64>,
    ) -> Vec<Tensor> {
        let mut inputs = vec![
            Tensor::new(dims, logits).expect("its length"),
            Tensor::vector(times),
            Tensor::new([dims[0], dims[1]], labels).expect("its length"),
            Tensor::vector(counts),
        ];
        inputs.extend(blank.map(Tensor::scalar));
        inputs
    }

    /// What a path or a target becomes.
    fn merged(path: &[usize]) -> Vec<usize> {
        let mut merged = path.to_vec();
        merged.dedup();
        merged
    }

    proptest! {
        /// The page's scheme: every path there is.
        #[test]
        fn all_paths(
            (steps, classes) in (1usize..6, 2usize..4),
            logits in prop::collection::vec(-2f32..2.0, 15),
            labels in prop::collection::vec(0usize..3, 5),
            (time, count) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            (collapse, merge, unique) in any::<(bool, bool, bool)>(),
            blank in prop::option::of(0usize..3),
            mask in any::<u32>(),
        ) {
            let op = CtcLoss {
                preprocess_collapse_repeated: collapse,
                ctc_merge_repeated: merge,
                unique,
            };
            let (time, blank_index) = (time.index(steps + 1), blank.unwrap_or(classes - 1) % classes);
            let count = count.index(time + 1);
            let labels: Vec<usize> = labels[..steps]
                .iter()
                .map(|&l| (blank_index + 1 + l % (classes - 1)) % classes)
                .collect();
            let mut target = labels[..count].to_vec();
            if collapse {
                target.dedup();
            }
            if unique {
                let mut seen = Vec::new();
                target.retain(|l| !seen.contains(l) && { seen.push(*l); true });
            }
            let mut total = 0.0;
            for path in 0..classes.pow(u32::try_from(time).expect("small")) {
                let path: Vec<usize> = (0..time).map(|t| path / classes.pow(t as u32) % classes).collect();
                let mut decoded = if merge { merged(&path) } else { path.clone() };
                decoded.retain(|&c| c != blank_index);
                if decoded == target {
                    total += path.iter().enumerate().map(|(t, &c)| {
                        let row = &logits[t * classes..][..classes];
                        f64::from(row[c]).exp() / row.iter().map(|&x| f64::from(x).exp()).sum::<f64>()
                    }).product::<f64>();
                }
            }
            let ints: Vec<i64> = labels.iter().map(|&l| l as i64).collect();
            let given = blank.map(|_| blank_index as i64);
            let inputs = inputs([1, steps, classes], &logits[..steps * classes], &[time as i32], &ints, &[count as i32], given);
            let out = run(&op, &inputs).expect("fits");
            let found = f64::from(out.as_slice::<f32>().expect("f32")[0]);
            let expected = -total.ln();
            prop_assert!(found == expected || (found - expected).abs() < 1e-5, "{} {}", found, expected);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }

    #[test]
    fn wrong_labels_and_lengths() {
        let loss = |time: i32, label: i64, count: i32, blank: i64| {
            let inputs = inputs(
                [1, 2, 3],
                &[0.0; 6],
                &[time],
                &[label, 0],
                &[count],
                Some(blank),
            );
            run(&CtcLoss::default(), &inputs)
                .map(|_| ())
                .map_err(|e| e.message)
        };
        assert_eq!(loss(2, 0, 1, 2), Ok(()));
        let wrong = |text: &str| Err(text.to_owned());
        assert_eq!(
            loss(3, 0, 1, 2),
            wrong("logit length 0 is 3, expected 0 to 2")
        );
        assert_eq!(
            loss(1, 0, 2, 2),
            wrong("label length 0 is 2, expected at most 1, the logit length")
        );
        assert_eq!(
            loss(2, 3, 1, 2),
            wrong("label 3 is not one of the 3 classes, or the blank")
        );
        assert_eq!(
            loss(2, 2, 1, 2),
            wrong("label 2 is not one of the 3 classes, or the blank")
        );
        // Only labels that are used count.
        assert_eq!(loss(2, 9, 0, 2), Ok(()));
        assert_eq!(loss(2, 0, 1, 3), wrong("blank_index is 3, expected 0 to 2"));
    }
}
