//! DepthToSpace-1: parts of the depth put into the other axes as blocks.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/depth-to-space-1.html>

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use super::blocks::{Mode, block, cut, grow};
use crate::kernel::moving::move_elements;
use crate::kernel::transpose::Transpose;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail};
use crate::tensor::Few;

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct DepthToSpace {
    #[serde(default = "one")]
    pub(super) block_size: i64,
    pub(super) mode: Mode,
}

fn one() -> i64 {
    1
}

impl Op for DepthToSpace {
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
        shape[1] = cut(1, dims[1], block.elements)?;
        for size in &mut shape[2..] {
            *size = grow(*size, block.side)?;
        }
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
        // The depth as the mode has it, then D1, …, DK; of these D1, block, D2, block, … are made.
        let blocks = std::iter::repeat_n(side, space);
        let mut split: Few<usize> = smallvec![shape[0]];
        let (depth, first) = match self.mode {
            Mode::BlocksFirst => {
                split.extend(blocks.chain([shape[1]]));
                (space + 1, 1)
            }
            Mode::DepthFirst => {
                split.extend(std::iter::once(shape[1]).chain(blocks));
                (1, 2)
            }
        };
        split.extend_from_slice(&data.shape()[2..]);
        let mut order: Few<usize> = smallvec![0, depth];
        order.extend((0..space).flat_map(|i| [space + 2 + i, first + i]));
        move_elements(&Transpose::new(&split, &order), &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}
