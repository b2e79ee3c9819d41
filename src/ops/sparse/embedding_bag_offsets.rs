//! EmbeddingBagOffsets-15, EmbeddingBagOffsetsSum-3: sums or means of rows of a table, in bags that
//! begin at offsets.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-bag-offsets-15.html>
//!
//! EmbeddingBagOffsetsSum-3 has no `reduction`, it adds. Indices before the first offset belong to
//! no bag. Means of integers are rounded towards zero.

use serde::{Deserialize, Serialize};

use super::embedding::{self, Reduction};
use crate::kernel::bags::Bags;
use crate::kernel::scratch::try_room;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::tensor::Tensor;
use crate::tensor::convert::try_i64;

/// Sums or means of rows of a table.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct EmbeddingBagOffsets {
    pub(super) reduction: Reduction,
}

/// Where the bags begin, and where the last ends.
fn bounds(offsets: &Tensor, count: usize) -> Result<Vec<usize>, OpError> {
    let mut bounds = try_room(offsets.len() + 1)?;
    for offset in try_i64(offsets)? {
        let Some(start) = usize::try_from(offset).ok().filter(|&i| i <= count) else {
            bail!("offset {offset} is not in 0..={count}, the number of indices");
        };
        let last = bounds.last().copied().unwrap_or(0);
        ensure!(start >= last, "offset {start} is below {last} before it");
        bounds.push(start);
    }
    bounds.push(count);
    Ok(bounds)
}

impl Op for EmbeddingBagOffsets {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let ([table, indices, offsets, rest @ ..], 3..=5) = (inputs, inputs.len()) else {
            bail!(
                "expected 3 to 5 inputs (emb_table, indices, offsets, default_index, per_sample_weights), got {}",
                inputs.len()
            );
        };
        embedding::length(indices, "indices")?;
        let bags = embedding::length(offsets, "offsets")?;
        if let Some(index) = rest.first() {
            index.int_scalar("default_index")?;
        }
        embedding::infer(table, indices, rest.get(1), self.reduction, bags)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [table, indices, offsets, rest @ ..] = io.inputs else {
            bail!("expected at least 3 inputs, got {}", io.inputs.len());
        };
        let rows = embedding::rows(table, indices)?;
        let bags = Bags {
            rows: &rows,
            bounds: &bounds(offsets, rows.len())?,
            weights: rest.get(1).copied(),
            samples: None,
            empty: embedding::default_row(table, rest.first(), true)?,
        };
        embedding::eval(table, &bags, self.reduction, &mut io.outputs[0]);
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        match index {
            1 => embedding::allowed_rows(inputs.first()?, 0),
            // Offsets drawn at random would not be sorted.
            2 => Some((0, 0)),
            3 => embedding::allowed_rows(inputs.first()?, -1),
            _ => None,
        }
    }
}
