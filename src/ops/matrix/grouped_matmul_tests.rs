//! Tests of GroupedMatMul, with a second reading of its document.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::convert::to_i64;
use crate::tensor::{ElementType, Shape};

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<i64> = (0..count)
        .map(|i: usize| ((i * (2 * seed + 3) + seed) % 9) as i64 - 4)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

fn get(tensor: &Tensor, index: &[usize]) -> i64 {
    let strides = tensor.shape().strides();
    let place: usize = index
        .iter()
        .zip(strides)
        .map(|(i, stride)| i * stride)
        .sum();
    tensor.as_slice::<i64>().expect("i64")[place]
}

/// A second reading of the document, element by element: which group does a token belong to?
fn naive(inputs: &[Tensor], out: &Shape) -> Vec<i64> {
    let (a, b) = (&inputs[0], &inputs[1]);
    let offsets = inputs.get(2).map(to_i64).unwrap_or_default();
    let bias = |group: usize, column: usize| match inputs.get(3) {
        Some(bias) if bias.shape().rank() == 2 => get(bias, &[group, column]),
        _ => 0,
    };
    let group_of = |token: usize| offsets.iter().position(|&end| (token as i64) < end);
    crate::ops::testing::index(out)
        .map(|at| match (a.shape().rank(), b.shape().rank()) {
            (2, 3) => match group_of(at[0]) {
                Some(g) => {
                    let k = a.shape()[1];
                    let terms = (0..k).map(|l| get(a, &[at[0], l]) * get(b, &[g, at[1], l]));
                    terms.sum::<i64>() + bias(g, at[1])
                }
                None => 0,
            },
            (3, 3) => {
                let k = a.shape()[2];
                let terms = (0..k).map(|l| get(a, &[at[0], at[1], l]) * get(b, &[at[0], at[2], l]));
                terms.sum::<i64>() + bias(at[0], at[2])
            }
            _ => {
                let tokens = (0..a.shape()[1]).filter(|&token| group_of(token) == Some(at[0]));
                let terms = tokens.map(|token| get(a, &[at[1], token]) * get(b, &[at[2], token]));
                terms.sum::<i64>() + bias(at[0], at[2])
            }
        })
        .collect()
}

fn check(inputs: &[Tensor], mask: u32) {
    let op = GroupedMatMul {};
    let result = run(&op, inputs).expect("fits");
    assert_eq!(
        result.as_slice::<i64>().expect("i64"),
        naive(inputs, result.shape())
    );
    let floats: Vec<Tensor> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| match i {
            2 => input.clone(),
            _ => convert(input, ElementType::F16).expect("numbers"),
        })
        .collect();
    let floats = run(&op, &floats).expect("fits");
    assert_eq!(convert(&floats, ElementType::I64), Ok(result.clone()));
    assert!(dynamic(&op, inputs, mask).contains(result.shape()));
}

#[test]
fn offsets_are_checked() {
    let (a, b) = (numbers(&[4, 2], 1), numbers(&[3, 5, 2], 2));
    for (offsets, message) in [
        ([1i32, 0, 4], "offset 1 is 0, expected 1 to 4"),
        ([1, 2, 5], "offset 2 is 5, expected 2 to 4"),
        ([-1, 2, 4], "offset 0 is -1, expected 0 to 4"),
    ] {
        let inputs = [a.clone(), b.clone(), Tensor::vector(&offsets)];
        let error = run(&GroupedMatMul {}, &inputs).expect_err("wrong offsets");
        assert_eq!(error.message, message);
    }
    check(&[a, b, Tensor::vector(&[0i32, 3, 3])], 0);
}

#[test]
fn shapes() {
    let infer = |shapes: &[&str]| {
        let shapes: Vec<PartialShape> = shapes.iter().map(|text| shape(text)).collect();
        let inputs: Vec<Input<'_>> = shapes
            .iter()
            .enumerate()
            .map(|(i, shape)| {
                let ty = if i == 2 {
                    ElementType::I64
                } else {
                    ElementType::F32
                };
                Input::new(ty, shape)
            })
            .collect();
        let op = GroupedMatMul {};
        op.infer(&inputs).map(|_| infer_dims(&op, &inputs))
    };
    for (inputs, expected) in [
        (&["10,64", "3,128,64", "3", "3,128"][..], "[10,128]"),
        (&["3,4,64", "3,128,64", "0", "3,128"], "[3,4,128]"),
        (&["3,4,64", "3,128,64"], "[3,4,128]"),
        (&["64,16", "128,16", "3", "0"], "[3,64,128]"),
        (&["?,64", "3,?,?", "?"], "[?,?]"),
        (&["...", "3,128,64", "?"], "[...]"),
    ] {
        assert_eq!(infer(inputs).as_deref(), Ok(expected), "{inputs:?}");
    }
    for wrong in [
        &["10,64", "3,128,64"][..],
        &["10,64", "3,128,63", "3"],
        &["10,64", "3,128,64", "4"],
        &["10,64", "3,128,64", "3,1"],
        &["10,64", "3,128,64", "3", "3,64"],
        &["3,4,64", "3,128,64", "3"],
        &["3,4,64", "2,128,64"],
        &["64,16", "128,16"],
        &["3,4,64", "128,64"],
        &["4", "3,128,64", "3"],
        &["3,4,64", "128"],
    ] {
        assert!(infer(wrong).is_err(), "{wrong:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definition(
        case in 0usize..3,
        tokens in prop::collection::vec(0usize..4, 0..4),
        (rows, k, columns) in (0usize..4, 0usize..4, 0usize..4),
        with_bias in any::<bool>(),
        mask in any::<u32>(),
    ) {
        let total: usize = tokens.iter().sum();
        let offsets: Vec<i64> = tokens
            .iter()
            .scan(0, |end, &n| {
                *end += n as i64;
                Some(*end)
            })
            .collect();
        let count = tokens.len();
        let (a, b) = match case {
            0 => (vec![total, k], vec![count, columns, k]),
            1 => (vec![count, rows, k], vec![count, columns, k]),
            _ => (vec![rows, total], vec![columns, total]),
        };
        let offsets = if case == 1 { Vec::new() } else { offsets };
        // An empty list of offsets says nothing of a product that needs them.
        prop_assume!(case == 1 || count > 0);
        let bias = if with_bias { numbers(&[count, columns], 3) } else { numbers(&[0], 3) };
        check(&[numbers(&a, 1), numbers(&b, 2), Tensor::vector(&offsets), bias], mask);
    }
}
