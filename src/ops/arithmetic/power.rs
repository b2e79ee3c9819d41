//! Power-1: the first input raised to the power of the second.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/power-1.html>
//!
//! What the document leaves open: powers of integers wrap in their own type; those with negative
//! exponents are rounded towards zero, as a division would be, and refused for a base of 0. `0^0`
//! is 1. Floats follow `pow` of C.

use std::sync::atomic::{AtomicBool, Ordering};

use num_traits::PrimInt;
use num_traits::ops::wrapping::WrappingMul;
use serde::{Deserialize, Serialize};

use super::binary;
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::map::each;
use crate::kernel::math::pow;
use crate::kernel::real::Real;
use crate::kernel::simd::vectorize_mut;
use crate::kernel::zip::{each_pair, zip};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::elementwise::{infer_ranges, like_numpy, pair};
use crate::ops::interval;
use crate::tensor::convert::Compute;
use crate::tensor::{Tensor, ValueRange};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Power {
    broadcast: AutoBroadcastSpec,
}

impl Op for Power {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        binary::infer(inputs, self.broadcast)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = pair(io, self.broadcast);
        match lane(out.element_type()) {
            Some(Lane::F32) => zip(inputs, out, &floats::<f32>),
            Some(Lane::F64) => zip(inputs, out, &floats::<f64>),
            Some(Lane::I32) => return integers::<i32>(inputs, out),
            Some(Lane::I64) => return integers::<i64>(inputs, out),
            Some(Lane::U64) => return integers::<u64>(inputs, out),
            None => {}
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        infer_ranges(inputs, output, self.broadcast, &interval::power)
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        like_numpy(self, self.broadcast)
    }
}

impl Elementwise for Power {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        floats(inputs[0], inputs[1], out);
    }
}

/// Powers of floats. Mostly the exponents are all the same.
fn floats<T: Real>(x: &[T], exponents: &[T], out: &mut [T]) {
    match *exponents {
        [first, ..] if all_are(first, exponents) => match Usual::of(first) {
            Some(Usual::Inverse) => each(
                x,
                out,
                #[inline(always)]
                |x| Usual::Inverse.power(x),
            ),
            Some(Usual::InverseRoot) => each(
                x,
                out,
                #[inline(always)]
                |x| Usual::InverseRoot.power(x),
            ),
            Some(Usual::Root) => each(
                x,
                out,
                #[inline(always)]
                |x| Usual::Root.power(x),
            ),
            Some(Usual::Same) => out.copy_from_slice(x),
            Some(Usual::Square) => each(
                x,
                out,
                #[inline(always)]
                |x| Usual::Square.power(x),
            ),
            Some(Usual::Cube) => each(
                x,
                out,
                #[inline(always)]
                |x| Usual::Cube.power(x),
            ),
            None => each_pair(
                x,
                exponents,
                out,
                #[inline(always)]
                |x, y| pow(x, y),
            ),
        },
        _ => {
            each_pair(
                x,
                exponents,
                out,
                #[inline(always)]
                |x, y| pow(x, y),
            );
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(exponents) {
                if let Some(usual) = Usual::of(y) {
                    *out = usual.power(x);
                }
            }
        }
    }
}

/// Whether all numbers are the same. All are looked at, many at a time.
fn all_are<T: Real>(first: T, numbers: &[T]) -> bool {
    vectorize_mut(
        #[inline(always)]
        move || numbers.iter().fold(true, |all, &x| all & (x == first)),
    )
}

/// The usual exponents, which need no logarithm; what is exact in `f64` rounds once.
#[derive(Clone, Copy)]
enum Usual {
    Inverse,
    InverseRoot,
    Root,
    Same,
    Square,
    Cube,
}

impl Usual {
    fn of<T: Real>(exponent: T) -> Option<Self> {
        Some(match exponent.wide() {
            -1.0 => Self::Inverse,
            -0.5 => Self::InverseRoot,
            0.5 => Self::Root,
            1.0 => Self::Same,
            2.0 => Self::Square,
            3.0 => Self::Cube,
            _ => return None,
        })
    }

