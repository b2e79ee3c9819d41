//! LRN-1: elements divided by what the squares around them add up to.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/lrn-1.html>
//!
//! The region reaches `size / 2` elements to both sides of each axis, so one of even size is one
//! element longer than `size`. Without axes, which older files leave out, it lies along axis 1.

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::lrn::{Response, respond};
use crate::op::{
    Input, Io, Op, OpError, Outputs, allowed_axes, bail, ensure, normalize_axes, normalize_axis,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::try_i64;

/// Elements divided by their local response.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Lrn {
    alpha: f64,
    beta: f64,
    bias: f64,
    size: i64,
}

impl Op for Lrn {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let data = match inputs {
            [data] => {
                let axis = data.rank().map(|rank| normalize_axis(1, rank));
                axis.transpose()?;
                data
            }
            [data, axes] => {
                axes.expect_1d("axes")?;
                axes::check(data, axes, false)?;
                data
            }
            _ => bail!("expected 1 or 2 inputs (data, axes), got {}", inputs.len()),
        };
        ensure!(self.size > 0, "size must be positive, got {}", self.size);
        axes::infer_like(data)
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap
    )]
    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let shape = data.shape();
        let axes = match io.inputs.get(1) {
            Some(axes) => normalize_axes(&try_i64(axes)?, shape.rank())?,
            None => smallvec::smallvec![1],
        };
        let response = Response {
            bias: self.bias,
            scale: self.alpha / (self.size as f64).powi(axes.len() as i32),
            beta: self.beta,
        };
        let reach = usize::try_from(self.size / 2).unwrap_or(usize::MAX);
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let data = real::<T>(data)?;
            respond(data.as_slice()?, out, shape, &axes, reach, response);
            Ok(())
        }))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }
}
