//! Tests of PagedAttentionExtension.

use proptest::prelude::*;

use super::*;
use crate::op::OpErrorKind;
use crate::ops::testing::{run_all, shape};
use crate::tensor::convert::{convert, to_i64};
use crate::tensor::{Shape, Tensor};

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|i: usize| ((i * 7919 + seed * 104_729) % 1009) as f64 / 250.0 - 2.0)
        .collect();
    Tensor::new(Shape::from(dims), &values).expect("as many")
}

fn none(dims: &[usize]) -> Tensor {
    Tensor::new(Shape::from(dims), &[] as &[f64]).expect("empty")
}

fn int(value: i32) -> Tensor {
    Tensor::scalar(value)
}

fn ints(values: &[i32]) -> Tensor {
    Tensor::vector(values)
}

fn op(write_kv_cache: bool) -> PagedAttention {
    PagedAttention { write_kv_cache }
}

/// Sizes: heads of queries, of keys, length of a key, of a value, slots of a block.
const SIZES: [usize; 5] = [4, 2, 3, 2, 4];
const BLOCKS: usize = 12;

/// Inputs for sequences of (past, new) tokens, whose blocks are scattered.
fn inputs(sequences: &[(usize, usize)], windows: [i32; 3], extras: bool) -> Vec<Tensor> {
    let [heads, kv_heads, length, width, slots] = SIZES;
    let tokens: usize = sequences.iter().map(|&(_, new)| new).sum();
    let (mut begins, mut rows, mut table) = (vec![0], vec![0], Vec::new());
    for &(past, new) in sequences {
        let count = (past + new).div_ceil(slots);
        let used = table.len();
        table.extend((used..used + count).map(|i| ((i * 5 + 3) % BLOCKS) as i32));
        begins.push(table.len() as i32);
        rows.push(rows.last().expect("one") + new as i32);
    }
    let past: Vec<i32> = sequences.iter().map(|&(past, _)| past as i32).collect();
    let [sliding, context, score] = windows;
    let per_head = |dims: &[usize], seed| {
        if extras {
            numbers(dims, seed)
        } else {
            none(&[0])
        }
    };
    let empty = || ints(&[]);
    vec![
        numbers(&[tokens, heads * length], 1),
        numbers(&[tokens, kv_heads * length], 2),
        numbers(&[tokens, kv_heads * width], 3),
        numbers(&[BLOCKS, kv_heads, slots, length], 4),
        numbers(&[BLOCKS, kv_heads, slots, width], 5),
        ints(&past),
        ints(&rows),
        ints(&table),
        ints(&begins),
        Tensor::scalar(0.6),
        int(sliding),
        per_head(&[heads], 6),
        int(context),
        int(score),
        empty(),
        empty(),
        none(&[0]),
        none(&[0]),
        int(0),
        int(0),
        per_head(&[1, heads, 1, 1], 7),
        int(0),
        empty(),
        empty(),
        empty(),
        empty(),
        Tensor::new([0], &[] as &[u8]).expect("empty"),
        empty(),
    ]
}

