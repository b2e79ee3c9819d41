//! SpecialTokensSplit: isolates what an expression matches, to be skipped by what follows.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/special_tokens_split.cpp>
//!
//! If a group takes part in a match, only what the group matches becomes a piece: the rest is
//! dropped, such as white space that a token strips.

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::pattern::{compile, expect_pattern, failed};
use super::ragged::{RaggedStrings, Rows, expect_inputs, line, skips};
use super::regex_split::put;
use crate::kernel::tokenizer::regex::{Match, Regex, Subject};
use crate::op::{Input, Io, Op, OpError, Outputs};
use crate::ops::strings::expect_type;
use crate::tensor::ElementType;

/// Strings in pieces, with special tokens apart.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct SpecialTokensSplit {
    #[serde(skip)]
    compiled: Cache<Regex>,
}

/// Where the token of a match is.
fn token(found: &Match) -> std::ops::Range<usize> {
    let whole = found.whole();
    let inside = |group: &&std::ops::Range<usize>| {
        whole.start <= group.start && group.start <= whole.end && group.end <= whole.end
    };
    let last = found.groups[1..].iter().flatten().rfind(inside);
    last.filter(|group| !group.is_empty())
        .cloned()
        .unwrap_or(whole)
}

impl Op for SpecialTokensSplit {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let what = "rows of strings, perhaps what to skip, pattern";
        expect_inputs(inputs, &[6, 7], what)?;
        RaggedStrings::expect(inputs)?;
        let skipping = inputs.len() == 7;
        if skipping {
            expect_type(&inputs[5], ElementType::Boolean, "what to skip")?;
        }
        expect_pattern(&inputs[5 + usize::from(skipping)], "the pattern")?;
        let mut outputs: Outputs = RaggedStrings::outputs(&inputs[0]).collect();
        outputs[4].shape = inputs[4].shape.clone().into_owned();
        outputs.push(line(ElementType::Boolean));
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let text = RaggedStrings::of(io.inputs)?;
        let flags = io.inputs.get(5).filter(|_| io.inputs.len() == 7);
        let flags = flags
            .map(|flags| skips(flags, text.strings.len()))
            .transpose()?;
        let pattern = io.inputs[5 + usize::from(flags.is_some())];
        let regex = self
            .compiled
            .get(&[pattern], || compile(pattern.as_slice::<u8>()?))?;
        let mut rows = Rows::default();
        for row in text.rows {
            for i in row {
                let span = text.strings.spans[i].clone();
                if flags.is_some_and(|flags| flags[i]) {
                    rows.elements.push((span, true));
                    continue;
                }
                let subject = Subject::new(text.strings.get(i));
                let mut add = |from: usize, to: usize, special| {
                    let (from, to) = (subject.place(from), subject.place(to));
                    rows.elements
                        .push((span.start + from..span.start + to, special));
                };
                let mut at = 0;
                while let Some(found) = regex.captures(&subject, at).map_err(failed)? {
                    let whole = found.whole();
                    if whole.is_empty() {
                        break;
                    }
                    if at < whole.start {
                        add(at, whole.start, false);
                    }
                    let token = token(&found);
                    add(token.start, token.end, true);
                    at = whole.end;
                }
                if at < subject.len() {
                    add(at, subject.len(), false);
                }
            }
            rows.end()?;
        }
        put(io, rows)
    }
}
