//! Statistics held against the definitions.

use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::tensor::{ElementType, Shape, convert};

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(f64::MIN_POSITIVE)
}

#[test]
fn few_elements() {
    let found = Statistics::of(&Tensor::vector(&[1f32, -3.0, 0.0, f32::NAN, f32::INFINITY]));
    assert_eq!((found.elements, found.finite, found.zeros), (5, 3, 1));
    assert_eq!(
        (found.nan, found.infinite(), found.positive_infinity),
        (1, 1, 1)
    );
    assert_eq!((found.min, found.max), (Some(-3.0), Some(1.0)));
    assert_eq!((found.absolute_max, found.smallest), (3.0, Some(1.0)));
    assert!(near(found.mean, -2.0 / 3.0) && near(found.l2, 10f64.sqrt()));
    assert!(near(found.deviation, (10.0 / 3.0 - 4.0 / 9.0f64).sqrt()));
    let none = Statistics::of(&Tensor::vector(&[f32::NAN; 2]));
    assert_eq!(
        (none.min, none.l2, none.smallest, none.nan),
        (None, 0.0, None, 2)
    );
    assert_eq!(
        Statistics::of(&Tensor::vector::<f32>(&[])),
        Statistics::default()
    );
}

#[test]
fn every_element_type() {
    for ty in ElementType::ALL {
        if ty.is_complex() || ty == ElementType::String || ty == ElementType::Dynamic {
            continue;
        }
        let ones = Tensor::vector(&[1f32; 1000]);
        let tensor = convert::convert(&ones, ty).expect("numbers");
        let found = Statistics::of(&tensor);
        // An i4 reaches 7; every type has a one but for the sign of u1's.
        assert_eq!((found.min, found.max), (Some(1.0), Some(1.0)), "{ty}");
        assert!(near(found.l2, 1000f64.sqrt()), "{ty}");
    }
    let complex = Statistics::of(&Tensor::vector(&[[3f32, -4.0]]));
    assert_eq!(
        (complex.elements, complex.l2, complex.min),
        (2, 5.0, Some(-4.0))
    );
    let strings = Tensor::zeros(ElementType::String, Shape::from([3])).expect("strings");
    assert_eq!(Statistics::of(&strings).elements, 3);
}

#[test]
fn numbers_of_any_size() {
    for size in [1e-310, 1e-200, 1e-30, 1.0, 1e30, 1e200, 1e307] {
        let found = Statistics::of(&Tensor::vector(&[3.0 * size, -4.0 * size]));
        assert!(
            (found.l2 / (5.0 * size) - 1.0).abs() < 1e-9,
            "{size}: {found:?}"
        );
        assert!(
            (found.mean / (-0.5 * size) - 1.0).abs() < 1e-9,
            "{size}: {found:?}"
        );
        assert!(
            (found.deviation / (3.5 * size) - 1.0).abs() < 1e-9,
            "{size}: {found:?}"
        );
    }
}

#[test]
fn rounding_to_narrower_types() {
    let data = [
        1f32,
        65520.0,
        65519.0,
        6e-5,
        2e-8,
        3e-8,
        1.0 + 2f32.powi(-11),
        3.4e38,
        1e-40,
    ];
    let found = Statistics::of(&Tensor::vector(&data));
    let f16 = found.f16;
    assert_eq!((f16.overflow, f16.subnormal, f16.flushed), (2, 2, 2));
    let bf16 = found.bf16;
    assert_eq!((bf16.overflow, bf16.subnormal, bf16.flushed), (1, 1, 0));
    let exact = Statistics::of(&Tensor::vector(&[
        f16::from_f32(0.1),
        f16::MAX,
        f16::MIN_POSITIVE,
    ]));
    assert_eq!(exact.f16.relative_error(), 0.0);
    let integers = Statistics::of(&Tensor::vector(&[100_000i64]));
    assert_eq!(integers.f16, Narrowing::default());
}

