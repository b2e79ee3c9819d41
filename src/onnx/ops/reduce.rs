//! The reductions where their axes are left out, or may turn out to be none.
//!
//! <https://onnx.ai/onnx/operators/onnx__ReduceSum.html>
//!
//! No axes means all of them, or with `noop_with_empty_axes` each element by itself: ReduceSum
//! then gives its input, ReduceSumSquare the squares of it. Booleans have a maximum and minimum
//! since version 20: the greater and the lesser of false and true. The maximum of no floats is minus
//! infinity, and their minimum infinity.

use serde::{Serialize, Serializer};

use super::Inner;
use crate::kernel::scratch::try_vec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, allowed_axes, bail};
use crate::tensor::convert::convert_into;
use crate::tensor::{ElementType, PartialShape, Shape, Tensor};

/// A reduction whose axes are input 1, if it is there.
#[derive(Debug)]
pub(in crate::onnx) struct Reduce {
    /// The reduction over given axes.
    pub(in crate::onnx) inner: Inner,
    /// The reduction of booleans, if there is one.
    pub(in crate::onnx) boolean: Option<Inner>,
    pub(in crate::onnx) keep_dims: bool,
    pub(in crate::onnx) noop_with_empty_axes: bool,
    /// What no floats reduce to, if the inner reduction says something else.
    pub(in crate::onnx) empty: Option<f32>,
}

impl Serialize for Reduce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Attributes {
            keep_dims: bool,
            noop_with_empty_axes: bool,
        }
        Attributes {
            keep_dims: self.keep_dims,
            noop_with_empty_axes: self.noop_with_empty_axes,
        }
        .serialize(serializer)
    }
}

fn all_axes(rank: usize) -> Tensor {
    let axes: Vec<i64> = (0..rank)
        .filter_map(|axis| i64::try_from(axis).ok())
        .collect();
    Tensor::vector(&axes)
}

impl Reduce {
    fn op(&self, ty: ElementType) -> &dyn Op {
        match &self.boolean {
            Some(boolean) if ty == ElementType::Boolean => &*boolean.op,
            _ => &*self.inner.op,
        }
    }

    /// The type and shape without axes.
    fn infer_none(&self, data: &Input<'_>) -> Result<Outputs, OpError> {
        let op = self.op(data.element_type);
        match data.rank() {
            // The type is checked as if the rank were known.
            None => {
                let axes = all_axes(0);
                let outputs = op.infer(&[data.clone(), Input::of(&axes)])?;
                let shape = if self.noop_with_empty_axes || self.keep_dims {
                    PartialShape::dynamic()
                } else {
                    PartialShape::scalar()
                };
                Ok(Output::single(outputs[0].element_type, shape))
            }
            Some(_) if self.noop_with_empty_axes => {
                let axes = all_axes(0);
                op.infer(&[data.clone(), Input::of(&axes)])
            }
            Some(rank) => op.infer(&[data.clone(), Input::of(&all_axes(rank))]),
        }
    }
}

fn fill(output: &mut Tensor, number: f32) -> Result<(), OpError> {
    let all = Tensor::new(output.shape().clone(), &try_vec(number, output.len())?)?;
    Ok(convert_into(&all, output)?)
}

impl Op for Reduce {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, axes) = match inputs {
            [data] => return self.infer_none(data),
            [data, axes] => (data, axes),
            _ => bail!("expected 1 or 2 inputs (data, axes), got {}", inputs.len()),
        };
        let count = axes.shape.elements();
        if count.value() == Some(0) {
            axes.expect_integer("axes")?;
            return self.infer_none(data);
        }
        let some = self.op(data.element_type).infer(inputs)?;
        if count.min() > 0 {
            return Ok(some);
        }
        // There may be none.
        let none = self.infer_none(data)?;
        let shape = match (some[0].shape.dims(), none[0].shape.dims()) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                let dims = a.iter().zip(b).map(|(a, b)| a.union(*b));
                dims.collect::<PartialShape>()
            }
            _ => PartialShape::dynamic(),
        };
        Ok(Output::single(some[0].element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let Some(&data) = io.inputs.first() else {
            bail!("expected an input, got none");
        };
        let op = self.op(data.element_type());
        if let Some(empty) = self
            .empty
            .filter(|_| data.is_empty() && data.element_type().is_float())
        {
            return fill(&mut io.outputs[0], empty);
        }
        if io.inputs.get(1).is_some_and(|axes| !axes.is_empty()) {
            return op.eval(io);
        }
        let rank = data.shape().rank();
        // A scalar has no axes, but an absolute value.
        if !self.noop_with_empty_axes && rank > 0 {
            return op.eval(Io {
                inputs: &[data, &all_axes(rank)],
                outputs: io.outputs,
            });
        }
        // Each element by itself: along an axis of size 1.
        let column = data.shape().iter().copied().chain([1]);
        let column = data.with_shape(column.collect::<Shape>())?;
        let last = Tensor::vector(&[i64::try_from(rank).unwrap_or(i64::MAX)]);
        let reduced = super::apply(op, &[&column, &last])?;
        io.outputs[0] = reduced.with_shape(data.shape().clone())?;
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }
}
