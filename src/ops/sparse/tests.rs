//! The operations on embedding tables.

use proptest::prelude::*;

use super::embedding::Reduction;
use super::*;
use crate::op::Input;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Tensor};

const MEAN: EmbeddingBagOffsets = EmbeddingBagOffsets {
    reduction: Reduction::Mean,
};
const SUM: EmbeddingBagOffsets = EmbeddingBagOffsets {
    reduction: Reduction::Sum,
};

fn table() -> Tensor {
    let rows = [-0.2f32, -0.6, -0.1, -0.4, -1.9, -1.8, -1.0, 1.5, 0.8, -0.7];
    Tensor::new([5, 2], &rows).expect("ten")
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::vector(values)
}

#[track_caller]
fn assert_close(out: &Tensor, expected: &[f32]) {
    let out = out.as_slice::<f32>().expect("f32");
    assert_eq!(out.len(), expected.len());
    let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
    assert!(out.iter().zip(expected).all(close), "{out:?} {expected:?}");
}

#[test]
fn offsets_examples() {
    let halves = Tensor::vector(&[0.5f32; 4]);
    let weights = Tensor::vector(&[0.5f32, 0.2, -2.0, 1.0]);
    let start = || vec![table(), ints(&[0, 2, 3, 4]), ints(&[0, 2, 2])];
    let with = |more: &[Tensor]| [start(), more.to_vec()].concat();
    let out = run(&SUM, &with(&[Tensor::scalar(0i64), halves])).expect("fits");
    assert_close(&out, &[-1.05, -1.2, -0.2, -0.6, -0.1, 0.4]);
    let out = run(&SUM, &with(&[Tensor::scalar(-1i64), weights])).expect("fits");
    assert_close(&out, &[-0.48, -0.66, 0.0, 0.0, 2.8, -3.7]);
    let out = run(&MEAN, &start()).expect("fits");
    assert_close(&out, &[-1.05, -1.2, 0.0, 0.0, -0.1, 0.4]);
}

#[test]
fn packed_examples() {
    let sum = EmbeddingBagPacked::default();
    let mean = EmbeddingBagPacked {
        reduction: Reduction::Mean,
    };
    let indices = Tensor::new([3, 2], &[0i32, 2, 1, 2, 3, 4]).expect("six");
    let halves = Tensor::new([3, 2], &[0.5f32; 6]).expect("six");
    let out = run(&sum, &[table(), indices.clone()]).expect("fits");
    assert_close(&out, &[-2.1, -2.4, -2.0, -2.2, -0.2, 0.8]);
    let expected = [-1.05, -1.2, -1.0, -1.1, -0.1, 0.4];
    let out = run(&sum, &[table(), indices.clone(), halves.clone()]).expect("fits");
    assert_close(&out, &expected);
    let out = run(&mean, &[table(), indices.clone()]).expect("fits");
    assert_close(&out, &expected);
    assert!(run(&mean, &[table(), indices, halves]).is_err());
    let none = Tensor::new::<i32>([2, 0], &[]).expect("no elements");
    for op in [sum, mean] {
        assert_close(
            &run(&op, &[table(), none.clone()]).expect("fits"),
            &[0.0; 4],
        );
    }
}

#[test]
fn segments_examples() {
    let op = EmbeddingSegmentsSum;
    let indices = ints(&[0, 2, 3, 4]);
    let inputs = |ids: &[i64], weights: &[f32]| {
        [
            table(),
            indices.clone(),
            ints(ids),
            Tensor::scalar(3i64),
            Tensor::scalar(0i64),
            Tensor::vector(weights),
        ]
    };
    let out = run(&op, &inputs(&[0, 0, 2, 2], &[0.5; 4])).expect("fits");
    assert_close(&out, &[-1.05, -1.2, -0.2, -0.6, -0.1, 0.4]);
    // Out of order, with weights that differ.
    let out = run(&op, &inputs(&[2, 0, 2, 0], &[1.0, 2.0, 3.0, 4.0])).expect("fits");
    assert_close(&out, &[-0.6, -6.4, -0.2, -0.6, -3.2, 3.9]);
    let out = run(&op, &inputs(&[0, 0, 2, 2], &[0.5; 4])[..4]).expect("fits");
    assert_close(&out, &[-2.1, -2.4, 0.0, 0.0, -0.2, 0.8]);
}

