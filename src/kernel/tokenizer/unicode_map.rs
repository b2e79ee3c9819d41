//! The map of a normal form: what SentencePiece's builder makes of Unicode's tables.
//!
//! It has every character that the form changes, and every sequence that is composed into one
//! character. Marks are not put in order: that no map can do.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, decompose_compatible};

use super::charsmap::first_character;

/// A normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// Beyond the last character that decomposes.
const BEYOND: u32 = 0x30000;

/// The longest sequence that is composed.
const LONGEST: usize = 4;

/// A sequence and what it is composed to.
type Composition = (Vec<char>, Vec<char>);

/// Full decompositions, with what they compose to, by their first characters.
type Compositions = HashMap<char, Vec<Composition>>;

/// Those of a form that composes.
static NFC: LazyLock<Compositions> = LazyLock::new(|| compositions(Form::Nfc));
static NFKC: LazyLock<Compositions> = LazyLock::new(|| compositions(Form::Nfkc));

/// The map of a form, with cases folded or not.
#[derive(Debug)]
pub(super) struct UnicodeMap {
    form: Option<Form>,
    fold_case: bool,
    composed: Option<&'static Compositions>,
}

/// The full decomposition of a character.
fn decomposed(form: Option<Form>, c: char) -> Vec<char> {
    let mut parts = Vec::new();
    match form {
        Some(Form::Nfkc | Form::Nfkd) => decompose_compatible(c, |c| parts.push(c)),
        Some(Form::Nfc | Form::Nfd) => decompose_canonical(c, |c| parts.push(c)),
        None => parts.push(c),
    }
    parts
}

fn compositions(form: Form) -> Compositions {
    let mut all = Compositions::new();
    let mut seen = HashSet::new();
    for c in (1..BEYOND).filter_map(char::from_u32) {
        let parts = decomposed(Some(form), c);
        if !(2..=LONGEST).contains(&parts.len()) || !seen.insert(parts.clone()) {
            continue;
        }
        // Of parts that are decomposed both forms that compose make the same.
        let whole: Vec<char> = parts.iter().copied().nfc().collect();
        if whole != parts {
            all.entry(parts[0]).or_default().push((parts, whole));
        }
    }
    for sequences in all.values_mut() {
        sequences.sort_by_key(|(parts, _)| std::cmp::Reverse(parts.len()));
    }
    all
}

impl UnicodeMap {
    pub(super) fn new(form: Option<Form>, fold_case: bool) -> Self {
        let composed = match form {
            Some(Form::Nfc) => Some(&*NFC),
            Some(Form::Nfkc) => Some(&*NFKC),
            Some(Form::Nfd | Form::Nfkd) | None => None,
        };
        Self {
            form,
            fold_case,
            composed,
        }
    }

    /// What the map has for one character.
    fn single(&self, c: char, fold: bool) -> Vec<char> {
        let mut to: Vec<char> = match self.form {
            None => vec![c],
            Some(Form::Nfc) => std::iter::once(c).nfc().collect(),
            Some(Form::Nfd) => std::iter::once(c).nfd().collect(),
            Some(Form::Nfkc) => std::iter::once(c).nfkc().collect(),
            Some(Form::Nfkd) => std::iter::once(c).nfkd().collect(),
        };
        if fold {
            to.iter_mut().for_each(|c| *c = folded(*c));
        }
        to
    }

    /// The longest sequence that `text` begins with: its length and what replaces it.
    pub(super) fn longest(&self, text: &[u8]) -> Option<(usize, Vec<u8>)> {
        let first = first_character(text)?;
        // Most text is ASCII: no two such characters compose, and only cases change.
        let followed = text.get(1).is_some_and(|b| !b.is_ascii());
        if first.is_ascii() && !(self.composed.is_some() && followed) {
            let c = if self.fold_case {
                first.to_ascii_lowercase()
            } else {
                first
            };
            return Some((1, vec![c as u8]));
        }
        let (count, to) = self.matched(&characters(text), LONGEST, self.fold_case);
        let length = characters(text)[..count].iter().map(|c| c.len_utf8()).sum();
        Some((length, to.iter().collect::<String>().into_bytes()))
    }

    /// The longest sequence of at most `limit` characters: their number and what replaces them.
    fn matched(&self, text: &[char], limit: usize, fold: bool) -> (usize, Vec<char>) {
        if let Some(composed) = self.composed
            && limit > 1
            && text.len() > 1
        {
            // Any characters that decompose into just the parts will do.
            let parts: Vec<char> = text
                .iter()
                .map_while(|&c| match decomposed(self.form, c)[..] {
                    [part] => Some(part),
                    _ => None,
                })
                .collect();
            let sequences = parts.first().and_then(|c| composed.get(c));
            for (sequence, whole) in sequences.into_iter().flatten() {
                let count = sequence.len();
                if count <= limit
                    && parts.starts_with(sequence)
                    && let Some(to) = self.sequence(&text[..count], whole, fold)
                {
                    return (count, to);
                }
            }
        }
        (1, self.single(text[0], fold))
    }

    /// What replaces a sequence, unless shorter ones of the map do the same.
    fn sequence(&self, key: &[char], whole: &[char], fold: bool) -> Option<Vec<char>> {
        if key == whole || self.by_shorter(key, false) == whole {
            return None;
        }
        if !fold {
            return Some(whole.to_vec());
        }
        let whole: Vec<char> = whole.iter().copied().map(folded).collect();
        (self.by_shorter(key, true) != whole).then_some(whole)
    }

    fn by_shorter(&self, key: &[char], fold: bool) -> Vec<char> {
        let mut out = Vec::new();
        let mut rest = key;
        while !rest.is_empty() {
            let (count, to) = self.matched(rest, key.len() - 1, fold);
            out.extend(to);
            rest = &rest[count..];
        }
        out
    }
}

/// The characters that a text begins with, as many as may be composed.
fn characters(text: &[u8]) -> Vec<char> {
    let start = &text[..text.len().min(4 * LONGEST)];
    let valid = start.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.chars().take(LONGEST).collect()
}

/// The character in simple case folding.
fn folded(c: char) -> char {
    let folded = unicode_case_mapping::case_folded(c);
    folded.and_then(|c| char::from_u32(c.get())).unwrap_or(c)
}
