//! BitwiseNot-13: every bit turned over; of booleans, the opposite.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/bitwise/bitwise-not-13.html>

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::binary::expect_bits;
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::{each, map};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::tensor::ElementType;

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct BitwiseNot {}

impl Op for BitwiseNot {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        expect_bits(data.element_type, true)?;
        let shape = data.shape.clone().into_owned();
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        match lane(data.element_type()) {
            _ if data.element_type() == ElementType::Boolean => {
                map(data, out, &|data: &[i32], out| {
                    each(
                        data,
                        out,
                        #[inline(always)]
                        |x| x == 0,
                    );
                });
            }
            Some(Lane::I32) => map(data, out, &|data, out| each(data, out, i32::not)),
            Some(Lane::I64) => map(data, out, &|data, out| each(data, out, i64::not)),
            Some(Lane::U64) => map(data, out, &|data, out| each(data, out, u64::not)),
            _ => {}
        }
        Ok(())
    }
}