/// The document's loops: tokens are written to the cache one after the other, and each then reads
/// all it sees from there.
fn document(inputs: &[Tensor]) -> [Vec<f64>; 2] {
    let [heads, kv_heads, length, width, slots] = SIZES;
    let real = |input: usize| inputs[input].as_slice::<f64>().expect("f64");
    let int = |input: usize| to_i64(&inputs[input]);
    let (mut keys, mut values) = (real(3).to_vec(), real(4).to_vec());
    let [past_lens, rows, table, begins] = [5, 6, 7, 8].map(int);
    let windows = [int(10)[0], int(12)[0]];
    let mut out = vec![0.0; rows[rows.len() - 1] as usize * heads * width];
    let mut scores = Vec::new();
    for s in 0..past_lens.len() {
        let new = rows[s + 1] - rows[s];
        let base = scores.len();
        scores.resize(base + (past_lens[s] + new) as usize, 0.0);
        let place = |position: i64, head: usize| {
            let block = table[begins[s] as usize + position as usize / slots];
            (block as usize * kv_heads + head) * slots + position as usize % slots
        };
        for i in 0..new {
            let (token, own) = ((rows[s] + i) as usize, past_lens[s] + i);
            for head in 0..kv_heads {
                let (row, to) = (token * kv_heads + head, place(own, head));
                keys[to * length..][..length].copy_from_slice(&real(1)[row * length..][..length]);
                values[to * width..][..width].copy_from_slice(&real(2)[row * width..][..width]);
            }
            let start = windows.iter().filter(|&&window| window > 0);
            let start = start.map(|window| own + 1 - window).fold(0, i64::max);
            for head in 0..heads {
                let kv = head / (heads / kv_heads);
                let query = &real(0)[(token * heads + head) * length..][..length];
                let mut weights = Vec::new();
                for position in start..=own {
                    let key = &keys[place(position, kv) * length..][..length];
                    let dot: f64 = query.iter().zip(key).map(|(a, b)| a * b).sum();
                    let slope = real(11).get(head).copied().unwrap_or(0.0);
                    weights.push((dot * 0.6 + slope * (position - own) as f64).exp());
                }
                let sink = real(20).get(head).map_or(0.0, |sink| sink.exp());
                let total = weights.iter().sum::<f64>() + sink;
                for (position, weight) in (start..=own).zip(weights) {
                    let value = &values[place(position, kv) * width..][..width];
                    for (j, value) in value.iter().enumerate() {
                        out[(token * heads + head) * width + j] += weight / total * value;
                    }
                    if int(13)[0] < 0 || new - i <= int(13)[0] {
                        scores[base + position as usize] += weight / total;
                    }
                }
            }
        }
    }
    [out, scores]
}

fn close(found: &Tensor, expected: &[f64]) {
    let found = found.as_slice::<f64>().expect("f64");
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-12, "{found:?} {expected:?}");
    }
}

fn check(inputs: &[Tensor]) -> Vec<Tensor> {
    let found = run_all(&op(true), inputs).expect("good inputs");
    let [out, scores] = document(inputs);
    close(&found[0], &out);
    close(&found[1], &scores);
    assert!(found[2].is_empty());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn as_the_document(
        a in (0usize..12, 0usize..5),
        b in (0usize..9, 0usize..4),
        windows in [0i32..7, 0i32..9, -1i32..4],
        extras: bool,
    ) {
        check(&inputs(&[a, (3, 1), b], windows, extras));
    }
}

#[test]
fn many_tokens_at_once() {
    // More than a block of queries, and enough for all threads.
    let [heads, kv_heads, length, width, slots] = SIZES;
    let mut inputs = inputs(&[(10, 30)], [0, 0, 2], true);
    let tokens = 150;
    inputs[0] = numbers(&[tokens, heads * length], 1);
    inputs[1] = numbers(&[tokens, kv_heads * length], 2);
    inputs[2] = numbers(&[tokens, kv_heads * width], 3);
    let blocks = (10 + tokens).div_ceil(slots);
    inputs[3] = numbers(&[blocks, kv_heads, slots, length], 4);
    inputs[4] = numbers(&[blocks, kv_heads, slots, width], 5);
    inputs[6] = ints(&[0, tokens as i32]);
    let table: Vec<i32> = (0..blocks).map(|i| ((i * 7 + 2) % blocks) as i32).collect();
    inputs[7] = ints(&table);
    inputs[8] = ints(&[0, blocks as i32]);
    check(&inputs);
    inputs[10] = int(33);
    check(&inputs);
}

#[test]
fn windows_of_scores_by_sequence() {
    let mut inputs = inputs(&[(5, 3), (0, 4)], [0, 0, -1], false);
    let all = check(&inputs);
    let all = all[1].as_slice::<f64>().expect("f64");
    // 4 heads, so that every token adds 4.
    assert!((all.iter().sum::<f64>() - 28.0).abs() < 1e-12);
    inputs[13] = ints(&[0, -1]);
    let found = run_all(&op(true), &inputs).expect("good inputs");
    let found = found[1].as_slice::<f64>().expect("f64");
    assert_eq!(found[..8], [0.0; 8]);
    assert_eq!(found[8..], all[8..]);
    inputs[13] = ints(&[]);
    let found = run_all(&op(true), &inputs).expect("good inputs");
    assert_eq!(found[1].as_slice::<f64>().expect("f64"), [0.0; 12]);
}

