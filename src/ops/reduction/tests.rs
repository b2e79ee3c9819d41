//! Every reduction against its definition, over all element types.

use proptest::prelude::*;

use super::reduce::{Reduce, Reduction};
use super::{
    reduce_l1::L1, reduce_l2::L2, reduce_logical_and::LogicalAnd, reduce_logical_or::LogicalOr,
    reduce_max::Max, reduce_mean::Mean, reduce_min::Min, reduce_prod::Prod,
};
use crate::op::{Input, Op, Output};
use crate::ops::testing::{index, run};
use crate::tensor::{
    Dimension, Element, ElementType, PartialShape, Symbol, Tensor, ValueRange, convert,
};

fn reduce<F: Reduction>(data: &Tensor, axes: &[i64]) -> Tensor {
    let inputs = [data.clone(), Tensor::vector(axes)];
    run(&Reduce::<F>::default(), &inputs).expect("allowed data and axes")
}

/// Over all of a vector.
fn all<F: Reduction, T: Element + Copy>(data: &[T]) -> T {
    reduce::<F>(&Tensor::vector(data), &[0])
        .as_slice()
        .expect("the type of the data")[0]
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn means() {
    assert_eq!(all::<Mean, f32>(&[1.0, 2.0, 4.5]), 2.5);
    assert_eq!(all::<Mean, f64>(&[0.1; 1000]), 0.1);
    assert_eq!(all::<Mean, f32>(&[f32::MAX, f32::MAX]), f32::MAX);
    assert_eq!(all::<Mean, i32>(&[1, 2, 2]), 1);
    assert_eq!(all::<Mean, i32>(&[-1, -2, -2]), -1);
    assert_eq!(all::<Mean, i8>(&[-128, -128, 127]), -43);
    assert_eq!(all::<Mean, u8>(&[255, 255, 254]), 254);
    assert_eq!(
        all::<Mean, i64>(&[i64::MIN, i64::MIN, i64::MAX]),
        -3_074_457_345_618_258_603
    );
    assert_eq!(all::<Mean, i64>(&[i64::MAX; 5]), i64::MAX);
    assert_eq!(all::<Mean, u64>(&[u64::MAX; 5]), u64::MAX);
    assert_eq!(all::<Mean, u64>(&[u64::MAX, 0]), u64::MAX / 2);
}

#[test]
fn products() {
    assert_eq!(all::<Prod, f32>(&[2.0, -3.0, 0.5]), -3.0);
    // Neither too large nor too small on the way.
    assert_eq!(all::<Prod, f32>(&[1e30, 1e30, 1e-30, 1e-30]), 1.0);
    assert_eq!(all::<Prod, f64>(&[2.0, 0.25]), 0.5);
    assert_eq!(all::<Prod, i32>(&[65536, 65536]), 0);
    assert_eq!(
        all::<Prod, i32>(&[1 << 30, 3, 7]),
        (1i32 << 30).wrapping_mul(21)
    );
    assert_eq!(all::<Prod, u8>(&[16, 17]), 16);
    assert_eq!(all::<Prod, i64>(&[i64::MIN, -1]), i64::MIN);
    assert_eq!(all::<Prod, u64>(&[1 << 63, 3]), 1 << 63);
}

#[test]
fn extremes() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for (data, min, max) in [
        (&[3.0, -1.0, 2.0][..], -1.0, 3.0),
        (&[nan, 1.0, 2.0], 1.0, 2.0),
        (&[1.0, nan, 2.0], 1.0, 2.0),
        (&[1.0, 2.0, nan], 1.0, 2.0),
        (&[nan, nan], nan, nan),
        (&[inf, inf], inf, inf),
        (&[-inf, -inf, nan], -inf, -inf),
        (&[-inf, 0.0, inf], -inf, inf),
    ] {
        for repeat in [1, 50] {
            let long = data.repeat(repeat);
            assert!(same(all::<Min, f32>(&long), min), "{data:?}");
            assert!(same(all::<Max, f32>(&long), max), "{data:?}");
            // Folded as rows, too.
            let rows: Vec<f32> = long.iter().flat_map(|&x| [x; 30]).collect();
            let rows = Tensor::new([long.len(), 30], &rows).expect("its length");
            let result = reduce::<Max>(&rows, &[0]);
            let result = result.as_slice::<f32>().expect("f32");
            assert!(result.iter().all(|&x| same(x, max)), "{data:?}");
        }
    }
    assert_eq!(all::<Min, i64>(&[3, i64::MIN, 7]), i64::MIN);
    assert_eq!(all::<Max, u64>(&[3, u64::MAX, 7]), u64::MAX);
    assert_eq!(all::<Max, i8>(&[-3, -7]), -3);
}

