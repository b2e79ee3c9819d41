//! SpaceToDepth-1: blocks of the axes behind the depth put into the depth.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/space-to-depth-1.html>

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use super::blocks::{Mode, block, cut, grow};
use crate::kernel::moving::move_elements;
use crate::kernel::transpose::Transpose;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail};
use crate::tensor::Few;

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct SpaceToDepth {
    #[serde(default = "one")]
    pub(super) block_size: i64,
    pub(super) mode: Mode,
}

fn one() -> i64 {
    1
}

impl Op for SpaceToDepth {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        let block = block(data, self.block_size)?;
        let (Some(block), Some(dims)) = (block, data.shape.dims()) else {
            return Ok(Output::single(
                data.element_type,
                data.shape.clone().into_owned(),
            ));
        };
        let mut shape = dims.to_vec();
        for (axis, size) in shape.iter_mut().enumerate().skip(2) {
            *size = cut(axis, *size, block.side)?;
        }
        shape[1] = grow(dims[1], block.elements)?;
        Ok(Output::single(data.element_type, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let data = io.inputs[0];
        let Ok(side) = usize::try_from(self.block_size) else {
            bail!("block_size is {}, expected at least 1", self.block_size);
        };
        let (space, shape) = (data.shape().rank() - 2, io.outputs[0].shape());
        // [N, C, D1, block, D2, block, …], of which the blocks go to the depth.
        let mut split: SmallVec<[usize; 12]> = SmallVec::from_slice(&data.shape()[..2]);
        split.extend(shape[2..].iter().flat_map(|&size| [size, side]));
        let blocks = (0..space).map(|i| 3 + 2 * i);
        let mut order: Few<usize> = smallvec![0];
        match self.mode {
            Mode::BlocksFirst => order.extend(blocks.chain([1])),
            Mode::DepthFirst => order.extend(std::iter::once(1).chain(blocks)),
        }
        order.extend((0..space).map(|i| 2 + 2 * i));
        move_elements(&Transpose::new(&split, &order), &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}
