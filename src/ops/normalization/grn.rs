//! GRN-1: elements divided by the Euclidean norm over the channels.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/grn-1.html>

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::normalize::{Norm, normalize};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::ops::floats::{fill, in_real, real};

/// Elements divided by the norm over the channels.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Grn {
    bias: f64,
}

impl Op for Grn {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        ensure!(
            data.rank().is_none_or(|rank| (2..=4).contains(&rank)),
            "data must have 2 to 4 dimensions, got shape {}",
            data.shape
        );
        axes::infer_like(data)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let shape = data.shape();
        let reduced: Vec<bool> = (0..shape.rank()).map(|axis| axis == 1).collect();
        let factor = |squares: f64, _| 1.0 / (squares + self.bias).sqrt();
        let norm = Norm {
            center: false,
            factor: Some(&factor),
        };
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let data = real::<T>(data)?;
            normalize(data.as_slice()?, out, shape, &reduced, norm);
            Ok(())
        }))
    }
}