#[test]
fn mistakes() {
    let offsets = |indices: &[i64], offsets: &[i64], default: i64| {
        let default = Tensor::scalar(default);
        let inputs = [table(), ints(indices), ints(offsets), default];
        run(&SUM, &inputs).map_err(|e| e.message)
    };
    for (indices, list, default, expected) in [
        (
            &[0, 5][..],
            &[0][..],
            0,
            "index 5 (element 1) is not in 0..5, the rows of emb_table",
        ),
        (
            &[-1],
            &[0],
            0,
            "index -1 (element 0) is not in 0..5, the rows of emb_table",
        ),
        (
            &[0, 1],
            &[0, 3],
            0,
            "offset 3 is not in 0..=2, the number of indices",
        ),
        (
            &[0, 1],
            &[-1],
            0,
            "offset -1 is not in 0..=2, the number of indices",
        ),
        (&[0, 1], &[1, 0], 0, "offset 0 is below 1 before it"),
        (
            &[0, 1],
            &[0],
            -2,
            "default_index -2 is not in 0..5, the rows of emb_table",
        ),
    ] {
        assert_eq!(offsets(indices, list, default), Err(expected.to_owned()));
    }
    // A bag may begin where the indices end, and after where they begin.
    assert_close(
        &offsets(&[0, 1], &[1, 2], 4).expect("fits"),
        &[-0.1, -0.4, 0.8, -0.7],
    );
    let weights = |weights: Tensor| {
        let inputs = [
            table(),
            ints(&[0, 1]),
            ints(&[0]),
            Tensor::scalar(0i64),
            weights,
        ];
        run(&SUM, &inputs).is_ok()
    };
    assert!(weights(Tensor::vector(&[1f32, 2.0])));
    assert!(!weights(Tensor::vector(&[1f32])));
    assert!(!weights(Tensor::vector(&[1f64, 2.0])));
    let segments = |ids: &[i64], count: i64, default: i64| {
        let (count, default) = (Tensor::scalar(count), Tensor::scalar(default));
        let inputs = [table(), ints(&[0, 1]), ints(ids), count, default];
        run(&EmbeddingSegmentsSum, &inputs).is_ok()
    };
    assert!(segments(&[0, 1], 2, 0));
    assert!(!segments(&[0, 1], 1, 0));
    assert!(!segments(&[-1, 1], 2, 0));
    assert!(!segments(&[0], 2, 0));
    assert!(!segments(&[0, 1], 2, -1));
    assert!(!segments(&[0, 1], -1, 0));
    let text = Tensor::vector(&[true, false]);
    assert!(run(&SUM, &[text, ints(&[0]), ints(&[0])]).is_err());
    assert!(run(&SUM, &[table(), table(), ints(&[0])]).is_err());
    assert!(run(&SUM, &[Tensor::scalar(1f32), ints(&[0]), ints(&[0])]).is_err());
}

#[test]
fn shapes() {
    let (f32, i64) = (ElementType::F32, ElementType::I64);
    let (dims, any, one, two) = (shape("?,2..5,7"), shape("..."), shape("4"), shape("3..,8"));
    let table = Input::new(f32, &dims);
    let (one, two) = (Input::new(i64, &one), Input::new(i64, &two));
    let unknown = Input::new(i64, &any);
    let packed = EmbeddingBagPacked::default();
    assert_eq!(
        infer_dims(&packed, &[table.clone(), two.clone()]),
        "[3..,2..5,7]"
    );
    assert_eq!(
        infer_dims(&packed, &[table.clone(), unknown.clone()]),
        "[?,2..5,7]"
    );
    let inputs = [table.clone(), unknown.clone(), one.clone()];
    assert_eq!(infer_dims(&SUM, &inputs), "[4,2..5,7]");
    let inputs = [Input::new(f32, &any), one.clone(), one.clone()];
    assert_eq!(infer_dims(&SUM, &inputs), "[...]");
    let count = Tensor::scalar(6i32);
    let inputs = [table, one.clone(), one, Input::of(&count)];
    assert_eq!(infer_dims(&EmbeddingSegmentsSum, &inputs), "[6,2..5,7]");
}

