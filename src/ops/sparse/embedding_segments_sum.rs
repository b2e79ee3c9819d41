//! EmbeddingSegmentsSum-3: sums of rows of a table, each in the segment that its id names.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sparse/embedding-segments-sum-3.html>
//!
//! Ids should be sorted, but need not be.

use serde::Serialize;

use super::embedding::{self, Reduction};
use crate::kernel::bags::{Bags, bounds};
use crate::kernel::scratch::{reused_all, try_collect, try_collect_ok};
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::tensor::Tensor;
use crate::tensor::convert::try_i64;

/// Sums of rows of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct EmbeddingSegmentsSum;

/// The segments that ids name, of `count`.
fn segment_ids(ids: &Tensor, count: usize) -> Result<Vec<usize>, OpError> {
    let ids = try_i64(ids)?.into_iter();
    try_collect_ok(ids.map(|id| match usize::try_from(id) {
        Ok(segment) if segment < count => Ok(segment),
        _ => bail!("segment {id} is out of range for {count} segments"),
    }))
}

impl Op for EmbeddingSegmentsSum {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let ([table, indices, ids, count, rest @ ..], 4..=6) = (inputs, inputs.len()) else {
            bail!(
                "expected 4 to 6 inputs (emb_table, indices, segment_ids, num_segments, default_index, per_sample_weights), got {}",
                inputs.len()
            );
        };
        let length = embedding::length(indices, "indices")?;
        let ids = embedding::length(ids, "segment_ids")?;
        ensure!(
            length.compatible(ids),
            "segment_ids must be as many as indices, got {ids} and {length}"
        );
        if let Some(index) = rest.first() {
            index.int_scalar("default_index")?;
        }
        let bags = count.size_scalar("num_segments")?;
        embedding::infer(table, indices, rest.get(1), Reduction::Sum, bags)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [table, indices, ids, _, rest @ ..] = io.inputs else {
            bail!("expected at least 4 inputs, got {}", io.inputs.len());
        };
        let out = &mut io.outputs[0];
        let count = out.shape()[0];
        let mut rows = embedding::rows(table, indices)?;
        let mut ids = segment_ids(ids, count)?;
        let mut order = None;
        if !ids.is_sorted() {
            let mut samples = try_collect(0..ids.len())?;
            samples.sort_unstable_by_key(|&i| (ids[i], i));
            rows = reused_all(samples.iter().map(|&i| rows[i]))?;
            ids.sort_unstable();
            order = Some(samples);
        }
        let bags = Bags {
            rows: &rows,
            bounds: &bounds(&ids, count)?,
            weights: rest.get(1).copied(),
            samples: order.as_deref(),
            empty: embedding::default_row(table, rest.first(), false)?,
        };
        embedding::eval(table, &bags, Reduction::Sum, out);
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        match index {
            1 | 4 => embedding::allowed_rows(inputs.first()?, 0),
            2 => {
                let count = inputs.get(3)?.ints()?.first().copied()?;
                Some((0, count - 1))
            }
            3 => Some((1, 8)),
            _ => None,
        }
    }
}
