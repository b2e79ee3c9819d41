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
