//! GroupNormalization-12: mean and variance of groups of channels normalized, and each channel
//! given its own scale and bias.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/group-normalization-12.html>

use serde::{Deserialize, Serialize};

use super::axes;
use super::batch_norm_inference::channels;
use crate::kernel::normalize::{Norm, group_normalize};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};

/// Groups of channels normalized.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct GroupNormalization {
    num_groups: i64,
    epsilon: f64,
}

impl Op for GroupNormalization {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, scale, bias] = inputs else {
            bail!(
                "expected 3 inputs (data, scale, bias), got {}",
                inputs.len()
            );
        };
        let mut outputs = axes::infer_like(data)?;
        outputs[0].element_type = merge_types(inputs)?;
        let count = channels(&mut outputs[0].shape, &[("scale", scale), ("bias", bias)])?;
        let groups = usize::try_from(self.num_groups).unwrap_or(0);
        ensure!(
            groups > 0,
            "num_groups must be positive, got {}",
            self.num_groups
        );
        ensure!(
            count.is_none_or(|channels| channels.is_multiple_of(groups)),
            "num_groups {groups} does not divide the {} channels",
            count.unwrap_or_default()
        );
        Ok(outputs)
    }

    #[allow(clippy::cast_precision_loss)] // no memory holds 2^53 elements
    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = (io.inputs, &mut io.outputs[0]);
        let groups = usize::try_from(self.num_groups).unwrap_or(1);
        let shape = inputs[0].shape();
        if out.is_empty() {
            return Ok(());
        }
        let spatial = shape[2..].iter().product();
        let factor =
            |squares: f64, count: usize| 1.0 / (squares / count as f64 + self.epsilon).sqrt();
        let norm = Norm {
            center: true,
            factor: Some(&factor),
        };
        in_real!(out.element_type(), T => fill::<T, _>(out, |out| {
            let [data, scale, bias] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?, real::<T>(inputs[2])?];
            let affine = [scale.as_slice()?, bias.as_slice()?];
            group_normalize(data.as_slice()?, out, groups, spatial, affine, norm);
            Ok(())
        }))
    }
}
