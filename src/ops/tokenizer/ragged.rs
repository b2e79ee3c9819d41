//! Rows of different lengths: where each begins and ends among the elements.

use std::ops::Range;

use crate::kernel::scratch::{try_push, try_room};
use crate::op::{Input, OpError, Output, bail, ensure};
use crate::ops::strings::{Strings, expect_ranges, ranges};
use crate::tensor::{ElementType, PartialShape, Shape, Tensor};

/// How many elements rows that overlap may have together.
const MOST_ELEMENTS: usize = 1 << 28;

/// Checks the number of inputs; `what` names them.
pub(super) fn expect_inputs(
    inputs: &[Input<'_>],
    counts: &[usize],
    what: &str,
) -> Result<(), OpError> {
    let found = inputs.len();
    if !counts.contains(&found) {
        let counts: Vec<_> = counts.iter().map(ToString::to_string).collect();
        bail!(
            "expected {} inputs ({what}), got {found}",
            counts.join(" or ")
        );
    }
    Ok(())
}

/// Checks the begins and ends of rows at `at`.
pub(super) fn expect_rows(inputs: &[Input<'_>], at: usize) -> Result<(), OpError> {
    expect_ranges(&inputs[at], &inputs[at + 1], &[ElementType::I32], "rows")
}

/// A 1-D tensor of any length.
pub(super) fn line(ty: ElementType) -> Output {
    Output::new(ty, PartialShape::of_rank(1))
}

/// Begins and ends of the shape of an input.
pub(super) fn row_outputs(begins: &Input<'_>) -> [Output; 2] {
    let side = || Output::new(ElementType::I32, begins.shape.clone().into_owned());
    [side(), side()]
}

/// The rows of the two inputs at `at`, of `count` elements.
///
/// # Errors
/// When a range is wrong, or together they have too many elements.
pub(super) fn rows(
    inputs: &[&Tensor],
    at: usize,
    count: usize,
) -> Result<Vec<Range<usize>>, OpError> {
    let rows = ranges(inputs[at], inputs[at + 1], count, "elements of row")?;
    let all = rows
        .iter()
        .fold(0usize, |sum, row| sum.saturating_add(row.len()));
    if all > count {
        limit_elements(all)?;
    }
    Ok(rows)
}

/// Limits what rows that overlap may have together.
pub(super) fn limit_elements(count: usize) -> Result<(), OpError> {
    if count > MOST_ELEMENTS {
        let message = format!("rows of {count} elements, the limit is {MOST_ELEMENTS}");
        return Err(OpError::limit(message));
    }
    Ok(())
}

/// A number of elements as an index.
pub(super) fn index(count: usize) -> Result<i32, OpError> {
    i32::try_from(count).map_err(|_| OpError::limit("there are more elements than i32 can count"))
}

/// Rows of strings: the five inputs at 0.
#[derive(Debug)]
pub(super) struct RaggedStrings<'a> {
    pub(super) rows: Vec<Range<usize>>,
    pub(super) strings: Strings<'a>,
}

impl<'a> RaggedStrings<'a> {
    /// How many inputs or outputs they are.
    pub(super) const PARTS: usize = 2 + Strings::PARTS;

    /// Checks the types and shapes of the inputs; there are that many.
    pub(super) fn expect(inputs: &[Input<'_>]) -> Result<(), OpError> {
        expect_rows(inputs, 0)?;
        Strings::expect(inputs, 2, "strings")
    }

    /// What is inferred of rows like those of the inputs, of any strings.
    pub(super) fn outputs(begins: &Input<'_>) -> impl Iterator<Item = Output> + use<> {
        let strings = Strings::outputs(&PartialShape::of_rank(1));
        row_outputs(begins).into_iter().chain(strings)
    }

    /// # Errors
    /// When ranges are wrong, or together stand for too much.
    pub(super) fn of(inputs: &[&'a Tensor]) -> Result<Self, OpError> {
        let strings = Strings::of(inputs, 2)?;
        let rows = rows(inputs, 0, strings.len())?;
        let mut before = try_room(strings.len() + 1)?;
        let mut bytes = 0usize;
        before.push(0);
        for span in &strings.spans {
            bytes = bytes.saturating_add(span.len());
            before.push(bytes);
        }
        let visited = rows.iter().map(|row| before[row.end] - before[row.start]);
        let visited = visited.fold(0usize, usize::saturating_add);
        crate::ops::strings::limit_bytes(visited, strings.symbols.len())?;
        Ok(Self { rows, strings })
    }
}

/// Rows being made, one after another: `push` what belongs to a row, then `end` it.
#[derive(Debug)]
pub(super) struct Rows<T> {
    begins: Vec<i32>,
    ends: Vec<i32>,
    pub(super) elements: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            begins: Vec::new(),
            ends: Vec::new(),
            elements: Vec::new(),
        }
    }
}

impl<T> Rows<T> {
    /// Ends a row, which began where the last ended.
    ///
    /// # Errors
    /// When there are more elements than indices.
    pub(super) fn end(&mut self) -> Result<(), OpError> {
        let begin = self.ends.last().copied().unwrap_or(0);
        try_push(&mut self.begins, begin)?;
        try_push(&mut self.ends, index(self.elements.len())?)
    }

    /// Begins and ends, and the elements.
    ///
    /// # Errors
    /// When the shape has another number of rows.
    pub(super) fn into_parts(self, shape: &Shape) -> Result<(Tensor, Tensor, Vec<T>), OpError> {
        let begins = Tensor::new(shape.clone(), &self.begins)?;
        let ends = Tensor::new(shape.clone(), &self.ends)?;
        Ok((begins, ends, self.elements))
    }
}

/// Which strings are to be left as they are: as many flags as strings.
pub(super) fn skips(tensor: &Tensor, count: usize) -> Result<&[bool], OpError> {
    let skips = tensor.as_slice::<bool>()?;
    ensure!(
        skips.len() == count,
        "{} flags of strings to skip, expected {count}",
        skips.len()
    );
    Ok(skips)
}

/// Encodes every string of every row: the whole evaluation of an operation of a vocabulary.
///
/// # Errors
/// When the inputs are wrong, or `encode` fails.
pub(super) fn encode(
    io: crate::op::Io<'_>,
    mut encode: impl FnMut(&[u8], &mut Vec<i32>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let text = RaggedStrings::of(io.inputs)?;
    let mut ids = Rows::default();
    for row in text.rows {
        for i in row {
            encode(text.strings.get(i), &mut ids.elements)?;
        }
        ids.end()?;
    }
    let (begins, ends, ids) = ids.into_parts(io.inputs[0].shape())?;
    io.outputs
        .clone_from_slice(&[begins, ends, Tensor::new([ids.len()], &ids)?]);
    Ok(())
}

/// What is inferred of [`encode`].
pub(super) fn encoded(begins: &Input<'_>) -> crate::op::Outputs {
    let [begins, ends] = row_outputs(begins);
    smallvec::smallvec![begins, ends, line(ElementType::I32)]
}
