//! Range-1, -4: the numbers from `start` to before `stop`, at a distance of `step`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/generation/range-4.html>
//!
//! Range-1 has inputs of one type, which is the output's; Range-4 casts inputs of any types. Numbers
//! for an integer output are cast first, towards zero, and computed exactly; all others are computed
//! in `f64` and rounded once. A step that is zero then is refused.

use serde::{Deserialize, Serialize};

use crate::kernel::range;
use crate::op::size::{between, size};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::interval;
use crate::tensor::convert::widen;
use crate::tensor::{Class, Dimension, ElementType, Tensor, ValueRange};

/// The numbers from `start` to before `stop`.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Range {
    /// The type of the output.
    output_type: ElementType,
}

/// Range-1, whose output has the type of its inputs.
#[derive(Debug, Clone, Default)]
pub(super) struct Range1;

/// What the inputs are called.
const NAMES: [&str; 3] = ["start", "stop", "step"];

/// Start and step, and how many numbers there are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Numbers {
    Floats(f64, f64, usize),
    Integers(i128, i128, usize),
}

impl Numbers {
    fn count(self) -> usize {
        match self {
            Self::Floats(_, _, count) | Self::Integers(_, _, count) => count,
        }
    }
}

/// A scalar as it is, cast if the output holds integers.
fn integer(tensor: &Tensor, name: &str) -> Result<i128, OpError> {
    match tensor.element_type().class() {
        Some(Class::F32 | Class::F64) => {
            let value = float(tensor, name)?;
            let most = 2f64.powi(64);
            ensure!(
                value.abs() < most,
                "{name} is {value}, which is beyond 64-bit integers"
            );
            #[allow(clippy::cast_possible_truncation)] // towards zero, as the document says
            Ok(value as i128)
        }
        Some(Class::U64) => {
            let mut value = [0u64];
            widen(tensor, 0, &mut value);
            Ok(value[0].into())
        }
        _ => {
            let mut value = [0i64];
            widen(tensor, 0, &mut value);
            Ok(value[0].into())
        }
    }
}

fn float(tensor: &Tensor, name: &str) -> Result<f64, OpError> {
    let mut value = [0f64];
    widen(tensor, 0, &mut value);
    let [value] = value;
    ensure!(
        value.is_finite(),
        "{name} is {value}, expected a finite number"
    );
    Ok(value)
}

/// The numbers between known scalars.
fn numbers(scalars: [&Tensor; 3], ty: ElementType) -> Result<Numbers, OpError> {
    let zero = || {
        let number = float(scalars[2], NAMES[2]).unwrap_or_default();
        let cast = match number {
            0.0 => String::new(),
            _ => format!(", which is 0 as {ty}"),
        };
        OpError::new(format!("step is {number}{cast}, expected another number"))
    };
    if ty.is_integer() {
        let [start, stop, step] = [0, 1, 2].map(|i| integer(scalars[i], NAMES[i]));
        let (start, stop, step) = (start?, stop?, step?);
        if step == 0 {
            return Err(zero());
        }
        let count = steps(stop - start, step);
        let count = size(count)?;
        return Ok(Numbers::Integers(start, step, count));
    }
    let [start, stop, step] = [0, 1, 2].map(|i| float(scalars[i], NAMES[i]));
    let (start, stop, step) = (start?, stop?, step?);
    if step == 0.0 {
        return Err(zero());
    }
    #[allow(clippy::cast_possible_truncation)] // the cast saturates
    let count = ((stop - start) / step).ceil() as i128;
    Ok(Numbers::Floats(start, step, size(count)?))
}

/// How many steps there are before `distance` is reached.
fn steps(distance: i128, step: i128) -> i128 {
    if (distance > 0) != (step > 0) || distance == 0 {
        return 0;
    }
    let (distance, step) = (distance.abs(), step.abs());
    distance / step + i128::from(distance % step != 0)
}

