//! ReduceSum-1: the sum over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-sum-1.html>
//!
//! Sums of floats are accumulated in `f64` (those of `f64` with compensation) and rounded once;
//! sums of integers wrap. The sum of no elements is zero.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, SUM};
use crate::ops::interval;

/// The sum.
#[derive(Debug, Default)]
pub(super) struct Sum;

impl Reduction for Sum {
    const FOLDS: Folds = SUM;

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |_| 0,
        fold: |ty, a, b| interval::fit(interval::add(a, b), ty),
        finish: |sum, _| sum,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Input, Io, Op, Output};
    use crate::ops::reduction::reduce::Reduce;
    use crate::tensor::{
        Dimension, ElementType, PartialShape, Symbol, Tensor, ValueRange, convert,
    };

    fn sum(data: &Tensor, axes: &Tensor) -> Result<Tensor, String> {
        let op = Reduce::<Sum>::default();
        let outputs = op
            .infer(&[Input::of(data), Input::of(axes)])
            .map_err(|e| e.message)?;
        let shape = outputs[0].shape.to_shape().expect("exact inputs");
        let mut output = Tensor::zeros(outputs[0].element_type, shape).expect("memory");
        output.bytes_mut().fill(1);
        op.eval(Io {
            inputs: &[data, axes],
            outputs: std::slice::from_mut(&mut output),
        })
        .map_err(|e| e.message)?;
        assert_eq!(*output.shape(), outputs[0].shape.to_shape().expect("exact"));
        Ok(output)
    }

    #[test]
    fn axes_of_every_kind() {
        let data = Tensor::new([2, 3], &[1i64, 2, 3, 4, 5, 6]).expect("six elements");
        for (axes, expected) in [
            (Tensor::scalar(1i32), Tensor::vector(&[6i64, 15])),
            (Tensor::vector(&[-2i64]), Tensor::vector(&[5i64, 7, 9])),
            (Tensor::vector(&[-1i32, 0]), Tensor::scalar(21i64)),
            (Tensor::vector::<i64>(&[]), data.clone()),
        ] {
            assert_eq!(sum(&data, &axes), Ok(expected));
        }
        assert!(sum(&data, &Tensor::scalar(1f32)).is_err());
        assert!(sum(&data, &Tensor::new([1, 1], &[1i64]).expect("one")).is_err());
        assert!(sum(&Tensor::scalar(true), &Tensor::vector::<i64>(&[])).is_err());
    }

    /// Four ones are four, unless the format wraps or ends before that.
    #[test]
    fn every_numeric_type() {
        let axes = Tensor::vector(&[0i64]);
        for ty in ElementType::ALL.into_iter().filter(|t| t.is_numeric()) {
            let ones = Tensor::new([4, 9], &[1f32; 36]).expect("36 elements");
            let ones = convert::convert(&ones, ty).expect("numbers");
            let result = sum(&ones, &axes).expect("a number");
            let wide = convert::convert(&result, ElementType::I64).expect("numbers");
            let expected = match ty {
                ElementType::U1 | ElementType::U2 => 0,
                // The largest number of the format is 1.
                ElementType::Nf4 => 1,
                _ => 4,
            };
            assert_eq!(wide.as_slice::<i64>().expect("i64"), [expected; 9], "{ty}");
        }
    }

    #[test]
    fn half_floats_round_once() {
        let f16 = |x: f32| half::f16::from_f32(x);
        // 2048 + 1 + tiny lies above the middle of 2048 and 2050, by less than f32 shows.
        let data = Tensor::vector(&[f16(2048.0), f16(1.0), f16(6e-8)]);
        let result = sum(&data, &Tensor::scalar(0i64)).expect("numbers");
        assert_eq!(result, Tensor::scalar(f16(2050.0)));
        let ones = Tensor::vector(&vec![f16(1.0); 4096]);
        let result = sum(&ones, &Tensor::scalar(0i64)).expect("numbers");
        assert_eq!(result, Tensor::scalar(f16(4096.0)));
    }

    #[test]
    fn ranges() {
        let n = Dimension::dynamic().with_symbol(Some(Symbol(1)));
        let known = |ty, ranges: &[ValueRange]| {
            let (shape, axes) = (PartialShape::from([ranges.len()]), Tensor::scalar(0i64));
            let mut data = Input::new(ty, &shape);
            data.ranges = Some(ranges);
            let output = Output::new(ty, PartialShape::scalar());
            let result = Reduce::<Sum>::default().infer_value(&[data, Input::of(&axes)], &output);
            result.expect("a scalar")[0]
        };
        let range = |min, max| ValueRange {
            min,
            max,
            symbol: None,
        };
        let exact = ValueRange::exact;
        for (ty, ranges, expected) in [
            (ElementType::I64, &[range(1, 4), exact(3)][..], range(4, 7)),
            (ElementType::I64, &[n.into(), exact(3)], range(3, i64::MAX)),
            (ElementType::I64, &[exact(0), n.into(), exact(0)], n.into()),
            (ElementType::I64, &[], exact(0)),
            (
                ElementType::U8,
                &[exact(200), exact(100)],
                ValueRange::UNKNOWN,
            ),
            (ElementType::U8, &[exact(200), exact(55)], exact(255)),
            (ElementType::I8, &[exact(-100), exact(-28)], exact(-128)),
            (
                ElementType::I8,
                &[exact(-100), exact(-29)],
                ValueRange::UNKNOWN,
            ),
            (
                ElementType::I64,
                &[exact(i64::MAX - 1), exact(2)],
                ValueRange::UNKNOWN,
            ),
        ] {
            assert_eq!(known(ty, ranges), expected, "{ty} {ranges:?}");
        }
    }
}
