//! What the operations on embedding tables share: a table, indices of its rows, weights, and the
//! row for empty bags.

use serde::{Deserialize, Serialize};

use crate::kernel::bags::{Bags, Empty, fold_bags};
use crate::kernel::gather::{OUTSIDE, positions};
use crate::kernel::reduce::{MEAN, SUM};
use crate::kernel::scratch::{Reused, reused_any};
use crate::op::{Input, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::convert::try_i64;
use crate::tensor::{Dimension, PartialShape, Tensor};

/// What is made of the rows of a bag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reduction {
    /// The sum, weighted if there are weights.
    #[default]
    Sum,
    /// The mean; weights are not allowed.
    Mean,
}

/// The output of `bags` bags.
pub(super) fn infer(
    table: &Input<'_>,
    indices: &Input<'_>,
    weights: Option<&Input<'_>>,
    reduction: Reduction,
    bags: Dimension,
) -> Result<Outputs, OpError> {
    let mut ty = table.element_type;
    if let Some(weights) = weights {
        ensure!(
            reduction == Reduction::Sum,
            "per_sample_weights are for reduction `sum` only, it is `mean`"
        );
        ty = merge_types(&[table.clone(), weights.clone()])?;
        ensure!(
            weights.shape.compatible(&indices.shape),
            "per_sample_weights must have the shape of indices, got {} and {}",
            weights.shape,
            indices.shape
        );
    }
    ensure!(
        ty.is_numeric() || !ty.is_static(),
        "emb_table must be numbers, got {ty}"
    );
    let Some(dims) = table.shape.dims() else {
        return Ok(Output::single(ty, PartialShape::dynamic()));
    };
    let Some((_, row)) = dims.split_first() else {
        bail!("emb_table must have at least one dimension, got a scalar");
    };
    let shape: PartialShape = [bags].into_iter().chain(row.iter().copied()).collect();
    Ok(Output::single(ty, shape))
}

/// The one dimension of an input of integers.
pub(super) fn length(input: &Input<'_>, what: &str) -> Result<Dimension, OpError> {
    input.expect_integer(what)?;
    match input.shape.dims() {
        None => Ok(Dimension::dynamic()),
        Some([length]) => Ok(*length),
        Some(_) => bail!("{what} must be 1-D, got shape {}", input.shape),
    }
}

/// The numbers that an index of the table may be, from `least` on.
pub(super) fn allowed_rows(table: &Input<'_>, least: i64) -> Option<(i64, i64)> {
    let rows = i64::try_from(table.shape.dims()?.first()?.min()).ok()?;
    Some((least, rows - 1))
}

/// The rows of the table that indices mean.
pub(super) fn rows(table: &Tensor, indices: &Tensor) -> Result<Reused<usize>, OpError> {
    let count = table.shape()[0];
    let mut rows = reused_any(0, indices.len())?;
    positions(indices, count, false, 0, &mut rows);
    if let Some(at) = rows.iter().position(|&row| row == OUTSIDE) {
        bail!(
            "index {} (element {at}) is not in 0..{count}, the rows of emb_table",
            try_i64(indices)?[at]
        );
    }
    Ok(rows)
}

/// What `default_index` makes of empty bags; -1 stands for zeros if that is allowed.
pub(super) fn default_row<'a>(
    table: &Tensor,
    index: Option<&&Tensor>,
    minus_one: bool,
) -> Result<Empty<'a>, OpError> {
    let Some(index) = index else {
        return Ok(Empty::Fold);
    };
    let count = table.shape()[0];
    match try_i64(index)?[..] {
        [-1] if minus_one => Ok(Empty::Fold),
        [index] => match usize::try_from(index) {
            Ok(row) if row < count => Ok(Empty::Row(row)),
            _ => bail!("default_index {index} is not in 0..{count}, the rows of emb_table"),
        },
        ref many => bail!("default_index must be one number, got {}", many.len()),
    }
}

/// Writes what the rows of each bag are reduced to.
pub(super) fn eval(table: &Tensor, bags: &Bags<'_>, reduction: Reduction, out: &mut Tensor) {
    let folds = match reduction {
        Reduction::Sum => &SUM,
        Reduction::Mean => &MEAN,
    };
    fold_bags(table, bags, folds, out);
}
