//! Normalisation by a map from character sequences to others, as SentencePiece does it: at each
//! place the longest sequence that the map has is replaced.

use std::borrow::Cow;

use super::unicode_map::UnicodeMap;

pub(crate) use super::unicode_map::Form;

/// U+2581, what stands for a space that must be seen.
const VISIBLE_SPACE: &str = "\u{2581}";

/// What else happens to white space.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spaces {
    /// Put one in front.
    pub(crate) add_prefix: bool,
    /// Drop those at the ends, and all but one between.
    pub(crate) remove_extra: bool,
    /// Write U+2581 for each.
    pub(crate) escape: bool,
}

/// A map, and what else happens.
#[derive(Debug)]
pub(crate) struct Normalizer {
    rules: Rules,
    spaces: Spaces,
}

#[derive(Debug)]
enum Rules {
    Precompiled(Precompiled),
    Unicode(UnicodeMap),
    /// The map is empty.
    Identity,
    /// The map is broken: nothing is left of any text.
    Broken,
}

impl Normalizer {
    /// By a map in SentencePiece's format.
    pub(crate) fn precompiled(blob: &[u8], spaces: Spaces) -> Self {
        let rules = match Precompiled::read(blob) {
            _ if blob.is_empty() => Rules::Identity,
            Some(map) => Rules::Precompiled(map),
            None => Rules::Broken,
        };
        Self { rules, spaces }
    }

    /// By a normal form of Unicode.
    pub(crate) fn unicode(form: Option<Form>, fold_case: bool, spaces: Spaces) -> Self {
        Self {
            rules: Rules::Unicode(UnicodeMap::new(form, fold_case)),
            spaces,
        }
    }

    /// Adds the normalised text. Bytes that are no UTF-8 become U+FFFD.
    pub(crate) fn normalize(&self, text: &[u8], out: &mut Vec<u8>) {
        let first = out.len();
        let Spaces {
            add_prefix,
            remove_extra,
            escape,
        } = self.spaces;
        let space = if escape { VISIBLE_SPACE } else { " " }.as_bytes();
        let mut rest = text;
        while remove_extra && !rest.is_empty() {
            let (replaced, length) = self.prefix(rest);
            if *replaced != *b" " {
                break;
            }
            rest = &rest[length..];
        }
        if rest.is_empty() || matches!(self.rules, Rules::Broken) {
            return;
        }
        if add_prefix {
            out.extend_from_slice(space);
        }
        let mut after_space = remove_extra;
        while !rest.is_empty() {
            let (replaced, length) = self.prefix(rest);
            let mut piece = &*replaced;
            while let (true, Some(tail)) = (after_space, piece.strip_prefix(b" ")) {
                piece = tail;
            }
            for &byte in piece {
                match byte {
                    b' ' => out.extend_from_slice(space),
                    _ => out.push(byte),
                }
            }
            if let Some(last) = piece.last() {
                after_space = remove_extra && *last == b' ';
            }
            rest = &rest[length..];
        }
        while remove_extra && out[first..].ends_with(space) {
            out.truncate(out.len() - space.len());
        }
    }

    /// What replaces the beginning of a text that is not empty, and how much of it.
    fn prefix<'a>(&'a self, text: &'a [u8]) -> (Cow<'a, [u8]>, usize) {
        let found = match &self.rules {
            Rules::Precompiled(map) => map.longest(text).map(|(l, t)| (Cow::Borrowed(t), l)),
            Rules::Unicode(map) => map.longest(text).map(|(l, t)| (Cow::Owned(t), l)),
            Rules::Identity | Rules::Broken => None,
        };
        found.unwrap_or_else(|| match first_character(text) {
            Some(c) => (Cow::Borrowed(&text[..c.len_utf8()]), c.len_utf8()),
            None => (Cow::Borrowed("\u{FFFD}".as_bytes()), 1),
        })
    }
}

/// The character that a text begins with, if it is one.
pub(super) fn first_character(text: &[u8]) -> Option<char> {
    let start = &text[..text.len().min(4)];
    let chunk = start.utf8_chunks().next()?;
    chunk.valid().chars().next()
}

