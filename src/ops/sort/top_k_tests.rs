//! Tests of TopK.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, elements, index, infer_dims, shape};
use crate::tensor::convert::{convert, to_i64};
use crate::tensor::{Symbol, Tensor, ValueRange};

fn op(axis: i64, mode: Mode, sort: Sort) -> TopK {
    TopK {
        axis,
        mode,
        sort,
        ..TopK::default()
    }
}

/// Values and indices.
fn run(op: &TopK, data: &Tensor, k: i64) -> Result<[Tensor; 2], OpError> {
    let k = Tensor::scalar(k);
    let inferred = op.infer(&[Input::of(data), Input::of(&k)])?;
    let mut outputs = inferred
        .iter()
        .map(|o| Tensor::zeros(o.element_type, o.shape.to_shape().expect("exact")))
        .collect::<Result<Vec<_>, _>>()?;
    for output in &mut outputs {
        output.bytes_mut().fill(0xA5);
    }
    op.eval(Io {
        inputs: &[data, &k],
        outputs: &mut outputs,
    })?;
    Ok(outputs.try_into().expect("two"))
}

fn indices(op: &TopK, data: &Tensor, k: i64) -> Vec<i64> {
    to_i64(&run(op, data, k).expect("fits")[1])
}

#[test]
fn orders() {
    let data = Tensor::vector(&[5i32, 3, 1, 2, 5, 5, 0]);
    let pick = |mode, sort| indices(&op(0, mode, sort), &data, 4);
    assert_eq!(pick(Mode::Max, Sort::Value), [0, 4, 5, 1]);
    assert_eq!(pick(Mode::Max, Sort::Index), [0, 1, 4, 5]);
    assert_eq!(pick(Mode::Min, Sort::Value), [6, 2, 3, 1]);
    assert_eq!(pick(Mode::Min, Sort::Index), [1, 2, 3, 6]);
    let document = Tensor::vector(&[5f32, 3.0, 1.0, 2.0, 5.0, 5.0]);
    let [values, places] = run(&op(0, Mode::Min, Sort::Index), &document, 4).expect("fits");
    assert_eq!(values.as_slice::<f32>().expect("f32"), [5.0, 3.0, 1.0, 2.0]);
    assert_eq!(places.as_slice::<i32>().expect("i32"), [0, 1, 2, 3]);
}

#[test]
fn nan_is_smaller_than_numbers() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let data = [1.0, nan, -inf, -0.0, 0.0, -nan, inf];
    for ty in [ElementType::F32, ElementType::F64, ElementType::F16] {
        let data = convert(&Tensor::vector(&data), ty).expect("floats");
        let pick = |mode| indices(&op(0, mode, Sort::Value), &data, 7);
        assert_eq!(pick(Mode::Max), [6, 0, 3, 4, 2, 1, 5]);
        assert_eq!(pick(Mode::Min), [1, 5, 2, 3, 4, 0, 6]);
    }
    let [values, _] = run(&op(0, Mode::Max, Sort::Value), &Tensor::vector(&data), 7).expect("fits");
    let bits = |x: f32| x.to_bits();
    let values = values.as_slice::<f32>().expect("f32");
    assert_eq!(
        values[2..4].iter().copied().map(bits).collect::<Vec<_>>(),
        [bits(-0.0), 0]
    );
    assert_eq!(bits(values[6]), bits(-nan));
}

#[test]
fn extremes() {
    let max = |data: &Tensor| indices(&op(0, Mode::Max, Sort::Value), data, 3);
    assert_eq!(max(&Tensor::vector(&[i64::MIN, i64::MAX, 0])), [1, 2, 0]);
    assert_eq!(max(&Tensor::vector(&[0u64, u64::MAX, 1 << 63])), [1, 2, 0]);
    assert_eq!(max(&Tensor::vector(&[i32::MIN, i32::MAX, 0])), [1, 2, 0]);
    assert_eq!(max(&Tensor::vector(&[0u32, u32::MAX, 1 << 31])), [1, 2, 0]);
    let doubles = [f64::MIN_POSITIVE, f64::MAX, 1.0 + f64::EPSILON];
    assert_eq!(max(&Tensor::vector(&doubles)), [1, 2, 0]);
}

#[test]
fn what_is_known_of_k() {
    let (data, scalar, one) = (shape("2,3..5,?"), shape(""), shape("1"));
    let op = op(1, Mode::Max, Sort::Value);
    let dims = |k: &Input<'_>| {
        let inputs = [Input::new(ElementType::F32, &data), k.clone()];
        op.infer(&inputs).ok()?;
        Some(infer_dims(&op, &inputs))
    };
    let k = Input::new(ElementType::U8, &scalar);
    assert_eq!(dims(&k).as_deref(), Some("[2,1..5,?]"));
    assert_eq!(
        dims(&Input::new(ElementType::I32, &one)).as_deref(),
        Some("[2,1..5,?]")
    );
    let range = |min, max| {
        [ValueRange {
            min,
            max,
            symbol: Some(Symbol(1)),
        }]
    };
    for ((min, max), expected) in [
        ((-2, 3), Some("[2,1..3,?]")),
        ((4, i64::MAX), Some("[2,4..5,?]")),
        ((5, 5), Some("[2,5,?]")),
        ((6, 9), None),
        ((-3, 0), None),
    ] {
        let ranges = range(min, max);
        let k = Input {
            ranges: Some(&ranges),
            ..k.clone()
        };
        assert_eq!(dims(&k).as_deref(), expected, "{min} {max}");
    }
}

