//! ShapeOf-1, -3: the dimensions of a tensor.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/shape/shape-of-3.html>
//!
//! ShapeOf-1 always gives `i64`.

use serde::{Deserialize, Serialize};

use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, expect_index_type};
use crate::tensor::{Dimension, ElementType, ValueRange};

/// The dimensions of a tensor.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ShapeOf {
    output_type: ElementType,
}

impl Default for ShapeOf {
    fn default() -> Self {
        Self {
            output_type: ElementType::I64,
        }
    }
}

impl Op for ShapeOf {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        expect_index_type("output_type", self.output_type)?;
        let rank = data.rank().map_or(Dimension::dynamic(), Dimension::fixed);
        Ok(Output::single(self.output_type, [rank].as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data] = io.inputs else {
            bail!("expected 1 input, got {}", io.inputs.len());
        };
        let out = &mut io.outputs[0];
        if self.output_type == ElementType::I32 {
            for (out, &dim) in out.as_mut_slice::<i32>()?.iter_mut().zip(data.shape()) {
                *out = match i32::try_from(dim) {
                    Ok(dim) => dim,
                    Err(_) => bail!("dimension {dim} does not fit in i32"),
                };
            }
        } else {
            for (out, &dim) in out.as_mut_slice::<i64>()?.iter_mut().zip(data.shape()) {
                *out = match i64::try_from(dim) {
                    Ok(dim) => dim,
                    Err(_) => bail!("dimension {dim} does not fit in i64"),
                };
            }
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], _output: &Output) -> Option<Vec<ValueRange>> {
        let dims = inputs.first()?.shape.dims()?;
        Some(dims.iter().map(|&dim| dim.into()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{counted, infer_dims, run, shape};
    use crate::tensor::Symbol;

    #[test]
    fn dimensions_of_both_types() {
        let data = counted(ElementType::String, &[2, 0, 4]);
        let out = run(&ShapeOf::default(), std::slice::from_ref(&data)).expect("fits");
        assert_eq!(out.as_slice::<i64>().expect("i64"), [2, 0, 4]);
        let output_type = ElementType::I32;
        let out = run(&ShapeOf { output_type }, &[data]).expect("fits");
        assert_eq!(out.as_slice::<i32>().expect("i32"), [2, 0, 4]);
        let scalar = counted(ElementType::F32, &[]);
        let out = run(&ShapeOf::default(), &[scalar]).expect("fits");
        assert_eq!(out.shape().to_string(), "[0]");
        let output_type = ElementType::F32;
        let data = shape("1");
        let input = [Input::new(ElementType::F32, &data)];
        assert!(ShapeOf { output_type }.infer(&input).is_err());
    }

    #[test]
    fn what_is_known_flows_on() {
        let mut data = shape("?,1..5,3");
        data.dims_mut().expect("a rank")[0] = Dimension::dynamic().with_symbol(Some(Symbol(7)));
        let inputs = [Input::new(ElementType::F32, &data)];
        let op = ShapeOf::default();
        let output = op.infer(&inputs).expect("fits").remove(0);
        let values = op.infer_value(&inputs, &output).expect("a rank");
        assert_eq!(values[0].symbol, Some(Symbol(7)));
        assert_eq!((values[1].min, values[1].max), (1, 5));
        assert_eq!(values[2].value(), Some(3));
        let unknown = shape("...");
        let inputs = [Input::new(ElementType::F32, &unknown)];
        assert_eq!(infer_dims(&op, &inputs), "[?]");
        assert_eq!(op.infer_value(&inputs, &output), None);
    }
}