#[test]
fn norms() {
    assert_eq!(all::<L1, f32>(&[1.0, -2.0, -0.5]), 3.5);
    assert_eq!(all::<L1, i32>(&[-3, 4]), 7);
    assert_eq!(all::<L1, i32>(&[i32::MIN, -1]), i32::MIN + 1);
    assert_eq!(all::<L1, i8>(&[-100, -100]), -56);
    assert_eq!(all::<L1, u64>(&[u64::MAX, 2]), 1);
    assert_eq!(all::<L2, f32>(&[3.0, -4.0]), 5.0);
    assert_eq!(all::<L2, f32>(&[3e30, 4e30]), 5e30);
    assert_eq!(all::<L2, f64>(&[1.0; 9]), 3.0);
    assert_eq!(all::<L2, i32>(&[1, 2, -3, 5]), 6);
    assert_eq!(all::<L2, i32>(&[-1, -2]), 2);
    assert_eq!(all::<L2, i8>(&[-100, 70]), 122);
    assert_eq!(all::<L2, i64>(&[i64::MAX]), i64::MAX);
    assert_eq!(all::<L2, u64>(&[u64::MAX]), u64::MAX);
    let (a, b) = (3 * (1u64 << 61), 4 * (1u64 << 61));
    assert_eq!(all::<L2, u64>(&[a, b]), 5 * (1 << 61));
    // Without axes even signs stay.
    let data = Tensor::vector(&[-1f32, 2.0]);
    assert_eq!(reduce::<L1>(&data, &[]), data);
    assert_eq!(reduce::<L2>(&data, &[]), data);
}

#[test]
fn booleans() {
    let data = [true, true, false, true, false, false, true, true];
    let data = Tensor::new([4, 2], &data).expect("eight");
    let bools = |tensor: Tensor| tensor.as_slice::<bool>().expect("boolean").to_vec();
    assert_eq!(
        bools(reduce::<LogicalAnd>(&data, &[1])),
        [true, false, false, true]
    );
    assert_eq!(
        bools(reduce::<LogicalOr>(&data, &[1])),
        [true, true, false, true]
    );
    assert_eq!(bools(reduce::<LogicalAnd>(&data, &[0])), [false, false]);
    assert_eq!(bools(reduce::<LogicalOr>(&data, &[0, 1])), [true]);
    assert!(
        run(
            &Reduce::<LogicalOr>::default(),
            &[Tensor::vector(&[1i32]), Tensor::scalar(0i64)]
        )
        .is_err()
    );
    assert!(run(&Reduce::<Max>::default(), &[data, Tensor::scalar(0i64)]).is_err());
}

#[test]
fn no_elements() {
    fn nothing<F: Reduction, T: Element + Copy>() -> Vec<T> {
        let data = Tensor::new::<T>([2, 0], &[]).expect("no elements");
        let result = reduce::<F>(&data, &[1]);
        result.as_slice().expect("the type of the data").to_vec()
    }
    assert_eq!(nothing::<Mean, f32>(), [0.0; 2]);
    assert_eq!(nothing::<Mean, i64>(), [0; 2]);
    assert_eq!(nothing::<Mean, f64>(), [0.0; 2]);
    assert_eq!(nothing::<Prod, f32>(), [1.0; 2]);
    assert_eq!(nothing::<Prod, u8>(), [1; 2]);
    assert_eq!(nothing::<Max, f32>(), [f32::MIN; 2]);
    assert_eq!(nothing::<Min, f64>(), [f64::INFINITY; 2]);
    assert_eq!(nothing::<Max, i8>(), [i8::MIN; 2]);
    assert_eq!(nothing::<Min, i32>(), [i32::MAX; 2]);
    assert_eq!(nothing::<Min, u32>(), [u32::MAX; 2]);
    assert_eq!(nothing::<Min, u64>(), [u64::MAX; 2]);
    assert_eq!(nothing::<Max, i64>(), [i64::MIN; 2]);
    assert_eq!(nothing::<L1, i16>(), [0; 2]);
    assert_eq!(nothing::<L2, f32>(), [0.0; 2]);
    assert_eq!(nothing::<LogicalAnd, bool>(), [true; 2]);
    assert_eq!(nothing::<LogicalOr, bool>(), [false; 2]);
}

/// What is known of the reduction of all of a vector.
fn known<F: Reduction>(ty: ElementType, ranges: &[ValueRange]) -> Option<ValueRange> {
    let (shape, axes) = (PartialShape::from([ranges.len()]), Tensor::scalar(0i64));
    let mut data = Input::new(ty, &shape);
    data.ranges = Some(ranges);
    let output = Output::new(ty, PartialShape::scalar());
    let op = Reduce::<F>::default();
    Some(op.infer_value(&[data, Input::of(&axes)], &output)?[0])
}

