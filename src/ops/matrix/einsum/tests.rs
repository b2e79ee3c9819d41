//! Tests of Einsum.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Shape};

fn op(equation: &str) -> Einsum {
    Einsum {
        equation: Equation::try_from(equation.to_owned()).expect("an equation"),
    }
}

fn numbered(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<i64> = (0..count)
        .map(|i: usize| ((i * (2 * seed + 3) + seed) % 7) as i64 - 3)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

/// The sums by the definition: over every assignment of indices to labels.
fn naive(op: &Einsum, inputs: &[Tensor], out: &Shape) -> Vec<i64> {
    let names: Vec<Vec<usize>> = op
        .equation
        .inputs
        .iter()
        .zip(inputs)
        .map(|(labels, input)| numbers(labels, input.shape().rank()))
        .collect();
    let mut size: BTreeMap<usize, usize> = BTreeMap::new();
    for (names, input) in names.iter().zip(inputs) {
        for (&name, &dim) in names.iter().zip(input.shape()) {
            let size = size.entry(name).or_insert(1);
            *size = if *size == 1 { dim } else { *size };
        }
    }
    let order: Vec<usize> = size.keys().copied().collect();
    let space: Shape = size.values().copied().collect();
    let output = numbers(&op.equation.output, out.rank());
    let mut sums = vec![0i64; out.iter().product()];
    for index in crate::ops::testing::index(&space) {
        let place = |names: &[usize], shape: &Shape| -> usize {
            let terms = names.iter().zip(shape).zip(shape.strides());
            let terms = terms.map(|((name, &dim), stride)| {
                let at = order.binary_search(name).expect("a label");
                if dim == 1 { 0 } else { index[at] * stride }
            });
            terms.sum()
        };
        let factors = names.iter().zip(inputs).map(|(names, input)| {
            input.as_slice::<i64>().expect("i64")[place(names, input.shape())]
        });
        sums[place(&output, out)] += factors.product::<i64>();
    }
    sums
}

fn check(equation: &str, shapes: &[&[usize]]) {
    let op = op(equation);
    let inputs: Vec<Tensor> = shapes
        .iter()
        .enumerate()
        .map(|(i, dims)| numbered(dims, i))
        .collect();
    let result = run(&op, &inputs).expect("fits");
    let expected = naive(&op, &inputs, result.shape());
    assert_eq!(
        result.as_slice::<i64>().expect("i64"),
        expected,
        "{equation}"
    );
    let floats: Vec<Tensor> = inputs
        .iter()
        .map(|input| convert(input, ElementType::F32).expect("numbers"))
        .collect();
    let floats = run(&op, &floats).expect("fits");
    assert_eq!(convert(&floats, ElementType::I64), Ok(result), "{equation}");
}

#[test]
fn equations() {
    for (equation, shapes) in [
        ("i,i->", &[&[3][..], &[3]][..]),
        ("ij,j->i", &[&[2, 3], &[3]]),
        ("kii->k", &[&[2, 3, 3]]),
        ("kii->ki", &[&[2, 3, 3]]),
        ("ijkj->ij", &[&[2, 4, 5, 4]]),
        ("ijk->kij", &[&[1, 3, 3]]),
        ("a...->...", &[&[3, 3]]),
        ("a...,...->a...", &[&[3, 3], &[1]]),
        ("a...b,b...->a...", &[&[3, 1, 4, 3], &[3, 5, 2, 1]]),
        ("ab,bcd,bc->ca", &[&[2, 5], &[5, 3, 6], &[5, 3]]),
        ("aac,abd,ddde->", &[&[2, 2, 3], &[2, 4, 3], &[3, 3, 3, 2]]),
        ("AbC", &[&[1, 2, 3]]),
        (
            "ab...,ac...,ade->...bc",
            &[&[2, 3, 4], &[2, 7, 1], &[2, 4, 7]],
        ),
        ("bythwc,hkc->bythwk", &[&[2, 1, 2, 3, 4, 5], &[3, 4, 5]]),
        ("...pd,...qd->...pq", &[&[2, 3, 4], &[2, 5, 4]]),
        ("...i,...i", &[&[2, 3, 4], &[4]]),
        ("a,b,c->cab", &[&[2], &[3], &[4]]),
        ("ab,cd,ac->bd", &[&[2, 3], &[4, 5], &[2, 4]]),
        (",i->i", &[&[], &[3]]),
        (",", &[&[], &[]]),
        ("ij,ij->ij", &[&[2, 3], &[2, 1]]),
        ("ij,kj->ik", &[&[2, 3], &[4, 1]]),
        ("ij,jk->ik", &[&[2, 0], &[0, 3]]),
        ("ii,i->i", &[&[1, 1], &[4]]),
        ("iij->j", &[&[2, 2, 3]]),
        ("ibj,jb->", &[&[2, 3, 4], &[4, 3]]),
    ] {
        check(equation, shapes);
    }
}

#[test]
fn shapes() {
    let infer = |equation: &str, shapes: &[&str]| {
        let shapes: Vec<PartialShape> = shapes.iter().map(|text| shape(text)).collect();
        let inputs: Vec<Input<'_>> = shapes
            .iter()
            .map(|shape| Input::new(ElementType::F32, shape))
            .collect();
        match op(equation).infer(&inputs) {
            Ok(_) => Ok(infer_dims(&op(equation), &inputs)),
            Err(e) => Err(e.message),
        }
    };
    for (equation, inputs, expected) in [
        ("ij,jk->ik", &["?,3", "3,4..5"][..], "[?,4..5]"),
        ("...i,...i->...", &["2,?,4", "1,4"], "[2,?]"),
        ("...i,...i->...", &["2,?,4", "5,4"], "[2,5]"),
        ("...i,i->...", &["...", "4"], "[...]"),
        ("...i,i->i", &["...", "4"], "[4]"),
        ("ab->ba", &["..."], "[?,?]"),
        ("iij->ij", &["?,3,4"], "[3,4]"),
    ] {
        assert_eq!(
            infer(equation, inputs).as_deref(),
            Ok(expected),
            "{equation}"
        );
    }
    for (equation, inputs) in [
        ("ij->ij", &["2,3,4"][..]),
        ("ij...->ij", &["2"]),
        ("ii->i", &["2,3"]),
        ("ii->i", &["1,3"]),
        ("i,i->i", &["2", "3"]),
        ("...,...->...", &["2", "3"]),
        ("i,i->i", &["2"]),
    ] {
        assert!(infer(equation, inputs).is_err(), "{equation}");
    }
}

fn subscript() -> impl Strategy<Value = (Vec<u8>, Vec<bool>)> {
    (
        prop::collection::vec(0u8..4, 0..4),
        prop::collection::vec(prop::bool::weighted(0.2), 4),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn definition(
        subscripts in prop::collection::vec(subscript(), 1..4),
        sizes in prop::collection::vec(1usize..4, 4),
        keep in any::<[bool; 4]>(),
        reverse in any::<bool>(),
        mask in any::<u32>(),
    ) {
        let letter = |label: &u8| char::from(b'a' + label);
        let text: Vec<String> = subscripts.iter().map(|(s, _)| s.iter().map(letter).collect()).collect();
        let mut output: Vec<u8> = (0..4u8)
            .filter(|l| keep[usize::from(*l)] && subscripts.iter().any(|(s, _)| s.contains(l)))
            .collect();
        if reverse {
            output.reverse();
        }
        let equation = format!("{}->{}", text.join(","), output.iter().map(letter).collect::<String>());
        let shapes: Vec<Vec<usize>> = subscripts
            .iter()
            .map(|(labels, one)| {
                let size = |&l: &u8| if one[usize::from(l)] { 1 } else { sizes[usize::from(l)] };
                labels.iter().map(size).collect()
            })
            .collect();
        check(&equation, &shapes.iter().map(|s| &s[..]).collect::<Vec<_>>());
        let inputs: Vec<Tensor> = shapes.iter().map(|dims| numbered(dims, 1)).collect();
        let op = op(&equation);
        let result = run(&op, &inputs).expect("fits");
        prop_assert!(dynamic(&op, &inputs, mask).contains(result.shape()));
    }
}
