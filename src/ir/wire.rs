//! Edges: from layer ids and port ids to positions.

use std::collections::HashMap;

use super::document::{Edge, Layer, Net, Port};
use super::problem::Problems;
use crate::error::{Kind, LayerRef};

/// Where an input comes from: position of the layer, and of its output.
pub(super) type Source = (usize, usize);

/// The inputs of every layer of a net, by position.
pub(super) struct Wires {
    /// For each layer, for each declared input port, where it comes from.
    pub(super) inputs: Vec<Vec<Option<Source>>>,
}

/// Resolves the edges of a net.
pub(super) fn wire(
    net: &Net<'_>,
    path: &dyn Fn(usize) -> Vec<LayerRef>,
    problems: &mut Problems<'_>,
) -> Wires {
    let mut by_id: HashMap<u64, usize> = HashMap::with_capacity(net.layers.len());
    for (index, layer) in net.layers.iter().enumerate() {
        if layer.id != u64::MAX && by_id.insert(layer.id, index).is_some() {
            let message = format!("the layer id {} stands twice", layer.id);
            problems.error_in(Kind::Structure, layer.offset, path(index), message);
        }
    }
    let inputs = net.layers.iter().map(|l| vec![None; l.inputs.len()]);
    let mut wires = Wires {
        inputs: inputs.collect(),
    };
    for edge in &net.edges {
        if let Err((layer, message)) = connect(net, &by_id, edge, &mut wires) {
            let layers = layer.map(path).unwrap_or_default();
            problems.error_in(Kind::Structure, edge.offset, layers, message);
        }
    }
    wires
}

fn connect(
    net: &Net<'_>,
    by_id: &HashMap<u64, usize>,
    edge: &Edge,
    wires: &mut Wires,
) -> Result<(), (Option<usize>, String)> {
    let layer = |id: u64, end: &str| {
        let found = by_id.get(&id).copied();
        found.ok_or_else(|| {
            (
                None,
                format!("the edge {end} layer {id}, which does not exist"),
            )
        })
    };
    let from = layer(edge.from_layer, "starts at")?;
    let to = layer(edge.to_layer, "ends at")?;
    let port = |ports: &[Port<'_>], id: u64, at: usize, kind: &str| {
        let found = ports.iter().position(|p| p.id == id);
        found.ok_or_else(|| {
            let ids: Vec<_> = ports.iter().map(|p| p.id.to_string()).collect();
            let have = if ids.is_empty() {
                "has none".to_owned()
            } else {
                format!("has {}", ids.join(", "))
            };
            (
                Some(at),
                format!("the layer {have} as {kind} port, the edge names {id}"),
            )
        })
    };
    let source = &net.layers[from];
    // A Result may be declared without an output and still be taken further.
    let output = port(&source.outputs, edge.from_port, from, "output")?;
    let target = &net.layers[to];
    let input = port(&target.inputs, edge.to_port, to, "input")?;
    if target.type_name == "Parameter" {
        return Err((
            Some(to),
            "an edge ends at a Parameter, which has no inputs".to_owned(),
        ));
    }
    match &mut wires.inputs[to][input] {
        Some(_) => Err((
            Some(to),
            format!("two edges end at input {input} (port {})", edge.to_port),
        )),
        slot => {
            *slot = Some((from, output));
            Ok(())
        }
    }
}

/// The connected inputs of a layer: the first k declared ports.
pub(super) fn connected(
    layer: &Layer<'_>,
    slots: &[Option<Source>],
) -> Result<Vec<Source>, String> {
    let count = slots
        .iter()
        .rposition(Option::is_some)
        .map_or(0, |last| last + 1);
    let mut sources = Vec::with_capacity(count);
    for (index, slot) in slots[..count].iter().enumerate() {
        match slot {
            Some(source) => sources.push(*source),
            None => {
                let port = layer.inputs[index].id;
                return Err(format!("input {index} (port {port}) is not connected"));
            }
        }
    }
    Ok(sources)
}