    #[inline(always)]
    fn power<T: Real>(self, x: T) -> T {
        match self {
            Self::Inverse => T::one() / x,
            Self::InverseRoot => T::of(1.0 / root(x.wide())),
            Self::Root => T::of(root(x.wide())),
            Self::Same => x,
            Self::Square => x * x,
            Self::Cube => T::of(x.wide() * x.wide() * x.wide()),
        }
    }
}

/// `x` to the power of 1/2, which is not the root of -0 and of -infinity.
#[inline(always)]
fn root(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        f64::INFINITY
    } else {
        (x + 0.0).sqrt()
    }
}

fn integers<T>(inputs: [(&Tensor, usize); 2], out: &mut Tensor) -> Result<(), OpError>
where
    T: Compute + PrimInt + WrappingMul,
{
    let divides_by_zero = AtomicBool::new(false);
    zip(inputs, out, &|a: &[T], b, out| {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = power(a, b).unwrap_or_else(|| {
                divides_by_zero.store(true, Ordering::Relaxed);
                T::zero()
            });
        }
    });
    ensure!(
        !divides_by_zero.into_inner(),
        "division by zero: 0 is raised to a negative power"
    );
    Ok(())
}

/// A power of integers; `None` for a negative power of 0.
fn power<T: PrimInt + WrappingMul>(base: T, exponent: T) -> Option<T> {
    let (zero, one) = (T::zero(), T::one());
    if exponent < zero {
        if base.is_zero() {
            return None;
        }
        let odd = exponent & one == one;
        let unit = base == one || base < zero && base + one == zero;
        return Some(match unit {
            true if base == one || odd => base,
            true => one,
            false => zero,
        });
    }
    let (mut result, mut square, mut rest) = (one, base, exponent);
    while !rest.is_zero() {
        if rest & one == one {
            result = result.wrapping_mul(&square);
        }
        square = square.wrapping_mul(&square);
        rest = rest >> 1;
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::Element;
    use crate::tensor::convert::to_i64;

    fn powers<T: Element>(a: &[T], b: &[T]) -> Result<Tensor, OpError> {
        run(&Power::default(), &[Tensor::vector(a), Tensor::vector(b)])
    }

    #[test]
    fn of_integers() {
        let a = [2i32, -2, 3, 0, 0, 7, -1, -1, 1, 2, 10, -3];
        let b = [10, 3, 0, 0, 5, 1, 5, 4, -9, -1, 10, -2];
        let expected = [1024, -8, 1, 1, 0, 7, -1, 1, 1, 0, 1_410_065_408, 0];
        assert_eq!(to_i64(&powers(&a, &b).expect("no zero")), expected);
        let out = powers(&[-1i64, -1], &[-3, -4]).expect("no zero");
        assert_eq!(to_i64(&out), [-1, 1]);
        let out = powers(&[3u8, 2], &[5, 8]).expect("unsigned");
        assert_eq!(to_i64(&out), [243, 0], "wraps");
        let out = powers(&[3u64, 2], &[40, 64]).expect("unsigned");
        assert_eq!(
            out.as_slice::<u64>().expect("u64"),
            [12_157_665_459_056_928_801, 0]
        );
        let error = powers(&[1i8, 0], &[-1, -1]).expect_err("1 / 0");
        assert!(error.message.contains("division by zero"));
    }

    #[test]
    fn usual_exponents_are_no_exceptions() {
        let data = [
            0.0f32,
            -0.0,
            1.0,
            -1.0,
            0.3,
            1234.5,
            -7.25,
            1e30,
            1e-30,
            -1e-42,
            f32::MAX,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        for exponent in [-1f32, -0.5, 0.5, 1.0, 2.0, 3.0, 0.0, -2.0] {
            let inputs = [Tensor::vector(&data), Tensor::scalar(exponent)];
            let fast = run(&Power::default(), &inputs).expect("floats");
            let slow = powers(&data, &[exponent; 14]).expect("floats");
            let (fast, slow) = (fast.as_slice::<f32>(), slow.as_slice::<f32>());
            for (fast, slow) in fast.expect("f32").iter().zip(slow.expect("f32")) {
                let near = (fast - slow).abs() <= slow.abs() * f32::EPSILON;
                let same = fast == slow || fast.is_nan() && slow.is_nan();
                assert!(near || same, "{fast} is not {slow} at {exponent}");
                assert_eq!(fast.is_sign_negative(), slow.is_sign_negative());
            }
        }
    }
}
