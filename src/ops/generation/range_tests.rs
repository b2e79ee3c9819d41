//! Tests of Range.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{infer_dims, run, shape};
use crate::tensor::Symbol;
use crate::tensor::convert::{convert, to_i64};

fn floats(output_type: ElementType, scalars: [f64; 3]) -> Result<Tensor, OpError> {
    run(&Range { output_type }, &scalars.map(Tensor::scalar))
}

fn as_floats(tensor: &Tensor) -> Vec<f64> {
    let wide = convert(tensor, ElementType::F64).expect("numbers");
    wide.as_slice::<f64>().expect("f64").to_vec()
}

#[test]
fn floats_for_integers_are_cast_first() {
    let integers = |scalars| floats(ElementType::I32, scalars).map(|t| to_i64(&t));
    assert_eq!(integers([1.5, 4.7, 1.0]), Ok(vec![1, 2, 3]));
    assert_eq!(integers([-1.5, 2.5, 1.9]), Ok(vec![-1, 0, 1]));
    assert_eq!(integers([4.9, 1.1, -1.9]), Ok(vec![4, 3, 2]));
    assert!(integers([1.0, 3.0, 0.5]).is_err());
    for wrong in [f64::NAN, f64::INFINITY, 1e300] {
        assert!(integers([0.0, wrong, 1.0]).is_err(), "{wrong}");
    }
}

#[test]
fn floats_are_computed_in_f64() {
    let tenth = floats(ElementType::F64, [0.0, 1.0, 0.1]).expect("finite");
    assert_eq!(tenth.len(), 10);
    let half = floats(ElementType::F16, [1.0001, 3.0, 0.5003]).expect("finite");
    assert_eq!(as_floats(&half), [1.0, 1.5, 2.0, 2.501_953_125]);
    let many = floats(ElementType::F32, [0.0, 1000.0, 0.1]).expect("finite");
    assert_eq!(many.as_slice::<f32>().expect("f32")[9999], 999.9);
    assert_eq!(
        floats(ElementType::F32, [3.0, 1.0, 1.0])
            .expect("finite")
            .len(),
        0
    );
    assert!(floats(ElementType::F32, [0.0, 1.0, 0.0]).is_err());
    assert!(floats(ElementType::F32, [f64::NAN, 1.0, 1.0]).is_err());
    let mixed = [
        Tensor::scalar(2u8),
        Tensor::scalar(-1i64),
        Tensor::scalar(-1.5f32),
    ];
    let out = run(
        &Range {
            output_type: ElementType::F32,
        },
        &mixed,
    )
    .expect("fits");
    assert_eq!(as_floats(&out), [2.0, 0.5]);
}

#[test]
fn integers_wrap_where_they_are_written() {
    let op = Range {
        output_type: ElementType::I8,
    };
    let wide = [
        Tensor::scalar(126i32),
        Tensor::scalar(130i32),
        Tensor::scalar(1i32),
    ];
    assert_eq!(
        to_i64(&run(&op, &wide).expect("fits")),
        [126, 127, -128, -127]
    );
    let unsigned = Range {
        output_type: ElementType::U64,
    };
    let top = u64::MAX - 2;
    let inputs = [
        Tensor::scalar(u64::MAX),
        Tensor::scalar(top),
        Tensor::scalar(-1i8),
    ];
    let out = run(&unsigned, &inputs).expect("fits");
    assert_eq!(
        out.as_slice::<u64>().expect("u64"),
        [u64::MAX, u64::MAX - 1]
    );
    let all = [
        Tensor::scalar(i64::MIN),
        Tensor::scalar(i64::MAX),
        Tensor::scalar(i64::MAX),
    ];
    let out = run(&Range1, &all).expect("fits");
    assert_eq!(to_i64(&out), [i64::MIN, -1, i64::MAX - 1]);
}

#[test]
fn mistakes() {
    let one = Tensor::scalar(1i32);
    let message = |inputs: [Tensor; 3]| run(&Range1, &inputs).expect_err("refused").message;
    assert_eq!(
        message([one.clone(), one.clone(), Tensor::scalar(0i32)]),
        "step is 0, expected another number"
    );
    assert_eq!(
        message([one.clone(), Tensor::scalar(1f32), one.clone()]),
        "input 1 has elements of f32, expected i32"
    );
    assert_eq!(
        message([Tensor::vector(&[1i32]), one.clone(), one.clone()]),
        "start must be a scalar, got shape [1]"
    );
    let flag = Tensor::scalar(true);
    assert!(run(&Range1, &[flag.clone(), flag.clone(), flag]).is_err());
    let inputs = [one.clone(), one.clone(), one];
    assert!(run(&Range::default(), &inputs).is_err());
}

