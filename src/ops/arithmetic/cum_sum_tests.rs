//! CumSum against its definition.

use half::f16;
use proptest::prelude::*;

use super::*;
use crate::ops::testing::{index, infer_dims, run, shape};
use crate::tensor::{Dimension, ElementType, PartialShape, Symbol, convert};

fn cum_sum(exclusive: bool, reverse: bool) -> CumSum {
    CumSum { exclusive, reverse }
}

#[test]
fn document_examples() {
    let data = Tensor::vector(&[1f32, 2.0, 3.0, 4.0, 5.0]);
    for (exclusive, reverse, expected) in [
        (false, false, [1f32, 3.0, 6.0, 10.0, 15.0]),
        (true, false, [0.0, 1.0, 3.0, 6.0, 10.0]),
        (false, true, [15.0, 14.0, 12.0, 9.0, 5.0]),
        (true, true, [14.0, 12.0, 9.0, 5.0, 0.0]),
    ] {
        let op = cum_sum(exclusive, reverse);
        let expected = Ok(Tensor::vector(&expected));
        assert_eq!(run(&op, std::slice::from_ref(&data)), expected);
        assert_eq!(run(&op, &[data.clone(), Tensor::scalar(-1i32)]), expected);
    }
}

#[test]
fn sums_are_wide() {
    // Every 1 would be lost beside 2^24.
    let mut data = vec![1f32; 64];
    data[0] = 16_777_216.0;
    let sums = run(&CumSum::default(), &[Tensor::vector(&data)]).expect("numbers");
    assert_eq!(
        sums.as_slice::<f32>().expect("f32")[63],
        16_777_279.0f64 as f32
    );
    let data = Tensor::vector(&[1e100f64, 1.0, -1e100]);
    let sums = run(&CumSum::default(), &[data]).expect("numbers");
    assert_eq!(sums.as_slice::<f64>().expect("f64")[2], 1.0);
    let data = Tensor::vector(&[f16::from_f32(2048.0), f16::ONE, f16::ONE]);
    let sums = run(&CumSum::default(), &[data]).expect("numbers");
    let expected = [2048.0, 2048.0, 2050.0].map(f16::from_f32);
    assert_eq!(sums.as_slice::<f16>().expect("f16"), expected);
    // Nothing is zero, and not a negative one.
    let sums = run(&cum_sum(true, false), &[Tensor::vector(&[-0f32])]).expect("numbers");
    assert_eq!(sums.as_slice::<f32>().expect("f32")[0].to_bits(), 0);
}

#[test]
fn integers_wrap() {
    let sums = |data: Tensor| run(&CumSum::default(), &[data]).expect("numbers");
    let (a, b) = (Tensor::vector(&[i32::MAX, 1]), [i32::MAX, i32::MIN]);
    assert_eq!(sums(a), Tensor::vector(&b));
    assert_eq!(
        sums(Tensor::vector(&[200u8, 100])),
        Tensor::vector(&[200u8, 44])
    );
    let (a, b) = (Tensor::vector(&[u32::MAX, 2]), [u32::MAX, 1]);
    assert_eq!(sums(a), Tensor::vector(&b));
    let (a, b) = (Tensor::vector(&[u64::MAX, 2]), [u64::MAX, 1]);
    assert_eq!(sums(a), Tensor::vector(&b));
}

#[test]
fn shapes() {
    let op = CumSum::default();
    let axis = Tensor::scalar(2i64);
    let infer = |dims: &str, axis: &Tensor| {
        let dims = shape(dims);
        op.infer(&[Input::new(ElementType::F16, &dims), Input::of(axis)])
    };
    let (dims, unknown) = (shape("?,2..5,7"), shape("..."));
    let data = Input::new(ElementType::F16, &dims);
    assert_eq!(
        infer_dims(&op, &[data.clone(), Input::of(&axis)]),
        "[?,2..5,7]"
    );
    let any = Input::new(ElementType::I64, &unknown);
    assert_eq!(infer_dims(&op, &[data.clone(), any.clone()]), "[?,2..5,7]");
    assert_eq!(infer_dims(&op, &[any, Input::of(&axis)]), "[...]");
    assert!(infer("3,3", &axis).is_err());
    assert!(infer("3,3,3", &Tensor::scalar(-4i64)).is_err());
    assert!(infer("", &Tensor::scalar(0i64)).is_err());
    assert!(infer("3", &Tensor::scalar(0f32)).is_err());
    assert!(infer("3", &Tensor::vector(&[0i64, 0])).is_err());
    assert!(op.infer(&[]).is_err());
    let text = Input::new(ElementType::String, &dims);
    assert!(op.infer(&[text]).is_err());
    let empty = Tensor::new::<f32>([2, 0], &[]).expect("no elements");
    assert_eq!(run(&op, &[empty.clone(), Tensor::scalar(1i64)]), Ok(empty));
}

#[test]
fn known_values() {
    let n: ValueRange = Dimension::dynamic().with_symbol(Some(Symbol(1))).into();
    let ranges = [n, ValueRange::exact(2), ValueRange::exact(3)];
    let dims = PartialShape::from([3]);
    let mut data = Input::new(ElementType::I64, &dims);
    data.ranges = Some(&ranges);
    let output = Output::new(ElementType::I64, dims.clone());
    let known = |op: CumSum| op.infer_value(std::slice::from_ref(&data), &output);
    let exact = ValueRange::exact;
    let from = |min| ValueRange {
        min,
        max: i64::MAX,
        symbol: None,
    };
    assert_eq!(
        known(cum_sum(false, false)),
        Some(vec![n, from(2), from(5)])
    );
    assert_eq!(
        known(cum_sum(true, true)),
        Some(vec![exact(5), exact(3), exact(0)])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn definition(
        dims in prop::collection::vec(0usize..5, 1..=6),
        axis in any::<prop::sample::Index>(),
        exclusive in any::<bool>(),
        reverse in any::<bool>(),
        ty in 0usize..23,
    ) {
        let numeric = ElementType::ALL.into_iter().filter(|ty| ty.is_numeric());
        let ty = numeric.cycle().nth(ty).expect("endless");
        let count: usize = dims.iter().product();
        // The sums of as many ones as there are elements before.
        let ones = Tensor::new(&dims[..], &vec![1i64; count]).expect("its length");
        let data = convert::convert(&ones, ty).expect("numbers");
        let axis = axis.index(dims.len());
        let negative = axis as i64 - dims.len() as i64;
        let op = cum_sum(exclusive, reverse);
        let sums = run(&op, &[data.clone(), Tensor::scalar(negative)]).expect("numbers");
        let expected: Vec<i64> = index(data.shape())
            .map(|at| if reverse { dims[axis] - at[axis] } else { at[axis] + 1 })
            .map(|n| n as i64 - i64::from(exclusive))
            .collect();
        let expected = Tensor::new(&dims[..], &expected).expect("its length");
        let expected = convert::convert(&expected, ty).expect("numbers");
        prop_assert_eq!(sums, expected);
    }
}
