//! RegexSplit: splits each string at what an expression matches.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/regex_split.cpp>

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::pattern::{compile, expect_pattern, failed};
use super::ragged::{RaggedStrings, Rows, expect_inputs, skips};
use crate::kernel::scratch::{try_collect, try_collect_ok, try_extend, try_push};
use crate::kernel::tokenizer::regex::{Regex, Subject};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::strings::{Strings, expect_type};
use crate::tensor::{ElementType, PartialShape, Tensor};

/// What becomes of the matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Behaviour {
    /// They are dropped.
    #[default]
    Remove,
    /// Each is a piece.
    Isolate,
    /// Matches side by side are one piece.
    Contiguous,
    /// They end the piece before them.
    MergedWithPrevious,
    /// They begin the piece after them.
    MergedWithNext,
}

/// Strings in pieces.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RegexSplit {
    behaviour: Behaviour,
    /// Matches and what is between them change places.
    invert: bool,
    max_splits: i32,
    #[serde(skip)]
    compiled: Cache<Regex>,
}

impl Default for RegexSplit {
    fn default() -> Self {
        Self {
            behaviour: Behaviour::default(),
            invert: false,
            max_splits: -1,
            compiled: Cache::default(),
        }
    }
}

/// The pieces of one string.
struct Pieces<'o> {
    behaviour: Behaviour,
    max_splits: i32,
    /// The length of the string.
    length: usize,
    /// Where the piece begins that a match belongs to.
    begin: Option<usize>,
    count: i32,
    out: &'o mut Vec<Range<usize>>,
}

impl Pieces<'_> {
    /// Takes what lies between matches, or a match (`delimiter`).
    ///
    /// Pieces merged with matches, and those after the last of `max_splits`, overlap in some
    /// cases: so they do in the real runtime.
    fn add(&mut self, range: Range<usize>, delimiter: bool) {
        let mut range = range;
        match (self.behaviour, delimiter) {
            (Behaviour::Remove, true) => return,
            (Behaviour::MergedWithPrevious, false) if range.end != self.length => {
                self.begin = Some(range.start);
                return;
            }
            (Behaviour::MergedWithPrevious, true) => range.start = self.begin.unwrap_or(0),
            (Behaviour::MergedWithNext, true) => {
                self.begin = Some(range.start);
                return;
            }
            (Behaviour::MergedWithNext, false) => range.start = self.begin.unwrap_or(range.start),
            _ => {}
        }
        if self.count == self.max_splits {
            range.end = self.length;
        }
        self.count = self.count.saturating_add(1);
        self.out.push(range);
    }
}

impl RegexSplit {
    fn regex(&self, pattern: &Tensor) -> Result<std::sync::Arc<Regex>, OpError> {
        self.compiled.get(&[pattern], || {
            let pattern = pattern.as_slice::<u8>()?;
            if self.behaviour == Behaviour::Contiguous && !pattern.ends_with(b"+") {
                return compile(&[b"(", pattern, b")+"].concat());
            }
            compile(pattern)
        })
    }

    /// Adds the pieces of a string.
    fn split(
        &self,
        regex: &Regex,
        string: &[u8],
        out: &mut Vec<Range<usize>>,
    ) -> Result<(), OpError> {
        let subject = Subject::new(string);
        let length = subject.len();
        let first = out.len();
        let mut pieces = Pieces {
            behaviour: self.behaviour,
            max_splits: self.max_splits,
            length,
            begin: None,
            count: 0,
            out,
        };
        let mut at = 0;
        while let Some(found) = regex.find(&subject, at).map_err(failed)? {
            // An empty match ends it all.
            if found.is_empty() {
                break;
            }
            if found.start != at {
                pieces.add(at..found.start, self.invert);
            }
            at = found.end;
            pieces.add(found, !self.invert);
        }
        if at < length {
            pieces.add(at..length, self.invert);
        } else if self.behaviour == Behaviour::MergedWithNext && pieces.begin != Some(length) {
            let begin = pieces.begin.unwrap_or(0);
            pieces.add(begin..length, self.invert);
        }
        for piece in &mut out[first..] {
            *piece = subject.place(piece.start)..subject.place(piece.end);
        }
        Ok(())
    }
}

