//! GatherElements: for each index, the element there along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__GatherElements.html>
//!
//! Unlike the registry's operation, it counts negative indices from the end, and takes indices
//! whose dimensions are smaller than the data's.

use serde::{Serialize, Serializer};

use super::guarded::along;
use super::{Inner, apply};
use crate::op::{
    Input, Io, Moves, Op, OpError, Outputs, allowed_indices, bail, ensure, normalize_axis,
};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// Elements along an axis.
#[derive(Debug)]
pub(in crate::onnx) struct GatherElements {
    pub(in crate::onnx) axis: i64,
    /// The operation on data whose dimensions are the indices'.
    pub(in crate::onnx) inner: Inner,
    /// Slice-8, which makes them so.
    pub(in crate::onnx) slice: Inner,
}

impl Serialize for GatherElements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(serializer)
    }
}

impl GatherElements {
    /// The dimensions of the data that indices of these dimensions can reach.
    fn reached(&self, data: &[Dimension], indices: &[Dimension]) -> Result<PartialShape, OpError> {
        ensure!(
            data.len() == indices.len(),
            "data has rank {}, indices {}, expected the same",
            data.len(),
            indices.len()
        );
        let axis = normalize_axis(self.axis, data.len())?;
        let mut dims = data.to_vec();
        for (i, (dim, &reached)) in dims.iter_mut().zip(indices).enumerate() {
            if i == axis {
                continue;
            }
            ensure!(
                dim.max().is_none_or(|size| reached.min() <= size),
                "dimension {i} of indices is {reached}, that of data {dim}: only along axis {axis} it may be larger"
            );
            *dim = reached;
        }
        Ok(dims.into_iter().collect())
    }
}

impl Op for GatherElements {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices] = inputs else {
            bail!("expected 2 inputs (data, indices), got {}", inputs.len());
        };
        ensure!(
            data.rank() != Some(0),
            "data is a scalar, expected rank 1 or more"
        );
        let shape = match (data.shape.dims(), indices.shape.dims()) {
            (Some(dims), Some(indices)) => self.reached(dims, indices)?,
            _ => PartialShape::dynamic(),
        };
        let reached = Input::new(data.element_type, &shape);
        self.inner.op.infer(&[reached, indices.clone()])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let counted = along(data, indices, self.axis)?;
        let axis = normalize_axis(self.axis, data.shape().rank())?;
        let mut stop = indices.shape().to_vec();
        stop[axis] = data.shape()[axis];
        let cut = if stop[..] == data.shape()[..] {
            None
        } else {
            let stop: Vec<i64> = stop.iter().filter_map(|&n| i64::try_from(n).ok()).collect();
            let start = Tensor::vector(&vec![0i64; stop.len()]);
            let step = Tensor::vector(&vec![1i64; stop.len()]);
            let inputs = [data, &start, &Tensor::vector(&stop), &step];
            Some(apply(&*self.slice.op, &inputs)?)
        };
        self.inner.op.eval(Io {
            inputs: &[
                cut.as_ref().unwrap_or(data),
                counted.as_ref().unwrap_or(indices),
            ],
            outputs: io.outputs,
        })
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let axis = Tensor::scalar(self.axis);
        let data = inputs.first().filter(|_| index == 1)?;
        allowed_indices(data, &Input::of(&axis), true)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}
