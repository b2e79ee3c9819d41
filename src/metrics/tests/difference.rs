//! Differences of small tensors, by hand.

use super::*;
use crate::tensor::{Element, Text};

fn between<A: Element, B: Element>(found: &[A], expected: &[B], tolerance: &str) -> Values {
    let tolerance = Tolerance::parse(tolerance).expect("a tolerance");
    let (found, expected) = (Tensor::vector(found), Tensor::vector(expected));
    let difference = Difference::between(&found, &expected, &tolerance);
    difference.values.expect("pairs")
}

#[test]
fn floats_by_hand() {
    let values = between(&[1f32, 2.0, 3.0, -4.0], &[1f32, 2.5, 3.0, -4.0], "abs=0.4");
    assert_eq!(
        (values.elements, values.differing, values.exceeding),
        (4, 1, 1)
    );
    assert_eq!((values.max_abs, values.mean_abs), (0.5, 0.125));
    assert_eq!((values.max_rel, values.mean_rel), (0.2, 0.05));
    assert_eq!(values.max_ulp, Some(1 << 21));
    assert_eq!(values.rel_l2, 0.5 / (1.0 + 6.25 + 9.0 + 16.0f64).sqrt());
    let cosine = (1.0 + 5.0 + 9.0 + 16.0) / (30.0f64.sqrt() * 32.25f64.sqrt());
    assert!((values.cosine - cosine).abs() < 1e-15);
    assert_eq!(values.scale, 4.0);
    let worst = values.worst.expect("one differs");
    assert_eq!((worst.index, worst.found), (vec![1], Scalar::Float(2.0)));
    assert_eq!(worst.expected, Scalar::Float(2.5));
}

#[test]
fn the_worst_element_is_the_one_that_exceeds_most() {
    let a = Tensor::new([2, 3], &[0f32, 0.0, 0.0, 0.0, 0.002, 101.0]).expect("six");
    let b = Tensor::new([2, 3], &[0f32, 0.0, 0.0, 0.0, 0.001, 100.0]).expect("six");
    let worst = |tolerance: &str| {
        let tolerance = Tolerance::parse(tolerance).expect("a tolerance");
        let values = Difference::between(&a, &b, &tolerance).values;
        let values = values.expect("pairs");
        (values.exceeding, values.worst.expect("one").index)
    };
    assert_eq!(worst("rel=0.05"), (1, vec![1, 1]));
    assert_eq!(worst("abs=0.1"), (1, vec![1, 2]));
    assert_eq!(worst("cosine=0.9"), (0, vec![1, 2]));
    assert_eq!(worst("scale=0.1"), (0, vec![1, 2]));
    assert_eq!(worst("ulp=10000000"), (0, vec![1, 1]));
}

#[test]
fn nan_and_infinities() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let values = between(&[nan, inf, 1.0, 3.0], &[nan, inf, 1.0, 3.0], "exact");
    assert_eq!(
        (values.differing, values.not_finite, values.max_abs),
        (0, 0, 0.0)
    );
    assert!((values.cosine - 1.0).abs() < 1e-15 && values.scale == 3.0);
    let values = between(&[nan, -inf, 1.0, inf], &[0f32, inf, nan, 2.0], "abs=1e30");
    assert_eq!(
        (values.differing, values.not_finite, values.exceeding),
        (4, 4, 4)
    );
    assert_eq!((values.max_abs, values.rel_l2), (0.0, 0.0));
    assert_eq!(values.worst.expect("four").index, [0]);
}

#[test]
fn integers_are_exact() {
    let large = 1i64 << 60;
    let values = between(&[large, large], &[large + 1, large], "exact");
    assert_eq!(
        (values.differing, values.exceeding, values.max_abs),
        (1, 1, 1.0)
    );
    let worst = values.worst.expect("one");
    assert_eq!(worst.found, Scalar::Integer(large.into()));
    let values = between(&[u64::MAX, 0], &[u64::MAX - 3, 0], "abs=2");
    assert_eq!(
        (values.exceeding, values.max_abs, values.max_ulp),
        (1, 3.0, None)
    );
    // By value, whatever the types.
    let values = between(&[1i32, -2], &[1i64, -2], "exact");
    assert_eq!(values.differing, 0);
    let values = between(&[1i32, 2], &[1f32, 2.5], "exact");
    assert_eq!((values.differing, values.max_abs), (1, 0.5));
    assert!(!values.exact);
    let values = between(&[true, false], &[true, true], "abs=5");
    assert_eq!(
        (values.differing, values.exceeding, values.exact),
        (1, 1, true)
    );
    assert_eq!(values.worst.expect("one").expected, Scalar::Boolean(true));
}

