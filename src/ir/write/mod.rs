//! The writer: IR version 11 of a model's graphs, the same bytes for the same model.
//!
//! Layers are numbered anew in the order in which they are written: inputs first, then what
//! variables and outputs need, the outputs last, as the reader would sort them. Bodies stand in
//! their layers; how deep is no matter, for what is open lies on a stack of the writer's own.

mod constants;
mod layer;
mod spelling;
mod xml;

use std::io::{self, Write};

use crate::error::Kind;
use crate::graph::infer::Facts;
use crate::graph::{BodyKind, Graph, NodeId, order};
use crate::op::Role;
use constants::Constants;
use layer::Writer;
use spelling::{Unspelled, is_result, spell};
use xml::Xml;

/// Why a model is not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// These nodes, by graph, have operations that no document names, or complex numbers.
    Operations(Vec<(usize, NodeId)>),
    /// Something about one node.
    Node {
        graph: usize,
        node: NodeId,
        kind: Kind,
        message: String,
    },
    /// The file of constants.
    System(io::Error),
}

/// The graphs of a model that are to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Graphs<'g> {
    pub(crate) name: &'g str,
    pub(crate) graphs: &'g [Graph],
    pub(crate) facts: &'g Facts,
    /// Whether they come from a file of another format, whose layers without an operation have no
    /// spelling here.
    pub(crate) foreign: bool,
}

/// Writes the bytes of the constants, and gives the document. Bytes go out one constant after the
/// other, and are not collected.
///
/// # Errors
/// When a layer has no spelling in IR, or the bytes cannot be read or written.
pub(crate) fn write(graphs: Graphs<'_>, bin: &mut dyn Write) -> Result<String, Unwritten> {
    let numberings: Vec<Numbering> = graphs.graphs.iter().map(Numbering::new).collect();
    check(graphs, &numberings)?;
    let mut writer = Writer {
        graphs,
        numberings: &numberings,
        xml: Xml::new(),
        constants: Constants::new(bin),
    };
    writer
        .xml
        .open("net", &[("name", &graphs.name), ("version", &11)]);
    writer.xml.open("layers", &[]);
    let mut open = vec![Open::new(0)];
    while let Some(this) = open.last_mut() {
        let (graph, numbering) = (this.graph, &numberings[this.graph]);
        let Some(&node) = numbering.order.get(this.at) else {
            writer.end_net(graph);
            open.pop();
            if let Some(outer) = open.last() {
                writer.xml.close(outer.body.map_or("", BodyKind::tag));
            }
            continue;
        };
        let bodies = &graphs.graphs[graph].node(node).bodies;
        if this.bodies == 0 {
            writer.begin_layer(graph, node)?;
        }
        match bodies.get(this.bodies) {
            Some(body) => {
                this.bodies += 1;
                this.body = Some(body.kind);
                writer.xml.open(body.kind.tag(), &[]);
                writer.xml.open("layers", &[]);
                open.push(Open::new(body.graph));
            }
            None => {
                writer.xml.close("layer");
                this.at += 1;
                this.bodies = 0;
            }
        }
    }
    writer.xml.close("net");
    Ok(writer.xml.finish())
}

/// A net whose element is open.
struct Open {
    graph: usize,
    /// The next layer, and the next of its bodies.
    at: usize,
    bodies: usize,
    /// The body that is being written.
    body: Option<BodyKind>,
}

impl Open {
    fn new(graph: usize) -> Self {
        Self {
            graph,
            at: 0,
            bodies: 0,
            body: None,
        }
    }
}

/// The layers of a graph in the order in which they are written.
struct Numbering {
    order: Vec<NodeId>,
    /// For each node its id in the document, if an output or a variable needs it.
    ids: Vec<Option<u64>>,
}

impl Numbering {
    /// A second reading and writing keeps this order.
    fn new(graph: &Graph) -> Self {
        let assigns = graph
            .nodes()
            .filter(|(_, node)| node.role() == Role::Assign);
        let roots = assigns.map(|(id, _)| id.index());
        let outputs = graph.outputs.iter().map(|output| output.node.index());
        let inputs = |node: usize| {
            let ports = graph.nodes[node].inputs.iter();
            ports.map(|port| port.node.index())
        };
        let parameters = graph.inputs.iter().map(|input| input.node.index());
        let sorted = order(graph.nodes.len(), parameters, roots.chain(outputs), inputs);
        let sorted = sorted.expect("a graph of nodes in order has no cycle");
        let inner = sorted.into_iter().map(NodeId::new);
        let inner = inner.filter(|&id| !is_result(graph.node(id)));
        let order: Vec<_> = inner
            .chain(graph.outputs.iter().map(|output| output.node))
            .collect();
        let mut ids = vec![None; graph.nodes.len()];
        for (number, node) in order.iter().enumerate() {
            ids[node.index()] = Some(number as u64);
        }
        Self { order, ids }
    }

    /// The id of a layer that others need.
    fn id(&self, node: NodeId) -> u64 {
        self.ids[node.index()].unwrap_or_default()
    }
}

/// Looks for operations that no document names, and element types that no port has, in all graphs at
/// once.
fn check(graphs: Graphs<'_>, numberings: &[Numbering]) -> Result<(), Unwritten> {
    let mut missing = Vec::new();
    for (graph, numbering) in numberings.iter().enumerate() {
        for &node in &numbering.order {
            let fact = graphs.facts.of(graph, node);
            let mut outputs = fact.iter().flat_map(|fact| &fact.outputs);
            let complex = outputs.any(|output| output.element_type.is_complex());
            let spelled = spell(graphs.graphs[graph].node(node), graphs.foreign);
            if complex || matches!(spelled, Err(Unspelled::Operation)) {
                missing.push((graph, node));
            }
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Unwritten::Operations(missing)),
    }
}
