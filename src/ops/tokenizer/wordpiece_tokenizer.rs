//! WordpieceTokenizer: each string as the longest words of a vocabulary, from the left.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/wordpiece_tokenizer.cpp>

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::ragged::{RaggedStrings, encode, encoded, expect_inputs};
use crate::kernel::tokenizer::trie::Trie;
use crate::op::{Input, Io, Op, OpError, Outputs};
use crate::ops::strings::Strings;
use crate::tensor::Tensor;

/// By a vocabulary in which words that continue others begin with a mark.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct WordpieceTokenizer {
    suffix_indicator: String,
    max_bytes_per_word: i32,
    #[serde(skip)]
    made: Cache<Words>,
}

/// The words that begin a string, and those that continue it.
#[derive(Debug, Default)]
struct Words {
    first: Trie,
    further: Trie,
}

impl Default for WordpieceTokenizer {
    fn default() -> Self {
        Self {
            suffix_indicator: "##".to_owned(),
            max_bytes_per_word: 100,
            made: Cache::default(),
        }
    }
}

const VOCABULARY: usize = RaggedStrings::PARTS;
const UNKNOWN: usize = VOCABULARY + Strings::PARTS;

impl WordpieceTokenizer {
    fn make(&self, inputs: &[&Tensor]) -> Result<Words, OpError> {
        let mut words = Words::default();
        for (word, id) in Strings::of(inputs, VOCABULARY)?.iter().zip(0..) {
            match word.strip_prefix(self.suffix_indicator.as_bytes()) {
                Some(rest) => words.further.insert(rest, id),
                None => words.first.insert(word, id),
            }
        }
        Ok(words)
    }
}

/// The single number of a tensor of integers.
///
/// # Errors
/// When it is not one number that i32 can hold; `what` names it.
pub(super) fn number(tensor: &Tensor, what: &str) -> Result<i32, OpError> {
    let value = Input::of(tensor).int_scalar(what)?.unwrap_or(0);
    i32::try_from(value).map_err(|_| OpError::new(format!("{what} is {value}, expected an i32")))
}

impl Op for WordpieceTokenizer {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(
            inputs,
            &[9],
            "rows of strings, vocabulary, id of the unknown",
        )?;
        RaggedStrings::expect(inputs)?;
        Strings::expect(inputs, VOCABULARY, "words")?;
        inputs[UNKNOWN].int_scalar("the id of the unknown")?;
        Ok(encoded(&inputs[0]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let inputs = io.inputs;
        let words = self
            .made
            .get(&inputs[VOCABULARY..UNKNOWN], || self.make(inputs))?;
        let unknown = number(inputs[UNKNOWN], "the id of the unknown")?;
        let longest = usize::try_from(self.max_bytes_per_word).unwrap_or(0);
        encode(io, |string, ids| {
            let start = ids.len();
            let (mut trie, mut rest) = (&words.first, string);
            loop {
                let found = trie.longest(rest).filter(|_| string.len() <= longest);
                let Some((length, id)) = found else {
                    ids.truncate(start);
                    ids.push(unknown);
                    return Ok(());
                };
                ids.push(id);
                rest = &rest[length..];
                if rest.is_empty() {
                    return Ok(());
                }
                trie = &words.further;
            }
        })
    }
}