/// A double-array trie with the replacements, each ended by a zero.
#[derive(Debug)]
struct Precompiled {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl Precompiled {
    /// The size of the trie, the trie, the replacements.
    fn read(blob: &[u8]) -> Option<Self> {
        let (size, rest) = blob.split_first_chunk::<4>()?;
        let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        let (trie, texts) = rest.split_at_checked(size)?;
        let (units, _) = trie.as_chunks::<4>();
        Some(Self {
            units: units.iter().map(|&unit| u32::from_le_bytes(unit)).collect(),
            texts: texts.to_vec(),
        })
    }

    /// The longest sequence that `text` begins with: its length and replacement.
    fn longest(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let unit = |at: u32| self.units.get(at as usize).copied();
        let mut at = offset(unit(0)?);
        let mut longest = None;
        for (i, &byte) in text.iter().enumerate() {
            at ^= u32::from(byte);
            let Some(here) = unit(at) else { break };
            // Only units of bytes have the top bit clear.
            if here & (1 << 31 | 0xFF) != u32::from(byte) {
                break;
            }
            at ^= offset(here);
            if here & (1 << 8) != 0
                && let Some(value) = unit(at)
            {
                longest = Some((i + 1, value & !(1 << 31)));
            }
        }
        let (length, place) = longest?;
        let text = self.texts.get(place as usize..).unwrap_or_default();
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        Some((length, &text[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unicode(form: Option<Form>, fold_case: bool, spaces: Spaces, text: &str) -> String {
        let mut out = b"<".to_vec();
        Normalizer::unicode(form, fold_case, spaces).normalize(text.as_bytes(), &mut out);
        String::from_utf8(out).expect("text").split_off(1)
    }

    #[test]
    fn normal_forms() {
        let plain = Spaces::default();
        let text = "ﬁ é e\u{301} Å 한 ½";
        assert_eq!(
            unicode(Some(Form::Nfkc), false, plain, text),
            "fi é é Å 한 1\u{2044}2"
        );
        assert_eq!(unicode(Some(Form::Nfc), false, plain, text), "ﬁ é é Å 한 ½");
        let nfd = "ﬁ e\u{301} e\u{301} A\u{30A} \u{1112}\u{1161}\u{11AB} ½";
        assert_eq!(unicode(Some(Form::Nfd), false, plain, text), nfd);
        assert_eq!(unicode(None, true, plain, "ΣςẞÉİ a"), "σσßéİ a");
        assert_eq!(unicode(Some(Form::Nfkd), true, plain, "Éﬀ"), "e\u{301}ff");
    }

    #[test]
    fn spaces_are_removed_and_made_visible() {
        let mut spaces = Spaces {
            add_prefix: true,
            remove_extra: true,
            escape: false,
        };
        let form = Some(Form::Nfkc);
        assert_eq!(unicode(form, false, spaces, "  a \u{3000} b  "), " a b");
        assert_eq!(unicode(form, false, spaces, "   "), "");
        spaces.escape = true;
        assert_eq!(unicode(form, false, spaces, " a  b "), "▁a▁b");
        spaces.remove_extra = false;
        assert_eq!(unicode(form, false, spaces, " a "), "▁▁a▁");
    }

    #[test]
    fn broken_maps_and_texts() {
        let spaces = Spaces::default();
        let mut out = Vec::new();
        Normalizer::precompiled(&[9, 0, 0, 0, 1], spaces).normalize(b"abc", &mut out);
        assert_eq!(out, b"");
        Normalizer::precompiled(&[], spaces).normalize(b"a\xffb\xe2\x82", &mut out);
        assert_eq!(out, "a\u{FFFD}b\u{FFFD}\u{FFFD}".as_bytes());
        // A unit that leads out of the trie.
        let mut blob = 8u32.to_le_bytes().to_vec();
        blob.extend((1u32 << 30).to_le_bytes());
        blob.extend([0xFF; 8]);
        out.clear();
        Normalizer::precompiled(&blob, spaces).normalize(b"abc", &mut out);
        assert_eq!(out, b"abc");
    }
}