#[test]
fn ranges() {
    let n: ValueRange = Dimension::dynamic().with_symbol(Some(Symbol(1))).into();
    let exact = ValueRange::exact;
    let range = |min, max| ValueRange {
        min,
        max,
        symbol: None,
    };
    let i64 = ElementType::I64;
    // The number of elements of a shape.
    assert_eq!(known::<Prod>(i64, &[exact(1), n, exact(1)]), Some(n));
    assert_eq!(
        known::<Prod>(i64, &[range(2, 3), exact(4)]),
        Some(range(8, 12))
    );
    assert_eq!(known::<Prod>(i64, &[n, exact(3)]), Some(range(0, i64::MAX)));
    assert_eq!(known::<Prod>(i64, &[n, exact(0)]), Some(exact(0)));
    assert_eq!(known::<Prod>(i64, &[]), Some(exact(1)));
    let u8 = ElementType::U8;
    let wrapped = known::<Prod>(u8, &[exact(16), exact(16)]);
    assert_eq!(wrapped, Some(ValueRange::UNKNOWN));
    assert_eq!(known::<Max>(i64, &[n, range(-3, 0)]), Some(n));
    assert_eq!(known::<Min>(i64, &[n, exact(7)]), Some(range(0, 7)));
    assert_eq!(known::<Mean>(i64, &[exact(3), exact(4)]), Some(exact(3)));
    assert_eq!(
        known::<Mean>(i64, &[range(-3, 4), exact(0)]),
        Some(range(-1, 2))
    );
    assert_eq!(
        known::<Mean>(u8, &[exact(255), exact(253)]),
        Some(exact(254))
    );
    assert_eq!(known::<L1>(i64, &[exact(3)]), None);
}

/// The value of an element by the definition, of integers small enough for `f64`.
fn naive(name: &str, values: &[f64], integer: bool) -> f64 {
    let n = values.len() as f64;
    let whole = |x: f64| if integer { x.trunc() } else { x };
    match name {
        "Mean" if n == 0.0 => 0.0,
        "Mean" => whole(values.iter().sum::<f64>() / n),
        "Prod" => values.iter().product(),
        "Min" => values.iter().copied().fold(f64::INFINITY, f64::min),
        "Max" => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "L1" => values.iter().map(|x| x.abs()).sum(),
        _ => whole(values.iter().map(|x| x * x).sum::<f64>().sqrt()),
    }
}

fn agrees<F: Reduction>(ty: ElementType, shape: &[usize], axes: &[usize], seed: u64) {
    let small = ty.bits() < 16;
    let from = if ty.is_signed_integer() || ty.is_float() {
        -1
    } else {
        0
    };
    let values: Vec<f64> = (0..shape.iter().product::<usize>() as u64)
        .map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .map(|x| f64::from((x % 3) as i32 + from) * if small { 1.0 } else { 2.0 })
        .collect();
    let wide = Tensor::new(shape, &values).expect("its length");
    let data = convert::convert(&wide, ty).expect("numbers");
    let back = convert::convert(&data, ElementType::F64).expect("numbers");
    let name = format!("{:?}", F::default());
    let list: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let result = reduce::<F>(&data, &list);
    let mut groups = std::collections::BTreeMap::<Vec<usize>, Vec<f64>>::new();
    for (i, at) in index(data.shape()).enumerate() {
        let kept = (0..shape.len()).filter(|axis| !axes.contains(axis));
        let group = groups.entry(kept.map(|axis| at[axis]).collect());
        group
            .or_default()
            .push(back.as_slice::<f64>().expect("f64")[i]);
    }
    let expected: Vec<f64> = if axes.is_empty() {
        back.as_slice::<f64>().expect("f64").to_vec()
    } else {
        let groups = groups.values();
        groups
            .map(|values| naive(&name, values, !ty.is_float()))
            .collect()
    };
    let expected = Tensor::new(result.shape().clone(), &expected).expect("as many groups");
    let expected = convert::convert(&expected, ty).expect("numbers");
    let numbers = |tensor: &Tensor| {
        let wide = convert::convert(tensor, ElementType::F64).expect("numbers");
        wide.as_slice::<f64>().expect("f64").to_vec()
    };
    for (a, b) in numbers(&result).into_iter().zip(numbers(&expected)) {
        let close = (a - b).abs() <= 1e-6 * b.abs() || (a.is_nan() && b.is_nan());
        assert!(a == b || close, "{name} {ty} {shape:?} {axes:?}: {a} {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definitions(
        dims in prop::collection::vec((1usize..4, any::<bool>()), 0..=6),
        seed in any::<u32>(),
        ty in 0usize..24,
    ) {
        let numeric = ElementType::ALL.into_iter().filter(|ty| ty.is_numeric());
        let ty = numeric.cycle().nth(ty).expect("endless");
        let shape: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let axes: Vec<usize> = (0..dims.len()).filter(|&i| dims[i].1).collect();
        let seed = u64::from(seed);
        agrees::<Mean>(ty, &shape, &axes, seed);
        agrees::<Min>(ty, &shape, &axes, seed);
        agrees::<Max>(ty, &shape, &axes, seed);
        agrees::<L2>(ty, &shape, &axes, seed);
        // Numbers of few bits do not hold more.
        if ty.bits() >= 32 && dims.iter().map(|d| d.0).product::<usize>() < 24 {
            agrees::<Prod>(ty, &shape, &axes, seed);
            agrees::<L1>(ty, &shape, &axes, seed);
        }
    }
}
