//! Products with weights that are stored small: they stay so.

use std::sync::Arc;

use super::draft::{Draft, port};
use super::pack::prepare;
use crate::graph::{Operation, Port, evaluate_known};
use crate::op::Prepared;
use crate::ops::matrix::compressed;
use crate::tensor::{ElementType, Tensor};

/// Gives products and convolutions their weights as they are stored, in place of the layers that widen them:
/// for products `Convert` → `Subtract` → `Multiply` → `Reshape` → `Convert`, all but the first `Convert` maybe
/// absent; for convolutions `Convert`.
pub(super) fn weights(draft: &mut Draft) {
    for index in 0..draft.len() {
        if let Some(prepared) = product(draft, index) {
            let first = draft.node(index).inputs[0];
            draft.set(index, Arc::from(prepared.op), "MatMul".to_owned(), [first]);
        } else if let Some(prepared) = convolution(draft, index) {
            prepare(draft, index, prepared);
        }
    }
}

/// A convolution of `f32` whose filters are constants of `f16` or `bf16`.
fn convolution(draft: &Draft, index: usize) -> Option<Prepared> {
    let op = draft.computes(index)?;
    let filters = match draft.computed_by(port(index))? {
        "Convolution"
        | "GroupConvolution"
        | "ConvolutionBackpropData"
        | "GroupConvolutionBackpropData" => *draft.node(index).inputs.get(1)?,
        _ => return None,
    };
    if draft.computed_by(filters)? != "Convert" {
        return None;
    }
    let stored = draft.value(*draft.node(filters.node.index()).inputs.first()?)?;
    let narrow = matches!(stored.element_type(), ElementType::F16 | ElementType::Bf16);
    let mut inputs = draft.inputs(index)?;
    inputs[1].value = Some(stored);
    let single = inputs
        .iter()
        .take(2)
        .all(|input| input.element_type == ElementType::F32);
    (narrow && single).then(|| op.prepare(&inputs))?
}

fn product(draft: &Draft, index: usize) -> Option<Prepared> {
    let op = draft.computes(index)?;
    let &[data, weights] = &draft.node(index).inputs[..] else {
        return None;
    };
    let Operation::Known { def, .. } = &draft.node(index).operation else {
        return None;
    };
    let ty = |port: Port| draft.output(port).map(|output| output.element_type);
    if def.name != "MatMul" || ty(data)? != ElementType::F32 || draft.value(weights).is_some() {
        return None;
    }
    let input = |port: Port, at: usize| draft.node(port.node.index()).inputs.get(at).copied();
    let mut at = weights;
    if draft.computed_by(at)? == "Convert" && ty(input(at, 0)?)? == ElementType::F16 {
        let inner = input(at, 0)?;
        if draft.value(inner).is_none() {
            at = inner;
        }
    }
    let computed_in = ty(at)?;
    if draft.computed_by(at)? == "Reshape" {
        // Groups are put together.
        let merged = draft.output(at)?.shape.rank() == Some(2);
        at = input(at, 0).filter(|_| merged)?;
    }
    let (mut scale, mut zero_point) = (None, None);
    if draft.computed_by(at)? == "Multiply" {
        scale = Some(constant(draft, input(at, 1)?)?);
        at = input(at, 0)?;
    }
    if draft.computed_by(at)? == "Subtract" {
        zero_point = Some(constant(draft, input(at, 1)?)?);
        at = input(at, 0)?;
    }
    if draft.computed_by(at)? != "Convert"
        || !matches!(computed_in, ElementType::F16 | ElementType::F32)
    {
        return None;
    }
    let stored = draft.value(input(at, 0)?)?;
    let half = computed_in == ElementType::F16;
    compressed(&**op, stored, zero_point.as_ref(), scale.as_ref(), half)
}

/// A constant, or one that is converted.
fn constant(draft: &Draft, port: Port) -> Option<Tensor> {
    if let Some(value) = draft.value(port) {
        return Some(value.clone());
    }
    if draft.computed_by(port)? != "Convert" {
        return None;
    }
    let index = port.node.index();
    let value = draft.value(*draft.node(index).inputs.first()?)?;
    let outputs = &draft.facts[index].outputs;
    let converted = evaluate_known(&**draft.op(index)?, &[value], outputs).ok()?;
    converted.into_iter().next()
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
