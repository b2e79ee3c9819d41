//! Divide-1: the quotient of two inputs.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/divide-1.html>
//!
//! Quotients of integers are rounded down, or towards zero without `m_pythondiv`; the lowest number
//! divided by -1 wraps. The document leaves division by zero undefined: floats follow IEEE 754,
//! integers are refused.

use serde::{Deserialize, Serialize};

use super::binary::{self, Float, Function, Integer};
use crate::kernel::zip::each_pair;
use crate::op::attrs::{AutoBroadcast, AutoBroadcastSpec, is_zero};
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs};
use crate::ops::elementwise::{infer_ranges, like_numpy};
use crate::ops::interval;
use crate::tensor::ValueRange;

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Divide {
    m_pythondiv: bool,
    auto_broadcast: AutoBroadcast,
    #[serde(
        rename = "auto_broadcast.auto_broadcast_axis",
        skip_serializing_if = "is_zero"
    )]
    axis: i64,
}

impl Default for Divide {
    fn default() -> Self {
        Self {
            m_pythondiv: true,
            auto_broadcast: AutoBroadcast::default(),
            axis: 0,
        }
    }
}

impl Divide {
    fn broadcast(&self) -> AutoBroadcastSpec {
        AutoBroadcastSpec {
            auto_broadcast: self.auto_broadcast,
            axis: self.axis,
        }
    }
}

impl Op for Divide {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        binary::infer(inputs, self.broadcast())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        binary::refuse_zero(&io)?;
        if self.m_pythondiv {
            binary::eval::<Down>(io, self.broadcast());
        } else {
            binary::eval::<TowardsZero>(io, self.broadcast());
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let range = if self.m_pythondiv {
            Down::range
        } else {
            TowardsZero::range
        };
        infer_ranges(inputs, output, self.broadcast(), &range)
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        like_numpy(self, self.broadcast())
    }
}

impl Elementwise for Divide {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each_pair(inputs[0], inputs[1], out, Down::float);
    }
}

#[derive(Debug, Default)]
struct Down;

impl Function for Down {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        a / b
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.quotient_down(b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::divide(a, b, true)
    }
}

#[derive(Debug, Default)]
struct TowardsZero;

impl Function for TowardsZero {
    #[inline(always)]
    fn float<T: Float>(a: T, b: T) -> T {
        a / b
    }

    #[inline(always)]
    fn integer<T: Integer>(a: T, b: T) -> T {
        a.quotient(b)
    }

    fn range(a: ValueRange, b: ValueRange) -> ValueRange {
        interval::divide(a, b, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    fn divide(op: &Divide, a: &Tensor, b: &Tensor) -> Result<Tensor, OpError> {
        let outputs = op.infer(&[Input::of(a), Input::of(b)])?;
        let shape = outputs[0].shape.to_shape().expect("exact");
        let mut out = [Tensor::zeros(outputs[0].element_type, shape)?];
        op.eval(Io {
            inputs: &[a, b],
            outputs: &mut out,
        })?;
        let [out] = out;
        Ok(out)
    }

    #[test]
    fn rounding() {
        let a = Tensor::vector(&[7i32, -7, 7, -7, 6, -6, i32::MIN]);
        let b = Tensor::vector(&[2i32, 2, -2, -2, -3, 3, -1]);
        let down = divide(&Divide::default(), &a, &b).expect("no zero");
        assert_eq!(
            down.as_slice::<i32>().expect("i32"),
            [3, -4, -4, 3, -2, -2, i32::MIN]
        );
        let op = Divide {
            m_pythondiv: false,
            ..Divide::default()
        };
        let towards_zero = divide(&op, &a, &b).expect("no zero");
        assert_eq!(
            towards_zero.as_slice::<i32>().expect("i32"),
            [3, -3, -3, 3, -2, -2, i32::MIN]
        );
        let a = Tensor::vector(&[i8::MIN, 100]);
        let b = Tensor::scalar(-1i8);
        let wrapped = divide(&op, &a, &b).expect("no zero");
        assert_eq!(wrapped.as_slice::<i8>().expect("i8"), [i8::MIN, -100]);
    }

    #[test]
    fn zero() {
        let op = Divide::default();
        let a = Tensor::scalar(1i64);
        let b = Tensor::new([2, 3], &[1i64, 2, 3, 4, 5, 0]).expect("six");
        let error = divide(&op, &a, &b).expect_err("a zero");
        assert_eq!(error.message, "division by zero: the divisor is 0 at [1,2]");
        assert!(divide(&op, &a, &Tensor::scalar(0i64)).is_err());
        let none = Tensor::new::<i64>([0], &[]).expect("empty");
        assert!(divide(&op, &none, &Tensor::scalar(0i64)).is_ok());
        let infinite = divide(&op, &Tensor::scalar(1f32), &Tensor::scalar(0f32));
        let infinite = infinite.expect("floats divide by zero");
        assert_eq!(infinite.as_slice::<f32>().expect("f32"), [f32::INFINITY]);
    }
}
