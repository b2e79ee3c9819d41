//! Reshape-1: the same elements under another shape.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/shape/reshape-1.html>

use serde::{Deserialize, Serialize};

use crate::op::{Input, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, PartialShape, ValueRange};

/// The same elements under another shape; with `special_zero`, a 0 stands for the data's
/// dimension at the same place.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Reshape {
    special_zero: bool,
}

/// What an element of the target shape says.
#[derive(Debug, Clone, Copy)]
enum Item {
    /// A size.
    Size(Dimension),
    /// The size of the data at the same place.
    Copied(Dimension),
    /// What the other dimensions leave: -1.
    Rest,
    /// A size, or -1.
    Open,
}

impl Reshape {
    fn item(
        &self,
        position: usize,
        range: ValueRange,
        data: Option<&[Dimension]>,
    ) -> Result<Item, OpError> {
        if range.value() == Some(-1) {
            return Ok(Item::Rest);
        }
        ensure!(
            range.max >= -1,
            "element {position} of the target shape is {}, expected -1 or a size",
            range.max
        );
        if range.min < 0 {
            return Ok(Item::Open);
        }
        let size = range.to_dimension();
        if !self.special_zero || !size.contains(0) {
            return Ok(Item::Size(size));
        }
        let copied = match data {
            None => Dimension::dynamic(),
            Some(data) => match data.get(position) {
                Some(&dim) => dim,
                // A 0 has nothing to copy here, so if it is not certain, it is none.
                None => {
                    ensure!(
                        size.max() != Some(0),
                        "element {position} of the target shape is 0, but the data has rank {}",
                        data.len()
                    );
                    let some = Dimension::range(1, size.max());
                    return Ok(Item::Size(some.with_symbol(size.symbol())));
                }
            },
        };
        Ok(match size.value() {
            Some(_) if data.is_some() => Item::Copied(copied),
            _ => Item::Size(size.union(copied)),
        })
    }

    fn shape(&self, data: &PartialShape, target: &[ValueRange]) -> Result<PartialShape, OpError> {
        let mut items = target
            .iter()
            .enumerate()
            .map(|(i, &range)| self.item(i, range, data.dims()))
            .collect::<Result<Vec<_>, _>>()?;
        let rests = items.iter().filter(|i| matches!(i, Item::Rest)).count();
        ensure!(
            rests <= 1,
            "the target shape holds -1 {rests} times, expected at most once"
        );
        if rests == 1 {
            // There is but one -1, so the others are sizes.
            for (item, range) in items.iter_mut().zip(target) {
                if matches!(item, Item::Open) {
                    let sizes = ValueRange { min: 0, ..*range };
                    *item = Item::Size(Dimension::dynamic());
                    if !self.special_zero {
                        *item = Item::Size(sizes.to_dimension());
                    }
                }
            }
        }
        let dims = match data.dims() {
            Some(data) => fill(data, &items)?,
            None => items.iter().map(|item| known(*item)).collect(),
        };
        let shape: PartialShape = dims.into_iter().collect();
        ensure!(
            data.elements().compatible(shape.elements()),
            "data of shape {data} has {} elements, shape {shape} {}",
            data.elements(),
            shape.elements()
        );
        Ok(shape)
    }
}

fn known(item: Item) -> Dimension {
    match item {
        Item::Size(dim) | Item::Copied(dim) => dim,
        Item::Rest | Item::Open => Dimension::dynamic(),
    }
}

