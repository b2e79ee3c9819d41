//! A recipe as a document and its weights, the way that graphs with bodies go.

use std::fmt::Write;

use ovir::tensor::{PartialShape, Tensor};

use super::recipe::{Layer, Recipe, Step, Value};

/// Constants begin at multiples of this.
const ALIGNMENT: usize = 64;

/// The document of a model, and what its constants are.
pub(super) fn document(recipe: &Recipe, exact: bool) -> (String, Vec<u8>) {
    let mut weights = Vec::new();
    let net = net(recipe, exact, &mut weights);
    (
        format!("<net name='random' version='11'>{net}</net>"),
        weights,
    )
}

/// The layers and edges of a graph. Ids are the numbers of steps, then those of results.
fn net(recipe: &Recipe, exact: bool, weights: &mut Vec<u8>) -> String {
    let (mut layers, mut edges) = (String::new(), String::new());
    let mut edge = |from: &Value, to: usize, port: usize| {
        let first = inputs(&recipe.steps[from.step]);
        let output = first + from.output;
        let _ = write!(
            edges,
            "<edge from-layer='{}' from-port='{output}' to-layer='{to}' to-port='{port}'/>",
            from.step
        );
    };
    for (id, step) in recipe.steps.iter().enumerate() {
        let (kind, opset, data, outputs) = match step {
            Step::Parameter(shape, tensor) => {
                let shape = match exact {
                    true => tensor.shape().into(),
                    false => shape.clone(),
                };
                let data = format!("{} shape='{}'", element_type(tensor), text(&shape));
                ("Parameter", "opset1", data, 1)
            }
            Step::Constant(tensor) => ("Const", "opset1", constant(tensor, weights), 1),
            Step::Layer(layer) => (layer.kind, layer.opset, attributes(layer), layer.outputs),
        };
        let _ = write!(
            layers,
            "<layer id='{id}' name='s{id}' type='{kind}' version='{opset}'><data {data}/>"
        );
        if let Step::Layer(layer) = step {
            let ports: String = (0..layer.inputs.len()).map(port).collect();
            let _ = write!(layers, "<input>{ports}</input>");
            for (port, input) in layer.inputs.iter().enumerate() {
                edge(input, id, port);
            }
        }
        let first = inputs(step);
        // What a port is said to be does not matter, but it has to be said.
        let port = |id| format!("<port id='{id}' precision='FP32'/>");
        let ports: String = (first..first + outputs).map(port).collect();
        let _ = write!(layers, "<output>{ports}</output>");
        for body in bodies(step) {
            let (tag, ports, back) = (body.tag, &body.ports, &body.back);
            let map = tag.replace("body", "port_map");
            let inner = net(&body.recipe, exact, weights);
            let _ = write!(
                layers,
                "<{map}>{ports}</{map}><back_edges>{back}</back_edges><{tag}>{inner}</{tag}>"
            );
        }
        layers += "</layer>";
    }
    for (index, value) in recipe.results.iter().enumerate() {
        let id = recipe.steps.len() + index;
        let _ = write!(
            layers,
            "<layer id='{id}' name='r{index}' type='Result' version='opset1'><input>{}</input></layer>",
            port(0)
        );
        edge(value, id, 0);
    }
    format!("<layers>{layers}</layers><edges>{edges}</edges>")
}

fn inputs(step: &Step) -> usize {
    match step {
        Step::Layer(layer) => layer.inputs.len(),
        _ => 0,
    }
}

fn bodies(step: &Step) -> &[super::recipe::Body] {
    match step {
        Step::Layer(layer) => &layer.bodies,
        _ => &[],
    }
}

fn port(id: usize) -> String {
    format!("<port id='{id}'/>")
}

fn attributes(layer: &Layer) -> String {
    let all = layer.attributes.iter();
    all.map(|(name, value)| format!("{name}='{value}' "))
        .collect()
}

fn element_type(tensor: &Tensor) -> String {
    format!("element_type='{}'", tensor.element_type())
}

fn text(shape: &PartialShape) -> String {
    shape.to_string().trim_matches(['[', ']']).to_owned()
}

fn constant(tensor: &Tensor, weights: &mut Vec<u8>) -> String {
    let offset = weights.len().next_multiple_of(ALIGNMENT);
    weights.resize(offset, 0);
    weights.extend(tensor.bytes());
    let (ty, shape, size) = (
        element_type(tensor),
        text(&tensor.shape().into()),
        tensor.bytes().len(),
    );
    format!("{ty} shape='{shape}' offset='{offset}' size='{size}'")
}
