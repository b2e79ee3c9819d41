//! Tests of Pad.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{
    assert_picked, counted, dynamic, elements, index, infer_dims, run, shape,
};
use crate::tensor::{Symbol, Tensor};

const MODES: [PadMode; 4] = [
    PadMode::Constant,
    PadMode::Edge,
    PadMode::Reflect,
    PadMode::Symmetric,
];

fn op(pad_mode: PadMode) -> Pad {
    Pad {
        pad_mode,
        only_extends: false,
    }
}

fn pad(mode: PadMode, data: &[i32], begin: i64, end: i64) -> Result<Vec<i32>, OpError> {
    let pads = [begin, end].map(|pad| Tensor::vector(&[pad]));
    let [begin, end] = pads;
    let out = run(
        &op(mode),
        &[Tensor::vector(data), begin, end, Tensor::scalar(9i32)],
    )?;
    Ok(out.as_slice::<i32>()?.to_vec())
}

#[test]
fn crops_beyond_the_other_end() {
    let data = [1, 2, 3];
    let constant = |b, e| pad(PadMode::Constant, &data, b, e);
    assert_eq!(constant(-5, 5), Ok(vec![9, 9, 9]));
    assert_eq!(constant(5, -5), Ok(vec![9, 9, 9]));
    assert_eq!(constant(-2, 0), Ok(vec![3]));
    assert_eq!(constant(-2, -1), Ok(vec![]));
    for (begin, end) in [(-2, -2), (-4, 0), (i64::MIN, 0)] {
        let error = constant(begin, end).expect_err("less than nothing is left");
        assert!(
            error.message.contains("expected 0 or more"),
            "{}",
            error.message
        );
    }
    assert_eq!(constant(i64::MAX, -i64::MAX), Ok(vec![9, 9, 9]));
    assert_eq!(pad(PadMode::Edge, &data, -5, 5), Ok(vec![3, 3, 3]));
    assert_eq!(pad(PadMode::Edge, &data, 5, -5), Ok(vec![1, 1, 1]));
    assert_eq!(pad(PadMode::Reflect, &data, -4, 2), Ok(vec![1]));
    assert_eq!(pad(PadMode::Symmetric, &data, 3, -4), Ok(vec![3, 2]));
}

#[test]
fn mirrors_are_no_larger_than_the_data() {
    let data = [1, 2, 3];
    assert_eq!(
        pad(PadMode::Reflect, &data, 2, 2),
        Ok(vec![3, 2, 1, 2, 3, 2, 1])
    );
    let error = pad(PadMode::Reflect, &data, 3, 0).expect_err("too far");
    assert_eq!(
        error.message,
        "pads_begin of axis 0 is 3, expected at most 2 in mode reflect for size 3"
    );
    assert!(pad(PadMode::Symmetric, &data, 0, 3).is_ok());
    assert!(pad(PadMode::Symmetric, &data, 0, 4).is_err());
    assert!(pad(PadMode::Edge, &[], 1, 0).is_err());
    assert_eq!(pad(PadMode::Edge, &[], 0, 0), Ok(vec![]));
    assert_eq!(pad(PadMode::Constant, &[], 1, 1), Ok(vec![9, 9]));
}

#[test]
fn mistakes() {
    let old = Pad {
        only_extends: true,
        ..Pad::default()
    };
    let data = Tensor::vector(&[1i32, 2]);
    let one = Tensor::vector(&[1i64]);
    let less = Tensor::vector(&[-1i64]);
    let inputs = [data.clone(), less, one.clone()];
    assert!(run(&old, &inputs).is_err());
    assert!(run(&op(PadMode::Constant), &inputs).is_ok());
    for (begin, value) in [
        (Tensor::vector(&[1i64, 1]), Tensor::scalar(0i32)),
        (Tensor::scalar(1i64), Tensor::scalar(0i32)),
        (Tensor::vector(&[1f32]), Tensor::scalar(0i32)),
        (one.clone(), Tensor::scalar(0f32)),
        (one.clone(), Tensor::vector(&[0i32])),
    ] {
        let inputs = [data.clone(), begin, one.clone(), value];
        assert!(run(&op(PadMode::Constant), &inputs).is_err());
    }
    let text = counted(ElementType::String, &[2]);
    assert!(
        run(
            &op(PadMode::Edge),
            &[text.clone(), one.clone(), one.clone()]
        )
        .is_err()
    );
    let out = run(&op(PadMode::Constant), &[text, one.clone(), one]).expect("fits");
    assert_eq!(elements(&out), ["", "0", "1", ""]);
}