#[test]
fn tokens_already_in_the_cache() {
    let mut given = inputs(&[(6, 3)], [0, 0, -1], false);
    let expected = run_all(&op(true), &given).expect("good inputs");
    let [_, kv_heads, length, width, slots] = SIZES;
    let table = to_i64(&given[7]);
    for (new, cache, row) in [(1, 3, length), (2, 4, width)] {
        let from = given[new].as_slice::<f64>().expect("f64").to_vec();
        let to = given[cache].as_mut_slice::<f64>().expect("f64");
        for (i, from) in from.chunks(row).enumerate() {
            let (position, head) = (6 + i / kv_heads, i % kv_heads);
            let block = table[position / slots] as usize;
            let slot = (block * kv_heads + head) * slots + position % slots;
            to[slot * row..][..row].copy_from_slice(from);
        }
        given[new].as_mut_slice::<f64>().expect("f64").fill(0.0);
    }
    let found = run_all(&op(false), &given).expect("good inputs");
    for (a, b) in found.iter().zip(&expected[..2]) {
        close(a, b.as_slice().expect("f64"));
    }
    // The same tokens once more, but there is no room for so many.
    given[5] = ints(&[10]);
    assert!(run_all(&op(false), &given).is_err());
}

#[test]
fn blocks_left_out() {
    // New tokens need no block, and nothing lies in a block -1.
    let mut given = inputs(&[(8, 2)], [0, 0, -1], false);
    given[7] = ints(&[-1, 5]);
    given[8] = ints(&[0, 2]);
    let found = run_all(&op(true), &given).expect("good inputs");
    let scores = found[1].as_slice::<f64>().expect("f64");
    assert_eq!(scores[..4], [0.0; 4]);
    given[10] = int(3);
    let narrow = run_all(&op(true), &given).expect("good inputs");
    given[7] = ints(&[7, 5]);
    let full = run_all(&op(true), &given).expect("good inputs");
    assert_eq!(narrow[0].bytes(), full[0].bytes());
}

#[test]
fn narrow_caches_round_new_tokens() {
    let narrow = |tensor: &Tensor, ty| convert(tensor, ty).expect("floats");
    let mut given = inputs(&[(5, 2)], [0, 0, 0], false);
    for input in &mut given[..5] {
        *input = narrow(input, ElementType::F32);
    }
    let mut rounded = given.clone();
    for input in 1..5 {
        let half = narrow(&given[input], ElementType::F16);
        rounded[input] = narrow(&half, ElementType::F32);
    }
    let expected = run_all(&op(true), &rounded).expect("good inputs");
    for input in [3, 4] {
        given[input] = narrow(&given[input], ElementType::F16);
    }
    let found = run_all(&op(true), &given).expect("good inputs");
    assert_eq!(found[0].bytes(), expected[0].bytes());
    for input in &mut given[..3] {
        *input = narrow(input, ElementType::Bf16);
    }
    let found = run_all(&op(true), &given).expect("good inputs");
    assert_eq!(found[1].element_type(), ElementType::Bf16);
}