/// The number of integers between scalars that are partly known.
///
/// # Errors
/// When there are more than a tensor has.
fn count(start: ValueRange, stop: ValueRange, step: ValueRange) -> Result<Dimension, OpError> {
    if start.value() == Some(0) && step.value() == Some(1) {
        return Ok(stop.to_dimension());
    }
    if step.min <= 0 && step.max >= 0 {
        return Ok(Dimension::dynamic());
    }
    let down = step.max < 0;
    // Downwards is upwards with the signs changed.
    let [start, stop, step] = [start, stop, step].map(|range| {
        let min = (range.min != i64::MIN).then_some(i128::from(range.min));
        let max = (range.max != i64::MAX).then_some(i128::from(range.max));
        if down {
            (max.map(|x| -x), min.map(|x| -x))
        } else {
            (min, max)
        }
    });
    let shortest = stop.0.zip(start.1).map_or(0, |(stop, start)| stop - start);
    let least = match step.1 {
        Some(step) => steps(shortest, step),
        None => i128::from(shortest > 0),
    };
    let most = stop.1.zip(start.0).zip(step.0);
    let most = most.map(|((stop, start), step)| steps(stop - start, step));
    between(least, most)
}

fn infer(inputs: &[Input<'_>], ty: ElementType) -> Result<Outputs, OpError> {
    let [start, stop, step] = inputs else {
        bail!(
            "expected 3 inputs (start, stop, step), got {}",
            inputs.len()
        );
    };
    for (input, name) in inputs.iter().zip(NAMES) {
        let ty = input.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "{name} must be a number, got {ty}"
        );
        input.expect_scalar(name)?;
    }
    let exact = || Some([start.value?, stop.value?, step.value?]);
    let ranges = || {
        let range = |input: &Input<'_>| {
            if !input.element_type.is_integer() {
                return None;
            }
            let known = input
                .few_ranges()
                .and_then(|ranges| ranges.first().copied());
            let range = known.unwrap_or(ValueRange::UNKNOWN);
            Some(interval::of_type(range, input.element_type))
        };
        Some((range(start)?, range(stop)?, range(step)?))
    };
    let size = match (exact(), ranges()) {
        (Some(scalars), _) if ty.is_static() => Dimension::fixed(numbers(scalars, ty)?.count()),
        (_, Some((start, stop, step))) => {
            ensure!(
                step.value() != Some(0),
                "step is 0, expected another number"
            );
            count(start, stop, step)?
        }
        _ => Dimension::dynamic(),
    };
    Ok(Output::single(ty, [size].as_slice()))
}

#[allow(clippy::cast_possible_truncation)] // modulo 2^64
fn eval(io: Io<'_>) -> Result<(), OpError> {
    let [start, stop, step] = *io.inputs else {
        bail!("expected 3 inputs, got {}", io.inputs.len());
    };
    let out = &mut io.outputs[0];
    match numbers([start, stop, step], out.element_type())? {
        Numbers::Floats(start, step, _) => range::floats(start, step, out),
        Numbers::Integers(start, step, _) => range::integers(start as i64, step as i64, out),
    }
    Ok(())
}

/// What is known of each number when start and step are known in part.
fn infer_value(inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
    let [start, _, step] = inputs else {
        return None;
    };
    let integers = inputs.iter().all(|input| input.element_type.is_integer());
    if !integers || !output.element_type.is_integer() {
        return None;
    }
    let known = |input: &Input<'_>| input.few_ranges()?.first().copied();
    let (start, step) = (known(start)?, known(step)?);
    let count = output.shape.elements().value()?;
    let number = |i: usize| {
        let times = ValueRange::exact(i64::try_from(i).ok()?);
        let number = match i {
            0 => start,
            _ => interval::add(start, interval::multiply(step, times)),
        };
        Some(interval::fit(number, output.element_type))
    };
    (0..count).map(number).collect()
}

impl Op for Range {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.output_type.is_numeric(),
            "output_type is {}, expected a numeric type",
            self.output_type
        );
        infer(inputs, self.output_type)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        eval(io)
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        infer_value(inputs, output)
    }
}

impl Op for Range1 {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        infer(inputs, merge_types(inputs)?)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        eval(io)
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        infer_value(inputs, output)
    }
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
