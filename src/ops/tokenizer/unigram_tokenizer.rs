//! UnigramTokenizer: each string as the most likely words of a vocabulary with scores.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/unigram_tokenizer.cpp>

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::ragged::{RaggedStrings, encode, encoded, expect_inputs};
use crate::kernel::tokenizer::unigram::Unigram;
use crate::op::{Input, Io, Op, OpError, Outputs, ensure};
use crate::ops::strings::{Strings, expect_type};
use crate::tensor::{ElementType, Tensor};

/// By a vocabulary with scores.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct UnigramTokenizer {
    /// Without effect in the real runtime, too: the vocabulary has words for bytes.
    byte_fallback: bool,
    unk_token_id: i32,
    /// Without effect in the real runtime, too: what is unknown side by side is one id.
    fuse_unk: bool,
    /// Without effect in the real runtime, too.
    min_score: f32,
    #[serde(skip)]
    made: Cache<Unigram>,
}

impl Default for UnigramTokenizer {
    fn default() -> Self {
        Self {
            byte_fallback: false,
            unk_token_id: 0,
            fuse_unk: false,
            min_score: f32::INFINITY,
            made: Cache::default(),
        }
    }
}

const VOCABULARY: usize = RaggedStrings::PARTS;
const SCORES: usize = VOCABULARY + Strings::PARTS;

impl UnigramTokenizer {
    fn make(&self, inputs: &[&Tensor]) -> Result<Unigram, OpError> {
        let words = Strings::of(inputs, VOCABULARY)?;
        let scores = inputs[SCORES].as_slice::<f32>()?;
        let found = scores.len();
        ensure!(
            words.len() == found,
            "{} words and {found} scores",
            words.len()
        );
        Ok(Unigram::new(words.iter(), scores, self.unk_token_id))
    }
}

impl Op for UnigramTokenizer {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[9], "rows of strings, vocabulary, scores")?;
        RaggedStrings::expect(inputs)?;
        Strings::expect(inputs, VOCABULARY, "words")?;
        expect_type(&inputs[SCORES], ElementType::F32, "scores")?;
        Ok(encoded(&inputs[0]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let unigram = self
            .made
            .get(&io.inputs[VOCABULARY..], || self.make(io.inputs))?;
        encode(io, |string, ids| {
            unigram.encode(string, ids);
            Ok(())
        })
    }
}
