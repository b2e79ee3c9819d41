//! What calls and layers cost, and what joining layers saves.

use divan::Bencher;
use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, Tensor};

use crate::operation::{Case, Compiled, Evaluator, Way, random};

/// The smallest model: what a call costs.
#[divan::bench(types = [Evaluator, Compiled])]
fn one_small_operation<W: Way>(bencher: Bencher<'_, '_>) {
    let x = random(ElementType::F32, &[4], None);
    Case::operation(["Add", "opset1"], &[], &[x.clone(), x], &[]).bench::<W>(bencher);
}

/// Layers that cannot be joined, of next to no work: what a layer costs.
#[divan::bench(types = [Evaluator, Compiled])]
fn small_layers<W: Way>(bencher: Bencher<'_, '_>) {
    let x = random(ElementType::F32, &[4, 4], None);
    let case = Case::new(&[x], |graph, inputs| {
        let order = graph.constant("order", Tensor::vector(&[3i64, 1, 2, 0]));
        let axes =
            [0i64, 1].map(|axis| graph.constant(&format!("axis {axis}"), Tensor::scalar(axis)));
        (0..64).fold(inputs[0], |y, index| {
            let inputs = [y, order, axes[index % 2]];
            add(
                graph,
                &format!("gather {index}"),
                ["Gather", "opset8"],
                &inputs,
            )
        })
    });
    case.bench::<W>(bencher);
}

/// Elementwise operations after each other: (x · a + b) · sigmoid(x · a + b), then a sum.
#[divan::bench(types = [Evaluator, Compiled], args = [1 << 12, 1 << 16, 1 << 22])]
fn chain<W: Way>(bencher: Bencher<'_, '_>, size: usize) {
    let x = random(ElementType::F32, &[size], None);
    let case = Case::new(&[x.clone(), x], |graph, inputs| {
        let [a, b] = [("a", 1.5f32), ("b", 0.25)]
            .map(|(name, value)| graph.constant(name, Tensor::scalar(value)));
        let scaled = add(graph, "scaled", ["Multiply", "opset1"], &[inputs[0], a]);
        let shifted = add(graph, "shifted", ["Add", "opset1"], &[scaled, b]);
        let gate = add(graph, "gate", ["Sigmoid", "opset1"], &[shifted]);
        let gated = add(graph, "gated", ["Multiply", "opset1"], &[shifted, gate]);
        add(graph, "y", ["Add", "opset1"], &[gated, inputs[1]])
    });
    case.bench::<W>(bencher);
}

/// What a fully connected layer is made of: a product, a bias, an activation.
#[divan::bench(types = [Evaluator, Compiled])]
fn dense_layer<W: Way>(bencher: Bencher<'_, '_>) {
    let x = random(ElementType::F32, &[128, 768], None);
    let case = Case::new(&[x], |graph, inputs| {
        let weights = random(ElementType::F32, &[768, 3072], None);
        let weights = graph.constant("weights", weights);
        let bias = graph.constant("bias", random(ElementType::F32, &[3072], None));
        let product = add(
            graph,
            "product",
            ["MatMul", "opset1"],
            &[inputs[0], weights],
        );
        let sum = add(graph, "sum", ["Add", "opset1"], &[product, bias]);
        add(graph, "y", ["Gelu", "opset7"], &[sum])
    });
    case.computes(2 * 128 * 768 * 3072).bench::<W>(bencher);
}

fn add(graph: &mut Builder, name: &str, [type_name, version]: [&str; 2], inputs: &[Port]) -> Port {
    let output = graph.add(name, type_name, version, &[], inputs);
    output.expect("an operation")
}
