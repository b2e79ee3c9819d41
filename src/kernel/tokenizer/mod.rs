//! What tokenizers compute: regular expressions, normal forms, and models of subwords.

pub(crate) mod bpe;
pub(crate) mod bytes;
pub(crate) mod charsmap;
pub(crate) mod hash;
pub(crate) mod regex;
pub(crate) mod trie;
mod unicode_map;
pub(crate) mod unigram;
pub(crate) mod utf8;
