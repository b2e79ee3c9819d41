//! MVN-2, -6: the mean subtracted, and the rest divided by the standard deviation.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/mvn-6.html>
//!
//! MVN-6 takes the axes as an input and chooses where `eps` is added. MVN-2 (documented as MVN-1)
//! has them as an attribute; without it they are those after the channels, or with
//! `across_channels` after the batch.

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::normalize::{Norm, normalize};
use crate::op::{Input, Io, Op, OpError, Outputs, allowed_axes, bail, ensure, normalize_axes};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::Tensor;

/// Where `eps` is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum EpsMode {
    InsideSqrt,
    OutsideSqrt,
}

/// Mean and variance over given axes normalized.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Mvn {
    eps: f64,
    normalize_variance: bool,
    eps_mode: EpsMode,
}

/// Mean and variance over channels or images normalized.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Mvn2 {
    eps: f64,
    #[serde(default)]
    across_channels: bool,
    normalize_variance: bool,
    #[serde(default)]
    reduction_axes: Vec<i64>,
}

impl Op for Mvn {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axes] = axes::data_and_axes(inputs)?;
        axes.expect_1d("axes")?;
        axes::check(data, axes, false)?;
        axes::infer_like(data)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        let reduced = axes::mask_of(io.inputs[1], data.shape().rank())?;
        let out = &mut io.outputs[0];
        run(
            data,
            out,
            &reduced,
            self.normalize_variance,
            |variance| match self.eps_mode {
                EpsMode::InsideSqrt => (variance + self.eps).sqrt(),
                EpsMode::OutsideSqrt => variance.sqrt() + self.eps,
            },
        )
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }
}

impl Op for Mvn2 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        if let Some(rank) = data.rank() {
            let axes = normalize_axes(&self.reduction_axes, rank)?;
            ensure!(
                axes.len() == self.reduction_axes.len(),
                "reduction_axes must be unique, got {:?} for rank {rank}",
                self.reduction_axes
            );
        }
        axes::infer_like(data)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        let rank = data.shape().rank();
        let reduced = if self.reduction_axes.is_empty() {
            let first = if self.across_channels { 1 } else { 2 };
            (0..rank).map(|axis| axis >= first).collect()
        } else {
            axes::mask(&self.reduction_axes, rank)?
        };
        let out = &mut io.outputs[0];
        run(data, out, &reduced, self.normalize_variance, |variance| {
            (variance + self.eps).sqrt()
        })
    }
}

#[allow(clippy::cast_precision_loss)] // no memory holds 2^53 elements
fn run(
    data: &Tensor,
    out: &mut Tensor,
    reduced: &[bool],
    normalize_variance: bool,
    divisor: impl Fn(f64) -> f64 + Sync,
) -> Result<(), OpError> {
    let factor = |squares: f64, count: usize| 1.0 / divisor(squares / count as f64);
    let norm = Norm {
        center: true,
        factor: if normalize_variance {
            Some(&factor)
        } else {
            None
        },
    };
    let shape = data.shape();
    in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
        let data = real::<T>(data)?;
        normalize(data.as_slice()?, out, shape, reduced, norm);
        Ok(())
    }))
}
