//! Tests of bitwise operations.

use super::super::bitwise_and::BitwiseAnd;
use super::super::bitwise_left_shift::BitwiseLeftShift;
use super::super::bitwise_not::BitwiseNot;
use super::super::bitwise_or::BitwiseOr;
use super::super::bitwise_right_shift::BitwiseRightShift;
use super::super::bitwise_xor::BitwiseXor;
use super::*;
use crate::ops::testing::run;
use crate::tensor::convert::{from_codes, to_i64};
use crate::tensor::{Element, Shape, Tensor};

fn apply<F: Function, T: Element>(a: &[T], b: &[T]) -> Vec<i64> {
    let inputs = [Tensor::vector(a), Tensor::vector(b)];
    to_i64(&run(&Binary::<F>::default(), &inputs).expect("integers"))
}

#[test]
fn documented_examples() {
    assert_eq!(apply::<BitwiseAnd, u8>(&[21, 120], &[3, 37]), [1, 32]);
    assert_eq!(apply::<BitwiseOr, u8>(&[21, 120], &[3, 37]), [23, 125]);
    assert_eq!(apply::<BitwiseXor, u8>(&[21, 120], &[3, 37]), [22, 93]);
    let booleans = [[true, false, false], [true, true, false]];
    let [a, b] = booleans;
    assert_eq!(apply::<BitwiseAnd, bool>(&a, &b), [1, 0, 0]);
    assert_eq!(apply::<BitwiseOr, bool>(&a, &b), [1, 1, 0]);
    assert_eq!(apply::<BitwiseXor, bool>(&a, &b), [0, 1, 0]);
    let not = |data| to_i64(&run(&BitwiseNot {}, &[data]).expect("bits"));
    assert_eq!(not(Tensor::vector(&[1u8, 3])), [254, 252]);
    assert_eq!(not(Tensor::vector(&[true, false])), [0, 1]);
    assert_eq!(not(Tensor::vector(&[i64::MAX])), [i64::MIN]);
    let packed = from_codes(ElementType::U3, Shape::from([3]), &[0, 5, 7]).expect("codes");
    assert_eq!(not(packed), [7, 2, 0]);
}

#[test]
fn signs_and_widths() {
    assert_eq!(
        apply::<BitwiseAnd, i8>(&[-1, i8::MIN], &[-128, 127]),
        [-128, 0]
    );
    let high = apply::<BitwiseOr, u64>(&[1 << 63], &[1]);
    assert_eq!(high, [i64::MAX], "to_i64 clamps");
    assert_eq!(apply::<BitwiseXor, i64>(&[i64::MIN], &[-1]), [i64::MAX]);
}

#[test]
fn shifts_out_of_range() {
    let by = [0, 1, 7, 8, 31, 32, 100, -1];
    let left = apply::<BitwiseLeftShift, i8>(&[3; 8], &by);
    assert_eq!(left, [3, 6, -128, 0, 0, 0, 0, 0]);
    let right = apply::<BitwiseRightShift, i8>(&[-100; 8], &by);
    assert_eq!(right, [-100, -50, -1, -1, -1, -1, -1, -1]);
    let by = [0, 63, 64, i64::MAX, i64::MIN];
    let left = apply::<BitwiseLeftShift, i64>(&[1; 5], &by);
    assert_eq!(left, [1, i64::MIN, 0, 0, 0]);
    let right = apply::<BitwiseRightShift, u64>(&[u64::MAX; 3], &[63, 64, u64::MAX]);
    assert_eq!(right, [1, 0, 0]);
    let right = apply::<BitwiseRightShift, i32>(&[i32::MIN, 5], &[32, 40]);
    assert_eq!(right, [-1, 0]);
}

#[test]
fn types() {
    let floats = [Tensor::scalar(1f32), Tensor::scalar(1f32)];
    assert!(run(&Binary::<BitwiseAnd>::default(), &floats).is_err());
    let booleans = [Tensor::scalar(true), Tensor::scalar(true)];
    assert!(run(&Binary::<BitwiseLeftShift>::default(), &booleans).is_err());
    assert!(run(&BitwiseNot {}, &[Tensor::scalar(1f64)]).is_err());
}
