//! Einsum-7: sums of products by Einstein's convention.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/einsum-7.html>
//!
//! An ellipsis that the output lacks is summed over, as any label is. Floats narrower than `f32`
//! are rounded once, at the end; integers are exact modulo the size of their type.

mod equation;

use serde::{Deserialize, Serialize};

use super::in_product;
use crate::kernel::contract::{Operand, contract};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::broadcast::broadcast;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, real};
use crate::tensor::{Dimension, PartialShape, Tensor};
use equation::{Equation, Label};

/// Sums of products.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Einsum {
    equation: Equation,
}

/// What the labels stand for, as far as the inputs read so far tell.
#[derive(Debug)]
struct Known {
    letters: Vec<(u8, Dimension)>,
    ellipsis: PartialShape,
}

/// How many axes the ellipsis of a subscript stands for, for an input of this rank.
fn covered(labels: &[Label], rank: usize) -> Option<usize> {
    let letters = labels
        .iter()
        .filter(|&&label| label != Label::Ellipsis)
        .count();
    let rest = rank.checked_sub(letters)?;
    (rest == 0 || letters < labels.len()).then_some(rest)
}

impl Known {
    fn new() -> Self {
        Self {
            letters: Vec::new(),
            ellipsis: PartialShape::scalar(),
        }
    }

    fn letter(&self, letter: u8) -> Option<Dimension> {
        let mut letters = self.letters.iter();
        Some(letters.find(|(other, _)| *other == letter)?.1)
    }

    /// Brings an input in.
    fn join(
        &mut self,
        index: usize,
        labels: &[Label],
        shape: &PartialShape,
    ) -> Result<(), OpError> {
        let Some(dims) = shape.dims() else {
            return self.join_unknown(labels);
        };
        let Some(covered) = covered(labels, dims.len()) else {
            bail!(
                "input {index} has shape {shape}, which does not fit the {} labels of its subscript",
                labels.len()
            );
        };
        let mut own: Vec<(u8, Dimension)> = Vec::new();
        let mut dims = dims;
        for &label in labels {
            let (these, rest) = dims.split_at(if label == Label::Ellipsis { covered } else { 1 });
            dims = rest;
            let Label::Letter(letter) = label else {
                let numpy = AutoBroadcastSpec::default();
                self.ellipsis = broadcast(&self.ellipsis, &these.into(), numpy)?;
                continue;
            };
            match own.iter_mut().find(|(other, _)| *other == letter) {
                None => own.push((letter, these[0])),
                Some((_, dim)) => match dim.intersect(these[0]) {
                    Some(both) => *dim = both,
                    None => bail!(
                        "the axes `{label}` of input {index} differ: {dim} and {}",
                        these[0]
                    ),
                },
            }
        }
        for (letter, dim) in own {
            self.join_letter(letter, dim)?;
        }
        Ok(())
    }

    fn join_letter(&mut self, letter: u8, dim: Dimension) -> Result<(), OpError> {
        let Some((_, known)) = self.letters.iter_mut().find(|(other, _)| *other == letter) else {
            self.letters.push((letter, dim));
            return Ok(());
        };
        match known.broadcast(dim) {
            Some(both) => *known = both,
            None => bail!(
                "axes `{}` cannot be broadcast: {known} and {dim}",
                Label::Letter(letter)
            ),
        }
        Ok(())
    }

    /// Brings an input of unknown rank in.
    fn join_unknown(&mut self, labels: &[Label]) -> Result<(), OpError> {
        for &label in labels {
            match label {
                Label::Letter(letter) => self.join_letter(letter, Dimension::dynamic())?,
                Label::Ellipsis => self.ellipsis = PartialShape::dynamic(),
            }
        }
        Ok(())
    }

    /// The shape of axes with these labels.
    fn shape(&self, labels: &[Label]) -> PartialShape {
        let mut shape = Vec::new();
        for &label in labels {
            match label {
                Label::Letter(letter) => {
                    shape.push(self.letter(letter).unwrap_or(Dimension::dynamic()));
                }
                Label::Ellipsis => match self.ellipsis.dims() {
                    Some(dims) => shape.extend_from_slice(dims),
                    None => return PartialShape::dynamic(),
                },
            }
        }
        shape.into_iter().collect()
    }
}

/// The numbers that stand for the labels of a tensor's axes: letters for themselves, the axes of
/// an ellipsis for their place from the last.
fn numbers(labels: &[Label], rank: usize) -> Vec<usize> {
    let covered = covered(labels, rank).unwrap_or(0);
    let mut numbers = Vec::new();
    for &label in labels {
        match label {
            Label::Letter(letter) => numbers.push(usize::from(letter)),
            Label::Ellipsis => numbers.extend((0..covered).rev().map(|place| 256 + place)),
        }
    }
    numbers
}

impl Op for Einsum {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let subscripts = &self.equation.inputs;
        ensure!(
            inputs.len() == subscripts.len(),
            "the equation has subscripts for {} inputs, got {}",
            subscripts.len(),
            inputs.len()
        );
        let ty = merge_types(inputs)?;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "the inputs must be numbers, got {ty}"
        );
        let mut known = Known::new();
        for (i, (labels, input)) in subscripts.iter().zip(inputs).enumerate() {
            known.join(i, labels, &input.shape)?;
        }
        Ok(Output::single(ty, known.shape(&self.equation.output)))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let out = &mut io.outputs[0];
        if out.is_empty() {
            return Ok(());
        }
        let labels = numbers(&self.equation.output, out.shape().rank());
        in_product!(out.element_type(), T => {
            let inputs: Vec<Tensor> = io
                .inputs
                .iter()
                .map(|input| real::<T>(input))
                .collect::<Result<_, _>>()?;
            let operands = self.equation.inputs.iter().zip(&inputs);
            let operands = operands.map(|(subscript, input)| {
                let shape = input.shape();
                let axes: Vec<(usize, usize)> = numbers(subscript, shape.rank())
                    .into_iter()
                    .zip(shape.iter().copied())
                    .collect();
                Ok(Operand::<T>::new(input.as_slice()?, &axes))
            });
            let operands = operands.collect::<Result<Vec<_>, OpError>>()?;
            fill(out, |out| contract(operands, &labels, out))
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
