//! RaggedToDense: rows cut or padded to one length, and a mask of what was there.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/ragged_to_dense.cpp>

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ragged::{expect_inputs, expect_rows, rows};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::strings::expect_type;
use crate::tensor::{ElementType, PartialShape};

/// Rows of one length.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RaggedToDense {
    /// Padding goes behind; an input says so too, and rules.
    pad_right: bool,
    /// Rows are taken to have the full length, whatever their ends.
    m_pad_max_length: bool,
}

impl Default for RaggedToDense {
    fn default() -> Self {
        Self {
            pad_right: true,
            m_pad_max_length: false,
        }
    }
}

impl RaggedToDense {
    /// What of each row is kept, of so many elements.
    fn kept(
        &self,
        mut rows: Vec<Range<usize>>,
        length: usize,
        count: usize,
    ) -> Result<Vec<Range<usize>>, OpError> {
        for row in &mut rows {
            let whole = if self.m_pad_max_length {
                length
            } else {
                row.len().min(length)
            };
            row.end = row.start.saturating_add(whole);
            ensure!(
                row.end <= count,
                "a row of the full length is at {} to {}, there are {count} elements",
                row.start,
                row.end
            );
        }
        Ok(rows)
    }
}

impl Op for RaggedToDense {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let what = "rows, elements, length, default, perhaps pad_right";
        expect_inputs(inputs, &[5, 6], what)?;
        expect_rows(inputs, 0)?;
        let (data, default) = (&inputs[2], &inputs[4]);
        let ty = merge_types(&[data.clone(), default.clone()])?;
        ensure!(
            !ty.is_packed() && ty != ElementType::String,
            "elements of {ty} are not supported"
        );
        default.expect_scalar("the default")?;
        if let Some(right) = inputs.get(5) {
            expect_type(right, ElementType::Boolean, "pad_right")?;
            right.expect_at_most_1d("pad_right")?;
        }
        let length = inputs[3].size_scalar("the length")?;
        let shape = match (inputs[0].shape.dims(), data.shape.dims()) {
            (_, Some([])) => bail!("elements must have dimensions, got a scalar"),
            (Some(rows), Some([_, inner @ ..])) => {
                let dims = rows.iter().chain([&length]).chain(inner);
                PartialShape::from_iter(dims.copied())
            }
            _ => PartialShape::dynamic(),
        };
        let mask = Output::new(ElementType::Boolean, shape.clone());
        Ok(smallvec::smallvec![Output::new(ty, shape), mask])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, default) = (io.inputs[2], io.inputs[4].bytes());
        let count = data.shape()[0];
        let length = io.outputs[0].shape()[io.inputs[0].shape().rank()];
        let rows = self.kept(rows(io.inputs, 0, count)?, length, count)?;
        let right = match io.inputs.get(5) {
            Some(right) => right.as_slice::<bool>()?.first().copied().unwrap_or(true),
            None => self.pad_right,
        };
        let inner: usize = data.shape()[1..].iter().product();
        let [dense, mask] = io.outputs else {
            bail!("expected 2 outputs, got {}", io.outputs.len());
        };
        if dense.is_empty() {
            return Ok(());
        }
        let width = inner * default.len();
        let mask = mask
            .as_mut_slice::<bool>()?
            .chunks_exact_mut(length * inner);
        let dense = dense.bytes_mut().chunks_exact_mut(length * width);
        for ((row, dense), mask) in rows.iter().zip(dense).zip(mask) {
            let at = if right { 0 } else { length - row.len() };
            let (front, rest) = dense.split_at_mut(at * width);
            let (here, back) = rest.split_at_mut(row.len() * width);
            here.copy_from_slice(&data.bytes()[row.start * width..row.end * width]);
            for pad in [front, back] {
                for element in pad.chunks_exact_mut(default.len()) {
                    element.copy_from_slice(default);
                }
            }
            mask.fill(false);
            mask[at * inner..][..row.len() * inner].fill(true);
        }
        Ok(())
    }
}
