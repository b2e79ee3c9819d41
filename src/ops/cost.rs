//! How many floating-point operations a layer needs.
//!
//! A multiplication and an addition count as two. Products, convolutions, attention and recurrent
//! cells are counted as their definition says, whatever algorithm computes them; functions of elements
//! count one for each element of the output, reductions one for each element that goes in. Layers
//! that only move elements, or ask for shapes, need none.

use std::collections::HashMap;

use super::supported;
use crate::graph::Node;

/// Categories whose operations compute each element of their output from one of each input.
const ELEMENTWISE: &[&str] = &[
    "activation",
    "arithmetic",
    "comparison",
    "logical",
    "bitwise",
];

/// Categories whose operations compute nothing.
const MOVING: &[&str] = &["movement", "shape", "infrastructure", "type", "sort"];

/// The costs of operations.
#[derive(Debug)]
pub struct Costs {
    categories: HashMap<&'static str, &'static str>,
}

impl Default for Costs {
    fn default() -> Self {
        let rows = supported().map(|(category, def)| (def.name, category));
        Self {
            categories: rows.collect(),
        }
    }
}

impl Costs {
    /// Floating-point operations of one evaluation of a layer, given the shapes of its inputs and
    /// outputs. `None` where nothing is known of the operation.
    pub fn flops(&self, node: &Node, inputs: &[&[usize]], outputs: &[&[usize]]) -> Option<u64> {
        let type_name = type_name(node);
        let input = |index: usize| inputs.get(index).copied();
        let output = outputs.first().copied();
        let count = match type_name {
            "MatMul" => {
                let (a, out) = (input(0)?, output?);
                let flag = |name: &str| attribute(node, name).is_some_and(|value| value == "true");
                let inner = match a.len() {
                    0 => 1,
                    1 => a[0],
                    rank if flag("transpose_a") => a[rank - 2],
                    rank => a[rank - 1],
                };
                twice(product(out), inner as u64)
            }
            // Filters are [outputs, inputs, taps…], or with groups before these.
            "Convolution" | "DeformableConvolution" | "BinaryConvolution" => {
                let at = if type_name == "DeformableConvolution" {
                    2
                } else {
                    1
                };
                twice(product(output?), product(input(at)?.get(1..)?))
            }
            "GroupConvolution" => twice(product(output?), product(input(1)?.get(2..)?)),
            // Filters are [inputs, outputs, taps…]: each input goes to so many outputs.
            "ConvolutionBackpropData" => twice(product(input(0)?), product(input(1)?.get(1..)?)),
            "GroupConvolutionBackpropData" => {
                twice(product(input(0)?), product(input(1)?.get(2..)?))
            }
            "ScaledDotProductAttention" => {
                let (query, key, value) = (input(0)?, input(1)?, input(2)?);
                let (width, rows) = query.split_last()?;
                let keys = *key.get(key.len().checked_sub(2)?)? as u64;
                let scores = product(rows).saturating_mul(keys);
                twice(scores, *width as u64).saturating_add(twice(scores, *value.last()? as u64))
            }
            // Weights of the input and of the state, all gates together.
            "LSTMCell" | "GRUCell" | "RNNCell" | "AUGRUCell" => {
                let first = if type_name == "LSTMCell" { 3 } else { 2 };
                let weights = product(input(first)?).saturating_add(product(input(first + 1)?));
                twice(*input(0)?.first()? as u64, weights)
            }
            "LSTMSequence" | "GRUSequence" | "RNNSequence" | "AUGRUSequence" => {
                let first = if type_name == "LSTMSequence" { 4 } else { 3 };
                let weights = product(input(first)?).saturating_add(product(input(first + 1)?));
                twice(product(input(0)?.get(..2)?), weights)
            }
            "MaxPool" | "AvgPool" => {
                let taps = attribute(node, "kernel")?;
                let mut taps = taps.split(',').map(|size| size.trim().parse().ok());
                let taps = taps.try_fold(1u64, |all, size: Option<u64>| {
                    Some(all.saturating_mul(size?))
                });
                product(output?).saturating_mul(taps?)
            }
            // Largest, difference, exponential, sum, quotient.
            "Softmax" | "SoftMax" | "LogSoftmax" => product(output?).saturating_mul(5),
            // Mean, difference, square, sum, quotient.
            "MVN" | "NormalizeL2" | "LayerNormalization" | "GroupNormalization" => {
                product(input(0)?).saturating_mul(5)
            }
            "BatchNormInference" => product(output?).saturating_mul(2),
            "FakeQuantize" => product(output?).saturating_mul(5),
            other => match self.categories.get(other) {
                Some(&"reduction") => product(input(0)?),
                Some(category) if ELEMENTWISE.contains(category) => product(output?),
                Some(category) if MOVING.contains(category) => 0,
                _ => return None,
            },
        };
        Some(count)
    }
}

