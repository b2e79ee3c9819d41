//! LogicalNot-1: whether elements are false.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/logical/logical-not-1.html>

use serde::{Deserialize, Serialize};

use super::binary::expect_boolean;
use crate::kernel::map::map;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::tensor::{ElementType, ValueRange};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct LogicalNot {}

impl Op for LogicalNot {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        expect_boolean(data.element_type)?;
        let shape = data.shape.clone().into_owned();
        Ok(Output::single(ElementType::Boolean, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        map::<i32, bool>(io.inputs[0], &mut io.outputs[0], &|data, out| {
            for (out, &x) in out.iter_mut().zip(data) {
                *out = x == 0;
            }
        });
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], _: &Output) -> Option<Vec<ValueRange>> {
        let not = |r: &ValueRange| ValueRange {
            min: 1 - r.max.clamp(0, 1),
            max: 1 - r.min.clamp(0, 1),
            symbol: None,
        };
        Some(inputs.first()?.ranges()?.iter().map(not).collect())
    }
}
