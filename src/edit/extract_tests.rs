//! Parts give what the whole gives.

use std::path::Path;

use crate::graph::{Builder, Port};
use crate::tensor::{ElementType, PartialShape, Tensor};
use crate::{Control, Kind, Model, Observer};

fn shape(text: &str) -> PartialShape {
    text.parse().expect("a shape")
}

/// `y = relu(x * w) + x`, `z = relu(x * w) . v`, and what takes part in neither.
fn diamond() -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape("?,3"));
    let w = graph.constant("w", Tensor::vector(&[1f32, -2., 3.]));
    let v = graph.constant("v", Tensor::vector(&[7f32, 8., 9.]));
    let mut add = |name: &str, ty: &str, inputs: &[Port]| {
        graph.add(name, ty, "opset1", &[], inputs).expect("a layer")
    };
    let product = add("product", "Multiply", &[x, w]);
    let relu = add("relu", "Relu", &[product]);
    let y = add("sum", "Add", &[relu, x]);
    let z = add("last", "Multiply", &[relu, v]);
    graph.result("y", y);
    graph.result("z", z);
    graph.build("diamond").expect("a model")
}

fn port(model: &Model, name: &str) -> Port {
    let node = model.graph().find(name).expect("a layer");
    Port { node, index: 0 }
}

fn names(model: &Model) -> Vec<&str> {
    model.graph().nodes().map(|(_, node)| node.name()).collect()
}

#[test]
fn a_part_has_inputs_where_it_was_cut() {
    let model = diamond();
    let part = model.extract(&[port(&model, "relu")], &[]).expect("a part");
    let inputs: Vec<_> = part.inputs().iter().map(|input| input.name()).collect();
    assert_eq!(inputs, ["x", "relu"]);
    let outputs: Vec<_> = part.outputs().iter().map(|output| output.name()).collect();
    assert_eq!(outputs, ["y", "z"]);
    assert_eq!(
        part.input_type(1),
        model.inferred(port(&model, "relu").node).first()
    );
    let x = Tensor::new([1, 3], &[1f32, 1., 1.]).expect("three");
    let relu = Tensor::new([1, 3], &[1f32, 0., 3.]).expect("three");
    let found = part
        .evaluate([("x", x.clone()), ("relu", relu)])
        .expect("evaluates");
    let expected = model.evaluate([("x", x)]).expect("evaluates");
    for name in ["y", "z"] {
        assert_eq!(found[name], expected[name]);
    }
}

#[test]
fn only_what_is_needed_comes_along() {
    let model = diamond();
    let part = model.extract(&[], &[port(&model, "sum")]).expect("a part");
    assert_eq!(
        names(&part),
        ["w", "x", "product", "relu", "sum", "sum/result"]
    );
    let (document, weights) = part.to_ir().expect("written");
    assert_eq!(weights.len(), 12);
    let read = Model::from_bytes("part.xml", document, weights).expect("a model");
    let x = Tensor::new([2, 3], &[1f32, 1., 1., 2., -2., 2.]).expect("six");
    let found = read.evaluate([("x", x.clone())]).expect("evaluates");
    let expected = model.evaluate([("x", x)]).expect("evaluates");
    assert_eq!(found["sum"], expected["y"]);
    // One layer alone.
    let ends = [port(&model, "product"), port(&model, "relu")];
    let part = model.extract(&ends[..1], &ends[1..]).expect("a part");
    assert_eq!(names(&part), ["product", "relu", "relu/result"]);
    assert!(part.to_ir().expect("written").1.is_empty());
    // No layer at all.
    let part = model.extract(&ends[..1], &ends[..1]).expect("a part");
    assert_eq!(names(&part), ["product", "product/result"]);
}

