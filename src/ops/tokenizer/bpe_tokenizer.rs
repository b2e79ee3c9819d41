//! BPETokenizer: strings as ids of a vocabulary, by byte pair encoding.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/bpe_tokenizer.cpp>

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::ragged::{RaggedStrings, encode, encoded, expect_inputs};
use crate::kernel::tokenizer::bpe::{Bpe, Options, Scratch};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::ops::strings::{Strings, expect_type};
use crate::tensor::{ElementType, Tensor};

/// By a vocabulary and merges, and perhaps added tokens.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct BPETokenizer {
    unk_token: String,
    /// Without effect, as in the real runtime: unknown bytes side by side stay as many ids.
    fuse_unk: bool,
    /// Without effect in the real runtime, too.
    suffix_indicator: String,
    end_suffix: String,
    byte_fallback: bool,
    /// How many words the real runtime remembers.
    cache_capacity: u64,
    #[serde(skip)]
    made: Cache<Bpe>,
}

impl Default for BPETokenizer {
    fn default() -> Self {
        Self {
            unk_token: String::new(),
            fuse_unk: false,
            suffix_indicator: String::new(),
            end_suffix: String::new(),
            byte_fallback: false,
            cache_capacity: 20_000,
            made: Cache::default(),
        }
    }
}

/// Where the inputs begin that follow the strings.
const VOCABULARY: usize = RaggedStrings::PARTS;
const MERGES: usize = VOCABULARY + Strings::PARTS;
const RIGHT: usize = MERGES + Strings::PARTS;

/// Whether merges are pairs of strings, rather than strings with a space between.
fn in_pairs(inputs: usize) -> bool {
    matches!(inputs, 14 | 18)
}

/// Where the added tokens begin.
fn added(inputs: usize) -> Option<usize> {
    matches!(inputs, 15 | 18).then(|| inputs - 4)
}

impl BPETokenizer {
    fn make(&self, inputs: &[&Tensor]) -> Result<Bpe, OpError> {
        let words = Strings::of(inputs, VOCABULARY)?;
        let mut vocabulary: HashMap<&[u8], i32> = words.iter().zip(0..).collect();
        let left = Strings::of(inputs, MERGES)?;
        let merges: Vec<(&[u8], &[u8])> = if in_pairs(inputs.len()) {
            let right = Strings::of(inputs, RIGHT)?;
            ensure!(
                left.len() == right.len(),
                "{} left and {} right parts of merges",
                left.len(),
                right.len()
            );
            left.iter().zip(right.iter()).collect()
        } else {
            let halves = |merge: &'_ [u8]| merge.iter().position(|&b| b == b' ');
            let split = |merge| match halves(merge) {
                Some(space) => (&merge[..space], &merge[space + 1..]),
                None => (merge, merge),
            };
            left.iter().map(split).collect()
        };
        if let Some(at) = added(inputs.len()) {
            let tokens = Strings::of(inputs, at)?;
            let ids = inputs[at + 3].as_slice::<i32>()?;
            let found = ids.len();
            ensure!(
                tokens.len() == found,
                "{} added tokens and {found} ids",
                tokens.len()
            );
            for (token, &id) in tokens.iter().zip(ids) {
                vocabulary.entry(token).or_insert(id);
            }
        }
        let options = Options {
            unknown: self.unk_token.as_bytes(),
            end_suffix: self.end_suffix.as_bytes(),
            byte_fallback: self.byte_fallback,
        };
        Bpe::new(vocabulary, &merges, &options).or_else(|word| {
            let word = String::from_utf8_lossy(&word).into_owned();
            bail!("a merge needs `{word}`, which the vocabulary lacks")
        })
    }
}

impl Op for BPETokenizer {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let what = "rows of strings, vocabulary, merges, perhaps added tokens";
        expect_inputs(inputs, &[11, 14, 15, 18], what)?;
        RaggedStrings::expect(inputs)?;
        Strings::expect(inputs, VOCABULARY, "words")?;
        Strings::expect(inputs, MERGES, "merges")?;
        if in_pairs(inputs.len()) {
            Strings::expect(inputs, RIGHT, "right parts of merges")?;
        }
        if let Some(at) = added(inputs.len()) {
            Strings::expect(inputs, at, "added tokens")?;
            expect_type(&inputs[at + 3], ElementType::I32, "ids of added tokens")?;
        }
        Ok(encoded(&inputs[0]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let bpe = self
            .made
            .get(&io.inputs[VOCABULARY..], || self.make(io.inputs))?;
        let mut scratch = Scratch::default();
        encode(io, |string, ids| {
            bpe.encode(string, &mut scratch, ids);
            Ok(())
        })
    }
}
