//! BatchToSpace-2: parts of the batch put back as blocks of the other axes, which are then cropped.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/batch-to-space-2.html>

use serde::{Deserialize, Serialize};

use super::blocks::{Division, Span, divisions, exact, grow, shape_of};
use crate::kernel::chain::Chain;
use crate::kernel::moving::move_elements;
use crate::kernel::strided::{Cut, View, Views};
use crate::kernel::transpose::Transpose;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, Few};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct BatchToSpace {}

/// What the inputs behind the data are called.
const NAMES: [&str; 3] = ["block_shape", "crops_begin", "crops_end"];

impl Op for BatchToSpace {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, block, begin, end] = inputs else {
            bail!(
                "expected 4 inputs (data, block_shape, crops_begin, crops_end), got {}",
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
            .map(|(axis, (&size, &division))| spread(axis, size, division))
            .collect::<Result<Vec<_>, _>>()?;
        let blocks = divisions
            .iter()
            .fold(Span::ONE, |all, d| all.multiply(d.block));
        if blocks != Span::ONE {
            let batch = Span::of(dims[0]).divide(blocks);
            ensure!(
                batch.min <= batch.max,
                "a batch of {} cannot be divided by blocks of {} elements",
                dims[0],
                blocks
            );
            shape[0] = batch.dimension()?;
        }
        Ok(Output::single(data.element_type, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let [block, begin, _] = exact(io.inputs)?;
        let data = io.inputs[0];
        let (dims, rank) = (data.shape(), data.shape().rank());
        // [B1, …, batch, D1, …] becomes [batch, D1, B1, …].
        let mut split = block[1..].to_vec();
        split.push(dims[0] / block.iter().product::<usize>());
        split.extend(&dims[1..]);
        let mut order = vec![rank - 1];
        order.extend((1..rank).flat_map(|axis| [rank - 1 + axis, axis - 1]));
        let transpose = Transpose::new(&split, &order);
        let mut whole = vec![split[rank - 1]];
        whole.extend((1..rank).map(|axis| dims[axis] * block[axis]));
        if whole == io.outputs[0].shape()[..] {
            return move_elements(&transpose, &[data], io.outputs);
        }
        let cut = |(&first, &len): (&usize, &usize)| Cut {
            first,
            step: 1,
            len,
        };
        let cuts: Few<Cut> = begin
            .iter()
            .zip(&io.outputs[0].shape()[..])
            .map(cut)
            .collect();
        let chain = Chain {
            first: transpose,
            between: data.len(),
            second: Views(smallvec::smallvec![View::new(&whole, &cuts)]),
        };
        move_elements(&chain, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

/// The size of an axis whose elements become blocks, and which is then cropped.
fn spread(axis: usize, size: Dimension, division: Division) -> Result<Dimension, OpError> {
    let whole = grow(size, division.block)?;
    if division.is_none() {
        return Ok(whole);
    }
    let cropped = Span::of(whole)
        .subtract(division.begin)
        .subtract(division.end);
    ensure!(
        cropped.max >= 0,
        "crops of axis {axis} take {} and {} elements of {whole}",
        division.begin,
        division.end
    );
    cropped.dimension()
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