/// Bags of a table of small integers, by the definition.
fn naive(
    table: &[f64],
    inner: usize,
    bags: &[Vec<(usize, f64)>],
    default: Option<usize>,
    mean: bool,
) -> Vec<f64> {
    let mut out = Vec::new();
    for bag in bags {
        for column in 0..inner {
            let products = bag
                .iter()
                .map(|(row, weight)| table[row * inner + column] * weight);
            let sum: f64 = products.sum();
            out.push(match default {
                Some(row) if bag.is_empty() => table[row * inner + column],
                _ if mean => sum / bag.len().max(1) as f64,
                _ => sum,
            });
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn definition(
        count in 1usize..9,
        inner in 0usize..40,
        bags in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..9), 1..9),
        default in proptest::option::of(any::<prop::sample::Index>()),
        form in 0usize..3,
        ty in 0usize..4,
        mask in any::<u32>(),
    ) {
        let ty = [ElementType::F32, ElementType::F64, ElementType::F16, ElementType::I32][ty];
        let bags: Vec<Vec<usize>> = bags.iter().map(|bag| bag.iter().map(|i| i.index(count)).collect()).collect();
        let values: Vec<f64> = (0..count * inner).map(|i| ((i * 7919) % 13) as f64 - 6.0).collect();
        let indices: Vec<i64> = bags.iter().flatten().map(|&row| row as i64).collect();
        let weights: Vec<f64> = (0..indices.len()).map(|i| (i % 3) as f64).collect();
        let mut starts = vec![0i64];
        starts.extend(bags.iter().scan(0, |end, bag| {
            *end += bag.len() as i64;
            Some(*end)
        }));
        starts.pop();
        let tensor = |shape: &[usize], values: &[f64]| {
            convert(&Tensor::new(shape, values).expect("its length"), ty).expect("numbers")
        };
        let default = default.map(|row| row.index(count));
        let mut inputs = vec![tensor(&[count, inner], &values), ints(&indices), ints(&starts)];
        inputs.push(Tensor::scalar(default.map_or(-1, |row| row as i64)));
        // Plain sums, weighted sums, means.
        if form == 1 {
            inputs.push(tensor(&[weights.len()], &weights));
        }
        let op = if form == 2 { MEAN } else { SUM };
        let mut sample = 0;
        let weighted: Vec<Vec<(usize, f64)>> = bags.iter().map(|bag| bag.iter().map(|&row| {
            sample += 1;
            (row, if form == 1 { weights[sample - 1] } else { 1.0 })
        }).collect()).collect();
        let expected = naive(&values, inner, &weighted, default, form == 2);
        let expected = tensor(&[bags.len(), inner], &expected);
        prop_assert!(dynamic(&op, &inputs, mask).contains(expected.shape()));
        // Signs of zeros aside.
        let numbers = |tensor| {
            let wide = convert(&tensor, ElementType::F64).expect("numbers");
            wide.as_slice::<f64>().expect("f64").to_vec()
        };
        let out = run(&op, &inputs).expect("fits");
        prop_assert_eq!(numbers(out), numbers(expected));
    }
}

/// Large enough for several threads; f16 rows are widened.
#[test]
fn many_rows() {
    let (count, inner, bag) = (300, 65, 40);
    let values: Vec<f32> = (0..count * inner).map(|i| (i % 64) as f32).collect();
    let table = Tensor::new([count, inner], &values).expect("its length");
    let indices: Vec<i32> = (0..200 * bag).map(|i| (i * 7 % count) as i32).collect();
    let indices = Tensor::new([200, bag], &indices).expect("its length");
    for ty in [ElementType::F32, ElementType::F16] {
        let table = convert(&table, ty).expect("numbers");
        let op = EmbeddingBagPacked::default();
        let out = run(&op, &[table, indices.clone()]).expect("fits");
        let out = convert(&out, ElementType::F32).expect("numbers");
        let out = out.as_slice::<f32>().expect("f32");
        for (i, &x) in out.iter().enumerate() {
            let (row, column) = (i / inner, i % inner);
            let rows = (row * bag..(row + 1) * bag).map(|i| i * 7 % count);
            let expected: f32 = rows.map(|r| values[r * inner + column]).sum();
            assert_eq!(x, expected);
        }
    }
}
