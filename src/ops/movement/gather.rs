//! Gather-1, -7, -8: slices of the data along an axis, at the indices given.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-8.html>
//!
//! Gather-1 has no `batch_dims`. Gather-8 counts negative indices from the end of the axis; for
//! the older versions they are out of range. What is out of range gives zeros in all versions.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::kernel::gather;
use crate::kernel::moving::{Mover, move_elements};
use crate::op::{
    Input, Io, LayerData, Moves, Op, OpError, Output, Outputs, ReadResult, allowed_axes,
    allowed_indices, any_axis, attrs, axis_of, bail, ensure, normalize_axis,
};
use crate::tensor::convert::one_i64;
use crate::tensor::pack::run_bytes;
use crate::tensor::{Dimension, PartialShape, Shape, Tensor};

/// Slices of the data along an axis.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Gather {
    batch_dims: i64,
    /// Whether negative indices count from the end of the axis.
    #[serde(skip)]
    from_end: bool,
}

impl Default for Gather {
    fn default() -> Self {
        Self {
            batch_dims: 0,
            from_end: true,
        }
    }
}

/// Reads Gather-7.
pub(super) fn read_7(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<Gather>(layer.attributes)?;
    let from_end = false;
    Ok((Box::new(Gather { from_end, ..op }), unknown))
}

impl Gather {
    /// Gather-1.
    pub(super) fn version_1() -> Self {
        Self {
            batch_dims: 0,
            from_end: false,
        }
    }

    /// `batch_dims` without sign.
    fn batch_dims(&self, data_rank: usize, indices_rank: usize) -> Result<usize, OpError> {
        let most = data_rank.min(indices_rank);
        let size = usize::try_from(self.batch_dims.unsigned_abs()).unwrap_or(usize::MAX);
        ensure!(
            size <= most,
            "batch_dims {} is not in -{most}..={most}, the range for data of rank {data_rank} and indices of rank {indices_rank}",
            self.batch_dims
        );
        let batch_dims = if self.batch_dims < 0 {
            indices_rank - size
        } else {
            size
        };
        ensure!(
            batch_dims <= data_rank,
            "batch_dims {} means {batch_dims} dimensions, data has {data_rank}",
            self.batch_dims
        );
        Ok(batch_dims)
    }

    /// The shape for one axis.
    fn shape(
        data: &[Dimension],
        indices: &[Dimension],
        axis: usize,
        batch_dims: usize,
    ) -> Result<Vec<Dimension>, OpError> {
        ensure!(
            batch_dims <= axis,
            "batch_dims {batch_dims} is above axis {axis}"
        );
        let mut dims = Vec::with_capacity(data.len() + indices.len());
        for (i, (a, b)) in data.iter().zip(&indices[..batch_dims]).enumerate() {
            match a.intersect(*b) {
                Some(dim) => dims.push(dim),
                None => bail!("batch dimension {i} is {a} in data and {b} in indices"),
            }
        }
        dims.extend_from_slice(&data[batch_dims..axis]);
        dims.extend_from_slice(&indices[batch_dims..]);
        dims.extend_from_slice(&data[axis + 1..]);
        Ok(dims)
    }
}

impl Op for Gather {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices, axis] = inputs else {
            bail!(
                "expected 3 inputs (data, indices, axis), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        let axis = axis.int_scalar("axis")?;
        let shape = match (data.shape.dims(), indices.shape.dims()) {
            (Some(data), Some(indices)) => {
                let batch_dims = self.batch_dims(data.len(), indices.len())?;
                match axis {
                    Some(axis) => {
                        let axis = normalize_axis(axis, data.len())?;
                        Self::shape(data, indices, axis, batch_dims)?
                            .into_iter()
                            .collect()
                    }
                    None => any_axis(data, |axis| Self::shape(data, indices, axis, batch_dims))?,
                }
            }
            (Some(data), None) => {
                axis.map(|axis| normalize_axis(axis, data.len()))
                    .transpose()?;
                PartialShape::dynamic()
            }
            (None, _) => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn infers_from(&self, index: usize) -> bool {
        index == 2
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices, axis] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let shape = data.shape();
        let axis = axis_of(axis, shape.rank())?;
        let batch_dims = self.batch_dims(shape.rank(), indices.shape().rank())?;
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let gather = |shape| gather::Gather::new(shape, indices, axis, batch_dims, self.from_end);
        let ty = data.element_type();
        let inner = shape[axis + 1..].iter().product();
        // Where an index means whole bytes, elements that share them need not be parted.
        if ty.bits() < 8
            && let Some(bytes) = run_bytes(ty, inner)
        {
            let shape: Shape = shape[..=axis].iter().copied().chain([bytes]).collect();
            return gather(&shape)?.run(&[data.bytes()], &mut [io.outputs[0].bytes_mut()]);
        }
        move_elements(&gather(shape)?, &[data], io.outputs)
    }

    fn pieces(&self, inputs: &[&Tensor], _: &[Output]) -> Option<SmallVec<[usize; 4]>> {
        let [data, indices, axis] = inputs else {
            return None;
        };
        let shape = data.shape();
        let axis = axis_of(axis, shape.rank()).ok()?;
        if shape[..axis].iter().any(|&size| size != 1) {
            return None;
        }
        let index = one_i64(indices)?;
        let size = i64::try_from(shape[axis]).ok()?;
        let from_start = if self.from_end && index < 0 {
            index.checked_add(size)?
        } else {
            index
        };
        // Elements beyond the ends are zeros.
        let index = usize::try_from(from_start)
            .ok()
            .filter(|&i| i < shape[axis])?;
        let inner: usize = shape[axis + 1..].iter().product();
        Some(smallvec::smallvec![index * inner])
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        match index {
            1 => allowed_indices(inputs.first()?, inputs.get(2)?, self.from_end),
            2 => allowed_axes(inputs.first()?.rank()),
            _ => None,
        }
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
