//! RegexNormalization: replaces what an expression matches in each string.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/regex_normalization.cpp>

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::normalization;
use super::pattern::{compile, expect_pattern, failed};
use super::ragged::expect_inputs;
use crate::kernel::tokenizer::regex::Regex;
use crate::op::{Input, Io, Op, OpError, Outputs};

/// Patterns of old files that do not do what was meant, and what was.
const REWRITES: &[(&str, &str)] = &[
    (
        r" ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't)",
        r"(?| ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't))",
    ),
    ("(^)(.)", r"(^)([\s\S])"),
    ("(^)(.+)", r"(^)([\s\S])"),
];

/// Strings with what matches replaced.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RegexNormalization {
    global_replace: bool,
    #[serde(skip)]
    compiled: Cache<Regex>,
}

impl Default for RegexNormalization {
    fn default() -> Self {
        Self {
            global_replace: true,
            compiled: Cache::default(),
        }
    }
}

/// Groups are written `\1` or `$1`; the engine knows the latter.
fn with_dollars(replacement: &[u8]) -> Vec<u8> {
    let mut out = replacement.to_vec();
    for i in 1..out.len() {
        if out[i - 1] == b'\\' && matches!(out[i], b'1'..=b'9') {
            out[i - 1] = b'$';
        }
    }
    out
}

impl Op for RegexNormalization {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let what = "begins, ends, symbols, perhaps what to skip, pattern, replacement";
        expect_inputs(inputs, &[5, 6], what)?;
        if let [.., pattern, replacement] = inputs {
            expect_pattern(pattern, "the pattern")?;
            expect_pattern(replacement, "the replacement")?;
        }
        normalization::infer(inputs, inputs.len() == 6)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let at = io.inputs.len() - 2;
        let pattern = io.inputs[at];
        let replacement = with_dollars(io.inputs[at + 1].as_slice::<u8>()?);
        let regex = self.compiled.get(&[pattern], || {
            let pattern = pattern.as_slice::<u8>()?;
            let rewrite = REWRITES.iter().find(|(old, _)| old.as_bytes() == pattern);
            compile(rewrite.map_or(pattern, |(_, new)| new.as_bytes()))
        })?;
        let skipping = io.inputs.len() == 6;
        normalization::eval(io, skipping, |string, out| {
            let replaced = regex.replace(string, &replacement, self.global_replace, out);
            replaced.map_err(failed)
        })
    }
}
