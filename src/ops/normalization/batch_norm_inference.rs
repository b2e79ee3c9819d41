//! BatchNormInference-1, -5: channels normalized by means and variances that are given.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/batch-norm-inference-5.html>
//!
//! In files, version 1 has the inputs gamma, beta, data, mean, variance; version 5 begins with the
//! data.

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::normalize::{Affine, each_channel};
use crate::kernel::scratch::{reused_all, reused_wide};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Outputs, ReadResult, attrs, bail, ensure, merge_types,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::PartialShape;

/// Channels normalized by given means and variances.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct BatchNormInference {
    epsilon: f64,
    /// Which input is the data; the others keep their order.
    #[serde(skip)]
    data_at: usize,
}

/// Reads BatchNormInference-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<BatchNormInference>(layer.attributes)?;
    Ok((Box::new(BatchNormInference { data_at: 2, ..op }), unknown))
}

impl BatchNormInference {
    /// Data, gamma, beta, mean, variance.
    fn order(&self) -> [usize; 5] {
        let mut order = [0, 1, 2, 3, 4];
        order[..=self.data_at].rotate_right(1);
        order
    }
}

/// Brings the channels of a shape together with the parameters there are one of for each channel,
/// and gives their number as far as it is known.
///
/// # Errors
/// When a parameter is not 1-D, or has another number of elements; when there are no channels.
pub(super) fn channels(
    shape: &mut PartialShape,
    parameters: &[(&str, &Input<'_>)],
) -> Result<Option<usize>, OpError> {
    for (name, parameter) in parameters {
        parameter.expect_1d(name)?;
    }
    let text = shape.to_string();
    let Some(dims) = shape.dims_mut() else {
        return Ok(None);
    };
    let Some(channels) = dims.get_mut(1) else {
        bail!("data must have at least 2 dimensions, got shape {text}");
    };
    for (name, parameter) in parameters {
        let Some(&[count]) = parameter.shape.dims() else {
            continue;
        };
        match channels.intersect(count) {
            Some(both) => *channels = both,
            None => bail!(
                "{name} has {count} elements, expected one for each of the {channels} channels"
            ),
        }
    }
    Ok(channels.value())
}

impl Op for BatchNormInference {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            inputs.len() == 5,
            "expected 5 inputs (data, gamma, beta, mean, variance), got {}",
            inputs.len()
        );
        let [data, gamma, beta, mean, variance] = self.order().map(|i| &inputs[i]);
        let mut outputs = axes::infer_like(data)?;
        outputs[0].element_type = merge_types(inputs)?;
        let parameters = [
            ("gamma", gamma),
            ("beta", beta),
            ("mean", mean),
            ("variance", variance),
        ];
        let count = channels(&mut outputs[0].shape, &parameters)?;
        ensure!(
            count != Some(0),
            "data must have at least one channel, got none"
        );
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = (io.inputs, &mut io.outputs[0]);
        let [data, gamma, beta, mean, variance] = self.order().map(|i| inputs[i]);
        let wide = reused_wide::<f64>;
        let [gamma, beta, mean, variance] =
            [wide(gamma)?, wide(beta)?, wide(mean)?, wide(variance)?];
        let scales = gamma.iter().zip(beta.iter());
        let moments = mean.iter().zip(variance.iter());
        let channels = scales
            .zip(moments)
            .map(|((gamma, &bias), (&mean, variance))| Affine {
                mean,
                factor: gamma / (variance + self.epsilon).sqrt(),
                bias,
            });
        let channels = reused_all(channels)?;
        let spatial = data.shape()[2..].iter().product();
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            each_channel(real::<T>(data)?.as_slice()?, out, spatial, &channels);
            Ok(())
        }))
    }
}
