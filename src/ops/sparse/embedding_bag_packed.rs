//! EmbeddingBagPacked-15, EmbeddingBagPackedSum-3: sums or means of rows of a table, in bags of
//! equal size.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-bag-packed-15.html>
//!
//! EmbeddingBagPackedSum-3 has no `reduction`, it adds. Means of integers are rounded towards zero;
//! bags of no rows give zeros.

use serde::{Deserialize, Serialize};

use super::embedding::{self, Reduction};
use crate::kernel::bags::{Bags, Empty};
use crate::kernel::scratch::try_collect;
use crate::op::{Input, Io, Op, OpError, Outputs, bail};
use crate::tensor::Dimension;

/// Sums or means of rows of a table.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct EmbeddingBagPacked {
    pub(super) reduction: Reduction,
}

impl Op for EmbeddingBagPacked {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let ([table, indices, rest @ ..], 2..=3) = (inputs, inputs.len()) else {
            bail!(
                "expected 2 or 3 inputs (emb_table, indices, per_sample_weights), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        let bags = match indices.shape.dims() {
            None => Dimension::dynamic(),
            Some([bags, _]) => *bags,
            Some(_) => bail!("indices must be 2-D, got shape {}", indices.shape),
        };
        embedding::infer(table, indices, rest.first(), self.reduction, bags)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [table, indices, rest @ ..] = io.inputs else {
            bail!("expected at least 2 inputs, got {}", io.inputs.len());
        };
        let rows = embedding::rows(table, indices)?;
        let size = indices.shape()[1];
        let bounds = try_collect((0..=indices.shape()[0]).map(|bag| bag * size))?;
        let bags = Bags {
            rows: &rows,
            bounds: &bounds,
            weights: rest.first().copied(),
            samples: None,
            empty: Empty::Fold,
        };
        embedding::eval(table, &bags, self.reduction, &mut io.outputs[0]);
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| embedding::allowed_rows(inputs.first()?, 0))?
    }
}
