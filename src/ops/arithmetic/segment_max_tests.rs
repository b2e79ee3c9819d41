//! SegmentMax against its definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::convert::{convert, widen};

const LOWEST: SegmentMax = SegmentMax {
    fill_mode: FillMode::Lowest,
};

fn ids(ids: &[i64]) -> Tensor {
    Tensor::vector(ids)
}

#[test]
fn document_examples() {
    let data = Tensor::vector(&[1f32, 5.0, 2.0, 7.0, -3.0, 4.0, 9.0, 8.0]);
    let inputs = [data, ids(&[0, 0, 0, 1, 1, 3, 5, 5])];
    let out = run(&SegmentMax::default(), &inputs).expect("sorted");
    assert_eq!(out, Tensor::vector(&[5f32, 7.0, 0.0, 4.0, 0.0, 9.0]));
    let data = Tensor::new([3, 4], &[1i32, 2, 3, 4, 8, 7, 6, 5, 5, 6, 7, 8]).expect("twelve");
    let out = run(&LOWEST, &[data, ids(&[0, 1, 1])]).expect("sorted");
    assert_eq!(out.shape().to_string(), "[2,4]");
    let expected = [1, 2, 3, 4, 8, 7, 7, 8];
    assert_eq!(out.as_slice::<i32>().expect("i32"), expected);
}

#[test]
fn lowest_numbers() {
    for (ty, expected) in [
        (ElementType::F64, f64::MIN),
        (ElementType::F32, f64::from(f32::MIN)),
        (ElementType::F16, -65504.0),
        (ElementType::Bf16, bf16::MIN.to_f64()),
        (ElementType::F8e4m3, -448.0),
        (ElementType::F8e5m2, -57344.0),
        (ElementType::F4e2m1, -6.0),
        (ElementType::Nf4, -1.0),
        (ElementType::I4, -8.0),
        (ElementType::I32, f64::from(i32::MIN)),
        (ElementType::U3, 0.0),
        (ElementType::U64, 0.0),
    ] {
        let data = convert(&Tensor::vector(&[1i32]), ty).expect("a number");
        let inputs = [data, ids(&[1]), Tensor::scalar(3i32)];
        let out = run(&LOWEST, &inputs).expect("sorted");
        let mut wide = [0f64; 3];
        match ty {
            ElementType::F64 => widen(&out, 0, &mut wide),
            _ => {
                let out = convert(&out, ElementType::F64).expect("numbers");
                wide.copy_from_slice(out.as_slice().expect("f64"));
            }
        }
        assert_eq!(wide, [expected, 1.0, expected], "{ty}");
    }
}

#[test]
fn mistakes() {
    let data = Tensor::vector(&[1f32, 2.0]);
    let message = |segments: &[i64], count: Option<i64>| {
        let mut inputs = vec![data.clone(), ids(segments)];
        inputs.extend(count.map(Tensor::scalar));
        run(&LOWEST, &inputs).map_err(|e| e.message)
    };
    for (segments, count, expected) in [
        (
            &[1, 0][..],
            None,
            "segment_ids must be sorted, got 1 before 0",
        ),
        (&[-1, 0], None, "segment_ids must not be negative, got -1"),
        (&[0, 2], Some(2), "segment 2 is out of range for 2 segments"),
        (
            &[0, 0],
            Some(-2),
            "num_segments must not be negative, got -2",
        ),
        (
            &[0],
            None,
            "segment_ids must be as many as the first dimension of data, got 1 for 2",
        ),
    ] {
        assert_eq!(message(segments, count), Err(expected.to_owned()));
    }
    assert!(run(&LOWEST, &[Tensor::scalar(1f32), ids(&[0])]).is_err());
    assert!(run(&LOWEST, &[data.clone(), Tensor::vector(&[0f32, 0.0])]).is_err());
    assert!(run(&LOWEST, &[Tensor::vector(&[true, false]), ids(&[0, 0])]).is_err());
    let none = Tensor::new::<f32>([0, 3], &[]).expect("no elements");
    let out = run(&LOWEST, &[none.clone(), ids(&[])]).expect("no segments");
    assert_eq!(out.shape().to_string(), "[0,3]");
    let out = run(
        &SegmentMax::default(),
        &[none, ids(&[]), Tensor::scalar(2i64)],
    );
    assert_eq!(
        out.expect("two segments").as_slice::<f32>(),
        Ok(&[0f32; 6][..])
    );
}

#[test]
fn shapes() {
    let (dims, unknown, one) = (shape("?,2..5,7"), shape("..."), shape("?"));
    let data = Input::new(ElementType::F32, &dims);
    let segments = Input::new(ElementType::I64, &one);
    assert_eq!(
        infer_dims(&LOWEST, &[data.clone(), segments.clone()]),
        "[?,2..5,7]"
    );
    let any = Input::new(ElementType::F32, &unknown);
    assert_eq!(infer_dims(&LOWEST, &[any, segments.clone()]), "[...]");
    let count = Tensor::scalar(9i32);
    let inputs = [data.clone(), segments, Input::of(&count)];
    assert_eq!(infer_dims(&LOWEST, &inputs), "[9,2..5,7]");
    let ranges = [
        ValueRange::exact(0),
        ValueRange {
            min: 2,
            max: 4,
            symbol: None,
        },
    ];
    let two = shape("2");
    let mut segments = Input::new(ElementType::I64, &two);
    segments.ranges = Some(&ranges);
    assert_eq!(infer_dims(&LOWEST, &[data, segments]), "[3..5,2..5,7]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn definition(
        mut segments in prop::collection::vec(0i64..6, 1..20),
        inner in 0usize..40,
        more in 1i64..4,
        ty in 0usize..24,
        mask in any::<u32>(),
    ) {
        segments.sort_unstable();
        let numeric = ElementType::ALL.into_iter().filter(|ty| ty.is_numeric());
        let ty = numeric.cycle().nth(ty).expect("endless");
        let values: Vec<i64> = (0..segments.len() * inner)
            .map(|i| (i as i64 * 7919) % 13 - 6)
            .collect();
        let data = Tensor::new([segments.len(), inner], &values).expect("its length");
        let data = convert(&data, ty).expect("numbers");
        let back = convert(&data, ElementType::F64).expect("numbers");
        let back = back.as_slice::<f64>().expect("f64");
        let count = (segments[segments.len() - 1] + more) as usize;
        let mut expected = vec![0.0; count * inner];
        for (bag, out) in expected.chunks_mut(inner.max(1)).enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                let rows = (0..segments.len()).filter(|&row| segments[row] == bag as i64);
                let values = rows.map(|row| back[row * inner + column]);
                *out = values.reduce(f64::max).unwrap_or(0.0);
            }
        }
        let inputs = [data, ids(&segments), Tensor::scalar(count as i64)];
        let out = run(&SegmentMax::default(), &inputs).expect("sorted");
        prop_assert!(dynamic(&SegmentMax::default(), &inputs, mask).contains(out.shape()));
        let out = convert(&out, ElementType::F64).expect("numbers");
        let zero = convert(&Tensor::zeros(ty, [1]).expect("small"), ElementType::F64);
        let zero = zero.expect("a number").as_slice::<f64>().expect("f64")[0];
        for (i, (&a, &b)) in out.as_slice::<f64>().expect("f64").iter().zip(&expected).enumerate() {
            let empty = !segments.contains(&((i / inner) as i64));
            let same = |b: f64| a == b || (a.is_nan() && b.is_nan());
            prop_assert!(same(if empty { zero } else { b }), "{} {} {}", ty, a, b);
        }
    }
}
