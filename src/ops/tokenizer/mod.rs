//! The operations of tokenizers: version `extension`.
//!
//! They have no pages in the specification. What they do is defined by the public sources of
//! openvino_tokenizers, <https://github.com/openvinotoolkit/openvino_tokenizers>; rows of strings
//! are five tensors (see [`crate::ops::strings`]).

mod bpe_tokenizer;
mod bytes_to_chars;
mod cache;
mod charsmap_normalization;
mod combine_segments;
mod contrib;
mod equal_str;
mod fuze_ragged;
mod normalization;
mod pattern;
mod ragged;
mod ragged_to_dense;
mod ragged_to_sparse;
mod regex_normalization;
mod regex_split;
mod special_tokens_split;
mod trie_tokenizer;
mod truncate;
mod unigram_tokenizer;
mod utf8_validate;
mod vocab;
mod wordpiece_tokenizer;

use super::typing::string_tensor_pack::StringTensorPackExtension;
use super::typing::string_tensor_unpack::StringTensorUnpackExtension;
use crate::op::{Op, OpDef, def};

/// The list of operations outside the opsets that these belong to.
const EXTENSION: &str = "extension";

const fn extension<T>(name: &'static str) -> OpDef
where
    T: Op + serde::de::DeserializeOwned + serde::Serialize,
{
    def::<T>(name, &[]).outside(EXTENSION)
}

pub(super) const OPS: &[OpDef] = &[
    extension::<bpe_tokenizer::BPETokenizer>("BPETokenizer"),
    extension::<utf8_validate::ByteFallback>("ByteFallback"),
    extension::<bytes_to_chars::BytesToChars>("BytesToChars"),
    extension::<charsmap_normalization::CaseFold>("CaseFold"),
    extension::<charsmap_normalization::CharsMapNormalization>("CharsMapNormalization"),
    extension::<bytes_to_chars::CharsToBytes>("CharsToBytes"),
    extension::<combine_segments::CombineSegments>("CombineSegments"),
    extension::<contrib::ContribStringJoin>("ContribStringJoin"),
    extension::<contrib::ContribStringSplit>("ContribStringSplit"),
    extension::<equal_str::EqualStr>("EqualStr"),
    extension::<fuze_ragged::FuzeRagged>("FuzeRagged"),
    extension::<charsmap_normalization::NormalizeUnicode>("NormalizeUnicode"),
    extension::<fuze_ragged::RaggedTensorPack>("RaggedTensorPack"),
    extension::<ragged_to_dense::RaggedToDense>("RaggedToDense"),
    extension::<ragged_to_sparse::RaggedToRagged>("RaggedToRagged"),
    extension::<ragged_to_sparse::RaggedToSparse>("RaggedToSparse"),
    extension::<regex_normalization::RegexNormalization>("RegexNormalization"),
    extension::<regex_split::RegexSplit>("RegexSplit"),
    extension::<special_tokens_split::SpecialTokensSplit>("SpecialTokensSplit"),
    extension::<StringTensorPackExtension>("StringTensorPack"),
    extension::<StringTensorUnpackExtension>("StringTensorUnpack"),
    extension::<equal_str::StringToHashBucket>("StringToHashBucket"),
    extension::<trie_tokenizer::TrieTokenizer>("TrieTokenizer"),
    extension::<truncate::Truncate>("Truncate"),
    extension::<utf8_validate::UTF8Validate>("UTF8Validate"),
    extension::<unigram_tokenizer::UnigramTokenizer>("UnigramTokenizer"),
    extension::<vocab::VocabDecoder>("VocabDecoder"),
    extension::<vocab::VocabEncoder>("VocabEncoder"),
    extension::<wordpiece_tokenizer::WordpieceTokenizer>("WordpieceTokenizer"),
];

#[cfg(test)]
mod tests;