/// The dimensions of the output, with what follows from the number of elements.
fn fill(data: &[Dimension], items: &[Item]) -> Result<Vec<Dimension>, OpError> {
    let mut dims: Vec<Dimension> = items.iter().map(|item| known(*item)).collect();
    // The only dimension that is not known follows from the others.
    let rest = items.iter().position(|item| matches!(item, Item::Rest));
    let mut open =
        (0..dims.len()).filter(|&i| !dims[i].is_static() && !matches!(items[i], Item::Copied(_)));
    let (place, certain) = match (rest, open.next(), open.next()) {
        (Some(rest), ..) => (rest, true),
        (None, Some(only), None) => (only, false),
        _ => return Ok(dims),
    };
    let others = (0..dims.len()).filter(|&i| i != place);
    // Where the others have no elements, any size would do; only -1 has a definite one.
    if !certain && others.clone().any(|i| dims[i].min() == 0) {
        return Ok(dims);
    }
    let copied = |i: &usize| matches!(items.get(*i), Some(Item::Copied(_)));
    let from = (0..data.len())
        .filter(|i| !copied(i))
        .map(|i| data[i])
        .collect();
    let to = others.filter(|i| !copied(i)).map(|i| dims[i]).collect();
    let found = divide(from, to)?;
    if certain || matches!(items[place], Item::Open) {
        dims[place] = found;
    } else if let Some(both) = dims[place].intersect(found) {
        dims[place] = both;
    } else {
        bail!(
            "dimension {place} of the target is {}, the other dimensions leave {found}",
            dims[place]
        );
    }
    Ok(dims)
}

/// The product of `from` divided by that of `to`.
///
/// Dimensions on both sides that are the same cancel first, even if they are 0: so what an
/// unknown size gives holds for every size, and `[0,2,3]` to `[0,-1]` gives 6.
fn divide(mut from: Vec<Dimension>, to: Vec<Dimension>) -> Result<Dimension, OpError> {
    let mut maybe_empty = false;
    let to: Vec<Dimension> = to
        .into_iter()
        .filter(|&dim| {
            let twin = from.iter().position(|other| other.is_same(dim));
            if let Some(twin) = twin {
                from.swap_remove(twin);
                maybe_empty |= dim.contains(0);
            }
            twin.is_none()
        })
        .collect();
    let product = |dims: &[Dimension], fixed: bool| {
        dims.iter()
            .filter(|dim| dim.is_static() == fixed)
            .fold(Dimension::fixed(1), |n, &dim| n * dim)
    };
    let (some, over) = (product(&from, false), product(&to, false));
    let (times, by) = (product(&from, true), product(&to, true));
    if times.is_too_large() || by.is_too_large() {
        return Err(OpError::limit(
            "the product of the dimensions is too large to divide",
        ));
    }
    let (mut times, mut by) = (times.min(), by.min());
    let common = gcd(times, by).max(1);
    times /= common;
    by /= common;
    let unknown = from.iter().chain(&to).any(|dim| !dim.is_static());
    if by == 1 && to.iter().all(|dim| dim.is_static()) {
        return Ok(some * Dimension::fixed(times));
    }
    if !unknown {
        // No size makes both sides equal, unless both are empty: then any does.
        ensure!(
            maybe_empty || (by == 0 && times == 0),
            "-1 has no size: {} elements cannot be divided by {}",
            times.saturating_mul(common),
            by.saturating_mul(common)
        );
        return Ok(Dimension::fixed(1));
    }
    let (from, to) = (some * Dimension::fixed(times), over * Dimension::fixed(by));
    if to.min() == 0 || maybe_empty {
        return Ok(Dimension::dynamic());
    }
    let least = to.max().map_or(0, |to| from.min().div_ceil(to));
    Ok(Dimension::range(
        least,
        from.max().map(|from| from / to.min()),
    ))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Op for Reshape {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, target] = inputs else {
            bail!("expected 2 inputs (data, shape), got {}", inputs.len());
        };
        let count = target.rank_given("the target shape")?;
        let shape = match (target.few_ranges(), count) {
            (Some(ranges), _) => self.shape(&data.shape, &ranges)?,
            (None, Some(count)) => self.shape(&data.shape, &vec![ValueRange::UNKNOWN; count])?,
            (None, None) => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
#[path = "reshape_tests.rs"]
mod tests;