/// Where the strings begin that are never split, in the form of old files: three inputs.
const OLD_SKIPS: usize = 6;

impl Op for RegexSplit {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let what = "rows of strings, perhaps what to skip, pattern";
        expect_inputs(inputs, &[6, 7, 9], what)?;
        ensure!(
            self.max_splits == -1 || self.max_splits > 0,
            "max_splits is {}, expected -1 or more than 0",
            self.max_splits
        );
        RaggedStrings::expect(inputs)?;
        let skipping = inputs.len() == 7;
        expect_pattern(&inputs[5 + usize::from(skipping)], "the pattern")?;
        let mut outputs: Outputs = RaggedStrings::outputs(&inputs[0]).collect();
        outputs[4].shape = inputs[4].shape.clone().into_owned();
        if skipping {
            expect_type(&inputs[5], ElementType::Boolean, "what to skip")?;
            outputs.push(Output::new(ElementType::Boolean, PartialShape::of_rank(1)));
        }
        if inputs.len() == 9 {
            Strings::expect(inputs, OLD_SKIPS, "strings to skip")?;
        }
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let text = RaggedStrings::of(io.inputs)?;
        let skipping = io.inputs.len() == 7;
        if text.strings.symbols.is_empty() {
            // No string has a piece, but the strings stay.
            let none = Tensor::zeros(ElementType::I32, io.inputs[0].shape().clone())?;
            io.outputs[0] = none.clone();
            io.outputs[1] = none;
            for i in 2..5 + usize::from(skipping) {
                io.outputs[i] = io.inputs[i].clone();
            }
            return Ok(());
        }
        let count = text.strings.len();
        let flags = io.inputs.get(5).filter(|_| skipping);
        let flags = flags.map(|flags| skips(flags, count)).transpose()?;
        let whole: HashSet<&[u8]> = match io.inputs.len() {
            9 => Strings::of(io.inputs, OLD_SKIPS)?.iter().collect(),
            _ => HashSet::new(),
        };
        let regex = self.regex(io.inputs[5 + usize::from(skipping)])?;
        let mut rows = Rows::default();
        let mut pieces = Vec::new();
        for row in text.rows {
            for i in row {
                let (span, string) = (&text.strings.spans[i], text.strings.get(i));
                let skipped = flags.is_some_and(|flags| flags[i]);
                if skipped || whole.contains(string) {
                    try_push(&mut rows.elements, (span.clone(), skipped))?;
                    continue;
                }
                pieces.clear();
                self.split(&regex, string, &mut pieces)?;
                let placed = pieces
                    .iter()
                    .map(|p| span.start + p.start..span.start + p.end);
                try_extend(&mut rows.elements, placed.map(|piece| (piece, false)))?;
            }
            rows.end()?;
        }
        put(io, rows)
    }
}

/// Puts rows of pieces and whether to skip them, the latter if there is an output for it.
pub(super) fn put(io: Io<'_>, rows: Rows<(Range<usize>, bool)>) -> Result<(), OpError> {
    let (begins, ends, pieces) = rows.into_parts(io.inputs[0].shape())?;
    let side = |place: fn(&Range<usize>) -> usize| {
        let places = pieces
            .iter()
            .map(|(piece, _)| super::ragged::index(place(piece)));
        let places = try_collect_ok(places)?;
        Ok::<_, OpError>(Tensor::new([places.len()], &places)?)
    };
    io.outputs[0] = begins;
    io.outputs[1] = ends;
    io.outputs[2] = side(|p| p.start)?;
    io.outputs[3] = side(|p| p.end)?;
    io.outputs[4] = io.inputs[4].clone();
    if let Some(output) = io.outputs.get_mut(5) {
        let skipped = try_collect(pieces.iter().map(|&(_, skipped)| skipped))?;
        *output = Tensor::new([skipped.len()], &skipped)?;
    }
    Ok(())
}
