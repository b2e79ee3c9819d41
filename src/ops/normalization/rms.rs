//! RMS, version `ie_internal_opset`: elements divided by the root of the mean of their squares.
//!
//! <https://github.com/openvinotoolkit/openvino/blob/master/docs/articles_en/documentation/openvino-ir-format/operation-sets/operation-specs/internal/rms.rst>
//!
//! The squares are those along the last axis. Without a scale, which the document requires and the
//! runtime does not, elements are not scaled.

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::normalize::{Norm, normalize, scale_runs};
use crate::kernel::real::Real;
use crate::kernel::zip::{each_pair, zip};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::broadcast::broadcast;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::{Native, convert_into};
use crate::tensor::{ElementType, Tensor};

/// Elements divided by their root mean square.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Rms {
    epsilon: f64,
    #[serde(default)]
    output_type: ElementType,
    /// Whether there is a scale, which the inputs tell.
    #[serde(default = "yes")]
    elementwise_affine: bool,
}

fn yes() -> bool {
    true
}

impl Rms {
    /// With a scale or without, to the type of the data.
    pub(crate) fn new(epsilon: f64, elementwise_affine: bool) -> Self {
        Self {
            epsilon,
            output_type: ElementType::Dynamic,
            elementwise_affine,
        }
    }
}

impl Op for Rms {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let mut shape = inputs.first().map(|data| data.shape.clone().into_owned());
        let (Some(shape), 1..=2) = (&mut shape, inputs.len()) else {
            bail!("expected 1 or 2 inputs (data, scale), got {}", inputs.len());
        };
        if let Some(scale) = inputs.get(1) {
            let both = broadcast(shape, &scale.shape, AutoBroadcastSpec::default())?;
            let Some(same) = shape.intersect(&both) else {
                bail!(
                    "a scale of shape {} cannot be broadcast to {shape}",
                    scale.shape
                );
            };
            *shape = same;
        }
        ensure!(
            shape.rank() != Some(0),
            "data must have an axis, got a scalar"
        );
        merge_types(inputs)?;
        let mut outputs = axes::infer_like(&inputs[0])?;
        outputs[0].shape = shape.clone();
        if self.output_type.is_static() {
            ensure!(
                self.output_type.is_float(),
                "output_type must be a float, got {}",
                self.output_type
            );
            outputs[0].element_type = self.output_type;
        }
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let scale = io.inputs.get(1).copied();
        in_real!(data.element_type(), T => run::<T>(data, scale, self.epsilon, out))
    }
}

