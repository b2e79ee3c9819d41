//! NormalizeL2-1: elements divided by the Euclidean norm over axes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/normalize-l2-1.html>
//!
//! Without axes every element but zero becomes 1, as the page says and the runtime does: `eps` and
//! the sign play no part.

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::normalize::{Norm, normalize};
use crate::op::{Input, Io, Op, OpError, Outputs, allowed_axes};
use crate::ops::floats::{fill, in_real, real};

/// How `eps` is brought in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum EpsMode {
    Add,
    Max,
}

/// Elements divided by their norm.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct NormalizeL2 {
    eps: f64,
    eps_mode: EpsMode,
}

impl Op for NormalizeL2 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axes] = axes::data_and_axes(inputs)?;
        axes.expect_at_most_1d("axes")?;
        axes::check(data, axes, true)?;
        axes::infer_like(data)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, axes], out) = ([io.inputs[0], io.inputs[1]], &mut io.outputs[0]);
        if axes.is_empty() {
            return in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
                for (out, &x) in out.iter_mut().zip(real::<T>(data)?.as_slice::<T>()?) {
                    *out = if x == 0.0 { 0.0 } else { 1.0 };
                }
                Ok(())
            }));
        }
        let shape = data.shape();
        let reduced = axes::mask_of(axes, shape.rank())?;
        let factor = |squares: f64, _| {
            1.0 / match self.eps_mode {
                EpsMode::Add => squares + self.eps,
                EpsMode::Max => squares.max(self.eps),
            }
            .sqrt()
        };
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

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }
}