#[test]
fn what_cannot_be_cut_is_an_error() {
    let model = diamond();
    let cases = [
        (
            port(&model, "last"),
            port(&model, "sum"),
            "no way leads from \"last\"",
        ),
        (
            Port {
                index: 1,
                ..port(&model, "relu")
            },
            port(&model, "sum"),
            "no output 1",
        ),
    ];
    for (from, to, message) in cases {
        let error = model.extract(&[from], &[to]).expect_err(message);
        assert_eq!(error.kind(), Kind::Input);
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// The outputs of the layers of the model's own graph.
#[derive(Default)]
struct All {
    depth: usize,
    tensors: Vec<(u64, Vec<Tensor>)>,
}

impl Observer for All {
    fn enter(&mut self, _: &crate::graph::Node, _: &crate::graph::Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &crate::graph::Node, _: &crate::graph::Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, node: &crate::graph::Node, outputs: &[Tensor]) -> Control {
        if self.depth == 0 {
            self.tensors.push((node.id(), outputs.to_vec()));
        }
        Control::Continue
    }
}

/// Every layer of a sample, alone, gives what it gives in the model.
#[cfg(feature = "cli")]
fn layer_by_layer(sample: &str) {
    use crate::io::{Wanted, json};
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("ir-samples/ops");
    let path = samples.join(sample);
    let model = Model::read(path.with_extension("xml")).expect("a model");
    let limits = crate::Limits::default();
    let values = json::read(&path.with_extension("inputs.json"), &limits).expect("inputs");
    let inputs = values.into_iter().map(|(name, value)| {
        let index = model.find_input(&name).expect("an input");
        let wanted = Wanted::by(&model, index);
        (index, value.load(&wanted, &limits).expect("a tensor"))
    });
    let mut all = All::default();
    let observers: &mut [&mut dyn Observer] = &mut [&mut all];
    model
        .evaluate_with(inputs, &limits, observers)
        .expect("evaluates");
    let value = |port: Port| -> Tensor {
        let id = model.graph().node(port.node).id();
        let found = all.tensors.iter().find(|(found, _)| *found == id);
        found.expect("a value").1[port.index as usize].clone()
    };
    let varying = super::varying(model.graph());
    for (id, node) in model.graph().nodes() {
        if node.inputs().is_empty() {
            continue;
        }
        let from = model.varying_inputs(&varying, id);
        let outputs = model.inferred(id).len();
        let to: Vec<Port> = (0..outputs).map(|index| Port::new(id, index)).collect();
        let cut = model.cut_between(&from, &to).expect("a part");
        let (document, weights) = cut.model.to_ir().expect("written");
        let read = Model::from_bytes("part.xml", document, weights).expect("a part");
        let given: Vec<Tensor> = cut.inputs.iter().map(|&port| value(port)).collect();
        let found = read
            .evaluate(given.into_iter().enumerate())
            .expect("evaluates");
        for (port, tensor) in to.into_iter().zip(found.into_tensors()) {
            assert_eq!(tensor, value(port), "{node}");
        }
    }
}

#[cfg(feature = "cli")]
#[test]
fn layers_are_parts_with_their_bodies_and_variables() {
    for sample in [
        "movement/gather-8/example-7",
        "movement/split-1/example-1",
        "condition/if-8/example-1",
        "infrastructure/loop-5/example-1",
        "infrastructure/tensor-iterator-1/example-1",
        "infrastructure/tensor-iterator-1/example-2",
        "infrastructure/assign-3/example-1",
        "infrastructure/assign-6/example-1",
    ] {
        layer_by_layer(sample);
    }
}

/// A variable stays one where all that is written to it is made in the part.
#[cfg(feature = "cli")]
#[test]
fn variables_stay_or_become_inputs() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("ir-samples/ops");
    let model = Model::read(samples.join("infrastructure/assign-6/example-1.xml"));
    let model = model.expect("a model");
    let whole = model.extract(&[], &[]).expect("all of it");
    assert_eq!(whole.graph().nodes().len(), model.graph().nodes().len());
    let (read, _) = model
        .graph()
        .nodes()
        .find(|(_, node)| node.type_name() == "ReadValue")
        .expect("it reads a variable");
    let port = Port {
        node: read,
        index: 0,
    };
    let part = model.extract(&[port], &[]).expect("a part");
    let variables = part.graph().nodes().filter(|(_, node)| {
        let role = node.role();
        role == crate::op::Role::ReadValue || role == crate::op::Role::Assign
    });
    assert_eq!(variables.count(), 0);
    assert_eq!(part.inputs().len(), model.inputs().len() + 1);
}
