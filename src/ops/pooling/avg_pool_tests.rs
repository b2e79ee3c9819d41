//! Tests of the means of windows.

use super::*;
use crate::ops::testing::run;
use crate::tensor::Tensor;

fn mean(op: &AvgPool, data: &[f32]) -> Vec<f32> {
    let data = Tensor::new([1, 1, data.len()], data).expect("as many");
    let out = run(op, &[data]).expect("means");
    out.as_slice().expect("f32").to_vec()
}

fn pool(kernel: i64, stride: i64, pads: [i64; 2], exclude_pad: bool) -> AvgPool {
    AvgPool {
        kernel: vec![kernel],
        strides: vec![stride],
        pads_begin: vec![pads[0]],
        pads_end: vec![pads[1]],
        exclude_pad,
        ..AvgPool::default()
    }
}

#[test]
fn padding() {
    let data = [1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(mean(&pool(3, 2, [1, 1], true), &data), [1.5, 3.0, 4.5]);
    assert_eq!(mean(&pool(3, 2, [1, 1], false), &data), [1.0, 3.0, 3.0]);
    let ceil = |op| AvgPool {
        rounding_type: Rounding::Ceil,
        ..op
    };
    assert_eq!(
        mean(&ceil(pool(3, 2, [0, 1], true)), &data),
        [2.0, 4.0, 5.0]
    );
    assert_eq!(
        mean(&ceil(pool(3, 2, [0, 1], false)), &data),
        [2.0, 4.0, 5.0 / 3.0]
    );
    assert_eq!(
        mean(&ceil(pool(2, 2, [0, 0], false)), &data),
        [1.5, 3.5, 5.0]
    );
    assert_eq!(
        mean(&ceil(pool(2, 2, [1, 1], false)), &data),
        [0.5, 2.5, 4.5, 0.0]
    );
    assert!(mean(&ceil(pool(2, 2, [1, 1], true)), &data)[3].is_nan());
    let dilated = AvgPool {
        dilations: vec![2],
        ..pool(2, 1, [0, 0], true)
    };
    assert_eq!(mean(&dilated, &data), [2.0, 3.0, 4.0]);
}

#[test]
fn integers_are_rounded_to_even() {
    let op = pool(2, 1, [0, 0], true);
    let data = Tensor::new([1, 1, 6], &[-3i8, -2, 1, 2, 127, 126]).expect("six");
    let out = run(&op, &[data]).expect("means");
    assert_eq!(out.as_slice::<i8>(), Ok(&[-2, 0, 2, 64, 126][..]));
    let most = Tensor::new([1, 1, 2], &[u64::MAX, u64::MAX - 2]).expect("two");
    let out = run(&op, &[most]).expect("a mean");
    assert_eq!(out.as_slice::<u64>(), Ok(&[u64::MAX - 1][..]));
}
