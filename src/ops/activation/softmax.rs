//! SoftMax-1, -8: exponentials along an axis, divided by their sum. LogSoftmax-5: the logarithm of
//! that.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/softmax-8.html>
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/log-soft-max-5.html>
//!
//! SoftMax-1 counts axes from the start only. Floats narrower than `f32` are rounded once. Lines of
//! negative infinity only give NaN, as the formula does.

use serde::{Deserialize, Serialize};

use crate::kernel::softmax::{Kind, softmax};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};
use crate::ops::floats::{fill, in_real};
use crate::tensor::convert::{Compute, widen};

/// SoftMax-8.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Softmax {
    axis: i64,
}

impl Default for Softmax {
    fn default() -> Self {
        Self { axis: 1 }
    }
}

/// SoftMax-1.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Softmax1(Softmax);

/// LogSoftmax-5.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct LogSoftmax(Softmax);

impl Softmax {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            ty.is_float() || !ty.is_static(),
            "data must be floats, got {ty}"
        );
        if let Some(rank) = data.rank() {
            normalize_axis(self.axis, rank)?;
        }
        Ok(Output::single(ty, data.shape.clone().into_owned()))
    }

    fn eval(&self, io: Io<'_>, kind: Kind) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        if data.is_empty() {
            return Ok(());
        }
        let shape = data.shape();
        let axis = normalize_axis(self.axis, shape.rank())?;
        let sizes = [shape[axis], shape[axis + 1..].iter().product()];
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let read = |start: usize, out: &mut [T]| widen(data, start, out);
            let straight = T::native(data.element_type(), data.bytes());
            softmax(&read, straight, out, sizes, kind);
            Ok(())
        }))
    }
}

impl Op for Softmax {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        self.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.eval(io, Kind::Softmax)
    }
}

impl Op for Softmax1 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let Softmax { axis } = self.0;
        ensure!(axis >= 0, "the axis must not be negative, got {axis}");
        self.0.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.0.eval(io, Kind::Softmax)
    }
}

impl Op for LogSoftmax {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        self.0.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.0.eval(io, Kind::Log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::convert::convert;
    use crate::tensor::{ElementType, Tensor};

    #[test]
    fn axes() {
        let dims = shape("2,?,3");
        let input = [Input::new(ElementType::F32, &dims)];
        for axis in [-3, 0, 2] {
            assert_eq!(infer_dims(&Softmax { axis }, &input), "[2,?,3]");
        }
        for axis in [-4, 3] {
            assert!(Softmax { axis }.infer(&input).is_err());
        }
        assert!(Op::infer(&Softmax1(Softmax { axis: -1 }), &input).is_err());
        let integers = [Input::new(ElementType::I32, &dims)];
        assert!(Softmax::default().infer(&integers).is_err());
        let data = Tensor::new([2, 2], &[0f32, 1.0, 0.0, 1.0]).expect("four");
        let halves = run(&Softmax { axis: 0 }, std::slice::from_ref(&data)).expect("floats");
        assert_eq!(halves.as_slice::<f32>().expect("f32"), [0.5; 4]);
        let logs = run(&LogSoftmax(Softmax { axis: -2 }), &[data]).expect("floats");
        assert_eq!(
            logs.as_slice::<f32>().expect("f32"),
            [-std::f32::consts::LN_2; 4]
        );
    }

    #[test]
    fn every_float() {
        for ty in ElementType::ALL.into_iter().filter(|t| t.is_float()) {
            let ones = Tensor::new([2, 2, 5], &[1f32; 20]).expect("twenty");
            let ones = convert(&ones, ty).expect("numbers");
            let result = run(&Softmax::default(), &[ones]).expect("floats");
            let wide = convert(&result, ElementType::F32).expect("numbers");
            let half = if ty == ElementType::Nf4 {
                0.440_709_83
            } else {
                0.5
            };
            assert!(
                wide.as_slice::<f32>()
                    .expect("f32")
                    .iter()
                    .all(|&x| (x - half).abs() < 0.07),
                "{ty}"
            );
        }
        let none = Tensor::new::<f32>([2, 0], &[]).expect("empty");
        assert_eq!(
            run(&Softmax::default(), std::slice::from_ref(&none)),
            Ok(none)
        );
    }
}
