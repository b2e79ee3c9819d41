//! Strings taken apart: where each begins and ends in a row of symbols.
//!
//! A string tensor is then three tensors: begins, ends and symbols (bytes). A ragged one has two
//! more in front, the strings at which each row begins and ends. Nothing promises that the
//! parts fit together, so every range is checked, and what ranges that overlap could make of a
//! small file is limited.

use std::ops::Range;

use crate::kernel::scratch::{try_append, try_collect_ok, try_push};
use crate::op::{Input, OpError, Output, bail, ensure};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, PartialShape, Shape, Tensor};

/// How many bytes overlapping ranges may stand for.
const MOST_BYTES: usize = 1 << 31;

/// Checks that an input has this type, or none yet.
pub(crate) fn expect_type(input: &Input<'_>, ty: ElementType, what: &str) -> Result<(), OpError> {
    let found = input.element_type;
    ensure!(
        found == ty || !found.is_static(),
        "{what} must be {ty}, got {found}"
    );
    Ok(())
}

/// Checks the types and shapes of ranges (begins and ends).
///
/// # Errors
/// When they do not belong together; `what` names the things that begin and end.
pub(crate) fn expect_ranges(
    begins: &Input<'_>,
    ends: &Input<'_>,
    types: &[ElementType],
    what: &str,
) -> Result<(), OpError> {
    for (input, side) in [(begins, "begins"), (ends, "ends")] {
        let found = input.element_type;
        if found.is_static() && !types.contains(&found) {
            let types: Vec<_> = types.iter().map(ToString::to_string).collect();
            bail!(
                "{side} of {what} must be {}, got {found}",
                types.join(" or ")
            );
        }
    }
    // Files have a scalar beside a single element.
    ensure!(
        begins.shape.elements().compatible(ends.shape.elements()),
        "begins and ends of {what} must be as many, got shapes {} and {}",
        begins.shape,
        ends.shape
    );
    Ok(())
}

/// Checks that an input is a 1-D tensor of bytes.
pub(crate) fn expect_bytes(input: &Input<'_>, what: &str) -> Result<(), OpError> {
    expect_type(input, ElementType::U8, what)?;
    input.expect_1d(what)
}

/// The ranges of a pair of tensors, checked against the number of things there are.
///
/// # Errors
/// When one begins after its end, or ends after the last.
pub(crate) fn ranges(
    begins: &Tensor,
    ends: &Tensor,
    count: usize,
    what: &str,
) -> Result<Vec<Range<usize>>, OpError> {
    ensure!(
        begins.len() == ends.len(),
        "{} begins and {} ends of {what}",
        begins.len(),
        ends.len()
    );
    let (begins, ends) = (indices(begins)?, indices(ends)?);
    let (begins, ends) = (begins.as_slice::<i64>()?, ends.as_slice::<i64>()?);
    let pairs = begins.iter().zip(ends).enumerate();
    let pairs = pairs.map(
        |(i, (&begin, &end))| match (begin.try_into(), end.try_into()) {
            (Ok(begin), Ok(end)) if begin <= end && end <= count => Ok(begin..end),
            _ => Err(OpError::new(format!(
                "{what} {i} are at {begin} to {end}, expected a range within 0 to {count}"
            ))),
        },
    );
    try_collect_ok(pairs)
}

fn indices(tensor: &Tensor) -> Result<Tensor, OpError> {
    Ok(convert(tensor, ElementType::I64)?)
}

/// The shape of a 1-D tensor of any length.
fn line() -> PartialShape {
    PartialShape::of_rank(1)
}

/// Strings of any shape.
#[derive(Debug)]
pub(crate) struct Strings<'a> {
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) symbols: &'a [u8],
}

impl<'a> Strings<'a> {
    /// How many inputs or outputs they are.
    #[cfg(feature = "tokenizers")]
    pub(crate) const PARTS: usize = 3;

    #[cfg(feature = "tokenizers")]
    /// Checks the types and shapes of the three inputs at `at`; there are that many.
    pub(crate) fn expect(inputs: &[Input<'_>], at: usize, what: &str) -> Result<(), OpError> {
        expect_ranges(&inputs[at], &inputs[at + 1], &[ElementType::I32], what)?;
        expect_bytes(&inputs[at + 2], &format!("symbols of {what}"))
    }

    /// What is inferred of strings of this shape.
    pub(crate) fn outputs(shape: &PartialShape) -> [Output; 3] {
        [
            Output::new(ElementType::I32, shape.clone()),
            Output::new(ElementType::I32, shape.clone()),
            Output::new(ElementType::U8, line()),
        ]
    }

    /// The strings of the three inputs at `at`.
    ///
    /// # Errors
    /// When a range is wrong, or together they stand for too much.
    pub(crate) fn of(inputs: &[&'a Tensor], at: usize) -> Result<Self, OpError> {
        let symbols = inputs[at + 2].as_slice::<u8>()?;
        let spans = ranges(
            inputs[at],
            inputs[at + 1],
            symbols.len(),
            "symbols of string",
        )?;
        let bytes = spans
            .iter()
            .fold(0usize, |sum, s| sum.saturating_add(s.len()));
        limit_bytes(bytes, symbols.len())?;
        Ok(Self { spans, symbols })
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn get(&self, index: usize) -> &'a [u8] {
        &self.symbols[self.spans[index].clone()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

pub(crate) fn limit_bytes(bytes: usize, symbols: usize) -> Result<(), OpError> {
    if bytes > symbols.max(MOST_BYTES) {
        let message = format!("overlapping strings of {bytes} bytes, the limit is {MOST_BYTES}");
        return Err(OpError::limit(message));
    }
    Ok(())
}

/// Strings being made, one after another.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    begins: Vec<i32>,
    ends: Vec<i32>,
    symbols: Vec<u8>,
}

impl Packed {
    /// Where the next string begins.
    ///
    /// # Errors
    /// When there are more symbols than indices.
    fn end(&self) -> Result<i32, OpError> {
        let end = i32::try_from(self.symbols.len());
        end.map_err(|_| OpError::limit("the strings have more symbols than i32 can count"))
    }

    /// Adds a string; `write` appends its symbols.
    ///
    /// # Errors
    /// When there are more symbols than indices, or `write` fails.
    pub(crate) fn push_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let begin = self.end()?;
        try_push(&mut self.begins, begin)?;
        write(&mut self.symbols)?;
        let end = self.end()?;
        try_push(&mut self.ends, end)
    }

    /// Adds a string.
    ///
    /// # Errors
    /// When there are more symbols than indices.
    pub(crate) fn push(&mut self, string: &[u8]) -> Result<(), OpError> {
        self.push_with(|symbols| try_append(symbols, string))
    }

    /// Begins, ends and symbols of a tensor of strings.
    ///
    /// # Errors
    /// When the shape has another number of elements.
    pub(crate) fn into_tensors(self, shape: &Shape) -> Result<[Tensor; 3], OpError> {
        Ok([
            Tensor::new(shape.clone(), &self.begins)?,
            Tensor::new(shape.clone(), &self.ends)?,
            Tensor::new([self.symbols.len()], &self.symbols)?,
        ])
    }
}
