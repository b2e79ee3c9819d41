//! Attention written out beside the one operation it becomes.

use super::super::written::Written;
use crate::graph::Port;
use crate::tensor::{ElementType, Shape, Tensor};
use crate::{CompileOptions, Model};

const BATCH: usize = 2;
const QUERIES: usize = 5;
const KEYS: usize = 7;
const HEADS: usize = 3;
const LENGTH: usize = 4;

fn numbered(shape: &[usize], seed: usize) -> Tensor {
    let len = shape.iter().product();
    #[allow(clippy::cast_precision_loss)]
    let values: Vec<f32> = (0..len)
        .map(|i: usize| ((i * 31 + seed * 7) % 19) as f32 / 8.0 - 1.1)
        .collect();
    Tensor::new(Shape::from(shape), &values).expect("fits")
}

impl Written {
    fn transpose(&mut self, data: Port, order: &[i64]) -> Port {
        self.count += 1;
        let name = format!("order{}", self.count);
        let order = self.graph.constant(&name, Tensor::vector(order));
        self.add("Transpose", &[], &[data, order])
    }

    fn reshape(&mut self, data: Port, shape: &[usize]) -> Port {
        self.count += 1;
        let name = format!("shape{}", self.count);
        let shape: Vec<i64> = shape
            .iter()
            .map(|&dim| dim.try_into().expect("small"))
            .collect();
        let shape = self.graph.constant(&name, Tensor::vector(&shape));
        self.add("Reshape", &[("special_zero", "false")], &[data, shape])
    }

    /// Heads of an input that lie side by side.
    fn heads(&mut self, name: &str, rows: usize, order: &[i64]) -> Port {
        let shape = format!("{BATCH},{rows},{HEADS},{LENGTH}");
        let shape = shape.parse().expect("a shape");
        let data = self.graph.parameter(name, ElementType::F32, shape);
        self.transpose(data, order)
    }
}

/// Attention as converters write it: keys as columns or rows, a scale, a mask, the heads side by
/// side again or not.
fn model(
    columns: bool,
    scale: Option<f32>,
    mask: bool,
    side_by_side: bool,
    looked_at: bool,
) -> Model {
    let mut written = Written::default();
    let query = written.heads("q", QUERIES, &[0, 2, 1, 3]);
    let order: &[i64] = if columns {
        &[0, 2, 3, 1]
    } else {
        &[0, 2, 1, 3]
    };
    let key = written.heads("k", KEYS, order);
    let value = written.heads("v", KEYS, &[0, 2, 1, 3]);
    let rows = [("transpose_b", "true")];
    let mut scores = written.add("MatMul", if columns { &[] } else { &rows }, &[query, key]);
    if let Some(scale) = scale {
        let scale = written.graph.constant("scale", Tensor::scalar(scale));
        scores = written.add("Multiply", &[], &[scores, scale]);
    }
    if mask {
        let shape = format!("{BATCH},1,{QUERIES},{KEYS}")
            .parse()
            .expect("a shape");
        let mask = written.graph.parameter("m", ElementType::F32, shape);
        scores = written.add("Add", &[], &[scores, mask]);
    }
    let weights = written.add("SoftMax", &[("axis", "-1")], &[scores]);
    if looked_at {
        written.graph.result("weights", weights);
    }
    let mut out = written.add("MatMul", &[], &[weights, value]);
    if side_by_side {
        out = written.transpose(out, &[0, 2, 1, 3]);
    }
    written.graph.result("out", out);
    written.graph.build("attention").expect("fits")
}

fn check(model: &Model, joined: bool) {
    let shape = |index: usize| {
        let output = model.input_type(index).expect("an input");
        output.shape.to_shape().expect("exact")
    };
    let inputs: Vec<Tensor> = (0..model.inputs().len())
        .map(|index| numbered(&shape(index), index))
        .collect();
    let given = || inputs.iter().cloned().enumerate();
    let expected = model.evaluate(given()).expect("evaluates");
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let nodes = || compiled.compiled().graph().nodes();
    let attention = |kind: &str| kind == "ScaledDotProductAttention";
    assert_eq!(nodes().any(|(_, node)| attention(node.type_name())), joined);
    let moved = nodes().any(|(_, node)| node.type_name() == "Transpose");
    assert_eq!(moved, !joined, "transpositions go with it");
    let found = compiled.infer_request().infer(given()).expect("evaluates");
    for ((_, found), (_, expected)) in found.iter().zip(expected.iter()) {
        assert_eq!(found.shape(), expected.shape());
        let (found, expected) = (found.as_slice::<f32>(), expected.as_slice::<f32>());
        for (a, b) in found.expect("f32").iter().zip(expected.expect("f32")) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn every_form() {
    for columns in [false, true] {
        for scale in [None, Some(0.3)] {
            for mask in [false, true] {
                for side_by_side in [false, true] {
                    check(&model(columns, scale, mask, side_by_side, false), true);
                }
            }
        }
    }
}

#[test]
fn weights_that_are_looked_at_are_computed() {
    check(&model(true, None, true, true, true), false);
}

/// Attention as vision transformers have it that were trained with torch: heads are transposed without a batch, which
/// comes as a dimension of one, keys are transposed there and back, queries and keys are scaled, each by itself.
fn vision(last: &[i64]) -> Model {
    let mut written = Written::default();
    let apart = |written: &mut Written, name: &str, rows: usize| {
        let shape = format!("{rows},{HEADS},{LENGTH}").parse().expect("a shape");
        let data = written.graph.parameter(name, ElementType::F32, shape);
        let heads = written.transpose(data, &[1, 0, 2]);
        written.reshape(heads, &[1, HEADS, rows, LENGTH])
    };
    let [query, mut key, value] = [("q", QUERIES), ("k", KEYS), ("v", KEYS)]
        .map(|(name, rows)| apart(&mut written, name, rows));
    let scale = written.number(0.6);
    let query = written.add("Multiply", &[], &[query, scale]);
    for _ in 0..2 {
        key = written.transpose(key, &[0, 1, 3, 2]);
    }
    let key = written.add("Multiply", &[], &[scale, key]);
    let scores = written.add("MatMul", &[("transpose_b", "true")], &[query, key]);
    let weights = written.add("SoftMax", &[("axis", "-1")], &[scores]);
    let out = written.add("MatMul", &[], &[weights, value]);
    let out = written.transpose(out, last);
    written.graph.result("out", out);
    written.graph.build("vision").expect("fits")
}

#[test]
fn dimensions_of_one_between_transpositions() {
    check(&vision(&[2, 0, 1, 3]), true);
    check(&vision(&[0, 2, 1, 3]), true);
}

/// The number of transpositions that are left.
fn transpositions(model: &Model) -> usize {
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let nodes = compiled.compiled().graph().nodes();
    nodes
        .filter(|(_, node)| node.type_name() == "Transpose")
        .count()
}

#[test]
fn what_does_more_than_exchange_heads_and_queries_stays() {
    assert_eq!(transpositions(&vision(&[2, 1, 0, 3])), 0);
    for order in [[1, 2, 0, 3], [0, 2, 3, 1], [3, 0, 2, 1]] {
        assert_eq!(transpositions(&vision(&order)), 1, "{order:?}");
    }
}
