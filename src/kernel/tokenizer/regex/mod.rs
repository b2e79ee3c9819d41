//! Regular expressions as PCRE2 understands them, in Unicode mode.
//!
//! Patterns are written anew for the engine, which has another dialect. Backtracking is limited.

mod class;
mod translate;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use fancy_regex::{RegexBuilder, RegexInput};

/// How often one search may go back.
const MOST_BACKTRACKS: usize = 5_000_000;

/// Why an expression cannot be made, or a search gave up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RegexError {
    /// The pattern is wrong.
    #[error("the pattern {0}")]
    Pattern(String),
    /// The pattern has something that is not supported.
    #[error("patterns with {0} are not supported")]
    Unsupported(String),
    /// A search went back too often.
    #[error("a search went back more than {MOST_BACKTRACKS} times")]
    Limit,
}

/// A text to search in: bytes that are no UTF-8 are matched as U+FFFD.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    bytes: &'a [u8],
    text: Cow<'a, str>,
    /// Where the text is in step with the bytes again: places in both.
    steps: Vec<(usize, usize)>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut steps = Vec::new();
        if let Ok(text) = std::str::from_utf8(bytes) {
            let text = Cow::Borrowed(text);
            return Self { bytes, text, steps };
        }
        let (mut text, mut at) = (String::with_capacity(bytes.len()), 0);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push('\u{FFFD}');
                steps.push((text.len(), at));
            }
        }
        let text = Cow::Owned(text);
        Self { bytes, text, steps }
    }

    /// The length of the text searched.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Where a place in the text searched is in the bytes.
    pub(crate) fn place(&self, at: usize) -> usize {
        let step = self.steps.partition_point(|&(text, _)| text <= at);
        match step.checked_sub(1).map(|i| self.steps[i]) {
            Some((text, bytes)) => bytes + (at - text),
            None => at,
        }
    }

    /// The bytes of a range of the text searched.
    fn slice(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[self.place(range.start)..self.place(range.end)]
    }
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Regex {
    engine: fancy_regex::Regex,
    pattern: String,
    /// The same, but for empty matches; made when needed, `None` if there are no others.
    filled: OnceLock<Option<fancy_regex::Regex>>,
    /// The engine's groups that stand for each group; group 0 is the match.
    groups: Vec<Vec<usize>>,
    names: HashMap<String, usize>,
}

/// A match: where each group is, in the text searched.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) groups: Vec<Option<Range<usize>>>,
}

impl Match {
    /// Where the whole is.
    pub(crate) fn whole(&self) -> Range<usize> {
        self.groups[0].clone().unwrap_or_default()
    }
}

fn builder(pattern: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.backtrack_limit(MOST_BACKTRACKS);
    builder
}

impl Regex {
    /// # Errors
    /// When the pattern is wrong or has what is not supported.
    pub(crate) fn new(pattern: &[u8]) -> Result<Self, RegexError> {
        let pattern = std::str::from_utf8(pattern)
            .map_err(|_| RegexError::Pattern("is not UTF-8".to_owned()))?;
        let translated = translate::translate(pattern)?;
        let engine = builder(&translated.pattern).build();
        let engine = engine.map_err(|e| RegexError::Pattern(format!("`{pattern}`: {e}")))?;
        Ok(Self {
            engine,
            pattern: translated.pattern,
            filled: OnceLock::new(),
            groups: translated.groups,
            names: translated.names,
        })
    }

    /// The first match at or after a place in the text searched.
    ///
    /// # Errors
    /// When the search goes back too often.
    pub(crate) fn find(
        &self,
        subject: &Subject<'_>,
        from: usize,
    ) -> Result<Option<Range<usize>>, RegexError> {
        let found = self.engine.find_from_pos(&*subject.text, from);
        Ok(found.map_err(|_| RegexError::Limit)?.map(|m| m.range()))
    }

    /// The first match at or after a place, with its groups.
    ///
    /// # Errors
    /// When the search goes back too often.
    pub(crate) fn captures(
        &self,
        subject: &Subject<'_>,
        from: usize,
    ) -> Result<Option<Match>, RegexError> {
        let found = self.engine.captures_from_pos(&*subject.text, from);
        let found = found.map_err(|_| RegexError::Limit)?;
        Ok(found.map(|captures| self.matched(&captures)))
    }