#[test]
fn narrow_types_count_in_their_own_units() {
    let single = Tensor::vector(&[1f32, 1.5, 1.0 + 1.0 / 1024.0]);
    let half = convert::convert(&single, ElementType::F16).expect("floats");
    let moved = Tensor::vector(&[1.0002f32, 1.5, 1.0]);
    let difference = Difference::between(&moved, &half, &Tolerance::EXACT);
    assert_eq!(difference.types, (ElementType::F32, ElementType::F16));
    assert_eq!(difference.values.expect("pairs").max_ulp, Some(1));
}

#[test]
fn packed_types_and_complex_numbers() {
    let a = convert::convert(
        &Tensor::vector(&[1i32, -2, 3, 7, -8, 1, 2, 3, 4, 5]),
        ElementType::I4,
    );
    let b = convert::convert(
        &Tensor::vector(&[1i32, -2, 3, 7, -8, 1, 2, 3, 4, 6]),
        ElementType::I4,
    );
    let (a, b) = (a.expect("i4"), b.expect("i4"));
    let values = Difference::between(&a, &b, &Tolerance::EXACT).values;
    let worst = values.expect("pairs").worst.expect("one");
    assert_eq!((worst.index, worst.found), (vec![9], Scalar::Integer(5)));
    let parts = |x: f32| {
        let parts = Tensor::new([2, 2], &[1f32, 2.0, 3.0, x]).expect("four");
        Tensor::from_complex_parts(&parts).expect("pairs")
    };
    let values = Difference::between(&parts(4.0), &parts(5.0), &Tolerance::EXACT).values;
    assert_eq!(values.expect("pairs").max_abs, 1.0);
}

#[test]
fn shapes_and_kinds() {
    let two = Tensor::vector(&[1f32, 2.0]);
    let difference = Difference::between(&two, &Tensor::scalar(1f32), &Tolerance::EXACT);
    assert!(difference.values.is_none() && !difference.is_none());
    let found = Tolerance::EXACT.violations(&difference);
    assert_eq!(found, ["shapes [2] and []"]);
    let text = |text: &str| Text::from(text.as_bytes());
    let strings = |a: &str| Tensor::strings([2], vec![text("a"), text(a)]).expect("two");
    let difference = Difference::between(&strings("b"), &strings("b"), &Tolerance::EXACT);
    assert!(difference.is_none() && Tolerance::EXACT.passes(&difference));
    let difference = Difference::between(&strings("b"), &strings("c"), &Tolerance::EXACT);
    let worst = difference
        .values
        .clone()
        .expect("pairs")
        .worst
        .expect("one");
    assert_eq!(
        (worst.index, worst.found.to_string()),
        (vec![1], "\"b\"".to_owned())
    );
    assert!(
        !Tolerance::parse("abs=9,rel_l2=1")
            .expect("one")
            .passes(&difference)
    );
    let difference = Difference::between(&strings("b"), &two, &Tolerance::EXACT);
    let found = Tolerance::EXACT.violations(&difference);
    assert_eq!(found, ["string and f32 cannot be compared"]);
}

#[test]
fn zeros_and_nothing() {
    let values = between(&[0f32, -0.0], &[0f32, 0.0], "exact");
    assert_eq!(
        (values.differing, values.cosine, values.rel_l2),
        (0, 1.0, 0.0)
    );
    let values = between(&[1f32, 0.0], &[0f32, 0.0], "abs=2,rel_l2=5,cosine=0.5");
    assert_eq!((values.cosine, values.rel_l2), (0.0, f64::INFINITY));
    let values = between::<f32, f32>(&[], &[], "exact");
    assert_eq!((values.elements, values.mean_abs), (0, 0.0));
}

#[test]
fn large_tensors_are_counted_in_pieces() {
    let count = 3 * PIECE + 7;
    let b: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let mut a = b.clone();
    a[PIECE + 3] += 2.0;
    a[3 * PIECE + 5] -= 4.0;
    let values = between(&a, &b, "abs=3");
    assert_eq!(
        (values.differing, values.exceeding, values.max_abs),
        (2, 1, 4.0)
    );
    assert_eq!(values.worst.expect("two").index, [3 * PIECE + 5]);
}
