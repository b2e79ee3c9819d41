//! What elementwise operations of two inputs share: types, shapes, known values.

use std::fmt::{self, Debug};

use crate::op::attrs::{AutoBroadcast, AutoBroadcastSpec};
use crate::op::broadcast::{alignment, broadcast};
use crate::op::{Elementwise, Input, Io, OpError, Output, bail, ensure};
use crate::tensor::{ElementType, PartialShape, Shape, Tensor, ValueRange};

use super::interval;

/// The common element type and the broadcast shape of two inputs.
pub(super) fn infer_pair(
    inputs: &[Input<'_>],
    spec: AutoBroadcastSpec,
) -> Result<(ElementType, PartialShape), OpError> {
    let [a, b] = inputs else {
        bail!("expected 2 inputs, got {}", inputs.len());
    };
    let ty = match (a.element_type, b.element_type) {
        (ElementType::Dynamic, ty) | (ty, ElementType::Dynamic) => ty,
        (a, b) => {
            ensure!(
                a == b,
                "the inputs must have one element type, got {a} and {b}"
            );
            a
        }
    };
    Ok((ty, broadcast(&a.shape, &b.shape, spec)?))
}

/// What an operation with this rule of broadcasting is to a chain of functions of elements, whose
/// inputs are broadcast as NumPy does.
pub(super) fn like_numpy(
    op: &dyn Elementwise,
    spec: AutoBroadcastSpec,
) -> Option<&dyn Elementwise> {
    match spec.auto_broadcast {
        AutoBroadcast::None | AutoBroadcast::Numpy => Some(op),
        AutoBroadcast::Pdpd => None,
    }
}

/// Shows an operation of a function and a rule of broadcasting under the function's name.
pub(super) fn debug<F: Debug + Default>(
    f: &mut fmt::Formatter<'_>,
    broadcast: &AutoBroadcastSpec,
) -> fmt::Result {
    f.debug_struct(&format!("{:?}", F::default()))
        .field("auto_broadcast", &broadcast.auto_broadcast)
        .field("axis", &broadcast.axis)
        .finish()
}

/// The two inputs with the axes where they begin in the output, and the output.
pub(super) fn pair<'a>(
    io: Io<'a>,
    spec: AutoBroadcastSpec,
) -> ([(&'a Tensor, usize); 2], &'a mut Tensor) {
    let [a, b] = [io.inputs[0], io.inputs[1]];
    let [a_at, b_at] = alignment(a.shape().rank(), b.shape().rank(), spec);
    ([(a, a_at), (b, b_at)], &mut io.outputs[0])
}

/// What is known of the output's elements, from what is known of the inputs'.
pub(super) fn infer_ranges(
    inputs: &[Input<'_>],
    output: &Output,
    spec: AutoBroadcastSpec,
    f: &dyn Fn(ValueRange, ValueRange) -> ValueRange,
) -> Option<Vec<ValueRange>> {
    let ty = output.element_type;
    if !ty.is_integer() {
        return None;
    }
    pair_ranges(inputs, output, spec, &|a, b| {
        let (a, b) = (interval::of_type(a, ty), interval::of_type(b, ty));
        interval::fit(f(a, b), ty)
    })
}

/// A function of what is known of each pair of elements, for an output of any type.
pub(super) fn pair_ranges(
    inputs: &[Input<'_>],
    output: &Output,
    spec: AutoBroadcastSpec,
    f: &dyn Fn(ValueRange, ValueRange) -> ValueRange,
) -> Option<Vec<ValueRange>> {
    let [a, b] = inputs else { return None };
    let shape = output.shape.to_shape()?;
    let (a_shape, b_shape) = (a.shape.to_shape()?, b.shape.to_shape()?);
    let (a, b) = (a.ranges()?, b.ranges()?);
    let [a_at, b_at] = alignment(a_shape.rank(), b_shape.rank(), spec);
    let strides = shape.strides();
    (0..shape.elements()?)
        .map(|index| {
            let a = a.get(element(index, &shape, &strides, &a_shape, a_at))?;
            let b = b.get(element(index, &shape, &strides, &b_shape, b_at))?;
            Some(f(*a, *b))
        })
        .collect()
}

/// The element of an input that belongs to element `index` of the output.
fn element(index: usize, out: &Shape, strides: &[usize], shape: &Shape, at: usize) -> usize {
    let own = shape.strides();
    (0..shape.rank().min(out.rank().saturating_sub(at)))
        .filter(|&axis| shape[axis] != 1)
        .map(|axis| index / strides[at + axis] % out[at + axis] * own[axis])
        .sum()
}
