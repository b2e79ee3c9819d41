//! Tests of transposed convolutions against their definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, run};

fn op(strides: &[i64], dilations: &[i64], begin: &[i64], end: &[i64]) -> ConvolutionBackpropData {
    ConvolutionBackpropData {
        strides: strides.to_vec(),
        dilations: dilations.to_vec(),
        pads_begin: begin.to_vec(),
        pads_end: end.to_vec(),
        ..ConvolutionBackpropData::default()
    }
}

fn numbers(dims: &[usize], factor: usize) -> Tensor {
    let values: Vec<i64> = (0..dims.iter().product())
        .map(|i| ((i * factor + 3) % 11) as i64 - 5)
        .collect();
    Tensor::new(dims, &values).expect("as many")
}

/// The definition: every element adds the filters to a window of the output.
fn defined(op: &ConvolutionBackpropData, data: &Tensor, filters: &Tensor, out: &Shape) -> Vec<i64> {
    let (x, w) = (data.as_slice::<i64>(), filters.as_slice::<i64>());
    let (x, w) = (x.expect("i64"), w.expect("i64"));
    let mut sums = vec![0; out.elements().expect("small")];
    let [g, c, m, kh, kw] = filters.shape()[..] else {
        unreachable!()
    };
    let (height, width) = (out[2] as i64, out[3] as i64);
    for (at, index) in crate::ops::testing::index(data.shape()).enumerate() {
        let [n, channel, iy, ix] = index[..] else {
            unreachable!()
        };
        let group = channel / c;
        for o in 0..m {
            for (ky, kx) in (0..kh).flat_map(|ky| (0..kw).map(move |kx| (ky, kx))) {
                let y = iy as i64 * op.strides[0] + ky as i64 * op.dilations[0] - op.pads_begin[0];
                let x_ = ix as i64 * op.strides[1] + kx as i64 * op.dilations[1] - op.pads_begin[1];
                if (0..height).contains(&y) && (0..width).contains(&x_) {
                    let plane = (n * g * m + group * m + o) as i64;
                    sums[((plane * height + y) * width + x_) as usize] +=
                        x[at] * w[((channel * m + o) * kh + ky) * kw + kx];
                }
            }
        }
    }
    sums
}

