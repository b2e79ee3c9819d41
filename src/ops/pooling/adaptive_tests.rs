//! Tests of poolings into a given number of parts.

use super::*;
use crate::ops::testing::{run, run_all};

#[test]
fn parts_overlap() {
    let data = Tensor::new([1, 1, 5], &[1f32, 2.0, 3.0, 4.0, 5.0]).expect("five");
    let out = |n: i64| {
        let out = run(&AdaptiveAvgPool {}, &[data.clone(), Tensor::vector(&[n])]).expect("means");
        out.as_slice::<f32>().expect("f32").to_vec()
    };
    assert_eq!(out(3), [1.5, 3.0, 4.5]);
    assert_eq!(out(7), [1.0, 1.5, 2.5, 3.0, 3.5, 4.5, 5.0]);
    assert_eq!(out(1), [3.0]);
    assert!(out(0).is_empty());
}

#[test]
fn largest_of_three_axes() {
    let values: Vec<f64> = (0..2 * 27).map(|i| f64::from(i * 7 % 27)).collect();
    let data = Tensor::new([1, 2, 3, 3, 3], &values).expect("54");
    let op = AdaptiveMaxPool {
        index_element_type: ElementType::I32,
    };
    let outputs = run_all(&op, &[data, Tensor::vector(&[1i32, 2, 1])]).expect("numbers");
    let (out, index) = (outputs[0].as_slice::<f64>(), outputs[1].as_slice::<i32>());
    let (out, index) = (out.expect("f64"), index.expect("i32"));
    for (i, window) in [0..6, 3..9].into_iter().cycle().take(4).enumerate() {
        let plane = &values[i / 2 * 27..][..27];
        let inside = |at: &usize| window.contains(&(at % 9));
        let best = (0..27)
            .filter(inside)
            .max_by(|a, b| plane[*a].total_cmp(&plane[*b]));
        assert_eq!(index[i] as usize, best.expect("some"));
        assert_eq!(out[i], plane[best.expect("some")]);
    }
}

#[test]
fn nothing_to_divide() {
    let data = Tensor::zeros(ElementType::F32, [1, 1, 0]).expect("empty");
    assert!(
        run(
            &AdaptiveAvgPool {},
            &[data.clone(), Tensor::vector(&[2i64])]
        )
        .is_err()
    );
    assert!(run(&AdaptiveAvgPool {}, &[data, Tensor::vector(&[-1i64])]).is_err());
}
