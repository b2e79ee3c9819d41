//! What a page knows of every layer, as JSON.

use serde_json::{Value, json};

use super::label::small_value;
use super::panel::{Panel, Shows, What};
use super::scene::Scene;
use super::text::visible;
use super::{Drawing, Measured};
use crate::graph::{BodyKind, Node, NodeId};

/// Constants of no more elements are told by value.
const MOST_ELEMENTS: usize = 32;

/// All that the script of a page reads.
pub(super) fn data(drawing: &Drawing<'_>) -> Value {
    let facts = &drawing.options.facts;
    json!({
        "model": visible(drawing.model.name()),
        "format": drawing.model.format().to_string(),
        "measured": facts.iter().map(|m| m.what.title()).collect::<Vec<_>>(),
        "scenes": drawing.scenes.iter().map(|s| scene(drawing, s)).collect::<Vec<_>>(),
        "panels": drawing.panels.iter().map(panel).collect::<Vec<_>>(),
    })
}

fn scene(drawing: &Drawing<'_>, scene: &Scene) -> Value {
    let graph = &drawing.model.graphs()[scene.graph];
    let index = |id: &NodeId| id.index();
    let units = scene.units.units.iter().map(|unit| {
        let nodes: Vec<usize> = unit.nodes.iter().map(index).collect();
        let hidden: Vec<usize> = unit.hidden.iter().map(index).collect();
        json!([nodes, hidden])
    });
    let layers = graph
        .nodes()
        .map(|(id, node)| layer(drawing, scene.graph, id, node));
    json!({
        "root": drawing.roots.get(&scene.graph),
        "row": scene.sequence,
        "units": units.collect::<Vec<_>>(),
        "layers": layers.collect::<Vec<_>>(),
    })
}

/// A layer. Fields that are empty are left out.
fn layer(drawing: &Drawing<'_>, graph: usize, id: NodeId, node: &Node) -> Value {
    let mut value = json!({
        "name": visible(node.name()),
        "type": visible(node.type_name()),
    });
    if node.id() != u64::MAX {
        value["id"] = node.id().into();
    }
    if !node.opset().is_empty() {
        value["opset"] = visible(node.opset()).into();
    }
    let attributes = node.attributes();
    if !attributes.is_empty() {
        let pairs = attributes
            .iter()
            .map(|(k, v)| json!([visible(k), visible(v)]));
        value["attributes"] = pairs.collect();
    }
    if !node.inputs().is_empty() {
        let inputs = node.inputs().iter();
        let pairs = inputs.map(|port| json!([port.node.index(), port.index]));
        value["inputs"] = pairs.collect();
    }
    let inferred = drawing.model.inferred_in(graph, id);
    let outputs: Vec<Value> = node
        .outputs()
        .iter()
        .enumerate()
        .map(|(index, port)| {
            let found = inferred.get(index).map(ToString::to_string);
            let declared = || {
                port.declared
                    .as_ref()
                    .map(|(ty, shape)| format!("{ty}{shape}"))
            };
            let shape = found.or_else(declared).unwrap_or_default();
            let names: Vec<String> = port.names.iter().take(8).map(|n| visible(n)).collect();
            json!([shape, names])
        })
        .collect();
    if !outputs.is_empty() {
        value["outputs"] = outputs.into();
    }
    if let Some(constant) = small_value(node, MOST_ELEMENTS) {
        value["value"] = visible(&constant).into();
    }
    if !node.bodies().is_empty() {
        let bodies = node.bodies().iter().map(|body| {
            let kind = match body.kind {
                BodyKind::Body => "body",
                BodyKind::Then => "then branch",
                BodyKind::Else => "else branch",
            };
            json!([kind, drawing.roots.get(&body.graph)])
        });
        value["bodies"] = bodies.collect();
    }
    let number = |m: &Measured| {
        let value = *m.values.get(graph)?.get(id.index())?;
        value.map(|v| m.what.show(v))
    };
    let numbers: Vec<Option<String>> = drawing.options.facts.iter().map(number).collect();
    if numbers.iter().any(Option::is_some) {
        value["measured"] = json!(numbers);
    }
    value
}

fn panel(panel: &Panel) -> Value {
    let vertices = panel.vertices.iter().map(|vertex| match vertex.what {
        What::Unit(place) => json!({ "place": place, "panel": vertex.opens }),
        What::Node(id) => json!({ "node": id.index() }),
        What::Block(repeat) => json!({
            "place": repeat.start,
            "length": repeat.length,
            "copies": repeat.copies,
            "panel": vertex.opens,
        }),
        What::Outside => json!({}),
    });
    let mut value = json!({
        "scene": panel.scene,
        "title": visible(&panel.title),
        "size": [panel.layout.width.ceil(), panel.layout.height.ceil()],
        "vertices": vertices.collect::<Vec<_>>(),
    });
    if let Shows::Block(repeat) = panel.shows {
        value["length"] = repeat.length.into();
        value["copies"] = repeat.copies.into();
    }
    value
}
