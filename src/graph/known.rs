//! What is known of the elements of small tensors.
//!
//! A tensor all of whose elements are known goes through the operation's own `eval`. One that is
//! only partly known, as intervals and symbols, goes through `eval` as well where the operation
//! only moves elements: each element is replaced by a number that stands for it.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::limits;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, Role};
use crate::tensor::{ElementType, Tensor, ValueRange, convert};

/// Tensors of more elements are not followed: they are data, not shapes.
const MOST_KNOWN: usize = 4096;

/// What inference knows of the elements of an output.
#[derive(Debug, Clone)]
pub enum Known {
    /// All of them.
    Tensor(Tensor),
    /// The interval each one lies in.
    Ranges(Arc<[ValueRange]>),
}

/// What is known of the elements of every output of a node.
pub(crate) type KnownOutputs = SmallVec<[Option<Known>; 1]>;

/// The number of elements, if it is known and small.
fn small(output: &Output) -> Option<usize> {
    let count = output.shape.to_shape()?.elements()?;
    (output.element_type.is_static() && count <= MOST_KNOWN).then_some(count)
}

pub(super) fn known_outputs(op: &dyn Op, inputs: &[Input<'_>], outputs: &Outputs) -> KnownOutputs {
    let unknown = || smallvec::smallvec![None; outputs.len()];
    if outputs.iter().any(|o| small(o).is_none()) || op.role() == Role::Parameter || !op.is_pure() {
        return unknown();
    }
    if let Some(constant) = op.constant() {
        return smallvec::smallvec![constant.ok().cloned().map(Known::Tensor)];
    }
    let values: Option<SmallVec<[&Tensor; 4]>> = inputs.iter().map(|i| i.value).collect();
    if let Some(values) = values {
        // What evaluation refuses, it will refuse with a place when it is asked for. The values stay with
        // the model, whose evaluations may want them to be the same on every machine.
        return match limits::deterministic(|| evaluate(op, &values, outputs)) {
            Ok(tensors) => tensors
                .into_iter()
                .map(|t| Some(Known::Tensor(t)))
                .collect(),
            Err(_) => unknown(),
        };
    }
    let followed = |ty: ElementType| ty.is_integer() || ty == ElementType::Boolean;
    if !outputs.iter().all(|o| followed(o.element_type)) {
        return unknown();
    }
    let mut known = unknown();
    if op.moves() != Moves::None {
        known = move_ranges(op, inputs, outputs.len()).unwrap_or(known);
    } else if let Some(ranges) = op.infer_value(inputs, &outputs[0])
        && ranges.iter().any(|r| *r != ValueRange::UNKNOWN)
    {
        known[0] = Some(Known::Ranges(ranges.into()));
    }
    for (known, output) in known.iter_mut().zip(outputs) {
        if let Some(tensor) = known.as_ref().and_then(|known| exact(known, output)) {
            *known = Some(Known::Tensor(tensor));
        }
    }
    known
}

/// The tensor of an output of whose elements every one turned out to be known.
fn exact(known: &Known, output: &Output) -> Option<Tensor> {
    let Known::Ranges(ranges) = known else {
        return None;
    };
    let values: Vec<i64> = ranges.iter().map(|r| r.value()).collect::<Option<_>>()?;
    let wide = Tensor::new(output.shape.to_shape()?, &values).ok()?;
    convert::convert(&wide, output.element_type).ok()
}

/// The outputs of an operation of which all is known, of exact shapes.
pub(crate) fn evaluate(
    op: &dyn Op,
    inputs: &[&Tensor],
    outputs: &Outputs,
) -> Result<Vec<Tensor>, OpError> {
    let shape = |o: &Output| o.shape.to_shape().unwrap_or_default();
    if op.reshapes() {
        return Ok(vec![inputs[0].with_shape(shape(&outputs[0]))?]);
    }
    let allocate = |o: &Output| Tensor::zeros(o.element_type, shape(o));
    let mut tensors = outputs
        .iter()
        .map(allocate)
        .collect::<Result<Vec<_>, _>>()?;
    op.eval(Io {
        inputs,
        outputs: &mut tensors,
    })?;
    // A kernel that was told to end leaves anything behind.
    limits::check()?;
    Ok(tensors)
}

/// Moves what is known of elements through an operation that moves elements.
///
/// Every element is given a number, 0 standing for "the number 0"; the operation moves the
/// numbers, and each output element is what its number stands for.
fn move_ranges(op: &dyn Op, inputs: &[Input<'_>], outputs: usize) -> Option<KnownOutputs> {
    let moves = op.moves();
    let mut stand_for = vec![ValueRange::exact(0)];
    let mut numbered: SmallVec<[Option<Tensor>; 4]> = SmallVec::new();
    let mut informed = false;
    for (index, input) in inputs.iter().enumerate() {
        if !moves.includes(index) {
            input.value?;
            numbered.push(None);
            continue;
        }
        let shape = input.shape.to_shape()?;
        let count = shape.elements().filter(|&n| n <= MOST_KNOWN)?;
        let ranges = match input.ranges() {
            Some(ranges) => {
                informed = true;
                ranges
            }
            None => Cow::Owned(vec![ValueRange::UNKNOWN; count]),
        };
        let first = stand_for.len();
        let numbers = first..first + ranges.len();
        stand_for.extend_from_slice(&ranges);
        let numbers: Vec<i64> = numbers.map(|n| i64::try_from(n).unwrap_or(0)).collect();
        numbered.push(Some(Tensor::new(shape, &numbers).ok()?));
    }
    if !informed {
        return None;
    }
    let tensors: SmallVec<[&Tensor; 4]> = inputs
        .iter()
        .zip(&numbered)
        .map(|(input, number)| number.as_ref().or(input.value))
        .collect::<Option<_>>()?;
    let again: SmallVec<[Input<'_>; 4]> = tensors.iter().map(|t| Input::of(t)).collect();
    let inferred = op.infer(&again).ok()?;
    if inferred.len() != outputs || inferred.iter().any(|o| small(o).is_none()) {
        return None;
    }
    let moved = evaluate(op, &tensors, &inferred).ok()?;
    let known = |tensor: &Tensor| {
        let numbers = tensor.as_slice::<i64>().ok()?;
        let ranges = numbers
            .iter()
            .map(|&n| {
                usize::try_from(n)
                    .ok()
                    .and_then(|n| stand_for.get(n))
                    .copied()
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Known::Ranges(ranges.into()))
    };
    Some(moved.iter().map(known).collect())
}
