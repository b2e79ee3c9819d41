//! CharsMapNormalization, and NormalizeUnicode and CaseFold, which are special cases of it:
//! replaces sequences of characters by a map.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/charsmap_normalization.cpp>
//!
//! The map is SentencePiece's, given as an input or named as a normal form of Unicode.

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::normalization;
use super::pattern::expect_pattern;
use super::ragged::expect_inputs;
use crate::kernel::tokenizer::charsmap::{Form, Normalizer, Spaces};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};

/// By a map of characters.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CharsMapNormalization {
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    escape_whitespaces: bool,
    normalization_form: String,
    case_fold: bool,
    /// Without effect in the real runtime, too.
    nmt: bool,
    #[serde(skip)]
    normalizer: Cache<Normalizer>,
}

impl Default for CharsMapNormalization {
    fn default() -> Self {
        Self {
            add_dummy_prefix: false,
            remove_extra_whitespaces: true,
            escape_whitespaces: false,
            normalization_form: String::new(),
            case_fold: false,
            nmt: false,
            normalizer: Cache::default(),
        }
    }
}

/// The normal form of a name; `None` of none.
fn form(name: &str) -> Result<Option<Form>, OpError> {
    Ok(Some(match name.to_ascii_lowercase().as_str() {
        "nfc" => Form::Nfc,
        "nfd" => Form::Nfd,
        "nfkc" => Form::Nfkc,
        "nfkd" => Form::Nfkd,
        "identity" => return Ok(None),
        _ => bail!("normalization_form is `{name}`, expected nfc, nfd, nfkc, nfkd or identity"),
    }))
}

impl CharsMapNormalization {
    /// Whether the map is an input: the last.
    fn takes_map(&self) -> bool {
        self.normalization_form.is_empty()
    }

    /// Whether one of so many inputs says which strings to skip.
    fn skipping(&self, inputs: usize) -> bool {
        inputs == 5 || inputs == 4 && !self.takes_map()
    }
}

impl Op for CharsMapNormalization {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(
            inputs,
            &[3, 4, 5],
            "begins, ends, symbols, perhaps what to skip, a map",
        )?;
        if self.takes_map() {
            let Some(map) = inputs.last().filter(|_| inputs.len() > 3) else {
                bail!("expected a normalization_form or a map as the last input, got neither");
            };
            expect_pattern(map, "the map")?;
        } else {
            let named = form(&self.normalization_form)?;
            ensure!(
                named.is_some() || self.case_fold,
                "normalization_form `identity` without case_fold changes nothing"
            );
        }
        normalization::infer(inputs, self.skipping(inputs.len()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let spaces = Spaces {
            add_prefix: self.add_dummy_prefix,
            remove_extra: self.remove_extra_whitespaces,
            escape: self.escape_whitespaces,
        };
        let map = io.inputs.last().filter(|_| self.takes_map());
        let normalizer = self
            .normalizer
            .get(map.map_or(&[], std::slice::from_ref), || {
                Ok(match map {
                    Some(map) => Normalizer::precompiled(map.as_slice::<u8>()?, spaces),
                    None => {
                        let form = form(&self.normalization_form)?;
                        Normalizer::unicode(form, self.case_fold, spaces)
                    }
                })
            })?;
        let skipping = self.skipping(io.inputs.len());
        normalization::eval(io, skipping, |string, out| {
            normalizer.normalize(string, out);
            Ok(())
        })
    }
}

/// By a normal form of Unicode.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct NormalizeUnicode {
    normalization_form: String,
    #[serde(skip)]
    normalizer: Cache<Normalizer>,
}

impl Default for NormalizeUnicode {
    fn default() -> Self {
        Self {
            normalization_form: "NFD".to_owned(),
            normalizer: Cache::default(),
        }
    }
}

impl Op for NormalizeUnicode {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            ["NFC", "NFD", "NFKC", "NFKD"].contains(&self.normalization_form.as_str()),
            "normalization_form is `{}`, expected NFC, NFD, NFKC or NFKD",
            self.normalization_form
        );
        expect_inputs(
            inputs,
            &[3, 4],
            "begins, ends, symbols, perhaps what to skip",
        )?;
        normalization::infer(inputs, inputs.len() == 4)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let skipping = io.inputs.len() == 4;
        let normalizer = self.normalizer.get(&[], || {
            let form = form(&self.normalization_form)?;
            Ok(Normalizer::unicode(form, false, Spaces::default()))
        })?;
        normalization::eval(io, skipping, |string, out| {
            normalizer.normalize(string, out);
            Ok(())
        })
    }
}

/// To lower case by Unicode's simple case folding, or to either case in ASCII only.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CaseFold {
    encoding: String,
    lower: bool,
    #[serde(skip)]
    normalizer: Cache<Normalizer>,
}

impl Default for CaseFold {
    fn default() -> Self {
        Self {
            encoding: "utf-8".to_owned(),
            lower: true,
            normalizer: Cache::default(),
        }
    }
}

impl Op for CaseFold {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        match (self.encoding.as_str(), self.lower) {
            ("", _) | ("utf-8", true) => {}
            ("utf-8", false) => bail!("lower is false, expected true with encoding `utf-8`"),
            (encoding, _) => bail!("encoding is `{encoding}`, expected `utf-8` or nothing"),
        }
        expect_inputs(
            inputs,
            &[3, 4],
            "begins, ends, symbols, perhaps what to skip",
        )?;
        normalization::infer(inputs, inputs.len() == 4)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let skipping = io.inputs.len() == 4;
        if self.encoding.is_empty() {
            let change = if self.lower {
                u8::to_ascii_lowercase
            } else {
                u8::to_ascii_uppercase
            };
            return normalization::eval(io, skipping, |string, out| {
                out.extend(string.iter().map(change));
                Ok(())
            });
        }
        let make = || Ok(Normalizer::unicode(None, true, Spaces::default()));
        let normalizer = self.normalizer.get(&[], make)?;
        normalization::eval(io, skipping, |string, out| {
            normalizer.normalize(string, out);
            Ok(())
        })
    }
}
