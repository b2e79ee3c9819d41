//! Evaluation of one node.

use smallvec::SmallVec;

use super::pool::{Pool, unexpected};
use super::run::{At, fits};
use super::workspace::{Slot, Tensors};
use crate::error::{Error, Kind, Result};
use crate::graph::infer::describe;
use crate::limits;
use crate::model::Model;
use crate::op::size::expect_possible;
use crate::op::{Input, Io, Op, OpErrorKind, Output, Outputs};
use crate::tensor::{Shape, Tensor};

/// Evaluates one node: infers what is not settled, allocates, evaluates, checks. The slot may have what
/// an evaluation before left, of a constant or of a node whose tensor is small.
pub(super) fn evaluate(
    model: &Model,
    at: At,
    (op, small): (&dyn Op, Option<&Shape>),
    inputs: &[&Tensor],
    pool: &mut Pool,
    slot: &mut Slot,
) -> Result<()> {
    let failed = |kind: Kind, mut error: crate::op::OpError| {
        // What a kernel left that was refused memory may make no sense to others.
        if let Err(stop) = limits::check() {
            error = stop.into();
        }
        let stopped = matches!(error.kind, OpErrorKind::Deadline | OpErrorKind::Cancelled);
        if !stopped {
            error.message += &describe(inputs.iter().map(|t| (t.element_type(), t.shape())));
        }
        Error::from_op(at.place(model), kind, error)
    };
    let left = std::mem::take(&mut slot.stays);
    let outputs = &mut slot.tensors;
    if !left {
        outputs.clear();
    }
    if let Some(constant) = op.constant() {
        let tensor = constant.map_err(|e| failed(Kind::Weights, e))?;
        outputs.push(tensor.clone());
        return Ok(());
    }
    let fact = at.fact(model);
    let again: Outputs;
    let inferred = if fact.settled {
        &fact.outputs
    } else {
        let exact: SmallVec<[Input<'_>; 4]> = inputs.iter().map(|t| Input::of(t)).collect();
        let infer = || {
            let outputs = op.infer(&exact)?;
            expect_possible(&outputs, limits::current(|limits| limits.rank))?;
            Ok(outputs)
        };
        again = infer().map_err(|e| failed(Kind::Shape, e))?;
        &again
    };
    if op.reshapes() {
        let shape = &inferred[0].shape;
        outputs.push(if shape.is_static() && shape.contains(inputs[0].shape()) {
            inputs[0].clone()
        } else {
            let tensor = inputs[0].with_shape(exact_shape(model, at, &inferred[0])?);
            tensor.map_err(|e| failed(Kind::Shape, e.into()))?
        });
        return Ok(());
    }
    if pieces(op, inputs, inferred, outputs) {
        return Ok(());
    }
    let refused = |e: Error| at.error(model, e.kind(), e.message());
    match (small, &mut outputs[..]) {
        (Some(_), [tensor]) if left => pool.wake(tensor).map_err(refused)?,
        (Some(shape), _) => {
            outputs.clear();
            let tensor = pool.allocate(inferred[0].element_type, shape);
            outputs.push(tensor.map_err(refused)?);
        }
        (None, _) => {
            outputs.clear();
            for output in inferred {
                outputs.push(match output.shape.to_shape() {
                    Some(shape) => {
                        let tensor = pool.allocate(output.element_type, &shape);
                        tensor.map_err(refused)?
                    }
                    // The operation finds the size and brings the tensor.
                    None => Tensor::zeros(output.element_type, [0])
                        .map_err(|e| failed(Kind::Eval, e.into()))?,
                });
            }
        }
    }
    let given = small.map(|_| outputs[0].bytes().as_ptr());
    let io = Io { inputs, outputs };
    op.eval(io).map_err(|e| failed(Kind::Eval, e))?;
    for (output, tensor) in inferred.iter().zip(&*outputs) {
        if tensor.element_type() != output.element_type || !output.shape.contains(tensor.shape()) {
            return Err(unexpected(at.place(model), output, tensor));
        }
        if !output.shape.is_static() {
            pool.adopt(tensor);
        }
    }
    // Not where the operation brought a tensor of its own, or one of its inputs.
    slot.stays = given.is_some_and(|given| given == slot.tensors[0].bytes().as_ptr());
    Ok(())
}

/// Puts the outputs of an operation that are pieces of its first input into `outputs`; whether they all
/// are.
fn pieces(op: &dyn Op, inputs: &[&Tensor], inferred: &[Output], outputs: &mut Tensors) -> bool {
    let Some(starts) = op.pieces(inputs, inferred) else {
        return false;
    };
    outputs.clear();
    let piece = |(&start, output): (&usize, &Output)| {
        let tensor = inputs.first()?.piece(start, output.shape.to_shape()?)?;
        fits(output, &tensor).then_some(tensor)
    };
    outputs.extend(starts.iter().zip(inferred).map_while(piece));
    outputs.len() == inferred.len()
}

fn exact_shape(model: &Model, at: At, output: &Output) -> Result<Shape> {
    output.shape.to_shape().ok_or_else(|| {
        let message = format!("the shape {} does not follow from the inputs", output.shape);
        at.error(model, Kind::Shape, message)
    })
}
