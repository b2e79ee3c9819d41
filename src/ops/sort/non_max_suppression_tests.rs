//! Tests of NonMaxSuppression.

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, run_all, shape};
use crate::tensor::convert::{convert, to_i64};

fn op(version: Version) -> NonMaxSuppression {
    NonMaxSuppression {
        version,
        ..NonMaxSuppression::default()
    }
}

/// Two batches of the same four boxes, of which the first three overlap, and one class.
fn inputs(most: i64, numbers: &[f32]) -> Vec<Tensor> {
    let one = [
        [0.0f32, 0.0, 2.0, 2.0],
        [2.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 2.0, 2.25],
        [5.0, 5.0, 6.0, 6.0],
    ];
    let scores = [0.875f32, 0.75, 0.625, 0.5, 0.0, 0.0, 0.9375, 0.25];
    let boxes = [one, one].concat();
    let mut all = vec![
        Tensor::new([2, 4, 4], boxes.as_flattened()).expect("32"),
        Tensor::new([2, 1, 4], &scores).expect("8"),
        Tensor::scalar(most),
    ];
    all.extend(numbers.iter().map(|&number| Tensor::scalar(number)));
    all
}

#[test]
fn rows_of_each_version() {
    let inputs = inputs(3, &[0.5, 0.5]);
    let exact = [1, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 3];
    for version in [Version::Five, Version::Nine] {
        let outputs = run_all(&op(version), &inputs).expect("fits");
        assert_eq!(to_i64(&outputs[0]), exact);
        assert_eq!(to_i64(&outputs[2]), [4]);
        let scores = outputs[1].as_slice::<f32>().expect("f32");
        assert_eq!(scores[..6], [1.0, 0.0, 0.9375, 0.0, 0.0, 0.875]);
    }
    let found = |version| to_i64(&run(&op(version), &inputs).expect("fits"));
    assert_eq!(found(Version::Four), [&exact[..], &[-1; 6]].concat());
    for version in [Version::One, Version::Three] {
        assert_eq!(found(version), exact[..9]);
    }
    let unsorted = NonMaxSuppression {
        sort_result_descending: false,
        output_type: Some(ElementType::I32),
        ..op(Version::Three)
    };
    let out = run(&unsorted, &inputs).expect("fits");
    assert_eq!(
        out.as_slice::<i32>().expect("i32"),
        [0, 0, 0, 0, 0, 1, 0, 0, 3]
    );
}

#[test]
fn thresholds_are_kept() {
    // The first two boxes overlap by just a half, and the last has just the lowest score.
    let found = |version, most, numbers: &[f32]| {
        let outputs = run_all(&op(version), &inputs(most, numbers)).expect("fits");
        to_i64(&outputs[0])
            .chunks(3)
            .map(|row| row[2])
            .collect::<Vec<_>>()
    };
    assert_eq!(found(Version::Nine, 9, &[0.5, 0.5]), [2, 0, 1, 3]);
    assert_eq!(found(Version::Nine, 9, &[0.49, 0.75]), [2, 0]);
    assert_eq!(found(Version::Nine, 0, &[0.5, 0.5]), [0i64; 0]);
    assert_eq!(found(Version::Nine, 9, &[0.5, 2.0]), [0i64; 0]);
    // Without thresholds whatever overlaps goes.
    assert_eq!(found(Version::Nine, 9, &[]), [2, 0, 3, 3]);
    // Soft: version 5 suppresses by the threshold all the same.
    assert_eq!(
        found(Version::Nine, 9, &[0.6, 0.1, 0.5]),
        [2, 0, 1, 3, 3, 2]
    );
    assert_eq!(found(Version::Five, 9, &[0.6, 0.1, 0.5]), [2, 0, 1, 3, 3]);
}