/// The shape and values inferred when the scalars are known in part.
fn partly(ranges: [(i64, i64); 3], ty: ElementType) -> (String, Option<Vec<ValueRange>>) {
    let scalar = shape("");
    let ranges = ranges.map(|(min, max)| {
        [ValueRange {
            min,
            max,
            symbol: None,
        }]
    });
    let inputs = ranges.each_ref().map(|ranges| Input {
        ranges: Some(ranges),
        ..Input::new(ElementType::I64, &scalar)
    });
    let op = Range { output_type: ty };
    let output = &op.infer(&inputs).expect("fits")[0];
    (output.shape.to_string(), op.infer_value(&inputs, output))
}

#[test]
fn what_is_known_of_the_size() {
    let most = i64::MAX;
    let size = |ranges| partly(ranges, ElementType::I64).0;
    assert_eq!(size([(0, 0), (2, 7), (1, 1)]), "[2..7]");
    assert_eq!(size([(0, 0), (-3, most), (1, 1)]), "[?]");
    assert_eq!(size([(1, 2), (5, 9), (2, 3)]), "[1..4]");
    assert_eq!(size([(1, 2), (5, most), (2, most)]), "[1..]");
    assert_eq!(size([(9, 9), (0, 4), (-2, -1)]), "[3..9]");
    assert_eq!(size([(0, 0), (5, 9), (-1, 1)]), "[?]");
    assert_eq!(size([(7, 9), (3, 5), (1, 2)]), "[0]");
    let symbol = [ValueRange {
        symbol: Some(Symbol(4)),
        ..ValueRange {
            min: 1,
            max: most,
            symbol: None,
        }
    }];
    let scalar = shape("");
    let constants = [Tensor::scalar(0i64), Tensor::scalar(1i64)];
    let stop = Input {
        ranges: Some(&symbol),
        ..Input::new(ElementType::I64, &scalar)
    };
    let inputs = [Input::of(&constants[0]), stop, Input::of(&constants[1])];
    let dims = Range1.infer(&inputs).expect("fits")[0].shape.clone();
    assert_eq!(dims.dims().expect("a rank")[0].symbol(), Some(Symbol(4)));
    let unknown = Input::new(ElementType::F32, &scalar);
    let inputs = [unknown.clone(), unknown.clone(), unknown];
    assert_eq!(infer_dims(&Range1, &inputs), "[?]");
}

#[test]
fn what_is_known_of_the_numbers() {
    let (size, values) = partly([(3, 3), (6, 7), (2, 2)], ElementType::I32);
    assert_eq!(size, "[2]");
    assert_eq!(
        values,
        Some(vec![ValueRange::exact(3), ValueRange::exact(5)])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn like_its_definition(
        (start, stop) in (-40i64..40, -40i64..40),
        step in prop_oneof![-9i64..0, 1i64..9],
        slack in prop::collection::vec((0i64..4, 0i64..4), 3),
        ty in prop::sample::select(vec![
            ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64, ElementType::F16,
            ElementType::F32, ElementType::F64, ElementType::Bf16,
        ]),
    ) {
        let mut expected = Vec::new();
        let mut next = start;
        while (step > 0 && next < stop) || (step < 0 && next > stop) {
            expected.push(next);
            next += step;
        }
        let scalars = [start, stop, step].map(|x| convert(&Tensor::scalar(x), ty).expect("fits"));
        for op in [&Range1 as &dyn Op, &Range { output_type: ty }] {
            let out = run(op, &scalars).expect("fits");
            let out = to_i64(&convert(&out, ElementType::I64).expect("numbers"));
            prop_assert_eq!(&out, &expected);
        }
        let around = |i: usize, x: i64| (x - slack[i].0, x + slack[i].1);
        let (size, values) = partly(
            [around(0, start), around(1, stop), around(2, step)],
            ElementType::I32,
        );
        prop_assert!(shape(&size).contains(&[expected.len()]), "{}", size);
        for (range, &x) in values.into_iter().flatten().zip(&expected) {
            prop_assert!(range.min <= x && x <= range.max);
        }
    }
}
