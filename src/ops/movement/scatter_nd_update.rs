//! ScatterNDUpdate-4, -15: slices of the data at tuples of indices replaced by the updates, or
//! combined with them.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-nd-update-15.html>
//!
//! ScatterNDUpdate-4 has no attributes, only overwrites, and refuses negative indices. Updates are
//! applied in their order.

use serde::{Deserialize, Serialize};

use super::indices::{allowed_in, check_reduced, out_of_range};
use crate::kernel::moving::move_elements;
use crate::kernel::scatter;
use crate::kernel::scatter_slices::ScatterSlices;
use crate::kernel::tuples::Tuples;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::{Dimension, PartialShape};

/// How updates are combined with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Reduction {
    #[default]
    None,
    Sum,
    Sub,
    Prod,
    Min,
    Max,
}

impl Reduction {
    fn kernel(self) -> Option<scatter::Reduction> {
        match self {
            Self::None => None,
            Self::Sum => Some(scatter::Reduction::Sum),
            Self::Sub => Some(scatter::Reduction::Sub),
            Self::Prod => Some(scatter::Reduction::Prod),
            // As Python's, which keep the first if there is no less or greater one.
            Self::Min => Some(scatter::Reduction::KeptMin),
            Self::Max => Some(scatter::Reduction::KeptMax),
        }
    }
}

/// Slices replaced, or combined.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ScatterNDUpdate {
    reduction: Reduction,
    /// Whether negative indices count from the end of the axis.
    #[serde(skip)]
    from_end: bool,
}

impl Default for ScatterNDUpdate {
    fn default() -> Self {
        Self {
            reduction: Reduction::None,
            from_end: true,
        }
    }
}

impl ScatterNDUpdate {
    /// ScatterNDUpdate-4.
    pub(super) fn version_4() -> Self {
        Self {
            from_end: false,
            ..Self::default()
        }
    }
}

/// Checks that the updates have the indices' shape but for the tuples, then that of a slice.
fn check_updates(
    data: &[Dimension],
    indices: &[Dimension],
    updates: &PartialShape,
) -> Result<(), OpError> {
    let Some((tuple, places)) = indices.split_last() else {
        bail!("indices are a scalar, expected at least one dimension");
    };
    ensure!(!data.is_empty(), "the data is a scalar, which has no axis");
    ensure!(
        tuple.min() <= data.len(),
        "tuples of {tuple} indices are for more axes than the {} of data",
        data.len()
    );
    let Some(tuple) = tuple.value() else {
        return Ok(());
    };
    let expected: PartialShape = [places, &data[tuple..]].concat().into_iter().collect();
    // One update needs no shape.
    let one = expected.rank() == Some(0) && updates.elements().contains(1);
    ensure!(
        one || expected.compatible(updates),
        "updates have shape {updates}, expected {expected}"
    );
    Ok(())
}

impl Op for ScatterNDUpdate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices, updates] = inputs else {
            bail!(
                "expected 3 inputs (data, indices, updates), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        let ty = merge_types(&[data.clone(), updates.clone()])?;
        if self.reduction != Reduction::None {
            check_reduced(ty)?;
        }
        if let (Some(data), Some(indices)) = (data.shape.dims(), indices.shape.dims()) {
            check_updates(data, indices, &updates.shape)?;
        }
        Ok(Output::single(ty, data.shape.clone().into_owned()))
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices, updates] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let Some((&tuple, places)) = indices.shape().split_last() else {
            bail!("indices are a scalar, expected at least one dimension");
        };
        let (sizes, slice) = data.shape().split_at(tuple);
        let count = if updates.is_empty() {
            0
        } else {
            places.iter().product()
        };
        let tuples = Tuples::new(indices, sizes, self.from_end);
        let slice = slice.iter().product();
        let scatter = ScatterSlices::new(&tuples, count, slice, data.len())?;
        if let Some(bad) = scatter.outside() {
            let axis = tuples.axis_outside(bad).unwrap_or(0);
            let size = sizes.get(axis).copied().unwrap_or(0);
            let position = bad * tuple + axis;
            return Err(out_of_range(indices, position, axis, size, self.from_end));
        }
        match self.reduction.kernel() {
            None => move_elements(&scatter, &[data, updates], io.outputs),
            Some(reduction) => {
                let inputs = [*data, *updates];
                scatter::reduce(&scatter, reduction, true, inputs, &mut io.outputs[0])
            }
        }
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let dims = inputs.first()?.shape.dims().filter(|_| index == 1)?;
        let tuple = inputs.get(1)?.shape.dims()?.last()?.value()?;
        allowed_in(dims.get(..tuple)?, self.from_end)
    }

    fn moves(&self) -> Moves {
        match self.reduction {
            Reduction::None => Moves::Inputs(&[0, 2]),
            _ => Moves::None,
        }
    }
}

#[cfg(test)]
#[path = "scatter_nd_update_tests.rs"]
mod tests;
