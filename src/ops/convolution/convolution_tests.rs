//! Tests of convolutions against their definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::ElementType;

fn numbers(dims: &[usize], factor: usize) -> Tensor {
    let values: Vec<f64> = (0..dims.iter().product())
        .map(|i| ((i * factor + 3) % 11) as f64 - 5.0)
        .collect();
    Tensor::new(dims, &values).expect("as many")
}

fn as_i64(tensor: &Tensor) -> Vec<i64> {
    crate::tensor::convert::to_i64(
        &crate::tensor::convert::convert(tensor, ElementType::I64).expect("numbers"),
    )
}

/// The definition, over two spatial axes.
fn defined(op: &Convolution, data: &Tensor, filters: &Tensor, out: &Shape) -> Vec<i64> {
    let (x, w) = (as_i64(data), as_i64(filters));
    let [g, m, c, kh, kw] = filters.shape()[..] else {
        unreachable!()
    };
    let [h, width] = [data.shape()[2], data.shape()[3]].map(|d| d as i64);
    let mut result = Vec::new();
    for index in crate::ops::testing::index(out) {
        let [n, o, oy, ox] = index[..] else {
            unreachable!()
        };
        let mut sum = 0;
        for (ci, ky, kx) in
            (0..c).flat_map(|ci| (0..kh).flat_map(move |ky| (0..kw).map(move |kx| (ci, ky, kx))))
        {
            let y = oy as i64 * op.strides[0] + ky as i64 * op.dilations[0] - op.pads_begin[0];
            let x_ = ox as i64 * op.strides[1] + kx as i64 * op.dilations[1] - op.pads_begin[1];
            if (0..h).contains(&y) && (0..width).contains(&x_) {
                let channel = (n * g * c + o / m * c + ci) as i64;
                sum += x[((channel * h + y) * width + x_) as usize]
                    * w[(((o * c) + ci) * kh + ky) * kw + kx];
            }
        }
        result.push(sum);
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definition(
        (batch, groups, filters, channels) in (1usize..3, 1usize..4, 0usize..6, 0usize..4),
        (h, w, kh, kw) in (3usize..8, 3usize..12, 1usize..3, 1usize..4),
        strides in prop::collection::vec(1i64..4, 2),
        dilations in prop::collection::vec(1i64..3, 2),
        pads in prop::collection::vec(0i64..3, 4),
        integers in any::<bool>(),
        mask in any::<u32>(),
    ) {
        let op = Convolution {
            strides,
            dilations,
            pads_begin: pads[..2].to_vec(),
            pads_end: pads[2..].to_vec(),
            groups: true,
            ..Convolution::default()
        };
        let ty = if integers { ElementType::I16 } else { ElementType::F32 };
        let of = |t: &Tensor| crate::tensor::convert::convert(t, ty).expect("numbers");
        let data = of(&numbers(&[batch, groups * channels, h, w], 7));
        let weights = of(&numbers(&[groups, filters, channels, kh, kw], 5));
        let inputs = [data.clone(), weights.clone()];
        if let Ok(out) = run(&op, &inputs) {
            prop_assert_eq!(as_i64(&out), defined(&op, &data, &weights, out.shape()));
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }
}

/// Evaluates the convolution with its filters taken in, twice, finishing each element by adding ten
/// times its position.
fn finished(op: &Convolution, data: &Tensor, filters: &Tensor, out: &Tensor) -> Vec<i64> {
    let shapes = [data, filters].map(|t| PartialShape::from(t.shape()));
    let mut inputs = [0, 1].map(|i| Input::new(data.element_type(), &shapes[i]));
    inputs[1].value = Some(filters);
    let prepared = op.prepare(&inputs).expect("constant filters");
    assert_eq!(prepared.inputs[..], [0]);
    let known = [Input::of(data)];
    let inferred = prepared.op.infer(&known).expect("good inputs");
    assert_eq!(inferred[0].shape, PartialShape::from(out.shape()));
    let finish = |at: usize, part: &mut [f32]| {
        for (i, x) in part.iter_mut().enumerate() {
            *x += 10.0 * (at + i) as f32;
        }
    };
    let mut results = [0, 1].map(|_| {
        let mut result = Tensor::zeros(ElementType::F32, out.shape().clone()).expect("small");
        result.as_mut_slice::<f32>().expect("f32").fill(f32::NAN);
        let io = Io {
            inputs: &[data],
            outputs: std::slice::from_mut(&mut result),
        };
        prepared.op.eval_finishing(io, &finish).expect("sums");
        as_i64(&result)
    });
    assert_eq!(results[0], results[1]);
    std::mem::take(&mut results[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Wide and narrow rows, few and many channels and filters, whole vectors and parts of them.
    #[test]
    fn vectors(
        (batch, groups) in (1usize..3, 1usize..4),
        (filters, channels) in prop_oneof![Just((1, 1)), Just((2, 1)), Just((1, 3)), Just((9, 5))],
        (h, w) in (1usize..40, prop_oneof![1usize..80, Just(16), Just(14), Just(7)]),
        (kh, kw) in prop_oneof![Just((1, 1)), Just((3, 3)), Just((5, 5)), Just((7, 7)), (1usize..8, 1usize..8)],
        strides in prop_oneof![Just(vec![1, 1]), Just(vec![2, 2]), prop::collection::vec(1i64..4, 2)],
        dilations in prop_oneof![Just(vec![1, 1]), prop::collection::vec(1i64..3, 2)],
        pads in prop::collection::vec(0i64..8, 4),
    ) {
        let op = Convolution {
            strides,
            dilations,
            pads_begin: pads[..2].to_vec(),
            pads_end: pads[2..].to_vec(),
            groups: true,
            ..Convolution::default()
        };
        let of = |t: &Tensor| crate::tensor::convert::convert(t, ElementType::F32).expect("numbers");
        let data = of(&numbers(&[batch, groups * channels, h, w], 7));
        let weights = of(&numbers(&[groups, filters, channels, kh, kw], 5));
        if let Ok(out) = run(&op, &[data.clone(), weights.clone()]) {
            let mut expected = defined(&op, &data, &weights, out.shape());
            prop_assert_eq!(as_i64(&out), &expected[..]);
            expected.iter_mut().enumerate().for_each(|(i, x)| *x += 10 * i as i64);
            prop_assert_eq!(finished(&op, &data, &weights, &out), expected);
        }
    }
}

/// Tiles of windows, whole planes, planes one after the other and planes laid out by phase give the
/// same, with filters taken in or not.
#[test]
fn large() {
    for (dims, filters, stride) in [
        ([1, 40, 30, 30], [1, 12, 40, 3, 3], 1),
        ([1, 300, 4, 4], [1, 80, 300, 3, 3], 1),
        ([3, 30, 20, 20], [3, 3, 10, 3, 3], 1),
        ([1, 64, 20, 20], [64, 1, 1, 3, 3], 1),
        ([1, 64, 40, 40], [1, 8, 64, 1, 1], 1),
        ([9, 64, 20, 20], [1, 8, 64, 1, 1], 1),
        ([1, 3, 37, 61], [1, 50, 3, 7, 7], 2),
        ([1, 3, 21, 95], [1, 50, 3, 7, 7], 2),
        ([1, 3, 21, 95], [1, 16, 3, 3, 3], 2),
        ([2, 3, 40, 64], [1, 37, 3, 3, 3], 1),
        ([1, 12, 9, 32], [2, 13, 6, 5, 5], 1),
        ([1, 11, 11, 95], [1, 250, 11, 7, 7], 2),
        ([2, 24, 20, 21], [2, 30, 12, 3, 3], 1),
        ([5, 26, 9, 13], [2, 25, 13, 3, 3], 3),
    ] {
        let op = Convolution {
            strides: vec![stride; 2],
            dilations: vec![1, 1],
            pads_begin: vec![filters[3] as i64 / 2; 2],
            pads_end: vec![filters[3] as i64 / 2; 2],
            groups: true,
            ..Convolution::default()
        };
        let given = [numbers(&dims, 7), numbers(&filters, 5)];
        let of = |ty| {
            let converted = |t: &Tensor| crate::tensor::convert::convert(t, ty).expect("numbers");
            [converted(&given[0]), converted(&given[1])]
        };
        let wide = run(&op, &of(ElementType::F64)).expect("sums");
        let mut expected = defined(&op, &given[0], &given[1], wide.shape());
        assert_eq!(as_i64(&wide), expected, "{dims:?} in f64");
        let [data, weights] = of(ElementType::F32);
        let out = run(&op, &[data.clone(), weights.clone()]).expect("sums");
        assert_eq!(as_i64(&out), expected, "{dims:?} in f32");
        for (i, x) in expected.iter_mut().enumerate() {
            *x += 10 * i as i64;
        }
        let found = finished(&op, &data, &weights, &out);
        assert_eq!(found, expected, "{dims:?} with filters taken in");
    }
}

#[test]
fn one_and_three_axes() {
    let op = Convolution {
        pads_end: vec![1],
        ..Convolution::default()
    };
    let data = Tensor::new([1, 1, 3], &[1f32, 2.0, 3.0]).expect("three");
    let filters = Tensor::new([1, 1, 2], &[10f32, 1.0]).expect("two");
    let out = run(&op, &[data, filters]).expect("sums");
    assert_eq!(out.as_slice::<f32>(), Ok(&[12.0, 23.0, 30.0][..]));
    let cube = Tensor::new([1, 1, 2, 2, 2], &[1i32, 2, 3, 4, 5, 6, 7, 8]).expect("eight");
    let out = run(&Convolution::default(), &[cube.clone(), cube]).expect("a sum");
    assert_eq!(out.as_slice::<i32>(), Ok(&[204][..]));
}

#[test]
fn unknown_shapes() {
    let op = Convolution {
        strides: vec![2, 2],
        pads_begin: vec![1, 1],
        pads_end: vec![1, 1],
        ..Convolution::default()
    };
    let dims = |data: &str, filters: &str| {
        let (data, filters) = (shape(data), shape(filters));
        let inputs = [&data, &filters].map(|s| Input::new(ElementType::F32, s));
        infer_dims(&op, &inputs)
    };
    assert_eq!(dims("[?,3,?,10..20]", "[8,3,3,3]"), "[?,8,1..,5..10]");
    assert_eq!(dims("...", "[8,3,3,3]"), "[?,8,1..,1..]");
    assert_eq!(dims("[2,3,9,9]", "[?,?,1..3,?]"), "[2,?,5..6,1..6]");
    assert_eq!(dims("...", "..."), "[?,?,1..,1..]");
    let shapes = |data: &str, filters: &str| {
        let (data, filters) = (shape(data), shape(filters));
        op.infer(&[&data, &filters].map(|s| Input::new(ElementType::F32, s)))
    };
    for (data, filters) in [
        ("[2,3,9,9]", "[8,4,3,3]"),
        ("[2,3,9]", "[8,3,3]"),
        ("[2,3,1,9]", "[8,3,4,3]"),
        ("[2,3,9,9]", "[8,3,0,3]"),
        ("[2,3,9,9]", "[8,3,3]"),
        ("[2,3]", "[8,3]"),
    ] {
        assert!(shapes(data, filters).is_err(), "{data} {filters}");
    }
}
