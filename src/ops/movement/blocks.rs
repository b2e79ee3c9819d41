//! What BatchToSpace and SpaceToBatch, DepthToSpace and SpaceToDepth share: blocks of axes.

use serde::{Deserialize, Serialize};

use super::pad::pads;
use crate::op::size::between;
use crate::op::{Input, OpError, bail, ensure};
use crate::tensor::{Dimension, Few, PartialShape, ValueRange};

/// The interval of a size. Beyond what tensors have, sizes are not told apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) min: i128,
    pub(super) max: i128,
}

/// No bound.
const NO_BOUND: i128 = 1 << 100;

impl Span {
    pub(super) const ONE: Self = Self { min: 1, max: 1 };

    pub(super) fn of(size: Dimension) -> Self {
        Self {
            min: size.min() as i128,
            max: size.max().map_or(NO_BOUND, |max| max as i128),
        }
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self {
            min: (self.min + other.min).min(NO_BOUND),
            max: (self.max + other.max).min(NO_BOUND),
        }
    }

    /// The difference, as far as it is no less than 0.
    pub(super) fn subtract(self, other: Self) -> Self {
        let max = match self.max {
            NO_BOUND => NO_BOUND,
            max => max - other.min,
        };
        Self {
            min: (self.min - other.max).max(0),
            max,
        }
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min).min(NO_BOUND),
            max: self.max.saturating_mul(other.max).min(NO_BOUND),
        }
    }

    /// The quotients without a rest of divisors that are not 0; empty if there is none.
    pub(super) fn divide(self, other: Self) -> Self {
        let min = self.min / other.max + i128::from(self.min % other.max != 0);
        let max = match self.max {
            NO_BOUND => NO_BOUND,
            max => max / other.min,
        };
        Self { min, max }
    }

    pub(super) fn dimension(self) -> Result<Dimension, OpError> {
        between(self.min, (self.max < NO_BOUND).then_some(self.max))
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min, max: NO_BOUND } => write!(f, "{min}.."),
            Self { min, max } => write!(f, "{min}..{max}"),
        }
    }
}

/// How an axis is divided into blocks: the size of blocks, and what is taken off or put on at the
/// ends of the axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    pub(super) block: Span,
    pub(super) begin: Span,
    pub(super) end: Span,
}

impl Division {
    /// Whether the axis is left as it is.
    pub(super) fn is_none(self) -> bool {
        self.block == Span::ONE && self.begin.max == 0 && self.end.max == 0
    }
}

/// The rank, as far as it is known, and what is known of the blocks of all axes: inputs 1 to 3.
pub(super) fn divisions(
    inputs: &[Input<'_>; 4],
    names: [&str; 3],
) -> Result<(Option<usize>, Option<Vec<Division>>), OpError> {
    let [data, lists @ ..] = inputs;
    let mut rank = data.rank();
    ensure!(
        rank.is_none_or(|rank| rank >= 2),
        "data must have at least 2 dimensions, got shape {}",
        data.shape
    );
    for (list, name) in lists.iter().zip(names) {
        if let Some(list) = pads(list, name, rank)? {
            rank = Some(list.len());
        }
    }
    let Some(count) = rank else {
        return Ok((None, None));
    };
    ensure!(
        count >= 2,
        "data must have at least 2 dimensions, got {count}"
    );
    let mut spans = Vec::new();
    for ((list, name), least) in lists.iter().zip(names).zip([1, 0, 0]) {
        let list = pads(list, name, rank)?;
        let unknown = ValueRange::UNKNOWN;
        for axis in 0..count {
            let range = list.as_ref().map_or(unknown, |list| list[axis]);
            spans.push(span(range, name, axis, least)?);
        }
    }
    let division = |axis: usize| Division {
        block: spans[axis],
        begin: spans[count + axis],
        end: spans[2 * count + axis],
    };
    Ok((rank, Some((0..count).map(division).collect())))
}

/// What is known of an element of a list, of which the first always is the least.
fn span(range: ValueRange, name: &str, axis: usize, least: i64) -> Result<Span, OpError> {
    ensure!(
        range.max >= least,
        "{name} of axis {axis} is {}, expected {least} or more",
        range.max
    );
    ensure!(
        axis > 0 || range.min <= least,
        "{name} of axis 0 is {}, expected {least}",
        range.min
    );
    Ok(Span {
        min: range.min.max(least).into(),
        max: match range.max {
            _ if axis == 0 => least.into(),
            i64::MAX => NO_BOUND,
            max => max.into(),
        },
    })
}

/// The exact values of inputs 1 to 3, for evaluation.
pub(super) fn exact(inputs: &[&crate::tensor::Tensor]) -> Result<[Few<usize>; 3], OpError> {
    let mut lists = [Few::new(), Few::new(), Few::new()];
    for (list, tensor) in lists.iter_mut().zip(&inputs[1..]) {
        let values = Input::of(tensor).ints().unwrap_or_default();
        let values = values.into_iter().map(usize::try_from);
        match values.collect() {
            Ok(values) => *list = values,
            Err(_) => bail!("sizes and numbers of elements must not be negative"),
        }
    }
    Ok(lists)
}

/// How the depth is put together of blocks and the depth outside of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// Blocks before the depth.
    BlocksFirst,
    /// The depth before blocks.
    DepthFirst,
}

/// Size and number of elements of blocks of data of shape `[N, C, D1, …, DK]`.
pub(super) struct Block {
    pub(super) side: Span,
    pub(super) elements: Span,
}

/// Checks the data of DepthToSpace and SpaceToDepth; `None` while the rank is not known.
pub(super) fn block(data: &Input<'_>, block_size: i64) -> Result<Option<Block>, OpError> {
    ensure!(
        block_size >= 1,
        "block_size is {block_size}, expected at least 1"
    );
    let Some(rank) = data.rank() else {
        return Ok(None);
    };
    ensure!(
        rank >= 3,
        "data must have at least 3 dimensions, got shape {}",
        data.shape
    );
    let side = Span {
        min: block_size.into(),
        max: block_size.into(),
    };
    let elements = (2..rank).fold(Span::ONE, |all, _| all.multiply(side));
    Ok(Some(Block { side, elements }))
}

/// The size of an axis that is cut into `parts`.
pub(super) fn cut(axis: usize, size: Dimension, parts: Span) -> Result<Dimension, OpError> {
    if parts == Span::ONE {
        return Ok(size);
    }
    let quotient = Span::of(size).divide(parts);
    ensure!(
        quotient.min <= quotient.max,
        "axis {axis} of size {size} cannot be divided by {}",
        parts.min
    );
    quotient.dimension()
}

/// The size of an axis that becomes `times` as long.
pub(super) fn grow(size: Dimension, times: Span) -> Result<Dimension, OpError> {
    if times == Span::ONE {
        return Ok(size);
    }
    Span::of(size).multiply(times).dimension()
}

/// A shape of known dimensions, or of a known rank.
pub(super) fn shape_of(rank: Option<usize>) -> PartialShape {
    rank.map_or(PartialShape::dynamic(), PartialShape::of_rank)
}
