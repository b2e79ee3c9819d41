//! UTF8Validate and ByteFallback: bytes made into text.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/utf8_validate.cpp>

use serde::{Deserialize, Serialize};

use super::normalization;
use super::ragged::expect_inputs;
use crate::kernel::scratch::{try_append, try_push};
use crate::kernel::tokenizer::utf8::validate;
use crate::op::{Input, Io, Op, OpError, Outputs};

/// Bytes that are no UTF-8 replaced by U+FFFD, or dropped.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct UTF8Validate {
    replace_mode: bool,
}

impl Op for UTF8Validate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[3], "begins, ends, symbols")?;
        normalization::infer(inputs, false)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        normalization::eval(io, false, |string, out| {
            validate(string, self.replace_mode, out);
            Ok(())
        })
    }
}

/// Words such as `<0x0A>` turned into the bytes they name.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct ByteFallback {}

/// The byte that a word names. Words of this form that name none are 0xFF, as they are in the
/// real runtime.
fn named_byte(word: &[u8]) -> Option<u8> {
    let [b'<', inside @ .., b'>'] = word else {
        return None;
    };
    if inside.len() != 4 || inside.contains(&b'<') {
        return None;
    }
    let digits = inside
        .strip_prefix(b"0x")
        .filter(|d| d.iter().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F')));
    let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
    Some(
        digits
            .and_then(|d| u8::from_str_radix(d, 16).ok())
            .unwrap_or(0xFF),
    )
}

impl Op for ByteFallback {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[3], "begins, ends, symbols")?;
        normalization::infer(inputs, false)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        normalization::eval(io, false, |string, out| match named_byte(string) {
            Some(byte) => try_push(out, byte),
            None => try_append(out, string),
        })
    }
}
