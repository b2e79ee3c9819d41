//! GatherND-5, -8: for each tuple of indices, the slice of the data there.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-8.html>
//!
//! GatherND-5 makes one dimension of all batch dimensions, and refuses negative indices;
//! GatherND-8 keeps the dimensions, and counts negative indices from the end.

use serde::{Deserialize, Serialize};

use super::indices::{allowed_in, out_of_range};
use crate::kernel::broadcast::Broadcast;
use crate::kernel::gather_nd;
use crate::kernel::moving::move_elements;
use crate::kernel::tuples::Tuples;
use crate::op::{
    Input, Io, LayerData, Moves, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
};
use crate::tensor::{Dimension, Few, PartialShape, Shape, Tensor};

/// Slices of the data at tuples of indices.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct GatherND {
    batch_dims: i64,
    /// Whether it is GatherND-5.
    #[serde(skip)]
    old: bool,
}

/// Reads GatherND-5.
pub(super) fn read_5(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<GatherND>(layer.attributes)?;
    Ok((Box::new(GatherND { old: true, ..op }), unknown))
}

impl GatherND {
    /// The number of batch dimensions, for ranks that may not be known.
    fn batch_dims(&self, ranks: [Option<usize>; 2]) -> Result<usize, OpError> {
        let least = ranks.into_iter().flatten().min();
        let batch_dims = usize::try_from(self.batch_dims).ok();
        match batch_dims.filter(|&dims| least.is_none_or(|least| dims < least)) {
            Some(dims) => Ok(dims),
            None => bail!(
                "batch_dims is {}, expected 0{}",
                self.batch_dims,
                match least {
                    Some(least) if least > 0 => format!("..{least}, less than each rank"),
                    Some(_) => ", but a scalar has no dimension at all".to_owned(),
                    None => " or more".to_owned(),
                }
            ),
        }
    }

    fn dims(&self, data: &[Dimension], indices: &[Dimension]) -> Result<PartialShape, OpError> {
        let batch_dims = self.batch_dims([Some(data.len()), Some(indices.len())])?;
        let mut batch = Vec::with_capacity(batch_dims);
        for (i, (a, b)) in data.iter().zip(&indices[..batch_dims]).enumerate() {
            match a.broadcast(*b) {
                Some(dim) => batch.push(dim),
                None => bail!("batch dimension {i} is {a} in data and {b} in indices"),
            }
        }
        let places = &indices[batch_dims..indices.len() - 1];
        let tuple = indices[indices.len() - 1];
        let most = data.len() - batch_dims;
        ensure!(
            tuple.min() <= most,
            "tuples of {tuple} indices are for more axes than the {most} of data after its batch dimensions"
        );
        let Some(tuple) = tuple.value() else {
            return Ok(PartialShape::dynamic());
        };
        if self.old && batch_dims > 1 {
            let one = Dimension::fixed(1);
            batch = vec![batch.into_iter().fold(one, |all, dim| all * dim)];
        }
        let slice = &data[batch_dims + tuple..];
        Ok([&batch, places, slice].concat().into_iter().collect())
    }
}

/// The tensor with its batch dimensions broadcast to `batch`, if it has others.
fn broadcast(tensor: &Tensor, batch: &[usize]) -> Result<Option<Tensor>, OpError> {
    if tensor.shape().starts_with(batch) {
        return Ok(None);
    }
    let shape: Shape = batch
        .iter()
        .chain(&tensor.shape()[batch.len()..])
        .copied()
        .collect();
    let mut out = [Tensor::zeros(tensor.element_type(), shape.clone())?];
    move_elements(&Broadcast::new(tensor.shape(), &shape), &[tensor], &mut out)?;
    let [out] = out;
    Ok(Some(out))
}

impl Op for GatherND {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices] = inputs else {
            bail!("expected 2 inputs (data, indices), got {}", inputs.len());
        };
        indices.expect_integer("indices")?;
        self.batch_dims([data.rank(), indices.rank()])?;
        let shape = match (data.shape.dims(), indices.shape.dims()) {
            (Some(data), Some(indices)) => self.dims(data, indices)?,
            _ => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let ranks = [data, indices].map(|t| Some(t.shape().rank()));
        let batch_dims = self.batch_dims(ranks)?;
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let pairs = data.shape().iter().zip(&indices.shape()[..batch_dims]);
        // One of them is 1, or they are equal.
        let batch: Few<usize> = pairs.map(|(&a, &b)| a.max(b)).collect();
        let (wide_data, wide_indices) = (broadcast(data, &batch)?, broadcast(indices, &batch)?);
        let data = wide_data.as_ref().unwrap_or(data);
        let tuples_of = wide_indices.as_ref().unwrap_or(indices);
        let rank = tuples_of.shape().rank();
        let tuple = tuples_of.shape()[rank - 1];
        let count = tuples_of.shape()[batch_dims..rank - 1].iter().product();
        let (sizes, slice) = data.shape()[batch_dims..].split_at(tuple);
        let tuples = Tuples::new(tuples_of, sizes, !self.old);
        let slice: usize = slice.iter().product();
        let all = sizes.iter().product::<usize>() * slice;
        let gather = gather_nd::GatherND::new(&tuples, count, all, slice);
        move_elements(&gather, &[data], io.outputs)?;
        let Some(bad) = gather.outside() else {
            return Ok(());
        };
        let axis = tuples.axis_outside(bad).unwrap_or(0);
        let size = sizes.get(axis).copied().unwrap_or(0);
        let position = bad * tuple + axis;
        Err(out_of_range(
            tuples_of,
            position,
            batch_dims + axis,
            size,
            !self.old,
        ))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let [data, indices] = inputs else { return None };
        let dims = data.shape.dims().filter(|_| index == 1)?;
        let batch_dims = usize::try_from(self.batch_dims).ok()?;
        let tuple = indices.shape.dims()?.last()?.value()?;
        let dims = dims.get(batch_dims..batch_dims.checked_add(tuple)?)?;
        allowed_in(dims, !self.old)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
#[path = "gather_nd_tests.rs"]
mod tests;
