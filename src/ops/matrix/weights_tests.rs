//! Tests of MatMul with constant weights.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::ops::testing::run;
use crate::tensor::Shape;
use crate::tensor::convert::{convert, from_codes};

fn op(transpose_a: bool, transpose_b: bool) -> MatMul {
    MatMul {
        transpose_a,
        transpose_b,
    }
}

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|i: usize| ((i * (2 * seed + 3) + seed) % 15) as f32 - 7.0)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

fn prepare(op: &MatMul, a: &Tensor, b: &Tensor) -> Option<Prepared> {
    op.prepare(&[Input::of(a), Input::of(b)])
}

#[test]
fn constant_weights_change_nothing() {
    for ty in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
        for (a, b, transpose_a, transpose_b) in [
            (&[7, 20][..], &[20, 40][..], false, false),
            (&[2, 3, 20], &[1, 40, 20], false, true),
            (&[2, 20, 3], &[20, 33], true, false),
            (&[20], &[20, 70], true, false),
            (&[1, 20], &[1, 1, 20, 70], false, false),
            (&[0, 20], &[20, 7], false, false),
        ] {
            let op = op(transpose_a, transpose_b);
            let inputs = [numbers(a, 1), numbers(b, 2)].map(|t| convert(&t, ty).expect("numbers"));
            let expected = run(&op, &inputs).expect("fits");
            let prepared = prepare(&op, &inputs[0], &inputs[1]).expect("weights");
            assert_eq!(&prepared.inputs[..], [0]);
            let out = run(&*prepared.op, &inputs[..1]).expect("fits");
            assert_eq!(out, expected, "{ty} {a:?} {b:?}");
        }
    }
    let a = numbers(&[2, 3, 4], 1);
    assert!(prepare(&op(false, false), &a, &numbers(&[2, 4, 5], 2)).is_none());
    assert!(prepare(&op(false, false), &a, &numbers(&[4], 2)).is_none());
}

#[test]
fn every_element_is_finished_once() {
    let inputs = [numbers(&[2, 20, 9], 1), numbers(&[30, 20], 2)];
    for transpose_a in [false, true] {
        let a = if transpose_a {
            inputs[0].clone()
        } else {
            numbers(&[2, 9, 20], 1)
        };
        let op = op(transpose_a, true);
        let plain = run(&op, &[a.clone(), inputs[1].clone()]).expect("fits");
        let expected: Vec<f32> = plain.as_slice::<f32>().expect("f32").to_vec();
        let prepared = prepare(&op, &a, &inputs[1]).expect("weights");
        let ops: [(&dyn Op, &[&Tensor]); 2] = [(&op, &[&a, &inputs[1]]), (&*prepared.op, &[&a])];
        for (op, inputs) in ops {
            assert!(op.finishes());
            let mut outputs = [Tensor::zeros(ElementType::F32, [2, 9, 30]).expect("memory")];
            let count = AtomicUsize::new(0);
            let finish = |at: usize, piece: &mut [f32]| {
                count.fetch_add(piece.len(), Ordering::Relaxed);
                for (i, x) in piece.iter_mut().enumerate() {
                    *x += (at + i) as f32;
                }
            };
            let io = Io {
                inputs,
                outputs: &mut outputs,
            };
            op.eval_finishing(io, &finish).expect("fits");
            assert_eq!(count.into_inner(), expected.len());
            let out: &[f32] = outputs[0].as_slice().expect("f32");
            for (i, (x, y)) in out.iter().zip(&expected).enumerate() {
                assert_eq!(*x, y + i as f32);
            }
        }
    }
}

/// `(weights - zero_point) * scale` by the definition, as a matrix of `[k, n]`.
fn plain_weights(
    weights: &Tensor,
    zero: Option<&Tensor>,
    scale: Option<&Tensor>,
    by_columns: bool,
) -> Tensor {
    let all = weights.shape().clone();
    let wide = |tensor: &Tensor| {
        let wide = convert(tensor, ElementType::F32).expect("numbers");
        wide.as_slice::<f32>().expect("f32").to_vec()
    };
    let at = |tensor: &Tensor, index: &[usize]| {
        let missing = index.len() - tensor.shape().rank();
        let place = tensor.shape().iter().zip(tensor.shape().strides());
        let place = place
            .enumerate()
            .map(|(i, (&size, stride))| index[missing + i] % size * stride);
        wide(tensor)[place.sum::<usize>()]
    };
    let values: Vec<f32> = crate::ops::testing::index(&all)
        .map(|index| {
            let zero = zero.map_or(0.0, |zero| at(zero, &index));
            (at(weights, &index) - zero) * scale.map_or(1.0, |scale| at(scale, &index))
        })
        .collect();
    let rank = all.rank();
    let shape = match by_columns {
        true => [all[0], all[1..].iter().product()],
        false => [all[..rank - 1].iter().product(), all[rank - 1]],
    };
    Tensor::new(shape, &values).expect("as many")
}

/// A third of each element.
fn thirds(tensor: &Tensor) -> Tensor {
    let values = tensor.as_slice::<f32>().expect("f32");
    let values: Vec<f32> = values.iter().map(|x| x / 3.0).collect();
    Tensor::new(tensor.shape().clone(), &values).expect("as many")
}

/// The largest difference of two tensors, as a part of the largest element.
fn furthest(a: &Tensor, b: &Tensor) -> f32 {
    let (a, b) = (a.as_slice::<f32>(), b.as_slice::<f32>());
    let (a, b) = (a.expect("f32"), b.expect("f32"));
    let most = b.iter().fold(0f32, |most, x| most.max(x.abs()));
    let pairs = a.iter().zip(b);
    pairs.fold(0f32, |all, (x, y)| all.max((x - y).abs() / most))
}

