//! ReduceLogSum, ReduceLogSumExp, ReduceSumSquare: sums with a step before or after them.
//!
//! <https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html>
//!
//! Floats are computed in `f64` and rounded once; the greatest element is taken out of
//! exponentials, so that they do not overflow. Squares of integers wrap, logarithms of integers
//! are cut off.

use serde::{Serialize, Serializer};

use super::{Inner, apply};
use crate::kernel::math;
use crate::kernel::moving::Odometer;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::tensor::convert::{convert, convert_into};
use crate::tensor::{Class, ElementType, Tensor};

/// What is done around the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(in crate::onnx) enum Steps {
    /// The logarithm of the sum.
    LogSum,
    /// The logarithm of the sum of exponentials.
    LogSumExp,
    /// The sum of squares.
    SumSquare,
}

/// A reduction made of a sum.
#[derive(Debug)]
pub(in crate::onnx) struct Composed {
    pub(in crate::onnx) steps: Steps,
    pub(in crate::onnx) sum: Inner,
    /// The maximum over the same axes, which it keeps.
    pub(in crate::onnx) greatest: Option<Inner>,
}

impl Serialize for Composed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sum.serialize(serializer)
    }
}

impl Op for Composed {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        if let Some(data) = inputs.first() {
            let ty = data.element_type;
            ensure!(
                ty.is_numeric() || !ty.is_static(),
                "data must be numbers, got {ty}"
            );
        }
        self.sum.op.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, axes @ ..] = io.inputs else {
            bail!("expected an input, got none");
        };
        let over = |op: &Inner, data: &Tensor| {
            let inputs: Vec<&Tensor> = std::iter::once(data).chain(axes.iter().copied()).collect();
            apply(&*op.op, &inputs)
        };
        let mut result = match (self.steps, data.element_type().class()) {
            (Steps::SumSquare, class) => over(&self.sum, &squares(data, class)?)?,
            (Steps::LogSum, _) => {
                let mut sum = over(&self.sum, &convert(data, ElementType::F64)?)?;
                sum.as_mut_slice::<f64>()?
                    .iter_mut()
                    .for_each(|x| *x = math::ln(*x));
                sum
            }
            (Steps::LogSumExp, _) => {
                let mut wide = convert(data, ElementType::F64)?;
                let mut greatest = match &self.greatest {
                    Some(op) => over(op, &wide)?,
                    None => Tensor::scalar(0f64),
                };
                let finite = |x: &mut f64| *x = if x.is_finite() { *x } else { 0.0 };
                greatest.as_mut_slice()?.iter_mut().for_each(finite);
                shifted_exp(&mut wide, &greatest)?;
                let mut sum = over(&self.sum, &wide)?;
                let greatest = greatest.as_slice::<f64>()?.iter();
                let sums = sum.as_mut_slice::<f64>()?.iter_mut();
                sums.zip(greatest)
                    .for_each(|(x, &shift)| *x = math::ln(*x) + shift);
                sum
            }
        };
        if result.element_type() == io.outputs[0].element_type() {
            std::mem::swap(&mut io.outputs[0], &mut result);
            return Ok(());
        }
        Ok(convert_into(&result, &mut io.outputs[0])?)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        self.sum.op.allowed(inputs, index)
    }
}

fn squares(data: &Tensor, class: Option<Class>) -> Result<Tensor, OpError> {
    let mut wide = match class {
        Some(Class::I64) => convert(data, ElementType::I64)?,
        Some(Class::U64) => data.clone(),
        _ => convert(data, ElementType::F64)?,
    };
    match class {
        Some(Class::I64) => {
            let all = wide.as_mut_slice::<i64>()?.iter_mut();
            all.for_each(|x| *x = x.wrapping_mul(*x));
        }
        Some(Class::U64) => {
            let all = wide.as_mut_slice::<u64>()?.iter_mut();
            all.for_each(|x| *x = x.wrapping_mul(*x));
        }
        _ => wide
            .as_mut_slice::<f64>()?
            .iter_mut()
            .for_each(|x| *x *= *x),
    }
    Ok(wide)
}

/// The exponentials of elements, less the one of `shift` that reduces them: a tensor of the same
/// rank with 1 for the reduced dimensions.
fn shifted_exp(data: &mut Tensor, shift: &Tensor) -> Result<(), OpError> {
    let dims = data.shape().clone();
    let mut strides = shift.shape().strides();
    for (stride, &size) in strides.iter_mut().zip(shift.shape()) {
        if size == 1 {
            *stride = 0;
        }
    }
    let Some((&last, outer)) = dims.split_last() else {
        let shift = shift.as_slice::<f64>()?[0];
        let all = data.as_mut_slice::<f64>()?.iter_mut();
        all.for_each(|x| *x = math::exp(*x - shift));
        return Ok(());
    };
    let step = strides[outer.len()];
    let mut place = Odometer::at(0, outer, &strides[..outer.len()]);
    let shift = shift.as_slice::<f64>()?;
    for row in data.as_mut_slice::<f64>()?.chunks_exact_mut(last.max(1)) {
        let mut at = place.offset();
        for x in row {
            *x = math::exp(*x - shift[at]);
            at += step;
        }
        place.step();
    }
    Ok(())
}
