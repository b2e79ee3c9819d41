//! Tests of ScaledDotProductAttention.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::Shape;

fn op(causal: bool) -> ScaledDotProductAttention {
    ScaledDotProductAttention { causal }
}

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|i: usize| ((i * 7919 + seed * 104_729) % 1009) as f64 / 250.0 - 2.0)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

/// An element under broadcasting: dimensions are aligned at the last.
fn at(tensor: &Tensor, index: &[usize]) -> f64 {
    let strides = tensor.shape().strides();
    let missing = index.len() - tensor.shape().rank();
    let place = tensor.shape().iter().zip(&strides).enumerate();
    let place = place.map(|(axis, (&size, stride))| index[missing + axis] % size * stride);
    let place = place.sum::<usize>();
    match tensor.element_type() {
        ElementType::Boolean => f64::from(u8::from(tensor.bytes()[place] != 0)),
        _ => tensor.as_slice::<f64>().expect("f64")[place],
    }
}

/// Attention by the document's formula.
fn naive(inputs: &[Tensor], causal: bool, out: &Shape) -> Vec<f64> {
    let [query, key, value, rest @ ..] = inputs else {
        panic!("three")
    };
    let (_, length) = ends(query.shape());
    let (keys, _) = ends(key.shape());
    let scale = rest
        .get(1)
        .map_or(1.0 / (length as f64).sqrt(), |scale| at(scale, &[0]));
    crate::ops::testing::index(out)
        .map(|index| {
            let [batch @ .., i, j] = &index[..] else {
                panic!("matrices")
            };
            let in_batch = |row: usize, column: usize| {
                let mut index = batch.to_vec();
                index.extend([row, column]);
                index
            };
            let score = |s: usize| {
                let products =
                    (0..length).map(|e| at(query, &in_batch(*i, e)) * at(key, &in_batch(s, e)));
                let bias = match rest.first() {
                    _ if causal => [0.0, f64::NEG_INFINITY][usize::from(s > *i)],
                    Some(mask) if mask.element_type() == ElementType::Boolean => {
                        [f64::MIN, 0.0][usize::from(at(mask, &in_batch(*i, s)) != 0.0)]
                    }
                    Some(mask) => at(mask, &in_batch(*i, s)),
                    None => 0.0,
                };
                products.sum::<f64>() * scale + bias
            };
            let scores: Vec<f64> = (0..keys).map(score).collect();
            let sink = rest.get(2).map(|sink| at(sink, &in_batch(*i, 0)));
            let max = scores
                .iter()
                .copied()
                .chain(sink)
                .fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores
                .iter()
                .copied()
                .chain(sink)
                .map(|x| (x - max).exp())
                .sum();
            let terms = scores.iter().enumerate();
            let terms = terms.map(|(s, x)| (x - max).exp() / total * at(value, &in_batch(s, *j)));
            terms.sum()
        })
        .collect()
}

fn check(inputs: &[Tensor], causal: bool) {
    let result = run(&op(causal), inputs).expect("fits");
    let expected = naive(inputs, causal, result.shape());
    for (a, b) in result.as_slice::<f64>().expect("f64").iter().zip(&expected) {
        assert!((a - b).abs() < 1e-12 || a.is_nan() && b.is_nan(), "{a} {b}");
    }
}

#[test]
fn blocks_of_queries() {
    let (query, key) = (numbers(&[1, 70, 2], 1), numbers(&[1, 80, 2], 2));
    let value = numbers(&[1, 80, 1], 3);
    let inputs = [query, key, value];
    check(&inputs, false);
    check(&inputs, true);
    // More queries than keys.
    let [query, key, _] = inputs;
    check(&[key, query, numbers(&[1, 70, 1], 3)], true);
}

#[test]
fn nothing_to_see() {
    let inputs = [
        numbers(&[1, 2, 3], 1),
        numbers(&[1, 4, 3], 2),
        numbers(&[1, 4, 2], 3),
    ];
    let mask = Tensor::new(
        [2, 4],
        &[true, false, true, false, false, false, false, false],
    );
    let mask = mask.expect("eight");
    let mut masked = inputs.to_vec();
    masked.push(mask);
    check(&masked, false);
    let result = run(&op(false), &masked).expect("fits");
    assert!(result.as_slice::<f64>().expect("f64")[2].is_finite());
    // A sink leaves nothing to the values.
    masked.extend([Tensor::scalar(0.5f64), Tensor::scalar(0f64)]);
    let result = run(&op(false), &masked).expect("fits");
    assert_eq!(result.as_slice::<f64>().expect("f64")[2..], [0.0, 0.0]);
    let none = [
        numbers(&[1, 2, 3], 1),
        numbers(&[1, 0, 3], 2),
        numbers(&[1, 0, 2], 3),
    ];
    let result = run(&op(false), &none).expect("fits");
    assert_eq!(result.as_slice::<f64>().expect("f64"), [0.0; 4]);
}