#[test]
fn compressed_weights() {
    let scales = |dims: &[usize]| {
        let count: usize = dims.iter().product();
        let values: Vec<f32> = (0..count).map(|i| 0.25 * (1 + i % 5) as f32).collect();
        Tensor::new(Shape::from(dims), &values).expect("as many")
    };
    let zeros = |dims: &[usize]| {
        let codes: Vec<u8> = (0..dims.iter().product())
            .map(|i: usize| (i % 11) as u8)
            .collect();
        Tensor::new(Shape::from(dims), &codes).expect("as many")
    };
    for ty in [
        ElementType::U4,
        ElementType::I4,
        ElementType::U8,
        ElementType::I8,
        ElementType::F16,
    ] {
        for (dims, other, by_columns) in [
            (&[37, 24][..], &[37, 1][..], true),
            (&[37, 3, 8], &[37, 3, 1], true),
            (&[24, 37], &[37], false),
            (&[3, 8, 70], &[3, 1, 70], false),
            (&[37, 3, 8], &[1, 1, 1], true),
            (&[2, 12, 5], &[], false),
            // Groups that are multiplied where they lie.
            (&[9, 3, 32], &[9, 3, 1], true),
            (&[6, 64], &[6, 1], true),
            (&[5, 2, 64], &[2, 1], true),
        ] {
            let (first, last) = (dims[0], dims[dims.len() - 1]);
            let count: usize = dims.iter().product();
            let terms = count / if by_columns { first } else { last };
            let codes: Vec<u8> = (0..count).map(|i| (i * 7 % 251) as u8).collect();
            let weights = match ty {
                ElementType::U4 | ElementType::I4 => from_codes(ty, Shape::from(dims), &codes),
                ElementType::F16 => convert(&numbers(dims, 3), ty),
                ElementType::U8 => Tensor::new(Shape::from(dims), &codes),
                _ => {
                    let signed: Vec<i8> = codes.iter().map(|x| x.cast_signed()).collect();
                    Tensor::new(Shape::from(dims), &signed)
                }
            };
            let weights = weights.expect("as many");
            let (zero, scale) = (zeros(other), scales(other));
            for (zero, scale) in [
                (None, None),
                (None, Some(&scale)),
                (Some(&zero), Some(&scale)),
            ] {
                let op = op(false, by_columns);
                let plain = plain_weights(&weights, zero, scale, by_columns);
                for rows in [1, 2, 3, 4, 7, 8, 30] {
                    let a = numbers(&[rows, terms], 1);
                    let expected = run(&op, &[a.clone(), plain.clone()]).expect("fits");
                    let prepared = compressed(&op, &weights, zero, scale, false).expect("weights");
                    let out = run(&*prepared.op, &[a]).expect("fits");
                    assert_eq!(out, expected, "{ty} {dims:?} {rows} rows");
                }
                // Scales that leave nothing exact.
                let thirds = scale.map(|scale| convert(&thirds(scale), ElementType::F16));
                let Some(scale) = thirds.transpose().expect("numbers") else {
                    continue;
                };
                let plain = plain_weights(&weights, zero, Some(&scale), by_columns);
                let half = convert(&plain, ElementType::F16).expect("numbers");
                let half = convert(&half, ElementType::F32).expect("numbers");
                for rows in [1, 2, 3, 4, 7, 8, 30] {
                    let a = numbers(&[rows, terms], 1);
                    let expected = run(&op, &[a.clone(), half.clone()]).expect("fits");
                    let prepared = compressed(&op, &weights, zero, Some(&scale), true);
                    let out = run(&*prepared.expect("weights").op, &[a]).expect("fits");
                    let error = furthest(&out, &expected);
                    assert!(
                        error < 1e-6,
                        "{ty} {dims:?} {rows} rows: {error:e} beside f16"
                    );
                }
            }
        }
    }
    // Scales that differ within a group, and a type that is not known.
    let weights = zeros(&[4, 6]);
    let op = op(false, true);
    assert!(compressed(&op, &weights, None, Some(&scales(&[4, 6])), false).is_none());
    assert!(compressed(&op, &weights, None, Some(&scales(&[1, 6])), false).is_none());
    assert!(compressed(&op, &numbers(&[4, 6], 1), None, None, false).is_none());
}

#[test]
fn weights_are_not_shown() {
    let (a, b) = (numbers(&[1, 4], 1), numbers(&[4, 5], 2));
    let prepared = prepare(&op(false, false), &a, &b).expect("weights");
    let before = format!("{:?}", prepared.op);
    run(&*prepared.op, &[a]).expect("fits");
    assert_eq!(format!("{:?}", prepared.op), before);
    assert!(before.len() < 200, "{before}");
}

#[test]
fn the_first_product_has_the_bits_of_the_others() {
    // Terms and columns in several blocks, sums that round.
    let thirds = |dims: &[usize], seed: usize| thirds(&numbers(dims, seed));
    for rows in [1, 5, 12, 40, 130] {
        for transpose_b in [false, true] {
            let dims = if transpose_b { [530, 600] } else { [600, 530] };
            let (a, b) = (thirds(&[rows, 600], 1), thirds(&dims, 2));
            assert!(b.len() >= LARGE);
            let prepared = prepare(&op(false, transpose_b), &a, &b).expect("weights");
            let first = run(&*prepared.op, std::slice::from_ref(&a)).expect("fits");
            let second = run(&*prepared.op, std::slice::from_ref(&a)).expect("fits");
            assert_eq!(first, second, "{rows} rows, transposed: {transpose_b}");
        }
    }
}
