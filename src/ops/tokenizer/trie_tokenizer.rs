//! TrieTokenizer: each string as the longest words of a vocabulary with ids, from the left.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/trie_tokenizer.cpp>

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::ragged::{RaggedStrings, encode, encoded, expect_inputs};
use crate::kernel::tokenizer::trie::Trie;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::ops::strings::{Strings, expect_type};
use crate::tensor::{ElementType, Tensor};

/// By a vocabulary with ids.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct TrieTokenizer {
    #[serde(skip)]
    made: Cache<Trie>,
}

const VOCABULARY: usize = RaggedStrings::PARTS;
const IDS: usize = VOCABULARY + Strings::PARTS;

fn make(inputs: &[&Tensor]) -> Result<Trie, OpError> {
    let words = Strings::of(inputs, VOCABULARY)?;
    let ids = inputs[IDS].as_slice::<i32>()?;
    ensure!(
        words.len() == ids.len(),
        "{} words and {} ids",
        words.len(),
        ids.len()
    );
    let mut trie = Trie::default();
    for (word, &id) in words.iter().zip(ids) {
        trie.insert(word, id);
    }
    Ok(trie)
}

impl Op for TrieTokenizer {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[9], "rows of strings, vocabulary, ids")?;
        RaggedStrings::expect(inputs)?;
        Strings::expect(inputs, VOCABULARY, "words")?;
        expect_type(&inputs[IDS], ElementType::I32, "ids")?;
        Ok(encoded(&inputs[0]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let trie = self
            .made
            .get(&io.inputs[VOCABULARY..], || make(io.inputs))?;
        encode(io, |string, ids| {
            let mut rest = string;
            while !rest.is_empty() {
                let Some((length, id)) = trie.longest(rest) else {
                    let at = string.len() - rest.len();
                    bail!("no word of the vocabulary matches byte {at} of a string")
                };
                ids.push(id);
                rest = &rest[length..];
            }
            Ok(())
        })
    }
}
