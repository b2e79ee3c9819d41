//! SpaceToBatch-2: the data padded with zeros, and blocks of all axes but the first put into the
//! batch.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/space-to-batch-2.html>

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use super::blocks::{Division, Span, divisions, exact, grow, shape_of};
use crate::kernel::chain::Chain;
use crate::kernel::moving::move_elements;
use crate::kernel::remap::{Remap, Runs, Source};
use crate::kernel::transpose::Transpose;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, Few};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct SpaceToBatch {}

/// What the inputs behind the data are called.
const NAMES: [&str; 3] = ["block_shape", "pads_begin", "pads_end"];

impl Op for SpaceToBatch {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, block, begin, end] = inputs else {
            bail!(
                "expected 4 inputs (data, block_shape, pads_begin, pads_end), got {}",
                inputs.len()
            );
        };
        let all = [data, block, begin, end].map(Clone::clone);
        let (rank, divisions) = divisions(&all, NAMES)?;
        let (Some(dims), Some(divisions)) = (data.shape.dims(), divisions) else {
            return Ok(Output::single(data.element_type, shape_of(rank)));
        };
        let axes = dims.iter().zip(&divisions).enumerate();
        let mut shape = axes
            .map(|(axis, (&size, &division))| gather(axis, size, division))
            .collect::<Result<Vec<_>, _>>()?;
        let blocks = divisions
            .iter()
            .fold(Span::ONE, |all, d| all.multiply(d.block));
        shape[0] = grow(dims[0], blocks)?;
        Ok(Output::single(data.element_type, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let [block, begin, end] = exact(io.inputs)?;
        let data = io.inputs[0];
        let (dims, rank) = (data.shape(), data.shape().rank());
        let padded: Few<usize> = (0..rank).map(|i| dims[i] + begin[i] + end[i]).collect();
        // [batch, D1, B1, …] becomes [B1, …, batch, D1, …].
        let mut split: Few<usize> = smallvec![dims[0]];
        split.extend((1..rank).flat_map(|axis| [padded[axis] / block[axis], block[axis]]));
        let blocks = (1..rank).map(|axis| 2 * axis);
        let rest = std::iter::once(0).chain((1..rank).map(|axis| 2 * axis - 1));
        let order: Few<usize> = blocks.chain(rest).collect();
        let transpose = Transpose::new(&split, &order);
        if padded[..] == dims[..] {
            return move_elements(&transpose, &[data], io.outputs);
        }
        let runs = |axis: usize| -> Runs {
            smallvec![
                (Source::Fill, begin[axis]),
                (Source::Forward(0), dims[axis]),
                (Source::Fill, end[axis]),
            ]
        };
        let chain = Chain {
            first: Remap::new(dims, (0..rank).map(runs).collect())?,
            between: io.outputs[0].len(),
            second: transpose,
        };
        move_elements(&chain, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

/// The size of an axis that is padded, and of whose blocks one element remains each.
fn gather(axis: usize, size: Dimension, division: Division) -> Result<Dimension, OpError> {
    if division.is_none() {
        return Ok(size);
    }
    let padded = Span::of(size).add(division.begin).add(division.end);
    let blocks = padded.divide(division.block);
    ensure!(
        blocks.min <= blocks.max,
        "axis {axis}, of size {} with pads, cannot be divided into blocks of {}",
        padded,
        division.block
    );
    blocks.dimension()
}
