//! Edges: from layer ids and port ids to positions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

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

/// Positions of the ports of one kind, by the position of their layer and their id.
struct Ports(HashMap<(usize, u64), usize>);

impl Ports {
    fn new<'n, 'a: 'n>(
        net: &'n Net<'a>,
        of: PortsOf,
        mut twice: impl FnMut(usize, &'n Port<'a>),
    ) -> Self {
        let mut places = HashMap::new();
        for (index, layer) in net.layers.iter().enumerate() {
            for (place, port) in of(layer).iter().enumerate() {
                match places.entry((index, port.id)) {
                    Entry::Vacant(entry) => {
                        entry.insert(place);
                    }
                    // An id that could not be read is told already.
                    Entry::Occupied(_) if port.id == u64::MAX => {}
                    Entry::Occupied(_) => twice(index, port),
                }
            }
        }
        Self(places)
    }
}

/// The input ports of a layer, or the output ports.
type PortsOf = for<'n, 'a> fn(&'n Layer<'a>) -> &'n [Port<'a>];

/// Resolves the edges of a net. In one that is `printed` in a document ports need no ids.
pub(super) fn wire(
    net: &Net<'_>,
    printed: bool,
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
    let mut ports = |kind: &str, of: PortsOf| {
        Ports::new(net, of, |layer, port| {
            if !printed {
                let message = format!("two {kind} ports have the id {}", port.id);
                problems.error_in(Kind::Structure, port.offset, path(layer), message);
            }
        })
    };
    let outputs = ports("output", |layer| &layer.outputs);
    let inputs = ports("input", |layer| &layer.inputs);
    let slots = net.layers.iter().map(|l| vec![None; l.inputs.len()]);
    let mut wires = Wires {
        inputs: slots.collect(),
    };
    for edge in &net.edges {
        if let Err((layer, message)) = connect(net, &by_id, [&outputs, &inputs], edge, &mut wires) {
            let layers = layer.map(path).unwrap_or_default();
            problems.error_in(Kind::Structure, edge.offset, layers, message);
        }
    }
    wires
}

/// The ids of ports as a message lists them.
fn listed(ports: &[Port<'_>]) -> String {
    const MOST: usize = 16;
    let ids = ports.iter().take(MOST).map(|port| port.id.to_string());
    let ids: Vec<String> = ids.collect();
    match (ids.is_empty(), ports.len() > MOST) {
        (true, _) => "none".to_owned(),
        (false, false) => ids.join(", "),
        (false, true) => format!("{}, …", ids.join(", ")),
    }
}

fn connect(
    net: &Net<'_>,
    by_id: &HashMap<u64, usize>,
    [outputs, inputs]: [&Ports; 2],
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
    let port = |places: &Ports, ports: &[Port<'_>], id: u64, at: usize, kind: &str| {
        let found = places.0.get(&(at, id)).copied();
        found.ok_or_else(|| {
            let have = listed(ports);
            (
                Some(at),
                format!("the layer has {have} as {kind} port, the edge names {id}"),
            )
        })
    };
    let source = &net.layers[from];
    // A Result may be declared without an output and still be taken further.
    let output = port(outputs, &source.outputs, edge.from_port, from, "output")?;
    let target = &net.layers[to];
    let input = port(inputs, &target.inputs, edge.to_port, to, "input")?;
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