#[test]
fn half_floats() {
    let inputs: Vec<Tensor> = [[1, 2, 5, 4], [1, 2, 6, 4], [1, 2, 6, 4]]
        .iter()
        .enumerate()
        .map(|(i, dims)| convert(&numbers(dims, i), ElementType::F16).expect("numbers"))
        .collect();
    let exact: Vec<Tensor> = inputs
        .iter()
        .map(|t| convert(t, ElementType::F64).expect("numbers"))
        .collect();
    let exact = run(&op(true), &exact).expect("fits");
    let result = run(&op(true), &inputs).expect("fits");
    let result = convert(&result, ElementType::F64).expect("numbers");
    let (result, exact) = (
        result.as_slice::<f64>().expect("f64"),
        exact.as_slice::<f64>().expect("f64"),
    );
    for (a, b) in result.iter().zip(exact) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

fn inferred(shapes: &[&str], causal: bool) -> Result<String, String> {
    let shapes: Vec<PartialShape> = shapes.iter().map(|text| shape(text)).collect();
    let inputs: Vec<Input<'_>> = shapes
        .iter()
        .map(|shape| Input::new(ElementType::F32, shape))
        .collect();
    match op(causal).infer(&inputs) {
        Ok(_) => Ok(infer_dims(&op(causal), &inputs)),
        Err(e) => Err(e.message),
    }
}

#[test]
fn shapes() {
    for (inputs, expected) in [
        (&["1,?,80", "1,?,80", "1,?,80", "1,?,?"][..], "[1,?,80]"),
        (&["1,2,3,?,80", "1,2,3,?,80", "1,2,3,?,70"], "[1,2,3,?,70]"),
        (
            &["4,6,10,?,80", "1,6,10,?,80", "1,1,1,?,80", "1,1,1,?,?"],
            "[4,6,10,?,80]",
        ),
        (&["2,16,80", "2,32,80", "2,32,80", "2,1,1"], "[2,16,80]"),
        (&["2,3,4", "2,5,4", "2,5,6", "", "1", "1,1,1"], "[2,3,6]"),
        (&["...", "2,5,4", "2,5,6"], "[...]"),
    ] {
        assert_eq!(
            inferred(inputs, false).as_deref(),
            Ok(expected),
            "{inputs:?}"
        );
    }
    for wrong in [
        &["3,4", "3,4", "3,4"][..],
        &["1,3,4", "1,3,5", "1,3,4"],
        &["1,3,4", "1,3,4", "1,4,4"],
        &["2,3,4", "3,3,4", "1,3,4"],
        &["1,3,4", "1,3,4", "1,3,4", "3"],
        &["1,3,4", "1,3,4", "1,3,4", "2,3"],
        &["1,3,4", "1,3,4", "1,3,4", "", "2"],
        &["1,3,4", "1,3,4", "1,3,4", "", "", "1,1,2"],
    ] {
        assert!(inferred(wrong, false).is_err(), "{wrong:?}");
    }
    // A causal mask takes the place of the input.
    assert_eq!(
        inferred(&["1,3,4", "1,5,4", "1,5,6", "7"], true).as_deref(),
        Ok("[1,3,6]")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definition(
        batch in prop::collection::vec((1usize..3, 0u8..32), 1..4),
        (queries, keys, length, width) in (1usize..5, 1usize..6, 1usize..5, 0usize..4),
        more in 0usize..4,
        boolean in any::<bool>(),
        flat in any::<[bool; 3]>(),
        causal in any::<bool>(),
        mask in any::<u32>(),
    ) {
        let part = |bit: usize, sizes: [usize; 2]| -> Vec<usize> {
            let dims = batch.iter().map(|&(size, which)| if which >> bit & 1 == 0 { size } else { 1 });
            dims.chain(sizes).collect()
        };
        let mut inputs = vec![
            numbers(&part(0, [queries, length]), 1),
            numbers(&part(1, [keys, length]), 2),
            numbers(&part(2, [keys, width]), 3),
        ];
        let flatten = |flat: bool, size: usize| if flat { 1 } else { size };
        if more > 0 {
            let dims = part(3, [flatten(flat[0], queries), flatten(flat[1], keys)]);
            let dims = if flat[2] { &dims[dims.len() - 2..] } else { &dims };
            let bias = numbers(dims, 4);
            inputs.push(if boolean {
                let keep: Vec<bool> = bias.as_slice::<f64>().expect("f64").iter().map(|&x| x > -1.0).collect();
                Tensor::new(dims, &keep).expect("as many")
            } else {
                bias
            });
        }
        if more > 1 {
            inputs.push(Tensor::scalar(0.7f64));
        }
        if more > 2 {
            inputs.push(numbers(&part(4, [1, 1]), 5));
        }
        check(&inputs, causal);
        let result = run(&op(causal), &inputs).expect("fits");
        prop_assert!(dynamic(&op(causal), &inputs, mask).contains(result.shape()));
    }
}
