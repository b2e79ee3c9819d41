//! What old files mean: conversions around version 10's inputs and outputs (section 1.6 of the
//! format), and the legacy mean subtraction (section 1.7).

use super::document::{Document, Mean};
use super::problem::Problems;
use super::weights::BinFile;
use crate::error::Kind;
use crate::graph::infer::Facts;
use crate::graph::{Graph, Node, NodeId, Operation, Port};
use crate::op::attrs::Attr;
use crate::op::{LayerData, OpError, Weights};
use crate::ops;
use crate::ops::infrastructure::{Const, Parameter};
use crate::tensor::{ElementType, Shape, Tensor};

/// A layer that no file names.
fn inserted(name: &str, type_name: &str, attributes: &[Attr<'_>], inputs: &[Port]) -> Node {
    let resolved = ops::resolve(type_name, "opset1").expect("opset1 has the operation");
    let layer = LayerData {
        attributes,
        weights: &BinFile::in_memory(Vec::new()),
    };
    let (op, _) = resolved.def.read(&layer).expect("the attributes are ours");
    Node::made(name, "opset1", &resolved, op, inputs)
}

fn convert(name: &str, to: ElementType, from: Port) -> Node {
    let attributes = [Attr::new("destination_type", to.name())];
    inserted(name, "Convert", &attributes, &[from])
}

/// Version 10: an f16 input of the model becomes f32, with a Convert behind it.
pub(super) fn widen_inputs(graph: &mut Graph) {
    let inputs: Vec<NodeId> = graph.inputs.iter().map(|t| t.node).collect();
    let mut changed = false;
    for id in inputs {
        let this = &mut graph.nodes[id.index()];
        let Some(parameter) = as_parameter(&this.operation) else {
            continue;
        };
        if parameter.element_type != ElementType::F16 {
            continue;
        }
        let shape = parameter.shape.clone();
        Parameter::set(&mut this.operation, ElementType::F32, shape);
        if let Some((ty, _)) = this.outputs.first_mut().and_then(|p| p.declared.as_mut()) {
            *ty = ElementType::F32;
        }
        let name = this.name.clone();
        let from = Port::new(id, 0);
        let inserted = graph.push(convert(&name, ElementType::F16, from));
        graph.redirect(from, Port::new(inserted, 0), inserted);
        changed = true;
    }
    if changed {
        graph.sort();
    }
}

fn as_parameter(operation: &Operation) -> Option<&Parameter> {
    let Operation::Known { op, .. } = operation else {
        return None;
    };
    let any: &dyn std::any::Any = &**op;
    any.downcast_ref()
}

/// Version 10: outputs of the model are f32 or i32. Says whether anything changed.
pub(super) fn narrow_outputs(graph: &mut Graph, facts: &Facts) -> bool {
    let outputs: Vec<NodeId> = graph.outputs.iter().map(|t| t.node).collect();
    let mut changed = false;
    for result in outputs {
        let Some(&from) = graph.node(result).inputs.first() else {
            continue;
        };
        let fact = facts.of(0, from.node);
        let output = fact.and_then(|fact| fact.outputs.get(from.index as usize));
        let to = match output.map(|o| o.element_type) {
            None
            | Some(
                ElementType::F32 | ElementType::I32 | ElementType::String | ElementType::Dynamic,
            ) => continue,
            Some(ElementType::I64 | ElementType::U64 | ElementType::U32) => ElementType::I32,
            Some(_) => ElementType::F32,
        };
        let name = graph.node(from.node).name.clone();
        let inserted = graph.push(convert(&name, to, from));
        graph.nodes[result.index()].inputs[0] = Port::new(inserted, 0);
        changed = true;
    }
    if changed {
        graph.sort();
    }
    changed
}

/// Inserts the legacy mean subtraction behind an input.
pub(super) fn pre_process(
    graph: &mut Graph,
    document: &Document<'_>,
    weights: &BinFile,
    problems: &mut Problems<'_>,
) {
    let Some(pre) = &document.pre_process else {
        return;
    };
    if pre.means.is_empty() {
        return;
    }
    let wanted = pre
        .reference_layer_name
        .as_deref()
        .filter(|n| !n.is_empty());
    let id = match wanted {
        Some(name) => graph
            .inputs
            .iter()
            .map(|t| t.node)
            .find(|&n| graph.node(n).name == name),
        None => reference_input(graph),
    };
    let Some(id) = id else {
        let message = match wanted {
            Some(name) => format!("there is no input `{name}` to subtract means from"),
            None => "there is no input to subtract means from".to_owned(),
        };
        problems.error(Kind::Structure, pre.offset, message);
        return;
    };
    let this = graph.node(id);
    let Some(parameter) = as_parameter(&this.operation) else {
        return;
    };
    let mean = mean_tensor(parameter, &pre.means, weights);
    let mean = match mean {
        Ok(mean) => mean,
        Err(error) => {
            problems.error(Kind::Structure, pre.offset, error.message);
            return;
        }
    };
    let name = this.name.clone();
    let resolved = ops::resolve("Const", "opset1").expect("opset1 has Const");
    let constant = Box::new(Const::new(mean));
    let constant = Node::made(&format!("{name}/mean"), "opset1", &resolved, constant, &[]);
    let constant = graph.push(constant);
    let from = Port::new(id, 0);
    let inputs = [from, Port::new(constant, 0)];
    let subtract = inserted(&format!("{name}/subtract_mean"), "Subtract", &[], &inputs);
    let subtract = graph.push(subtract);
    graph.redirect(from, Port::new(subtract, 0), subtract);
    graph.sort();
}

/// Without a name: the first input of rank 4, else the first.
fn reference_input(graph: &Graph) -> Option<NodeId> {
    let rank = |id: NodeId| as_parameter(&graph.node(id).operation).and_then(|p| p.shape.rank());
    let mut inputs = graph.inputs.iter().map(|t| t.node);
    let first = inputs.clone().next();
    inputs.find(|&id| rank(id) == Some(4)).or(first)
}

fn mean_tensor(
    parameter: &Parameter,
    means: &[Mean],
    weights: &BinFile,
) -> Result<Tensor, OpError> {
    let Some(shape) = parameter.shape.to_shape() else {
        return Err(OpError::new(format!(
            "means are subtracted from inputs of known shape, found {}",
            parameter.shape
        )));
    };
    // Channels are axis 1 behind a batch, axis 0 without one (rank 3).
    let axis = usize::from(shape.rank() != 3);
    let Some(&channels) = shape.get(axis) else {
        return Err(OpError::new(format!(
            "an input of shape {shape} has no channels"
        )));
    };
    if means.len() != channels {
        let message = format!(
            "expected {channels} means, one a channel, got {}",
            means.len()
        );
        return Err(OpError::new(message));
    }
    let spatial = &shape[axis + 1..];
    let mut values = Vec::new();
    let mut images = false;
    for mean in means {
        match *mean {
            Mean::Value(value) => values.push(value),
            Mean::Image { offset, size } => {
                let bytes = weights.slice(offset, size)?;
                let image = Tensor::from_bytes(ElementType::F32, spatial, bytes)?;
                values.extend_from_slice(image.as_slice()?);
                images = true;
            }
        }
    }
    let mut dims = vec![channels];
    dims.extend(spatial.iter().map(|&d| if images { d } else { 1 }));
    let tensor = Tensor::new(Shape::from(dims), &values)?;
    crate::tensor::convert::convert(&tensor, parameter.element_type).map_err(OpError::from)
}
