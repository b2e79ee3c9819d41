//! BytesToChars and CharsToBytes: bytes written as visible characters, and back.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/bytes_to_chars.cpp>

use serde::{Deserialize, Serialize};

use super::ragged::{RaggedStrings, expect_inputs, skips};
use crate::kernel::tokenizer::bytes::{from_characters, to_characters};
use crate::op::{Input, Io, Op, OpError, Output, Outputs};
use crate::ops::strings::{Packed, Strings, expect_type};
use crate::tensor::ElementType;

/// Every byte of the strings, but of those to skip, as a visible character.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct BytesToChars {}

impl Op for BytesToChars {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[5, 6], "rows of strings, what to skip")?;
        RaggedStrings::expect(inputs)?;
        let mut outputs: Outputs = RaggedStrings::outputs(&inputs[0]).collect();
        for (output, input) in outputs[2..4].iter_mut().zip(&inputs[2..4]) {
            output.shape = input.shape.clone().into_owned();
        }
        if let Some(flags) = inputs.get(5) {
            expect_type(flags, ElementType::Boolean, "what to skip")?;
            outputs.push(Output::new(
                ElementType::Boolean,
                flags.shape.clone().into_owned(),
            ));
        }
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let text = RaggedStrings::of(io.inputs)?;
        let count = text.strings.len();
        let skipped = io
            .inputs
            .get(5)
            .map(|flags| skips(flags, count))
            .transpose()?;
        let mut changed = Packed::default();
        for (i, string) in text.strings.iter().enumerate() {
            changed.push_with(|out| {
                match skipped {
                    Some(skipped) if skipped[i] => out.extend_from_slice(string),
                    _ => to_characters(string, out),
                }
                Ok(())
            })?;
        }
        let strings = changed.into_tensors(io.inputs[2].shape())?;
        io.outputs[0] = io.inputs[0].clone();
        io.outputs[1] = io.inputs[1].clone();
        io.outputs[2..5].clone_from_slice(&strings);
        if let Some(flags) = io.inputs.get(5) {
            io.outputs[5] = (*flags).clone();
        }
        Ok(())
    }
}

/// Visible characters as the bytes they stand for, the strings of a row joined.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct CharsToBytes {}

impl Op for CharsToBytes {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[5], "rows of strings")?;
        RaggedStrings::expect(inputs)?;
        Ok(Strings::outputs(&inputs[0].shape).into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let text = RaggedStrings::of(io.inputs)?;
        let mut joined = Packed::default();
        for row in text.rows {
            joined.push_with(|out| {
                row.for_each(|i| from_characters(text.strings.get(i), out));
                Ok(())
            })?;
        }
        let tensors = joined.into_tensors(io.inputs[0].shape())?;
        io.outputs.clone_from_slice(&tensors);
        Ok(())
    }
}
