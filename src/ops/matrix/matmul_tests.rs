//! Tests of MatMul.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::Shape;
use crate::tensor::convert::convert;

fn op(transpose_a: bool, transpose_b: bool) -> MatMul {
    MatMul {
        transpose_a,
        transpose_b,
    }
}

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<i64> = (0..count)
        .map(|i: usize| ((i * (2 * seed + 3) + seed) % 7) as i64 - 3)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

/// The product by the definition, of matrices that are not transposed.
fn naive(a: &Tensor, b: &Tensor, out: &Shape) -> Vec<i64> {
    let at = |tensor: &Tensor, index: &[usize]| {
        let values = tensor.as_slice::<i64>().expect("i64");
        let missing = index.len() - tensor.shape().rank();
        let strides = tensor.shape().strides();
        let place = tensor.shape().iter().zip(&strides).enumerate();
        let place = place.map(|(axis, (&size, stride))| index[missing + axis] % size * stride);
        values[place.sum::<usize>()]
    };
    let k = a.shape()[a.shape().rank() - 1];
    crate::ops::testing::index(out)
        .map(|index| {
            let [batch @ .., i, j] = &index[..] else {
                panic!("matrices")
            };
            let sum = (0..k).map(|l| {
                let (mut x, mut y) = (batch.to_vec(), batch.to_vec());
                x.extend([*i, l]);
                y.extend([l, *j]);
                at(a, &x) * at(b, &y)
            });
            sum.sum()
        })
        .collect()
}

/// The tensor with its last two axes exchanged.
fn transposed(tensor: &Tensor) -> Tensor {
    let mut dims = tensor.shape().clone();
    let rank = dims.rank();
    dims.swap(rank - 1, rank - 2);
    let (rows, columns) = (dims[rank - 2], dims[rank - 1]);
    let values = tensor.as_slice::<i64>().expect("i64");
    let mut out = Vec::new();
    for matrix in values.chunks(usize::max(1, rows * columns)) {
        for i in 0..rows {
            out.extend((0..columns).map(|j| matrix[j * rows + i]));
        }
    }
    Tensor::new(dims, &out).expect("as many")
}

fn inferred(a: &str, b: &str, op: &MatMul) -> Result<String, String> {
    let (a, b) = (shape(a), shape(b));
    let inputs = [
        Input::new(ElementType::F32, &a),
        Input::new(ElementType::F32, &b),
    ];
    match op.infer(&inputs) {
        Ok(_) => Ok(infer_dims(op, &inputs)),
        Err(e) => Err(e.message),
    }
}

#[test]
fn shapes() {
    let plain = |a, b| inferred(a, b, &op(false, false));
    for (a, b, expected) in [
        ("4", "4", "[]"),
        ("4", "2,4,5", "[2,5]"),
        ("2,3,4", "4", "[2,3]"),
        ("2,1,3,4", "5,4,6", "[2,5,3,6]"),
        ("?,3,?", "1..4,4,6", "[?,3,6]"),
        ("2..4,3,?", "2..5,4,6", "[2..4,3,6]"),
        ("...", "4,6", "[...]"),
        ("0,3,4", "1,4,0", "[0,3,0]"),
    ] {
        assert_eq!(plain(a, b).as_deref(), Ok(expected), "{a} {b}");
    }
    assert_eq!(
        inferred("4,3", "6,4", &op(true, true)).as_deref(),
        Ok("[3,6]")
    );
    // Vectors are not transposed.
    assert_eq!(inferred("4", "6,4", &op(true, true)).as_deref(), Ok("[6]"));
    assert_eq!(inferred("4,6", "4", &op(true, true)).as_deref(), Ok("[6]"));
    assert_eq!(
        plain("2,3", "4,5"),
        Err(
            "shapes [2,3] and [4,5] cannot be multiplied: the first matrix has 3 columns, the \
             second 4 rows"
                .to_owned()
        )
    );
    for (a, b) in [("", "4"), ("4", ""), ("2,3,4", "3,4,5"), ("", "...")] {
        assert!(plain(a, b).is_err(), "{a} {b}");
    }
}

#[test]
fn half_floats_are_rounded_once() {
    let ones = Tensor::vector(&vec![half::f16::ONE; 4096]);
    let sum = run(&op(false, false), &[ones.clone(), ones]).expect("vectors");
    assert_eq!(sum, Tensor::scalar(half::f16::from_f32(4096.0)));
}

#[test]
fn large_narrow_matrices() {
    let (a, b) = (numbers(&[2, 3, 257], 1), numbers(&[257, 300], 2));
    let exact = run(&op(false, false), &[a.clone(), b.clone()]).expect("fits");
    for ty in [ElementType::F16, ElementType::Bf16, ElementType::I8] {
        let rounded = convert(&exact, ty).expect("numbers");
        for transpose in [false, true] {
            let b = if transpose { transposed(&b) } else { b.clone() };
            let inputs = [&a, &b].map(|t| convert(t, ty).expect("numbers"));
            let out = run(&op(false, transpose), &inputs).expect("fits");
            assert_eq!(out, rounded, "{ty}");
        }
    }
}

#[test]
fn no_columns_give_zeros() {
    let a = Tensor::new::<f32>([2, 0], &[]).expect("empty");
    let b = Tensor::new::<f32>([0, 3], &[]).expect("empty");
    let out = run(&op(false, false), &[a, b]).expect("fits");
    assert_eq!(out, Tensor::new([2, 3], &[0f32; 6]).expect("six"));
}

fn batch() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0usize..4, 0u8..4), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn definition(
        batch in batch(),
        (m, k, n) in (0usize..5, 0usize..6, 0usize..5),
        flags in any::<[bool; 2]>(),
        types in 0usize..4,
        mask in any::<u32>(),
    ) {
        let part = |bit: u8| -> Vec<usize> {
            let dims = batch.iter().map(|&(size, which)| if which & bit == 0 { size } else { 1 });
            dims.collect()
        };
        let (mut a_dims, mut b_dims) = (part(1), part(2));
        if batch.first().is_some_and(|b| b.1 == 3) {
            b_dims.remove(0);
        }
        a_dims.extend([m, k]);
        b_dims.extend([k, n]);
        let (a, b) = (numbers(&a_dims, 1), numbers(&b_dims, 2));
        let known = [&a, &b].map(|t| PartialShape::from(t.shape()));
        let out = op(false, false).shape(&known[0], &known[1]).expect("fits");
        let out = out.to_shape().expect("exact");
        let expected = Tensor::new(out.clone(), &naive(&a, &b, &out)).expect("as many");
        let a = if flags[0] { transposed(&a) } else { a };
        let b = if flags[1] { transposed(&b) } else { b };
        let ty = [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::U64][types];
        let inputs = [&a, &b].map(|t| convert(t, ty).expect("numbers"));
        let op = op(flags[0], flags[1]);
        let result = run(&op, &inputs).expect("fits");
        prop_assert_eq!(&result, &convert(&expected, ty).expect("numbers"));
        prop_assert!(dynamic(&op, &inputs, mask).contains(result.shape()));
    }
}
