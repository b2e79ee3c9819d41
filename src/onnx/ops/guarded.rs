//! An operation of the registry behind the stricter rules of an ONNX operator.
//!
//! | operator | rule |
//! |---|---|
//! | Gather | an index along an axis of size s is in -s..s |
//! | GatherND, ScatterND | ranks, batch dimensions and the size of tuples fit |
//! | Squeeze | the axes given have dimensions of 1; no axes is not all of them |
//! | Unsqueeze | the axes are distinct |
//! | Reshape with `allowzero` | 0 and -1 do not come together |
//!
//! <https://onnx.ai/onnx/operators/>

use serde::{Serialize, Serializer};

use super::Inner;
use crate::kernel::gather::{first_outside, out_of_range, positions};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_indices, bail, ensure, normalize_axis,
};
use crate::tensor::convert::{BLOCK, widen};
use crate::tensor::{Class, ElementType, Tensor, ValueRange};

/// A rule that the registry's operation does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::onnx) enum Guard {
    /// Input 1 holds indices along this axis of input 0.
    Along(i64),
    /// The last dimension of input 1 holds tuples of at least `least` indices into input 0,
    /// behind the batch dimensions.
    Tuples {
        /// The number of batch dimensions.
        batch_dims: i64,
        /// The fewest indices of a tuple.
        least: usize,
    },
    /// Input 1 holds axes of input 0 that have dimensions of 1.
    Ones,
    /// Input 1 holds axes that differ.
    Distinct,
    /// Input 1 is a shape without a 0 or without a -1.
    ZeroOrRest,
}

/// An operation with one rule more.
#[derive(Debug)]
pub(in crate::onnx) struct Guarded {
    pub(in crate::onnx) guard: Guard,
    pub(in crate::onnx) inner: Inner,
}

impl Serialize for Guarded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(serializer)
    }
}

impl Op for Guarded {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        if let [data, second, ..] = inputs {
            match self.guard {
                Guard::Along(_) => {}
                Guard::Tuples { batch_dims, least } => {
                    check_tuples(data, second, batch_dims, least)?
                }
                Guard::Ones => {
                    if second.shape.elements().value() == Some(0) {
                        let shape = data.shape.clone().into_owned();
                        return Ok(Output::single(data.element_type, shape));
                    }
                    check_ones(data, second)?;
                }
                Guard::Distinct => check_distinct(second)?,
                Guard::ZeroOrRest => check_zero_or_rest(second)?,
            }
        }
        self.inner.op.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices, rest @ ..] = io.inputs else {
            return self.inner.op.eval(io);
        };
        let counted = match self.guard {
            Guard::Along(axis) => along(data, indices, axis)?,
            _ => None,
        };
        let Some(counted) = &counted else {
            return self.inner.op.eval(io);
        };
        let mut inputs = vec![*data, counted];
        inputs.extend_from_slice(rest);
        self.inner.op.eval(Io {
            inputs: &inputs,
            outputs: io.outputs,
        })
    }

    fn reshapes(&self) -> bool {
        self.inner.op.reshapes()
    }

    fn moves(&self) -> Moves {
        self.inner.op.moves()
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        self.inner.op.infer_value(inputs, output)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let data = inputs.first()?;
        match self.guard {
            Guard::Along(axis) if index == 1 => {
                allowed_indices(data, &Input::of(&Tensor::scalar(axis)), true)
            }
            _ => self.inner.op.allowed(inputs, index),
        }
    }

    fn keeps_numbers(&self) -> bool {
        self.inner.op.keeps_numbers()
    }
}

fn check_tuples(
    data: &Input<'_>,
    indices: &Input<'_>,
    batch_dims: i64,
    least: usize,
) -> Result<(), OpError> {
    for (input, what) in [(data, "data"), (indices, "indices")] {
        ensure!(
            input.rank() != Some(0),
            "{what} is a scalar, expected rank 1 or more"
        );
    }
    let Ok(batch) = usize::try_from(batch_dims) else {
        bail!("batch_dims is {batch_dims}, expected 0 or more");
    };
    for (input, what) in [(data, "data"), (indices, "indices")] {
        if let Some(rank) = input.rank() {
            ensure!(
                batch < rank,
                "batch_dims is {batch}, expected less than the rank of {what}, {rank}"
            );
        }
    }
    let (Some(data), Some(indices)) = (data.shape.dims(), indices.shape.dims()) else {
        return Ok(());
    };
    for (i, (a, b)) in data.iter().zip(indices).take(batch).enumerate() {
        ensure!(
            a.compatible(*b),
            "batch dimension {i} is {a} in data and {b} in indices"
        );
    }
    let (count, most) = (indices[indices.len() - 1], data.len() - batch);
    ensure!(
        count.min() <= most,
        "the last dimension of indices is {count}, but data has {most} dimensions to index (rank {}, batch_dims {batch})",
        data.len()
    );
    ensure!(
        count.max().is_none_or(|count| count >= least),
        "the last dimension of indices is {count}, expected {least}..={most}"
    );
    Ok(())
}

fn check_ones(data: &Input<'_>, axes: &Input<'_>) -> Result<(), OpError> {
    let (Some(dims), Some(axes)) = (data.shape.dims(), axes.ints()) else {
        return Ok(());
    };
    for axis in axes {
        let at = normalize_axis(axis, dims.len())?;
        ensure!(
            dims[at].contains(1),
            "axis {axis} has dimension {}, only dimensions of 1 can be removed",
            dims[at]
        );
    }
    Ok(())
}

fn check_distinct(axes: &Input<'_>) -> Result<(), OpError> {
    let mut axes = axes.ints().unwrap_or_default();
    axes.sort_unstable();
    match axes.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => bail!("axes must be distinct, got {} twice", pair[0]),
        None => Ok(()),
    }
}

fn check_zero_or_rest(shape: &Input<'_>) -> Result<(), OpError> {
    let ranges = shape.ranges().unwrap_or_default();
    let holds = |value: i64| ranges.iter().any(|range| range.value() == Some(value));
    ensure!(
        !(holds(0) && holds(-1)),
        "the shape holds 0 and -1, with allowzero expected at most one of them"
    );
    Ok(())
}

/// Checks indices along an axis. Gives them counted from the start, if some are counted from the
/// end.
pub(super) fn along(data: &Tensor, indices: &Tensor, axis: i64) -> Result<Option<Tensor>, OpError> {
    let axis = normalize_axis(axis, data.shape().rank())?;
    let size = data.shape()[axis];
    if let Some(place) = first_outside(indices, size, true) {
        return Err(out_of_range(indices, place, axis, size, true));
    }
    if !any_negative(indices) {
        return Ok(None);
    }
    let mut counted = Tensor::zeros(ElementType::I64, indices.shape().clone())?;
    let mut places = [0; BLOCK];
    let blocks = counted.as_mut_slice::<i64>()?.chunks_mut(BLOCK);
    for (i, block) in blocks.enumerate() {
        let places = &mut places[..block.len()];
        positions(indices, size, true, i * BLOCK, places);
        for (out, &place) in block.iter_mut().zip(&*places) {
            *out = i64::try_from(place).unwrap_or(i64::MAX);
        }
    }
    Ok(Some(counted))
}

fn any_negative(tensor: &Tensor) -> bool {
    if tensor.element_type().class() == Some(Class::U64) {
        return false;
    }
    let mut block = [0i64; BLOCK];
    (0..tensor.len()).step_by(BLOCK).any(|start| {
        let block = &mut block[..BLOCK.min(tensor.len() - start)];
        widen(tensor, start, block);
        block.iter().any(|&x| x < 0)
    })
}
