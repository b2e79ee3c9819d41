//! ScatterElementsUpdate-3, -12: updates put, or reduced, into the data along an axis.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-elements-update-12.html>
//!
//! ScatterElementsUpdate-3 has no attributes, only overwrites, and refuses negative indices.

use serde::{Deserialize, Serialize};

use super::indices::{check_reduced, out_of_range};
use crate::kernel::moving::move_elements;
use crate::kernel::scatter::{self, Scatter};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, allowed_indices, axis_of, bail,
    ensure, merge_types, normalize_axis,
};
use crate::tensor::{ElementType, PartialShape};

/// How updates are combined with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Reduction {
    #[default]
    None,
    Sum,
    Prod,
    Min,
    Max,
    Mean,
}

impl Reduction {
    fn kernel(self) -> Option<scatter::Reduction> {
        match self {
            Self::None => None,
            Self::Sum => Some(scatter::Reduction::Sum),
            Self::Prod => Some(scatter::Reduction::Prod),
            Self::Min => Some(scatter::Reduction::Min),
            Self::Max => Some(scatter::Reduction::Max),
            Self::Mean => Some(scatter::Reduction::Mean),
        }
    }
}

/// Updates put into the data.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ScatterElementsUpdate {
    reduction: Reduction,
    use_init_val: bool,
    /// Whether negative indices count from the end of the axis.
    #[serde(skip)]
    from_end: bool,
}

impl Default for ScatterElementsUpdate {
    fn default() -> Self {
        Self {
            reduction: Reduction::None,
            use_init_val: true,
            from_end: true,
        }
    }
}

impl ScatterElementsUpdate {
    /// ScatterElementsUpdate-3.
    pub(super) fn version_3() -> Self {
        Self {
            from_end: false,
            ..Self::default()
        }
    }

    fn check_type(&self, ty: ElementType) -> Result<(), OpError> {
        if self.reduction == Reduction::None || ty == ElementType::Dynamic {
            return Ok(());
        }
        check_reduced(ty)?;
        ensure!(
            ty != ElementType::Boolean || self.reduction != Reduction::Mean,
            "reduction mean is not defined for boolean"
        );
        Ok(())
    }
}

/// Checks that the shapes fit together.
fn check_shapes(
    data: &PartialShape,
    indices: &PartialShape,
    updates: &PartialShape,
    axis: Option<i64>,
) -> Result<(), OpError> {
    let Some(indices) = indices.intersect(updates) else {
        bail!("indices have shape {indices}, updates {updates}, expected the same");
    };
    let (Some(data), Some(indices)) = (data.dims(), indices.dims()) else {
        return Ok(());
    };
    ensure!(
        data.len() == indices.len(),
        "data has rank {}, indices {}, expected the same",
        data.len(),
        indices.len()
    );
    ensure!(!data.is_empty(), "the data is a scalar, which has no axis");
    let Some(axis) = axis else {
        return Ok(());
    };
    let axis = normalize_axis(axis, data.len())?;
    for (i, (size, updates)) in data.iter().zip(indices).enumerate() {
        ensure!(
            i == axis || size.max().is_none_or(|size| updates.min() <= size),
            "dimension {i} of indices is {updates}, that of data {size}: only along axis {axis} it may be larger"
        );
    }
    Ok(())
}

impl Op for ScatterElementsUpdate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices, updates, axis] = inputs else {
            bail!(
                "expected 4 inputs (data, indices, updates, axis), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        let axis = axis.int_scalar("axis")?;
        let ty = merge_types(&[data.clone(), updates.clone()])?;
        self.check_type(ty)?;
        if let (Some(axis), Some(rank)) = (axis, data.rank().or(indices.rank())) {
            normalize_axis(axis, rank)?;
        }
        check_shapes(&data.shape, &indices.shape, &updates.shape, axis)?;
        let shape = match (data.rank(), indices.rank().or(updates.rank())) {
            (None, Some(rank)) => PartialShape::of_rank(rank),
            _ => data.shape.clone().into_owned(),
        };
        Ok(Output::single(ty, shape))
    }

    fn infers_from(&self, index: usize) -> bool {
        index == 3
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices, updates, axis] = io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        let axis = axis_of(axis, data.shape().rank())?;
        let size = data.shape()[axis];
        if indices.is_empty() {
            io.outputs[0] = (*data).clone();
            return Ok(());
        }
        // Only the axis can be empty where there are indices: none of them is in range.
        if data.is_empty() {
            return Err(out_of_range(indices, 0, axis, size, self.from_end));
        }
        let mut scatter = Scatter::new(data.shape(), indices, axis, self.from_end)?;
        if let Some(position) = scatter.outside()? {
            return Err(out_of_range(indices, position, axis, size, self.from_end));
        }
        match self.reduction.kernel() {
            None => move_elements(&scatter, &[data, updates], io.outputs)?,
            Some(reduction) => {
                let inputs = [*data, *updates];
                scatter::reduce(
                    &scatter,
                    reduction,
                    self.use_init_val,
                    inputs,
                    &mut io.outputs[0],
                )?;
            }
        }
        match scatter.met_outside() {
            Some(position) => Err(out_of_range(indices, position, axis, size, self.from_end)),
            None => Ok(()),
        }
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        match index {
            1 => allowed_indices(inputs.first()?, inputs.get(3)?, self.from_end),
            3 => allowed_axes(inputs.first()?.rank()),
            _ => None,
        }
    }

    fn moves(&self) -> Moves {
        match self.reduction {
            Reduction::None => Moves::Inputs(&[0, 2]),
            _ => Moves::None,
        }
    }
}

#[cfg(test)]
#[path = "scatter_elements_update_tests.rs"]
mod tests;