/// Evaluates in `f32` with the filters taken in, finishing each element by adding ten times its
/// position, which is subtracted again.
fn finished(
    op: &ConvolutionBackpropData,
    data: &Tensor,
    filters: &Tensor,
    out: &Tensor,
) -> Vec<i64> {
    use crate::tensor::ElementType;
    use crate::tensor::convert::{convert, to_i64};
    let of = |t: &Tensor, ty| convert(t, ty).expect("numbers");
    let (data, filters) = (of(data, ElementType::F32), of(filters, ElementType::F32));
    let prepared = op.prepare(&[Input::of(&data), Input::of(&filters)]);
    let prepared = prepared.expect("constant filters");
    let inferred = prepared.op.infer(&[Input::of(&data)]).expect("good inputs");
    assert_eq!(inferred[0].shape, PartialShape::from(out.shape()));
    let finish = |at: usize, part: &mut [f32]| {
        for (i, x) in part.iter_mut().enumerate() {
            *x += 10.0 * (at + i) as f32;
        }
    };
    let mut result = Tensor::zeros(ElementType::F32, out.shape().clone()).expect("small");
    result.as_mut_slice::<f32>().expect("f32").fill(f32::NAN);
    let io = Io {
        inputs: &[&data],
        outputs: std::slice::from_mut(&mut result),
    };
    prepared.op.eval_finishing(io, &finish).expect("sums");
    let sums = to_i64(&of(&result, ElementType::I64));
    (sums.iter().zip(0..))
        .map(|(sum, at)| sum - 10 * at)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definition(
        (batch, groups, channels, filters) in (1usize..3, 1usize..3, 1usize..3, 0usize..3),
        (h, w, kh, kw) in (1usize..5, 1usize..5, 1usize..3, 1usize..4),
        strides in prop::collection::vec(1i64..4, 2),
        dilations in prop::collection::vec(1i64..3, 2),
        pads in prop::collection::vec(0i64..2, 4),
        more in prop::collection::vec(0i64..3, 2),
        mask in any::<u32>(),
    ) {
        let mut op = op(&strides, &dilations, &pads[..2], &pads[2..]);
        op.groups = true;
        op.output_padding = more;
        let data = numbers(&[batch, groups * channels, h, w], 7);
        let weights = numbers(&[groups, channels, filters, kh, kw], 5);
        let inputs = [data.clone(), weights.clone()];
        if let Ok(out) = run(&op, &inputs) {
            let expected = defined(&op, &data, &weights, out.shape());
            prop_assert_eq!(out.as_slice::<i64>(), Ok(&expected[..]));
            prop_assert_eq!(finished(&op, &data, &weights, &out), expected);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }
}

/// Windows that lie side by side, in bands of several rows.
#[test]
fn apart() {
    for (dims, filters) in [
        ([2, 6, 40, 41], [2, 3, 5, 2, 2]),
        ([1, 3, 70, 33], [1, 3, 40, 2, 3]),
        ([1, 1, 1, 5], [1, 1, 1, 1, 4]),
    ] {
        let strides = [filters[3] as i64, filters[4] as i64];
        let mut op = op(&strides, &[1, 1], &[0, 0], &[0, 0]);
        op.groups = true;
        let (data, weights) = (numbers(&dims, 7), numbers(&filters, 5));
        let out = run(&op, &[data.clone(), weights.clone()]).expect("sums");
        let expected = defined(&op, &data, &weights, out.shape());
        assert!(out.as_slice::<i64>().expect("i64") == expected, "{dims:?}");
        assert!(
            finished(&op, &data, &weights, &out) == expected,
            "{dims:?} in f32"
        );
    }
}

#[test]
fn large() {
    for (dims, filters) in [
        ([1, 40, 40, 41], [1, 40, 30, 2, 2]),
        ([1, 32, 20, 20], [16, 2, 2, 3, 3]),
    ] {
        let mut op = op(&[2, 2], &[1, 1], &[1, 0], &[0, 1]);
        op.groups = true;
        let (data, weights) = (numbers(&dims, 7), numbers(&filters, 5));
        let f64s = |t: &Tensor| {
            crate::tensor::convert::convert(t, crate::tensor::ElementType::F64).expect("numbers")
        };
        let out = run(&op, &[f64s(&data), f64s(&weights)]).expect("sums");
        let expected = defined(&op, &data, &weights, out.shape());
        let expected: Vec<f64> = expected.into_iter().map(|x| x as f64).collect();
        assert!(out.as_slice::<f64>().expect("f64") == expected, "{dims:?}");
    }
}

/// The pads that make up for a given shape, of which the page says how they are divided.
#[test]
fn output_shape() {
    let data = Tensor::new([1, 1, 3], &[1f32, 2.0, 3.0]).expect("three");
    let filters = Tensor::new([1, 1, 3], &[1f32, 10.0, 100.0]).expect("three");
    let all = [
        0.0, 0.0, 1.0, 10.0, 102.0, 20.0, 203.0, 30.0, 300.0, 0.0, 0.0,
    ];
    for (auto_pad, size, more, begin) in [
        (AutoPad::SameUpper, 6, 0, 1),
        (AutoPad::SameLower, 6, 0, 0),
        (AutoPad::Explicit, 6, 0, 0),
        (AutoPad::Valid, 4, 0, 1),
        (AutoPad::SameUpper, 4, 0, 2),
        (AutoPad::SameUpper, 7, 1, 1),
        (AutoPad::SameLower, 9, 1, 0),
    ] {
        let mut op = op(&[2], &[1], &[5], &[6]);
        (op.auto_pad, op.output_padding) = (auto_pad, vec![more]);
        let size_tensor = Tensor::vector(&[size as i64]);
        let out = run(&op, &[data.clone(), filters.clone(), size_tensor]).expect("sums");
        let expected = &all[2 + begin..][..size];
        assert_eq!(
            out.as_slice::<f32>(),
            Ok(expected),
            "{auto_pad:?} {size} {more}"
        );
    }
}
