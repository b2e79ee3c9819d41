//! ConvertLike-1: the same elements in the type of another input.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/convert-like-1.html>
//!
//! The rules stand in [`crate::tensor::convert`], as for Convert-1.

use serde::{Deserialize, Serialize};

use super::convert;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::tensor::ValueRange;
use crate::tensor::convert::convert_into;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct ConvertLike {}

impl Op for ConvertLike {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, like] = inputs else {
            bail!("expected 2 inputs (data, like), got {}", inputs.len());
        };
        convert::infer(data, like.element_type)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        Ok(convert_into(io.inputs[0], &mut io.outputs[0])?)
    }

    fn keeps_numbers(&self) -> bool {
        true
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        convert::infer_ranges(inputs.first()?, output.element_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::{ElementType, PartialShape, Tensor};

    #[test]
    fn only_the_type_counts() {
        let like = Tensor::zeros(ElementType::I8, [0, 3]).expect("empty");
        let out = run(&ConvertLike {}, &[Tensor::vector(&[1.9f32, -2.5]), like]).expect("numbers");
        assert_eq!(out.as_slice::<i8>().expect("i8"), [1, -2]);
        let text = Tensor::zeros(ElementType::String, [1]).expect("small");
        assert!(run(&ConvertLike {}, &[text.clone(), Tensor::scalar(1f32)]).is_err());
        assert!(run(&ConvertLike {}, &[text.clone(), text]).is_ok());
        let shape = PartialShape::from([2]);
        let unknown = Input::new(ElementType::Dynamic, &shape);
        let known = Tensor::scalar(1i64);
        let outputs = ConvertLike {}
            .infer(&[Input::of(&known), unknown])
            .expect("fits");
        assert_eq!(outputs[0].element_type, ElementType::Dynamic);
    }
}
