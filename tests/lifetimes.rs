//! What an evaluation keeps in memory: counted from shapes, and measured.

use ovir::graph::Builder;
use ovir::lifetimes::{Lifetimes, Memory};
use ovir::tensor::{ElementType, Tensor};
use ovir::{Limits, Model, Observer};

use crate::support::project;

fn measured(model: &Model, inputs: Vec<(&str, Tensor)>) -> Memory {
    let mut lifetimes = Lifetimes::new(model);
    let observers: &mut [&mut dyn Observer] = &mut [&mut lifetimes];
    let mut request = model.infer_request();
    let outputs = request.infer_with(inputs, &Limits::default(), observers);
    outputs.expect("outputs");
    lifetimes.finish()
}

/// Names and bytes of what is alive at the peak.
fn alive(model: &Model, memory: &Memory) -> Vec<(String, u64)> {
    let all = memory.alive.iter();
    let named = all.map(|t| {
        (
            model.graphs()[t.graph].node(t.node).name().to_owned(),
            t.bytes,
        )
    });
    named.collect()
}

/// x → a → b → flat → sum, and a → sum; 256 elements of four bytes each.
fn chain() -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,128".parse().expect("a shape"));
    let shape = graph.constant("shape", Tensor::vector(&[256i64]));
    let mut add = |name: &str, ty: &str, attributes: &[(&str, &str)], inputs: &[_]| {
        graph
            .add(name, ty, "opset1", attributes, inputs)
            .expect("a layer")
    };
    let a = add("a", "Relu", &[], &[x]);
    let b = add("b", "Exp", &[], &[a]);
    let flat = add("flat", "Reshape", &[("special_zero", "false")], &[b, shape]);
    let back = add("back", "Reshape", &[("special_zero", "false")], &[a, shape]);
    let sum = add("sum", "Add", &[], &[flat, back]);
    graph.result("y", sum);
    graph.build("chain").expect("a model")
}

#[test]
fn what_is_counted_is_what_is_measured() {
    let model = chain();
    let counted = Lifetimes::of_shapes(&model).expect("all shapes are exact");
    let x = Tensor::new([2, 128], &[1f32; 256]).expect("256 elements");
    let measured = measured(&model, vec![("x", x)]);
    assert_eq!(counted, measured);
    // Reshape makes nothing new: a, b and the sum are alive together.
    assert_eq!(counted.peak_bytes(), 3 * 1024);
    let peak = counted.steps[counted.peak].node;
    assert_eq!(model.graph().node(peak).name(), "sum");
    let mut names = alive(&model, &counted);
    names.sort();
    assert_eq!(
        names,
        [("a", 1024), ("b", 1024), ("sum", 1024)].map(|(n, b)| (n.to_owned(), b))
    );
    let steps: Vec<u64> = counted.steps.iter().map(|step| step.bytes).collect();
    assert_eq!(
        *steps.last().expect("steps"),
        steps[0] + 1024,
        "the output stays alone"
    );
}

#[test]
fn a_whole_model_is_counted_as_it_is_measured() {
    let model = Model::read(project("docs/guide/models/classifier.xml")).expect("a model");
    let counted = Lifetimes::of_shapes(&model).expect("all shapes are exact");
    let image = ovir::io::npy::read(&project("docs/guide/models/image.npy"), &Limits::default());
    let measured = measured(&model, vec![("image", image.expect("an image"))]);
    assert_eq!(counted, measured);
    // The first convolution's 8 channels of 32 by 32, before and after the bias or Relu.
    assert_eq!(counted.peak_bytes(), 2 * 8 * 32 * 32 * 4);
}

#[test]
fn bodies_count_for_the_layer_that_holds_them() {
    let sample = project("ir-samples/ops/infrastructure/loop-5/example-1.xml");
    let model = Model::read(sample).expect("a model");
    let inputs: Vec<Tensor> = (0..model.inputs().len())
        .map(|index| {
            let ty = model.input_type(index).expect("a type");
            let shape = ty.shape.to_shape().expect("an exact shape");
            Tensor::zeros(ty.element_type, shape).expect("zeros")
        })
        .collect();
    let names: Vec<String> = model.inputs().iter().map(|t| t.name().to_owned()).collect();
    let inputs = names.iter().map(String::as_str).zip(inputs).collect();
    let memory = measured(&model, inputs);
    assert_eq!(memory.steps.len(), model.graph().nodes().len());
    let most = memory.steps.iter().map(|step| step.bytes).max();
    assert_eq!(most, Some(memory.peak_bytes()));
    let bytes: u64 = memory.alive.iter().map(|t| t.bytes).sum();
    assert_eq!(bytes, memory.peak_bytes());
}