#[test]
fn encodings_and_types() {
    let centers = [[1.0f32, 1.0, 2.0, 2.0], [0.5, 1.0, 1.0, 2.0]];
    let corners = [[0.0f32, 0.0, 2.0, 2.0], [2.0, 1.0, 0.0, 0.0]];
    for ty in [ElementType::F16, ElementType::Bf16, ElementType::F64] {
        for (quads, box_encoding) in [
            (centers, BoxEncoding::Center),
            (corners, BoxEncoding::Corner),
        ] {
            let boxes = Tensor::new([1, 2, 4], quads.as_flattened()).expect("8");
            let scores = Tensor::new([1, 1, 2], &[0.25f32, 0.5]).expect("2");
            let count = |limit: f32| {
                let inputs = [
                    convert(&boxes, ty).expect("floats"),
                    convert(&scores, ty).expect("floats"),
                    Tensor::vector(&[2u8]),
                    convert(&Tensor::vector(&[limit]), ty).expect("floats"),
                ];
                let op = NonMaxSuppression {
                    box_encoding,
                    ..op(Version::Nine)
                };
                to_i64(&run_all(&op, &inputs).expect("fits")[2])
            };
            assert_eq!((count(0.5), count(0.375)), (vec![2], vec![1]));
        }
    }
}

#[test]
fn bounds() {
    let (boxes, scores, one) = (shape("?,3..6,4"), shape("2,5,?"), shape("1"));
    let most = Tensor::scalar(4i32);
    let dims = |version, most: &Input<'_>| {
        let inputs = [
            Input::new(ElementType::F32, &boxes),
            Input::new(ElementType::F32, &scores),
            most.clone(),
        ];
        infer_dims(&op(version), &inputs)
    };
    let unknown = Input::new(ElementType::I64, &one);
    assert_eq!(dims(Version::Nine, &unknown), "[..60,3]");
    assert_eq!(dims(Version::Nine, &Input::of(&most)), "[..40,3]");
    assert_eq!(dims(Version::Four, &Input::of(&most)), "[30..40,3]");
    assert_eq!(dims(Version::Four, &unknown), "[..60,3]");
    assert_eq!(dims(Version::One, &Input::of(&most)), "[3..6,3]");
    for version in [Version::One, Version::Four, Version::Nine] {
        let inputs = inputs(3, &[0.5, 0.5]);
        let out = run_all(&op(version), &inputs).expect("fits").remove(0);
        for mask in 0..200u32 {
            let shape = dynamic(&op(version), &inputs, mask.wrapping_mul(0x9E37_79B9));
            assert!(shape.contains(out.shape()), "{shape}");
        }
    }
}

#[test]
fn nothing_of_enormous_size() {
    let huge = 1 << 40;
    let nothing = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("nothing");
    let most = Tensor::scalar(3i64);
    for (boxes, scores) in [
        ([huge, 0, 4], [huge, huge, 0]),
        ([0, huge, 4], [0, huge, huge]),
    ] {
        let inputs = [nothing(&boxes), nothing(&scores), most.clone()];
        let outputs = run_all(&op(Version::Nine), &inputs).expect("fits");
        assert_eq!(to_i64(&outputs[2]), [0]);
    }
}

#[test]
fn mistakes() {
    let good = inputs(3, &[0.5, 0.5, 0.5]);
    let nine = op(Version::Nine);
    assert!(run_all(&nine, &good).is_ok());
    assert!(run_all(&op(Version::Four), &good).is_err());
    assert!(run_all(&nine, &good[..1]).is_err());
    assert!(run_all(&nine, &inputs(-1, &[])).is_err());
    assert!(run_all(&nine, &inputs(1, &[0.5, 0.5, -1.0])).is_err());
    let with = |index: usize, tensor: Tensor| {
        let mut inputs = good.clone();
        inputs[index] = tensor;
        run_all(&nine, &inputs).expect_err("wrong").message
    };
    let zeros = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("small");
    assert_eq!(
        with(0, zeros(&[2, 4, 5])),
        "a box must have 4 numbers, got shape [2,4,5]"
    );
    assert_eq!(
        with(1, zeros(&[2, 1, 3])),
        "numbers of boxes and scores differ: 4 and 3"
    );
    with(
        0,
        Tensor::zeros(ElementType::F64, [2, 4, 4]).expect("small"),
    );
    with(2, Tensor::scalar(1f32));
    with(3, Tensor::scalar(1i32));
    with(4, zeros(&[2]));
}