#[test]
fn pieces_and_threads_change_no_bit() {
    let data: Vec<f32> = (0..200_001u32)
        .map(|i| (f64::from(i) * 0.37).sin() as f32 * 1e3)
        .collect();
    let tensor = Tensor::vector(&data);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let [one, three] = [one, three].map(|pool| {
        let pool = pool.expect("threads");
        pool.install(|| Statistics::of(&tensor))
    });
    assert_eq!(one, three);
    let l2 = data
        .iter()
        .map(|&x| f64::from(x) * f64::from(x))
        .sum::<f64>();
    assert!(near(one.l2, l2.sqrt()));
}

proptest! {
    #[test]
    fn as_defined(data in prop::collection::vec(any::<f32>(), 1..1200)) {
        let found = Statistics::of(&Tensor::vector(&data));
        let finite: Vec<f64> = data.iter().filter(|x| x.is_finite()).map(|&x| x.into()).collect();
        let n = finite.len() as f64;
        prop_assert_eq!(found.finite, finite.len() as u64);
        prop_assert_eq!(found.nan, data.iter().filter(|x| x.is_nan()).count() as u64);
        prop_assert_eq!(found.zeros, finite.iter().filter(|&&x| x == 0.0).count() as u64);
        prop_assert_eq!(found.min, finite.iter().copied().min_by(f64::total_cmp));
        prop_assert_eq!(found.max, finite.iter().copied().max_by(f64::total_cmp));
        if !finite.is_empty() {
            let largest = finite.iter().fold(0f64, |a, x| a.max(x.abs()));
            prop_assert!((found.mean - finite.iter().sum::<f64>() / n).abs() <= 1e-12 * largest);
            prop_assert!(near(found.l2, finite.iter().map(|x| x * x).sum::<f64>().sqrt()));
        }
        let mut halves = [0u64; 3];
        let mut brains = [0u64; 3];
        for &x in data.iter().filter(|x| x.is_finite()) {
            let h = f16::from_f32(x);
            halves[0] += u64::from(h.is_infinite());
            halves[1] += u64::from(h.classify() == std::num::FpCategory::Subnormal);
            halves[2] += u64::from(h.to_f32() == 0.0 && x != 0.0);
            let b = bf16::from_f32(x);
            brains[0] += u64::from(b.is_infinite());
            brains[1] += u64::from(b.classify() == std::num::FpCategory::Subnormal);
            brains[2] += u64::from(b.to_f32() == 0.0 && x != 0.0);
        }
        let counts = |n: Narrowing| [n.overflow, n.subnormal, n.flushed];
        prop_assert_eq!(counts(found.f16), halves);
        prop_assert_eq!(counts(found.bf16), brains);
    }

    #[test]
    fn rounding_errors_are_those_of_the_types(data in prop::collection::vec(-1e5f32..1e5, 1..100)) {
        let found = Statistics::of(&Tensor::vector(&data));
        let error = |round: fn(f32) -> f32| {
            let finite = data.iter().filter(|&&x| round(x).is_finite());
            let (mut errors, mut all) = (0f64, 0f64);
            for &x in finite {
                errors += (f64::from(round(x)) - f64::from(x)).powi(2);
                all += f64::from(x).powi(2);
            }
            if errors > 0.0 { (errors / all).sqrt() } else { 0.0 }
        };
        prop_assert!(near(found.f16.relative_error(), error(|x| f16::from_f32(x).to_f32())));
        prop_assert!(near(found.bf16.relative_error(), error(|x| bf16::from_f32(x).to_f32())));
    }

    #[test]
    fn parts_make_the_whole(data in prop::collection::vec(-1e3f64..1e3, 2..200), cut: prop::sample::Index) {
        let whole = Statistics::of(&Tensor::vector(&data));
        let (first, second) = data.split_at(cut.index(data.len()));
        let mut parts = Statistics::of(&Tensor::vector(first));
        parts.merge(&Statistics::of(&Tensor::vector(second)));
        prop_assert_eq!((whole.min, whole.max, whole.finite), (parts.min, parts.max, parts.finite));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        prop_assert!(close(whole.mean, parts.mean) && close(whole.deviation, parts.deviation));
        prop_assert!(close(whole.l2, parts.l2));
        prop_assert!(close(whole.bf16.relative_error(), parts.bf16.relative_error()));
    }
}
