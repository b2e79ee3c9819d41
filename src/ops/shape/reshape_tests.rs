//! Reshape: exact shapes and what follows from partial ones.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{counted, dynamic, infer_dims, run, shape};
use crate::tensor::{ElementType, Symbol, Tensor};

fn dims(data: &[usize], target: &[i64], special_zero: bool) -> String {
    let inputs = [counted(ElementType::U8, data), Tensor::vector(target)];
    match run(&Reshape { special_zero }, &inputs) {
        Ok(out) => out.shape().to_string(),
        Err(error) => error.message,
    }
}

#[test]
fn document_examples() {
    assert_eq!(dims(&[2, 5, 5, 0], &[0, 4], false), "[0,4]");
    assert_eq!(dims(&[2, 5, 5, 24], &[0, -1, 4], true), "[2,150,4]");
    assert_eq!(dims(&[2, 2, 3], &[0, 0, 1, -1], true), "[2,2,1,3]");
    assert_eq!(dims(&[3, 1, 1], &[-1, 0], true), "[3,1]");
    assert_eq!(dims(&[3, 1, 1], &[0, -1], true), "[3,1]");
}

#[test]
fn empty_tensors_and_mistakes() {
    let empty = &[2, 0, 3];
    for (target, special_zero, expected) in [
        (&[-1i64, 0][..], true, "[6,0]"),
        (&[0, 0, -1], true, "[2,0,3]"),
        (&[5, 0], false, "[5,0]"),
        (&[-1, 3], false, "[0,3]"),
        (&[0, 0], true, "[2,0]"),
        (&[3, -1], true, "[3,0]"),
        (&[0, -1], true, "[2,0]"),
        (&[0, -1], false, "[0,6]"),
        (&[0, 0, -1], false, "[0,0,1]"),
    ] {
        assert_eq!(dims(empty, target, special_zero), expected, "{target:?}");
    }
    assert_eq!(dims(&[1], &[], false), "[]");
    assert_eq!(dims(&[], &[1, -1], false), "[1,1]");
    for (target, special_zero) in [
        (&[2i64, 3, 0][..], true),
        (&[-1, -1], false),
        (&[6, 0], false),
        (&[0, 5], true),
        (&[-2, -3], false),
        (&[7], false),
        (&[4, -1], false),
        (&[0, -1], false),
        (&[i64::MAX, 2], false),
        (&[i64::MIN, 2], false),
    ] {
        let wrong = dims(&[2, 3], target, special_zero);
        assert!(!wrong.starts_with('['), "{target:?} gives {wrong}");
    }
    let scalar = [counted(ElementType::U8, &[1]), Tensor::scalar(1i64)];
    assert!(run(&Reshape::default(), &scalar).is_err());
}

fn known(symbol: u32) -> ValueRange {
    Dimension::dynamic()
        .with_symbol(Some(Symbol(symbol)))
        .into()
}

#[test]
fn partly_known_targets() {
    let mut data = shape("?,2,3");
    data.dims_mut().expect("a rank")[0] = Dimension::dynamic().with_symbol(Some(Symbol(1)));
    let infer = |special_zero, target: &[ValueRange]| {
        let count = PartialShape::from([target.len()]);
        let mut target_input = Input::new(ElementType::I64, &count);
        target_input.ranges = Some(target);
        let inputs = [Input::new(ElementType::F32, &data), target_input];
        let shape = Reshape { special_zero }
            .infer(&inputs)
            .expect("fits")
            .remove(0)
            .shape;
        format!("{shape:?}")
    };
    let exact = ValueRange::exact;
    let unknown = ValueRange::UNKNOWN;
    for special_zero in [false, true] {
        assert_eq!(infer(special_zero, &[known(1), exact(-1)]), "[?#1, 6]");
        assert_eq!(
            infer(special_zero, &[exact(-1), exact(3), exact(2)]),
            "[?#1, 3, 2]"
        );
        assert_eq!(infer(special_zero, &[exact(-1), exact(3)]), "[?, 3]");
        assert_eq!(infer(special_zero, &[exact(4), exact(-1)]), "[4, ?]");
        assert_eq!(infer(special_zero, &[unknown, exact(6)]), "[?#1, 6]");
        assert_eq!(infer(special_zero, &[unknown, unknown]), "[?, ?]");
    }
    assert_eq!(infer(true, &[exact(0), exact(-1)]), "[?#1, 6]");
    // A size that is not the data's own may be 0 and copy it.
    assert_eq!(infer(true, &[known(2), exact(-1)]), "[?, ?]");
    assert_eq!(infer(false, &[known(2), exact(-1)]), "[?#2, ?]");

    let data = shape("4..8,6");
    let count = shape("2");
    let target = [exact(-1), exact(4)];
    let mut target_input = Input::new(ElementType::I64, &count);
    target_input.ranges = Some(&target);
    let inputs = [Input::new(ElementType::F32, &data), target_input];
    assert_eq!(infer_dims(&Reshape::default(), &inputs), "[6..12,4]");
    let inputs = [
        Input::new(ElementType::F32, &data),
        Input::new(ElementType::I64, &count),
    ];
    assert_eq!(infer_dims(&Reshape::default(), &inputs), "[?,?]");
}

proptest! {
    #[test]
    fn dynamic_contains_exact(
        data in prop::collection::vec(prop::sample::select(vec![0usize, 1, 2, 3, 4, 6]), 0..4),
        target in prop::collection::vec(prop::sample::select(vec![-1i64, 0, 1, 2, 3, 4, 6]), 0..4),
        slack in prop::collection::vec((0usize..3, 0i64..3, 0i64..3), 4),
        special_zero in any::<bool>(),
    ) {
        let op = Reshape { special_zero };
        let inputs = [counted(ElementType::U8, &data), Tensor::vector(&target)];
        let Ok(out) = run(&op, &inputs) else { return Ok(()) };
        prop_assert!(dynamic(&op, &inputs, 0x5A5A_1234).contains(out.shape()));
        // One symbol for all dimensions of the same size that are not certain.
        let symbol = |size: usize| Some(Symbol(u32::try_from(size).expect("small")));
        let from: PartialShape = data
            .iter()
            .zip(&slack)
            .map(|(&dim, &(kind, less, more))| match kind {
                0 => Dimension::fixed(dim),
                1 => Dimension::dynamic().with_symbol(symbol(dim)),
                _ => Dimension::range(dim.saturating_sub(less as usize), Some(dim + more as usize)),
            })
            .collect();
        let ranges: Vec<ValueRange> = target
            .iter()
            .zip(slack.iter().rev())
            .map(|(&size, &(kind, less, more))| match (kind, usize::try_from(size)) {
                (0, _) => ValueRange::exact(size),
                (1, Ok(known)) => Dimension::dynamic().with_symbol(symbol(known)).into(),
                _ => ValueRange { min: size - less, max: size + more, symbol: None },
            })
            .collect();
        let count = PartialShape::from([target.len()]);
        let mut target = Input::new(ElementType::I64, &count);
        target.ranges = Some(&ranges);
        let inferred = op.infer(&[Input::new(ElementType::U8, &from), target]).expect("fits as the exact shapes do");
        prop_assert!(
            inferred[0].shape.contains(out.shape()),
            "{:?} to {:?} gives {:?}, not {}", from, ranges, inferred[0].shape, out.shape()
        );
    }
}