#[test]
fn what_is_known_without_the_pads() {
    let (data, two) = (shape("2..4,5"), shape("2"));
    let known = [
        ValueRange {
            min: -1,
            max: 3,
            symbol: None,
        },
        ValueRange::exact(1),
    ];
    let begin = Input {
        ranges: Some(&known),
        ..Input::new(ElementType::I64, &two)
    };
    let end = Input::new(ElementType::I32, &two);
    let inputs = [Input::new(ElementType::F32, &data), begin, end.clone()];
    let dims = |mode| infer_dims(&op(mode), &inputs);
    assert_eq!(dims(PadMode::Constant), "[?,?]");
    assert_eq!(dims(PadMode::Reflect), "[..10,..10]");
    assert_eq!(dims(PadMode::Symmetric), "[..11,..11]");
    let old = Pad {
        only_extends: true,
        ..Pad::default()
    };
    assert_eq!(infer_dims(&old, &inputs), "[2..,6..]");
    let unknown = shape("...");
    let inputs = [Input::new(ElementType::F32, &unknown), end.clone(), end];
    assert_eq!(infer_dims(&old, &inputs), "[?,?]");
}

#[test]
fn an_axis_that_keeps_its_size_keeps_its_symbol() {
    let size = Dimension::dynamic().with_symbol(Some(Symbol(3)));
    let data = PartialShape::from(&[size][..]);
    let pads = [-2i64, 2].map(|pad| Tensor::vector(&[pad]));
    let [begin, end] = pads.each_ref().map(Input::of);
    let inputs = [Input::new(ElementType::F32, &data), begin, end];
    let out = op(PadMode::Constant).infer(&inputs).expect("fits");
    assert_eq!(out[0].shape, data);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn like_its_definition(
        dims in prop::collection::vec((0usize..5, -3i64..4, -3i64..4), 0..6),
        mode in prop::sample::select(MODES.to_vec()),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        unknown in any::<u32>(),
    ) {
        prop_assume!(ty != ElementType::String || mode == PadMode::Constant);
        let limit = |size: usize| match mode {
            PadMode::Constant => i64::MAX,
            PadMode::Edge if size > 0 => i64::MAX,
            PadMode::Edge => 0,
            PadMode::Reflect => (size as i64 - 1).max(0),
            PadMode::Symmetric => size as i64,
        };
        let dims: Vec<_> = dims
            .into_iter()
            .map(|(size, b, e)| (size, b.min(limit(size)), e.min(limit(size))))
            .collect();
        // What leaves less than nothing is an error.
        prop_assume!(dims.iter().all(|&(size, b, e)| size as i64 + b + e >= 0));
        let count: i64 = dims.iter().map(|&(size, b, e)| (size as i64 + b + e).max(0)).product();
        prop_assume!(count < 3000 && dims.iter().map(|d| d.0).product::<usize>() < 3000);
        let sizes: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let begin: Vec<i64> = dims.iter().map(|d| d.1).collect();
        let end: Vec<i64> = dims.iter().map(|d| d.2).collect();
        let inputs = [counted(ty, &sizes), Tensor::vector(&begin), Tensor::vector(&end)];
        let out = run(&op(mode), &inputs).expect("fits");
        let strides = inputs[0].shape().strides();
        let source: Vec<usize> = index(out.shape())
            .map(|at| {
                let mut from = 0;
                for (axis, &i) in at.iter().enumerate() {
                    let (i, size) = (i as i64 - begin[axis], sizes[axis] as i64);
                    let i = match mode {
                        _ if (0..size).contains(&i) => i,
                        PadMode::Constant => return usize::MAX,
                        PadMode::Edge => i.clamp(0, size - 1),
                        PadMode::Reflect if i < 0 => -i,
                        PadMode::Reflect => 2 * (size - 1) - i,
                        PadMode::Symmetric if i < 0 => -1 - i,
                        PadMode::Symmetric => 2 * size - 1 - i,
                    };
                    from += i as usize * strides[axis];
                }
                from
            })
            .collect();
        assert_picked(&inputs[0], &source, &out);
        prop_assert!(dynamic(&op(mode), &inputs, unknown).contains(out.shape()));
    }
}
