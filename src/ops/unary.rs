//! What elementwise functions of one input share, in the categories `arithmetic` and `activation`.

use std::fmt::{self, Debug};

use num_traits::{PrimInt, WrappingNeg};
use serde::{Deserialize, Serialize};

use super::floats::in_real;
use super::interval;
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::{each, each_sum, map};
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs, Terms, ensure};
use crate::tensor::convert::{Compute, convert, convert_into};
use crate::tensor::{ElementType, Tensor, ValueRange};

/// What a function does with integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integers {
    /// It is not defined for them.
    Refused,
    /// Its value is rounded to the nearest.
    Rounded,
    /// It has a definition of its own, for signed integers alone.
    Signed,
    /// It has a definition of its own.
    Exact,
}

/// An integer that functions are computed in; what does not fit wraps.
pub(super) trait Integer: PrimInt + WrappingNeg + Compute {}

impl<T: PrimInt + WrappingNeg + Compute> Integer for T {}

/// A function of one number, with its attributes.
pub(super) trait Function: Debug + Clone + Send + Sync + 'static {
    const INTEGERS: Integers;

    /// Whether there is a loop for sums: for functions that often follow products and convolutions.
    const TAKES_SUMS: bool = false;

    fn real<T: Real>(&self, x: T) -> T;

    /// The function of as many numbers, where that is faster than one by one.
    fn block<T: Real>(&self, x: &[T], out: &mut [T]) {
        let f = self.clone();
        each(
            x,
            out,
            #[inline(always)]
            move |x| f.real(x),
        );
    }

    /// Replaces elements by the function of their sums.
    fn sums(&self, terms: Terms<'_, '_>) {
        let f = self.clone();
        each_sum(
            terms,
            #[inline(always)]
            move |x| f.real(x),
        );
    }

    /// For [`Integers::Exact`] and [`Integers::Signed`].
    fn integer<T: Integer>(&self, x: T) -> T {
        x
    }

    /// What is known of the function of an integer, for the same.
    fn range(&self, _: ValueRange) -> ValueRange {
        ValueRange::UNKNOWN
    }
}

/// An operation that applies a function to each element.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Unary<F>(F);

impl<F: Debug> Debug for Unary<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<F: Function> Op for Unary<F> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        infer(inputs, F::INTEGERS)
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (input, out) = (io.inputs[0], &mut io.outputs[0]);
        let ty = out.element_type();
        if ty.is_float() {
            in_real!(ty, T => map::<T, T>(input, out, &|x, out| self.0.block(x, out)));
            return Ok(());
        }
        if F::INTEGERS == Integers::Rounded {
            let mut wide = convert(input, ElementType::F64)?;
            for x in wide.as_mut_slice::<f64>()? {
                *x = math::round_half_away(self.0.real(*x));
            }
            convert_into(&wide, out)?;
            return Ok(());
        }
        match lane(ty) {
            Some(Lane::I64) => self.integers::<i64>(input, out),
            Some(Lane::U64) => self.integers::<u64>(input, out),
            _ => self.integers::<i32>(input, out),
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        match F::INTEGERS {
            Integers::Exact | Integers::Signed => infer_ranges(inputs, output, |x| self.0.range(x)),
            Integers::Refused | Integers::Rounded => None,
        }
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }
}

impl<F: Function> Elementwise for Unary<F> {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        self.0.block(inputs[0], out);
    }

    fn takes_sums(&self) -> bool {
        F::TAKES_SUMS
    }

    fn compute_sums(&self, terms: Terms<'_, '_>) {
        if F::TAKES_SUMS {
            self.0.sums(terms);
        }
    }
}

impl<F: Function> Unary<F> {
    fn integers<T: Integer>(&self, input: &Tensor, out: &mut Tensor) {
        map::<T, T>(input, out, &|x, out| {
            let f = self.0.clone();
            each(
                x,
                out,
                #[inline(always)]
                move |x| f.integer(x),
            );
        });
    }
}

/// The output of an elementwise operation of one input.
pub(super) fn infer(inputs: &[Input<'_>], integers: Integers) -> Result<Outputs, OpError> {
    let [data] = inputs else {
        return Err(OpError::new(format!(
            "expected 1 input, got {}",
            inputs.len()
        )));
    };
    expect_type(data.element_type, integers)?;
    Ok(like(data))
}

/// Checks the element type of an elementwise operation.
pub(super) fn expect_type(ty: ElementType, integers: Integers) -> Result<(), OpError> {
    let (fits, what) = match integers {
        Integers::Refused => (ty.is_float(), "floats"),
        Integers::Rounded | Integers::Exact => (ty.is_numeric(), "numbers"),
        Integers::Signed => (ty.is_float() || ty.is_signed_integer(), "signed numbers"),
    };
    ensure!(
        fits || !ty.is_static(),
        "the elements must be {what}, got {ty}"
    );
    Ok(())
}

/// An output of an input's type and shape.
pub(super) fn like(data: &Input<'_>) -> Outputs {
    Output::single(data.element_type, data.shape.clone().into_owned())
}

/// What is known of the output's elements, from what is known of the input's.
pub(super) fn infer_ranges(
    inputs: &[Input<'_>],
    output: &Output,
    f: impl Fn(ValueRange) -> ValueRange,
) -> Option<Vec<ValueRange>> {
    let ty = output.element_type;
    if !ty.is_integer() {
        return None;
    }
    let ranges = inputs.first()?.ranges()?;
    let ranges = ranges.iter().map(|&x| {
        let range = f(interval::of_type(x, ty));
        interval::fit(range, ty)
    });
    Some(ranges.collect())
}

/// The elements of a float input with a function, such as one of further inputs, as [`each`].
pub(super) fn map_floats<T: Real>(io: Io<'_>, f: impl Fn(T) -> T + Copy + Sync) {
    map::<T, T>(io.inputs[0], &mut io.outputs[0], &|x, out| each(x, out, f));
}

/// The only number of a tensor that has one.
pub(super) fn number<T: Real>(tensor: &Tensor) -> T {
    let mut one = [T::zero()];
    crate::tensor::convert::widen(tensor, 0, &mut one);
    one[0]
}

/// The number, or the nearer of two bounds. NaN stays.
#[inline(always)]
pub(super) fn clamp<T: PartialOrd>(x: T, min: T, max: T) -> T {
    let x = if x < min { min } else { x };
    if x > max { max } else { x }
}

#[cfg(test)]
#[path = "unary_tests.rs"]
mod tests;
