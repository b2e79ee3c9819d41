//! Tests of comparisons.

use proptest::prelude::*;

use super::super::equal::Equal;
use super::super::greater::Greater;
use super::super::greater_equal::GreaterEqual;
use super::super::is_inf::IsInf;
use super::super::less::Less;
use super::super::less_equal::LessEqual;
use super::super::not_equal::NotEqual;
use super::*;
use crate::ops::testing::{dynamic, run};
use crate::tensor::{PartialShape, Tensor, Text};

fn holds<R: Relation>(a: &Tensor, b: &Tensor) -> Vec<bool> {
    let out = run(&Compare::<R>::default(), &[a.clone(), b.clone()]).expect("comparable");
    out.as_slice::<bool>().expect("booleans").to_vec()
}

/// The six relations of two elements, as bits.
fn relations(a: &Tensor, b: &Tensor) -> [bool; 6] {
    [
        holds::<Equal>(a, b)[0],
        holds::<NotEqual>(a, b)[0],
        holds::<Less>(a, b)[0],
        holds::<LessEqual>(a, b)[0],
        holds::<Greater>(a, b)[0],
        holds::<GreaterEqual>(a, b)[0],
    ]
}

const LESS: [bool; 6] = [false, true, true, true, false, false];
const EQUAL: [bool; 6] = [true, false, false, true, false, true];
const UNORDERED: [bool; 6] = [false, true, false, false, false, false];

#[test]
fn exact_in_every_type() {
    let check = |a: Tensor, b: Tensor, expected| assert_eq!(relations(&a, &b), expected, "{a:?}");
    let near = (1i64 << 53) + 1;
    check(Tensor::scalar(near - 1), Tensor::scalar(near), LESS);
    check(Tensor::scalar(u64::MAX - 1), Tensor::scalar(u64::MAX), LESS);
    check(Tensor::scalar(1i64), Tensor::scalar(i64::MAX), LESS);
    check(Tensor::scalar(1u32), Tensor::scalar(u32::MAX), LESS);
    check(Tensor::scalar(-1i8), Tensor::scalar(0i8), LESS);
    check(Tensor::scalar(false), Tensor::scalar(true), LESS);
    check(Tensor::scalar(-0.0f32), Tensor::scalar(0f32), EQUAL);
    check(
        Tensor::scalar(f64::NAN),
        Tensor::scalar(f64::NAN),
        UNORDERED,
    );
    check(
        Tensor::scalar(f32::MAX),
        Tensor::scalar(f32::INFINITY),
        LESS,
    );
    let ulp = f64::from_bits(1f64.to_bits() + 1);
    check(Tensor::scalar(1f64), Tensor::scalar(ulp), LESS);
}

#[test]
fn strings() {
    let text = |shape: &[usize], texts: &[&str]| {
        Tensor::strings(shape, texts.iter().map(|&t| Text::from(t)).collect()).expect("as many")
    };
    let a = text(&[2, 1], &["b", "é"]);
    let b = text(&[3], &["", "b", "ba"]);
    assert_eq!(
        holds::<Equal>(&a, &b),
        [false, true, false, false, false, false]
    );
    assert_eq!(
        holds::<Less>(&a, &b),
        [false, false, true, false, false, false]
    );
    let none = text(&[0], &[]);
    assert!(holds::<Equal>(&none, &text(&[1], &["x"])).is_empty());
}

#[test]
fn types_and_shapes() {
    let one = Tensor::scalar(1i32);
    let op = Compare::<Equal>::default();
    assert!(run(&op, &[one.clone(), Tensor::scalar(1i64)]).is_err());
    assert!(run(&op, std::slice::from_ref(&one)).is_err());
    let complex = Tensor::zeros(ElementType::Complex64, [1]).expect("small");
    assert!(run(&op, &[complex.clone(), complex]).is_err());
    let shape = PartialShape::dynamic();
    let unknown = Input::new(ElementType::Dynamic, &shape);
    let outputs = op.infer(&[unknown, Input::of(&one)]).expect("fits");
    assert_eq!(
        outputs[0],
        Output::new(ElementType::Boolean, PartialShape::dynamic())
    );
}

#[test]
fn sizes_are_compared_ahead() {
    let shape = PartialShape::from([2]);
    let at_least_one = ValueRange {
        min: 1,
        max: i64::MAX,
        symbol: None,
    };
    let known = [at_least_one, ValueRange::exact(3)];
    let sizes = Input {
        ranges: Some(&known),
        ..Input::new(ElementType::I64, &shape)
    };
    let wildcard = Tensor::scalar(-1i64);
    let output = Output::new(ElementType::Boolean, [2]);
    let op = Compare::<Equal>::default();
    let ranges = op.infer_value(&[sizes.clone(), Input::of(&wildcard)], &output);
    assert_eq!(ranges, Some(vec![ValueRange::exact(0); 2]));
    let three = Tensor::scalar(3i64);
    let ranges = op.infer_value(&[sizes, Input::of(&three)], &output);
    assert_eq!(ranges, Some(vec![interval::BOOLEAN, ValueRange::exact(1)]));
}

#[test]
fn signs_of_infinity() {
    let data = Tensor::vector(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX]);
    for (negative, positive) in [(true, true), (true, false), (false, true), (false, false)] {
        let op = IsInf {
            detect_negative: negative,
            detect_positive: positive,
        };
        let out = run(&op, std::slice::from_ref(&data)).expect("floats");
        assert_eq!(
            out.as_slice::<bool>().expect("booleans"),
            [positive, negative, false, false]
        );
    }
    assert!(run(&IsInf::default(), &[Tensor::scalar(1i32)]).is_err());
}

proptest! {
    #[test]
    fn like_the_definition(
        a in prop::collection::vec(-3i32..3, 6),
        b in prop::collection::vec(-3i32..3, 3),
        mask in any::<u32>(),
    ) {
        let left = Tensor::new([2, 3], &a).expect("six");
        let right = Tensor::vector(&b);
        let expected: Vec<bool> = a.iter().zip(b.iter().cycle()).map(|(a, b)| a >= b).collect();
        prop_assert_eq!(holds::<GreaterEqual>(&left, &right), expected);
        let op = Compare::<Less>::default();
        prop_assert!(dynamic(&op, &[left, right], mask).contains(&[2, 3]));
    }
}