#[test]
fn refused() {
    let good = || inputs(&[(5, 2), (0, 3)], [0, 0, 0], false);
    let mut cases = vec![
        (5, ints(&[-1, 0]), OpErrorKind::Invalid),
        (5, ints(&[9, 0]), OpErrorKind::Invalid),
        (5, ints(&[i32::MAX, 0]), OpErrorKind::Invalid),
        (5, ints(&[0]), OpErrorKind::Invalid),
        (6, ints(&[0, 2, 4]), OpErrorKind::Invalid),
        (6, ints(&[1, 2, 5]), OpErrorKind::Invalid),
        (6, ints(&[0, 6, 5]), OpErrorKind::Invalid),
        (7, ints(&[0, 12, 1]), OpErrorKind::Invalid),
        (7, ints(&[0, -2, 1]), OpErrorKind::Invalid),
        (8, ints(&[0, 2, 4]), OpErrorKind::Invalid),
        (8, ints(&[2, 0, 3]), OpErrorKind::Invalid),
        (8, ints(&[-1, 2, 3]), OpErrorKind::Invalid),
        (9, numbers(&[2], 0), OpErrorKind::Invalid),
        (11, numbers(&[3], 0), OpErrorKind::Invalid),
        (13, ints(&[1, 2, 3]), OpErrorKind::Invalid),
        (0, numbers(&[5, 11], 0), OpErrorKind::Invalid),
        (1, numbers(&[5, 3], 0), OpErrorKind::Invalid),
        (2, numbers(&[4, 4], 0), OpErrorKind::Invalid),
        (4, numbers(&[11, 2, 4, 2], 0), OpErrorKind::Invalid),
        (4, numbers(&[12, 1, 4, 4], 0), OpErrorKind::Invalid),
        (3, numbers(&[24, 4, 3], 0), OpErrorKind::Unsupported),
        (17, numbers(&[1], 0), OpErrorKind::Unsupported),
        (26, Tensor::vector(&[1u8]), OpErrorKind::Unsupported),
    ];
    for input in [14, 22, 25, 27] {
        cases.push((input, ints(&[1]), OpErrorKind::Unsupported));
    }
    let quantised = Tensor::zeros(ElementType::U8, [12, 2, 4, 7]).expect("small");
    cases.push((3, quantised, OpErrorKind::Unsupported));
    run_all(&op(true), &good()).expect("good inputs");
    for (input, tensor, kind) in cases {
        let mut inputs = good();
        inputs[input] = tensor;
        let error = run_all(&op(true), &inputs).expect_err(name(input));
        assert_eq!(error.kind, kind, "{input} {error}");
        if kind == OpErrorKind::Unsupported {
            assert!(error.message.contains(name(input)), "{error}");
        }
    }
    assert!(run_all(&op(true), &good()[..25]).is_err());
}

#[test]
fn nothing_new() {
    let found = check(&inputs(&[(5, 0)], [0, 0, -1], true));
    assert_eq!(found[0].shape()[..], [0, 8]);
    assert_eq!(found[1].as_slice::<f64>().expect("f64"), [0.0; 5]);
    check(&inputs(&[], [0, 0, -1], false));
}

#[test]
fn shapes_known_in_part() {
    let given = inputs(&[(5, 2)], [0, 0, 0], false);
    let names = [
        "?,12", "?,6", "?,4", "?,?,?,?", "?,?,?,?", "?", "?", "?", "?",
    ];
    let shapes = names.map(shape);
    let mut inputs: Vec<Input<'_>> = given.iter().map(Input::of).collect();
    for (input, shape) in inputs.iter_mut().zip(&shapes) {
        *input = Input::new(input.element_type, shape);
    }
    for input in [3, 4] {
        inputs[input].element_type = ElementType::Dynamic;
    }
    let infer = |inputs: &[Input<'_>]| {
        let outputs = op(true).infer(inputs).expect("good inputs");
        [0, 1, 2].map(|i: usize| outputs[i].to_string())
    };
    assert_eq!(infer(&inputs), ["f64[?,8]", "f64[?]", "f64[0]"]);
    let three = shape("3,?");
    inputs[1].shape = std::borrow::Cow::Borrowed(&three);
    assert_eq!(infer(&inputs), ["f64[3,1..]", "f64[3..]", "f64[0]"]);
    inputs[5] = Input::of(&given[5]);
    assert_eq!(infer(&inputs)[1], "f64[8]");
    let unknown = shape("...");
    for input in &mut inputs {
        *input = Input::new(ElementType::Dynamic, &unknown);
    }
    assert_eq!(
        infer(&inputs),
        ["dynamic[?,1..]", "dynamic[?]", "dynamic[?]"]
    );
}