fn run<T: Real + Native>(
    data: &Tensor,
    scale: Option<&Tensor>,
    epsilon: f64,
    out: &mut Tensor,
) -> Result<(), OpError> {
    let shape = data.shape();
    let last: Vec<bool> = (1..=shape.rank()).map(|i| i == shape.rank()).collect();
    #[allow(clippy::cast_precision_loss)] // no memory holds 2^53 elements
    let factor = |squares: f64, count: usize| 1.0 / (squares / count as f64 + epsilon).sqrt();
    let norm = Norm {
        center: false,
        factor: Some(&factor),
    };
    let data = real::<T>(data)?;
    let scale = scale.map(real::<T>).transpose()?;
    let width = shape.last().copied().unwrap_or(1);
    match &scale {
        None => {
            return fill(out, |out: &mut [T]| {
                normalize(data.as_slice()?, out, shape, &last, norm);
                Ok(())
            });
        }
        // One number for each place of the last axis, as nearly always.
        Some(scale) if scale.len() == width && scale.shape().last() == Some(&width) => {
            let scale = scale.as_slice()?;
            return fill(out, |out: &mut [T]| {
                scale_runs(data.as_slice()?, out, scale, factor);
                Ok(())
            });
        }
        Some(_) => {}
    }
    let mut normal = Tensor::zeros(T::TYPE, shape.clone())?;
    normalize(
        data.as_slice()?,
        normal.as_mut_slice::<T>()?,
        shape,
        &last,
        norm,
    );
    if let Some(scale) = scale {
        let missing = shape.rank() - scale.shape().rank();
        let mut product = Tensor::zeros(T::TYPE, shape.clone())?;
        zip::<T, T>(
            [(&normal, 0), (&scale, missing)],
            &mut product,
            &|a, b, out| {
                each_pair(
                    a,
                    b,
                    out,
                    #[inline(always)]
                    |a, b| a * b,
                )
            },
        );
        normal = product;
    }
    Ok(convert_into(&normal, out)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape};

    fn op(output_type: ElementType) -> Rms {
        Rms {
            epsilon: 0.5,
            output_type,
            elementwise_affine: true,
        }
    }

    /// Rows that are added up in blocks, and what is left of them.
    #[test]
    fn long_rows() {
        for width in [31, 32, 64, 203] {
            let number = |i: usize| (i * 7 % 13) as f32 - 5.0;
            let data: Vec<f32> = (0..3 * width).map(number).collect();
            let scale: Vec<f32> = (3..3 + width).map(|i| number(i) / 4.0).collect();
            let inputs = [
                Tensor::new([3, width], &data).expect("three rows"),
                Tensor::new([width], &scale).expect("one for each place"),
            ];
            let out = run(&op(ElementType::Dynamic), &inputs).expect("good inputs");
            for (i, &out) in out.as_slice::<f32>().expect("f32").iter().enumerate() {
                let row = &data[i / width * width..][..width];
                // These sums are exact in any order.
                let squares: f64 = row.iter().map(|&x| f64::from(x * x)).sum();
                let factor = 1.0 / (squares / width as f64 + 0.5).sqrt();
                let expected = data[i] * factor as f32 * scale[i % width];
                assert_eq!(out.to_bits(), expected.to_bits(), "{i} of rows of {width}");
            }
        }
    }

    #[test]
    fn definition() {
        let data: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 13) - 5.0).collect();
        let data = Tensor::new([2, 3, 4], &data).expect("24");
        for dims in [&[][..], &[4], &[1], &[3, 1], &[2, 1, 4], &[2, 3, 4]] {
            let count: usize = dims.iter().product();
            let scale: Vec<f64> = (0..count).map(|i| i as f64 / 4.0 - 1.5).collect();
            let scale = Tensor::new(dims, &scale).expect("as many");
            let inputs = [data.clone(), scale.clone()];
            let out = run(&op(ElementType::Dynamic), &inputs).expect("good inputs");
            let data = data.as_slice::<f64>().expect("f64");
            let strides = scale.shape().strides();
            for (i, out) in out.as_slice::<f64>().expect("f64").iter().enumerate() {
                let row = &data[i / 4 * 4..][..4];
                let mean = row.iter().map(|x| x * x).sum::<f64>() / 4.0;
                let index = &[i / 12, i / 4 % 3, i % 4][3 - dims.len()..];
                let place = index.iter().zip(dims).zip(&strides);
                let place: usize = place.map(|((i, &size), s)| i % size * s).sum();
                let expected =
                    data[i] / (mean + 0.5).sqrt() * scale.as_slice::<f64>().expect("f64")[place];
                assert!((out - expected).abs() < 1e-14, "{dims:?} {i}");
            }
        }
    }

    #[test]
    fn types() {
        let data = Tensor::new([1, 2], &[3.0f32, 4.0]).expect("2");
        let out = run(&op(ElementType::F16), std::slice::from_ref(&data)).expect("one input");
        assert_eq!(out.element_type(), ElementType::F16);
        let empty = Tensor::new([2, 0], &[] as &[f32]).expect("empty");
        assert!(
            run(&op(ElementType::F16), &[empty])
                .expect("empty")
                .is_empty()
        );
        assert!(op(ElementType::I32).infer(&[Input::of(&data)]).is_err());
        for wrong in [&[3][..], &[2, 2], &[1, 1, 2]] {
            let scale = Tensor::zeros(ElementType::F32, wrong).expect("small");
            let inputs = [data.clone(), scale];
            assert!(
                run(&op(ElementType::Dynamic), &inputs).is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn shapes_known_in_part() {
        let (data, scale) = (shape("?,3..5,8"), shape("..."));
        let inputs = [&data, &scale].map(|shape| Input::new(ElementType::F32, shape));
        let outputs = op(ElementType::F16).infer(&inputs).expect("good inputs");
        assert_eq!(outputs[0].to_string(), "f16[?,3..5,8]");
        let (data, scale) = (shape("2,?"), shape("8"));
        let inputs = [&data, &scale].map(|shape| Input::new(ElementType::F32, shape));
        let outputs = op(ElementType::Dynamic)
            .infer(&inputs)
            .expect("good inputs");
        assert_eq!(outputs[0].to_string(), "f32[2,8]");
    }
}