#[test]
fn mistakes() {
    let data = Tensor::vector(&[1f32, 2.0]);
    let op = TopK::default();
    for k in [0, -1, 3, i64::MIN, i64::MAX] {
        let error = run(&op, &data, k).expect_err("out of range");
        assert_eq!(
            error.message,
            format!("k is {k}, expected 1 to 2, the size of the axis")
        );
    }
    assert!(run(&op, &Tensor::scalar(1f32), 1).is_err());
    assert!(run(&op, &Tensor::vector(&[true]), 1).is_err());
    let far = TopK {
        axis: 1,
        ..op.clone()
    };
    assert!(run(&far, &data, 1).is_err());
    let floats = TopK {
        index_element_type: ElementType::F32,
        ..op
    };
    assert!(run(&floats, &data, 1).is_err());
    let empty = Tensor::zeros(ElementType::F32, [0, 3]).expect("small");
    assert!(run(&TopK::default(), &empty, 1).is_err());
    let last = TopK {
        axis: -1,
        ..TopK::default()
    };
    let [values, _] = run(&last, &empty, 2).expect("no slices");
    assert_eq!(values.shape().to_string(), "[0,2]");
}

fn naive(op: &TopK, data: &[i64], dims: &[usize], axis: usize, k: usize) -> Vec<usize> {
    let strides = crate::tensor::Shape::from(dims).strides();
    let mut out = dims.to_vec();
    out[axis] = k;
    index(&crate::tensor::Shape::from(out))
        .map(|mut at| {
            let nth = std::mem::take(&mut at[axis]);
            let base: usize = at.iter().zip(&strides).map(|(i, s)| i * s).sum();
            let mut all: Vec<usize> = (0..dims[axis]).collect();
            let sign = if op.mode == Mode::Max { -1 } else { 1 };
            all.sort_by_key(|i| sign * data[base + i * strides[axis]]);
            all.truncate(k);
            if op.sort == Sort::Index {
                all.sort_unstable();
            }
            base + all[nth] * strides[axis]
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn like_its_definition(
        dims in prop::collection::vec(1usize..6, 1..6),
        (at, k) in any::<(prop::sample::Index, prop::sample::Index)>(),
        long in 0usize..40,
        numbers in prop::collection::vec(0i64..8, 3000),
        ty in prop::sample::select(vec![
            ElementType::I8, ElementType::U4, ElementType::U2, ElementType::I32, ElementType::I64,
            ElementType::U32, ElementType::U64, ElementType::F16, ElementType::F32, ElementType::F64,
            ElementType::F8e4m3, ElementType::U3, ElementType::Bf16,
        ]),
        mask in any::<u32>(),
        (max, sort) in (any::<bool>(), prop::sample::select(vec![Sort::Index, Sort::None, Sort::Value])),
        negative in any::<bool>(),
    ) {
        let mut dims = dims;
        let axis = at.index(dims.len());
        dims[axis] += long;
        let count: usize = dims.iter().product();
        prop_assume!(count <= numbers.len());
        let k = k.index(dims[axis]) + 1;
        let mode = if max { Mode::Max } else { Mode::Min };
        let given = axis as i64 - if negative { dims.len() as i64 } else { 0 };
        let op = op(given, mode, sort);
        let wide = Tensor::new(dims.as_slice(), &numbers[..count]).expect("its length");
        let data = convert(&wide, ty).expect("numbers");
        let back = to_i64(&convert(&data, ElementType::I64).expect("numbers"));
        let places = naive(&op, &back, &dims, axis, k);
        let [values, indices] = run(&op, &data, k as i64).expect("fits");
        let inputs = [data.clone(), Tensor::scalar(k as i64)];
        prop_assert!(dynamic(&op, &inputs, mask).contains(values.shape()));
        let data = elements(&data);
        let expected: Vec<String> = places.iter().map(|&i| data[i].clone()).collect();
        prop_assert_eq!(elements(&values), expected);
        let inner: usize = dims[axis + 1..].iter().product();
        let expected: Vec<i64> = places.iter().map(|i| (i / inner % dims[axis]) as i64).collect();
        prop_assert_eq!(to_i64(&indices), expected);
    }
}

/// Large enough for several threads and blocks.
#[test]
fn large() {
    for (dims, axis, k) in [
        (vec![3usize, 40_000], 1, 5),
        (vec![3, 40_000], 1, 100),
        (vec![300, 700], 0, 3),
        (vec![5, 90, 200], 1, 40),
        (vec![4, 7, 3000], 1, 1),
    ] {
        let count: usize = dims.iter().product();
        let data: Vec<i64> = (0..count as i64).map(|i| i * 7919 % 30_011).collect();
        let op = op(axis as i64, Mode::Max, Sort::Value);
        let tensor = Tensor::new(dims.as_slice(), &data).expect("its length");
        let slices = count / dims[axis];
        let [values, _] = run(&op, &tensor, k as i64).expect("fits");
        let values = values.as_slice::<i64>().expect("i64");
        let inner: usize = dims[axis + 1..].iter().product();
        for slice in (0..slices).step_by(slices / 3) {
            let (outer, column) = (slice / inner, slice % inner);
            let mut all: Vec<i64> = (0..dims[axis])
                .map(|i| data[(outer * dims[axis] + i) * inner + column])
                .collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            let found = (0..k).map(|j| values[(outer * k + j) * inner + column]);
            assert!(found.eq(all[..k].iter().copied()));
        }
    }
}
