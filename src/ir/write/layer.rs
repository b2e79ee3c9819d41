//! Layers, ports and edges.

use std::collections::HashMap;
use std::fmt::Display;

use super::constants::{Constants, Failed};
use super::spelling::{Unspelled, is_result, list, spell};
use super::xml::Xml;
use super::{Graphs, Numbering, Unwritten};
use crate::error::Kind;
use crate::graph::{
    Body, BodyKind, Graph, Node, NodeId, PortMapEntry, Purpose, RtInfo, Slice, Terminal,
};
use crate::op::{Output, Role};
use crate::ops::infrastructure::Const;

/// A document that is being written.
pub(super) struct Writer<'g, 'w> {
    pub(super) graphs: Graphs<'g>,
    pub(super) numberings: &'g [Numbering],
    pub(super) xml: Xml,
    pub(super) constants: Constants<'g, 'w>,
}

impl<'g> Writer<'g, '_> {
    fn graph(&self, graph: usize) -> &'g Graph {
        &self.graphs.graphs[graph]
    }

    /// Opens a layer and writes all of it but its bodies.
    pub(super) fn begin_layer(&mut self, graph: usize, id: NodeId) -> Result<(), Unwritten> {
        self.layer(graph, id).map_err(|unwritten| match unwritten {
            Failure::System(error) => Unwritten::System(error),
            Failure::Node(kind, message) => Unwritten::Node {
                graph,
                node: id,
                kind,
                message,
            },
        })
    }

    fn layer(&mut self, graph: usize, id: NodeId) -> Result<(), Failure> {
        let node = self.graph(graph).node(id);
        let mut spelling = spell(node, self.graphs.foreign)?;
        let number = self.numberings[graph].id(id);
        let mut head: Vec<(&str, &dyn Display)> = vec![
            ("id", &number),
            ("name", &node.name),
            ("type", &spelling.type_name),
            ("version", &spelling.version),
        ];
        let names = self.output_names(graph, id, node)?;
        if let Some(names) = &names {
            head.push(("output_names", names));
        }
        self.xml.open("layer", &head);
        if let Some(constant) = constant(node) {
            let (offset, size) = self.constants.place(constant)?;
            let places = [("offset", offset), ("size", size)];
            let places = places.map(|(name, value)| (name.to_owned(), value.to_string()));
            spelling.attributes.extend(places);
        }
        if !spelling.attributes.is_empty() {
            let pairs = spelling.attributes.iter();
            let data: Vec<_> = pairs
                .map(|(k, v)| (k.as_str(), v as &dyn Display))
                .collect();
            self.xml.empty("data", &data);
        }
        self.xml.rt_info(&node.rt_info);
        self.inputs(graph, node)?;
        self.outputs(graph, id, node)?;
        self.port_maps(node)?;
        Ok(())
    }

    /// The names of an output of the model, where they are not those of the tensor it takes.
    fn output_names(
        &self,
        graph: usize,
        id: NodeId,
        node: &Node,
    ) -> Result<Option<String>, Failure> {
        if !is_result(node) {
            return Ok(None);
        }
        let outputs = &self.graph(graph).outputs;
        let terminal = outputs.iter().find(|terminal| terminal.node == id);
        let (Some(terminal), Some(port)) = (terminal, node.inputs.first()) else {
            return Ok(None);
        };
        let taken = self.names(graph, port.node, port.index as usize);
        let same = taken.len() == terminal.names.len()
            && terminal.names.iter().all(|name| taken.contains(name));
        if same {
            return Ok(None);
        }
        Ok(list(&terminal.names)?)
    }

    /// The names of a tensor: of an input, all that it answers to as a tensor.
    fn names(&self, graph: usize, id: NodeId, output: usize) -> &'g [String] {
        let graph = self.graph(graph);
        let node = graph.node(id);
        let is_input = |terminal: &&Terminal| terminal.node == id;
        if node.role() == Role::Parameter
            && let Some(input) = graph.inputs.iter().find(is_input)
        {
            return &input.names;
        }
        node.outputs.get(output).map_or(&[], |port| &port.names)
    }

    fn inputs(&mut self, graph: usize, node: &'g Node) -> Result<(), Failure> {
        if node.inputs.is_empty() {
            return Ok(());
        }
        self.xml.open("input", &[]);
        for (index, port) in node.inputs.iter().enumerate() {
            let outputs = self.facts(graph, port.node);
            let Some(output) = outputs.get(port.index as usize) else {
                let message = format!(
                    "input {index} is output {} of {}, which has {}",
                    port.index,
                    self.graph(graph).node(port.node),
                    outputs.len()
                );
                return Err(Failure::Node(Kind::Structure, message));
            };
            let none = RtInfo::default();
            let rt_info = node.input_rt_info.get(index).unwrap_or(&none);
            self.port(index, output, None, rt_info)?;
        }
        self.xml.close("input");
        Ok(())
    }

    fn outputs(&mut self, graph: usize, id: NodeId, node: &'g Node) -> Result<(), Failure> {
        // A Result has an output only for those that take it further.
        if is_result(node) && self.graph(graph).consumers(id).next().is_none() {
            return Ok(());
        }
        let outputs = self.facts(graph, id);
        if outputs.is_empty() {
            return Ok(());
        }
        self.xml.open("output", &[]);
        for (index, output) in outputs.iter().enumerate() {
            let names = match is_result(node) {
                // They are those of the layer.
                true => None,
                false => list(self.names(graph, id, index))?,
            };
            let none = RtInfo::default();
            let rt_info = node.outputs.get(index).map_or(&none, |port| &port.rt_info);
            self.port(node.inputs.len() + index, output, names, rt_info)?;
        }
        self.xml.close("output");
        Ok(())
    }

    fn facts(&self, graph: usize, id: NodeId) -> &'g [Output] {
        let fact = self.graphs.facts.of(graph, id);
        fact.map_or(&[], |fact| &fact.outputs)
    }

    fn port(
        &mut self,
        id: usize,
        output: &Output,
        names: Option<String>,
        rt_info: &RtInfo,
    ) -> Result<(), Failure> {
        let precision = output.element_type.port_name();
        let mut attributes: Vec<(&str, &dyn Display)> =
            vec![("id", &id), ("precision", &precision)];
        if let Some(names) = &names {
            attributes.push(("names", names));
        }
        // An unknown rank is written as no dimensions, as a scalar is: a hint that nobody needs.
        let dims = output.shape.dims().unwrap_or_default();
        if dims.is_empty() && rt_info.is_empty() {
            self.xml.empty("port", &attributes);
            return Ok(());
        }
        self.xml.open("port", &attributes);
        for dim in dims {
            let size = dim.value().and_then(|size| i64::try_from(size).ok());
            self.xml.number("dim", size.unwrap_or(-1));
        }
        self.xml.rt_info(rt_info);
        self.xml.close("port");
        Ok(())
    }

    /// How a layer's inputs and outputs are connected to its bodies.
    fn port_maps(&mut self, node: &'g Node) -> Result<(), Failure> {
        for body in &node.bodies {
            let tag = match body.kind {
                BodyKind::Body => "port_map",
                BodyKind::Then => "then_port_map",
                BodyKind::Else => "else_port_map",
            };
            self.port_map(tag, node.inputs.len(), body)?;
        }
        Ok(())
    }

    fn port_map(&mut self, tag: &str, inputs: usize, body: &'g Body) -> Result<(), Failure> {
        let graph = self.graph(body.graph);
        let numbering = &self.numberings[body.graph];
        let ids = |terminals: &[Terminal]| -> HashMap<u64, u64> {
            let pairs = terminals.iter().rev();
            pairs
                .map(|t| (graph.node(t.node).id, numbering.id(t.node)))
                .collect()
        };
        let (parameters, results) = (ids(&graph.inputs), ids(&graph.outputs));
        let find = |ids: &HashMap<u64, u64>, id: u64| {
            ids.get(&id).copied().ok_or_else(|| {
                let message = format!("the port map names layer {id}, which the body has not");
                Failure::Node(Kind::Structure, message)
            })
        };
        self.xml.open(tag, &[]);
        for entry in &body.ports.inputs {
            let internal = find(&parameters, entry.internal_layer_id)?;
            self.entry("input", entry, entry.external_port_id, internal);
        }
        let mut keys: Vec<i64> = body
            .ports
            .outputs
            .iter()
            .map(|e| e.external_port_id)
            .collect();
        keys.retain(|key| *key >= 0);
        keys.sort_unstable();
        // Of equal keys each has a place of its own.
        let mut used = vec![false; keys.len()];
        for entry in &body.ports.outputs {
            let internal = find(&results, entry.internal_layer_id)?;
            let mut places =
                (0..keys.len()).skip(keys.partition_point(|k| *k < entry.external_port_id));
            let place = places.find(|&place| !used[place]);
            let external = match place.filter(|_| entry.external_port_id >= 0) {
                Some(place) => {
                    used[place] = true;
                    i64::try_from(inputs + place).unwrap_or(i64::MAX)
                }
                None => entry.external_port_id,
            };
            self.entry("output", entry, external, internal);
        }
        self.xml.close(tag);
        if !body.ports.back_edges.is_empty() {
            self.xml.open("back_edges", &[]);
            for edge in &body.ports.back_edges {
                let from = find(&results, edge.from_layer)?;
                let to = find(&parameters, edge.to_layer)?;
                self.xml
                    .empty("edge", &[("from-layer", &from), ("to-layer", &to)]);
            }
            self.xml.close("back_edges");
        }
        Ok(())
    }

    fn entry(&mut self, tag: &str, entry: &PortMapEntry, external: i64, internal: u64) {
        let mut attributes: Vec<(&str, &dyn Display)> = Vec::new();
        if let Some(slice) = &entry.slice {
            attributes.push(("axis", &slice.axis));
        }
        attributes.push(("external_port_id", &external));
        attributes.push(("internal_layer_id", &internal));
        if let Some(Slice {
            start,
            end,
            stride,
            part_size,
            ..
        }) = &entry.slice
        {
            let rest: [(&str, &dyn Display); 4] = [
                ("start", start),
                ("end", end),
                ("stride", stride),
                ("part_size", part_size),
            ];
            attributes.extend(rest);
        }
        let purpose = entry.purpose.map(|purpose| match purpose {
            Purpose::CurrentIteration => "current_iteration",
            Purpose::ExecutionCondition => "execution_condition",
        });
        if let Some(purpose) = &purpose {
            attributes.push(("purpose", purpose));
        }
        self.xml.empty(tag, &attributes);
    }

    /// Ends the layers of a net, and writes what comes behind them.
    pub(super) fn end_net(&mut self, graph: usize) {
        let numbering = &self.numberings[graph];
        let graph = self.graph(graph);
        self.xml.close("layers");
        self.xml.open("edges", &[]);
        let mut edges: Vec<[u64; 4]> = Vec::new();
        for &id in &numbering.order {
            for (index, port) in graph.node(id).inputs.iter().enumerate() {
                let before = graph.node(port.node).inputs.len() as u64;
                edges.push([
                    numbering.id(port.node),
                    before + u64::from(port.index),
                    numbering.id(id),
                    index as u64,
                ]);
            }
        }
        edges.sort_unstable();
        for [from, port, to, input] in edges {
            let ends: [(&str, &dyn Display); 4] = [
                ("from-layer", &from),
                ("from-port", &port),
                ("to-layer", &to),
                ("to-port", &input),
            ];
            self.xml.empty("edge", &ends);
        }
        self.xml.close("edges");
        self.xml.rt_info(&graph.rt_info);
    }
}

fn constant(node: &Node) -> Option<&Const> {
    let op: &dyn std::any::Any = node.op()?;
    op.downcast_ref()
}

/// Why a layer is not written.
enum Failure {
    Node(Kind, String),
    System(std::io::Error),
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::System(error) => Self::System(error),
            Failed::Constant(error) => {
                Self::Node(Kind::of_op(error.kind, Kind::Weights), error.message)
            }
        }
    }
}

impl From<Unspelled> for Failure {
    fn from(unspelled: Unspelled) -> Self {
        match unspelled {
            Unspelled::Layer(kind, message) => Self::Node(kind, message),
            Unspelled::Operation => {
                let message = "the operation has no spelling in IR".to_owned();
                Self::Node(Kind::Unsupported, message)
            }
        }
    }
}
