//! Tests of RandomUniform.

use super::*;
use crate::ops::testing::run;
use crate::tensor::convert::to_i64;

fn op(ty: ElementType, global_seed: i64, op_seed: i64, alignment: Alignment) -> RandomUniform {
    RandomUniform {
        output_type: ty,
        op_seed,
        global_seed,
        alignment,
    }
}

fn draw<T: Element>(
    op: &RandomUniform,
    shape: &[i64],
    [min, max]: [T; 2],
) -> Result<Tensor, OpError> {
    run(
        op,
        &[
            Tensor::vector(shape),
            Tensor::scalar(min),
            Tensor::scalar(max),
        ],
    )
}

#[test]
fn documented() {
    let tensorflow = Alignment::TensorFlow;
    let out = draw(&op(E::F32, 150, 10, tensorflow), &[3, 3], [0f32, 1.0]).expect("numbers");
    let expected = [
        0.7011236f32,
        0.30539632,
        0.93931055,
        0.9456035,
        0.11694777,
        0.50770056,
        0.5197197,
        0.22727466,
        0.991374,
    ];
    assert_eq!(out.as_slice::<f32>().expect("f32"), expected);
    let out = draw(&op(E::F64, 80, 100, tensorflow), &[2, 2], [2f64, 10.0]).expect("numbers");
    let expected = [5.65927959, 4.23122376, 2.67008206, 2.36423758];
    for (x, expected) in out.as_slice::<f64>().expect("f64").iter().zip(expected) {
        assert!((x - expected).abs() < 1e-8, "{x} {expected}");
    }
    let out = draw(&op(E::I32, 80, 100, tensorflow), &[2, 3], [50, 100]).expect("numbers");
    assert_eq!(to_i64(&out), [65, 70, 56, 59, 82, 92]);
}

#[test]
fn numbers_do_not_depend_on_how_many() {
    for alignment in [Alignment::TensorFlow, Alignment::PyTorch] {
        let op = op(E::I64, 7, 8, alignment);
        let few = to_i64(&draw(&op, &[5], [-9i64, i64::MAX / 2]).expect("numbers"));
        let many = to_i64(&draw(&op, &[70_001], [-9i64, i64::MAX / 2]).expect("numbers"));
        assert_eq!(few, many[..5]);
        assert!(many.iter().all(|&x| x >= -9));
        assert!(op.is_pure());
    }
}

#[test]
fn within_range_and_spread() {
    for alignment in [Alignment::TensorFlow, Alignment::PyTorch] {
        let drawn = |ty: ElementType| -> Vec<f32> {
            let bounds = [-2f32, 3.0].map(Tensor::scalar);
            let bounds = bounds.map(|t| crate::tensor::convert::convert(&t, ty).expect("a number"));
            let [min, max] = bounds;
            let out = run(
                &op(ty, 3, 4, alignment),
                &[Tensor::vector(&[1000i64]), min, max],
            );
            let out = crate::tensor::convert::convert(&out.expect("numbers"), E::F32);
            out.expect("numbers")
                .as_slice::<f32>()
                .expect("f32")
                .to_vec()
        };
        for ty in [E::F16, E::Bf16, E::F32, E::F64, E::I32, E::I64] {
            let all = drawn(ty);
            assert!(all.iter().all(|&x| (-2.0..=3.0).contains(&x)), "{ty}");
            let mean: f32 = all.iter().sum::<f32>() / 1000.0;
            let expected = if ty.is_integer() { 0.0 } else { 0.5 };
            assert!((mean - expected).abs() < 0.2, "{ty} {mean}");
        }
    }
}

#[test]
fn without_seeds() {
    let op = op(E::F32, 0, 0, Alignment::TensorFlow);
    assert!(!op.is_pure());
    let draw = || draw(&op, &[16], [0f32, 1.0]).expect("numbers");
    assert_ne!(draw().bytes(), draw().bytes());
}

#[test]
fn refused() {
    let i32s = op(E::I32, 1, 1, Alignment::TensorFlow);
    assert!(draw(&i32s, &[2], [5i32, 5]).is_err());
    assert!(draw(&i32s, &[2], [1i64, 5]).is_err());
    assert!(draw(&i32s, &[-2], [1i32, 5]).is_err());
    let floats = op(E::F32, 1, 1, Alignment::PyTorch);
    assert!(draw(&floats, &[2], [f32::NAN, 5.0]).is_err());
    assert!(draw(&op(E::U8, 1, 1, Alignment::PyTorch), &[2], [1u8, 5]).is_err());
    let whole = draw(&i32s, &[9], [i32::MIN, i32::MAX]).expect("wraps");
    assert_eq!(whole.len(), 9);
    assert!(draw(&i32s, &[0], [1i32, 5]).expect("empty").is_empty());
}
