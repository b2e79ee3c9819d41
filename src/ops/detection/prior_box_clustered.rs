//! PriorBoxClustered-1: boxes of given widths and heights around the cells of a grid.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/prior-box-clustered-1.html>
//!
//! A step of 0 in one direction is `step`; if both stay 0, the image divided by the cells.

use serde::{Deserialize, Serialize};

use super::priors::{Priors, check_variance, infer_priors};
use crate::op::{Input, Io, Op, OpError, Outputs, ensure};

/// Boxes of given widths and heights around the cells of a grid.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct PriorBoxClustered {
    #[serde(default = "one")]
    width: Vec<f32>,
    #[serde(default = "one")]
    height: Vec<f32>,
    #[serde(default = "yes")]
    clip: bool,
    #[serde(default)]
    step: f32,
    #[serde(default)]
    step_w: f32,
    #[serde(default)]
    step_h: f32,
    offset: f32,
    #[serde(default)]
    variance: Vec<f32>,
}

fn one() -> Vec<f32> {
    vec![1.0]
}

fn yes() -> bool {
    true
}

impl Op for PriorBoxClustered {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.width.len() == self.height.len(),
            "there are {} widths and {} heights",
            self.width.len(),
            self.height.len()
        );
        check_variance(&self.variance)?;
        infer_priors(inputs, self.width.len())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let priors = Priors::of(io.inputs)?;
        let or_step = |step| if step == 0.0 { self.step } else { step };
        let mut steps = [or_step(self.step_w), or_step(self.step_h)];
        if steps == [0.0; 2] {
            steps = priors.cell();
        }
        let image = priors.image;
        priors.fill(&mut io.outputs[0], &self.variance, |[w, h], out| {
            let [x, y] = [(w + self.offset) * steps[0], (h + self.offset) * steps[1]];
            let sizes = self.width.iter().zip(&self.height);
            for (row, (width, height)) in out.chunks_exact_mut(4).zip(sizes) {
                row.copy_from_slice(&[
                    (x - width / 2.0) / image[0],
                    (y - height / 2.0) / image[1],
                    (x + width / 2.0) / image[0],
                    (y + height / 2.0) / image[1],
                ]);
            }
            if self.clip {
                out.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
            }
        })
    }
}