/// Operations that choose elements of their first input.
const PICKING: &[&str] = &[
    "Gather",
    "GatherElements",
    "GatherND",
    "Slice",
    "StridedSlice",
];

/// Whether a layer reads no more elements of its first input than its output has.
pub fn picks(node: &Node) -> bool {
    PICKING.contains(&type_name(node))
}

fn type_name(node: &Node) -> &str {
    match node.operation() {
        crate::graph::Operation::Known { def, .. } => def.name,
        _ => node.type_name(),
    }
}

fn product(sizes: &[usize]) -> u64 {
    let sizes = sizes.iter().map(|&size| size as u64);
    sizes.fold(1, u64::saturating_mul)
}

fn twice(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).saturating_mul(2)
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    let all = node.attributes().into_iter();
    all.into_iter()
        .find(|(own, _)| own == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;
    use crate::tensor::ElementType;

    #[test]
    fn counts_follow_from_definitions() {
        let costs = Costs::default();
        let window = [
            ("strides", "1,1"),
            ("dilations", "1,1"),
            ("pads_begin", "0,0"),
            ("pads_end", "0,0"),
        ];
        let pool = [
            ("strides", "1,1"),
            ("pads_begin", "0,0"),
            ("pads_end", "0,0"),
            ("kernel", "2,3"),
            ("exclude-pad", "false"),
        ];
        type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [&'c str], u64);
        let cases: &[Case<'_>] = &[
            ("MatMul", &[], &["2,3,4", "4,5"], 2 * 2 * 3 * 5 * 4),
            (
                "MatMul",
                &[("transpose_a", "true")],
                &["4,3", "4,5"],
                2 * 3 * 5 * 4,
            ),
            ("MatMul", &[], &["4", "4"], 2 * 4),
            // 8 filters of 3 channels and 3x3 taps, an image of 6x6.
            (
                "Convolution",
                &window,
                &["1,3,8,8", "8,3,3,3"],
                2 * 8 * 36 * 27,
            ),
            (
                "GroupConvolution",
                &window,
                &["1,4,8,8", "4,1,1,3,3"],
                2 * 4 * 36 * 9,
            ),
            (
                "ConvolutionBackpropData",
                &window,
                &["1,3,8,8", "3,8,3,3"],
                2 * 3 * 64 * 8 * 9,
            ),
            ("AvgPool", &pool, &["1,4,8,8"], 4 * 7 * 6 * 6),
            ("ReLU", &[], &["7,9"], 63),
            ("Add", &[], &["7,1", "1,9"], 63),
            ("SoftMax", &[("axis", "1")], &["2,10"], 100),
            ("ShapeOf", &[], &["7,9"], 0),
        ];
        for &(ty, attributes, inputs, expected) in cases {
            let mut graph = Builder::new();
            let inputs: Vec<_> = inputs
                .iter()
                .enumerate()
                .map(|(index, shape)| {
                    let shape = shape.parse().expect("a shape");
                    graph.parameter(&format!("x{index}"), ElementType::F32, shape)
                })
                .collect();
            let layer = graph.add("layer", ty, "opset1", attributes, &inputs);
            graph.result("y", layer.unwrap_or_else(|e| panic!("{ty}: {e}")));
            let model = graph.build(ty).unwrap_or_else(|e| panic!("{ty}: {e}"));
            let id = model.graph().find("layer").expect("the layer");
            let node = model.graph().node(id);
            let shape = |output: &crate::op::Output| output.shape.to_shape().expect("exact");
            let inputs: Vec<_> = node
                .inputs()
                .iter()
                .map(|p| shape(&model.inferred(p.node)[0]))
                .collect();
            let inputs: Vec<&[usize]> = inputs.iter().map(|s| &s[..]).collect();
            let output = shape(&model.inferred(id)[0]);
            assert_eq!(
                costs.flops(node, &inputs, &[&output]),
                Some(expected),
                "{ty}"
            );
        }
    }
}