    /// A match at just this place that is not empty.
    fn filled_at(&self, subject: &Subject<'_>, at: usize) -> Result<Option<Match>, RegexError> {
        let engine = self
            .filled
            .get_or_init(|| builder(&self.pattern).find_not_empty(true).build().ok());
        let Some(engine) = engine else {
            return Ok(None);
        };
        let input = RegexInput::new(&*subject.text).from_pos(at).anchored(true);
        let found = engine.captures_input(input);
        let found = found.map_err(|_| RegexError::Limit)?;
        Ok(found.map(|captures| self.matched(&captures)))
    }

    fn matched(&self, captures: &fancy_regex::Captures<'_, str>) -> Match {
        let group = |engine: &Vec<usize>| {
            let mut taking_part = engine.iter().filter_map(|&i| captures.get(i));
            taking_part.next().map(|m| m.range())
        };
        Match {
            groups: self.groups.iter().map(group).collect(),
        }
    }

    /// Adds the subject with its first match, or all, replaced.
    ///
    /// The subject stays as it is where the replacement asks for a group that there is none of,
    /// or that takes no part in a match.
    ///
    /// # Errors
    /// When a search goes back too often.
    pub(crate) fn replace(
        &self,
        bytes: &[u8],
        replacement: &[u8],
        all: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), RegexError> {
        let subject = Subject::new(bytes);
        let first = out.len();
        let Some(mut found) = self.captures(&subject, 0)? else {
            out.extend_from_slice(bytes);
            return Ok(());
        };
        let Some(parts) = self.parts(replacement) else {
            out.extend_from_slice(bytes);
            return Ok(());
        };
        let mut end = 0;
        loop {
            let whole = found.whole();
            out.extend_from_slice(subject.slice(end..whole.start));
            for part in &parts {
                let text = match *part {
                    Part::Text(text) => text,
                    Part::Group(group) => match found.groups[group].clone() {
                        Some(range) => subject.slice(range),
                        None => {
                            out.truncate(first);
                            out.extend_from_slice(bytes);
                            return Ok(());
                        }
                    },
                };
                out.extend_from_slice(text);
            }
            end = whole.end;
            if !all {
                break;
            }
            match self.following(&subject, &whole)? {
                Some(next) => found = next,
                None => break,
            }
        }
        out.extend_from_slice(subject.slice(end..subject.len()));
        Ok(())
    }

    /// The match after another. After an empty one comes what is not empty at the same place, or
    /// whatever is one character on.
    fn following(
        &self,
        subject: &Subject<'_>,
        last: &Range<usize>,
    ) -> Result<Option<Match>, RegexError> {
        if !last.is_empty() {
            return self.captures(subject, last.end);
        }
        if let Some(found) = self.filled_at(subject, last.end)? {
            return Ok(Some(found));
        }
        match subject.text[last.end..].chars().next() {
            Some(c) => self.captures(subject, last.end + c.len_utf8()),
            None => Ok(None),
        }
    }

    /// A replacement taken apart: `$$` is a dollar, `$1`, `${1}`, `$name` and `${name}` are
    /// groups. `None` if it is not well formed, or has groups that there are none of.
    fn parts<'r>(&self, replacement: &'r [u8]) -> Option<Vec<Part<'r>>> {
        let mut parts = Vec::new();
        let mut rest = replacement;
        while let Some(dollar) = rest.iter().position(|&b| b == b'$') {
            parts.push(Part::Text(&rest[..dollar]));
            rest = &rest[dollar + 1..];
            if let Some(tail) = rest.strip_prefix(b"$") {
                parts.push(Part::Text(b"$"));
                rest = tail;
                continue;
            }
            let braced = rest.strip_prefix(b"{");
            rest = braced.unwrap_or(rest);
            let digits = rest.first()?.is_ascii_digit();
            let in_name = |b: &u8| {
                if digits {
                    b.is_ascii_digit()
                } else {
                    b.is_ascii_alphanumeric() || *b == b'_'
                }
            };
            let length = rest.iter().take_while(|b| in_name(b)).count();
            let name = std::str::from_utf8(&rest[..length]).ok()?;
            let group = if digits {
                name.parse().ok()?
            } else {
                *self.names.get(name)?
            };
            if group >= self.groups.len() {
                return None;
            }
            parts.push(Part::Group(group));
            rest = &rest[length..];
            if braced.is_some() {
                rest = rest.strip_prefix(b"}")?;
            }
        }
        parts.push(Part::Text(rest));
        Some(parts)
    }
}

/// A part of a replacement.
enum Part<'r> {
    Text(&'r [u8]),
    Group(usize),
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
