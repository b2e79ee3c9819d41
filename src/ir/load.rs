//! From a document to graphs: operations made, edges resolved, types and shapes inferred.

use std::collections::HashSet;

use super::document::{Document, Layer, Port};
use super::problem::{Problem, Problems, Severity};
use super::wire::{self, Wires, wire};
use super::{BinFile, Source, compat, fragment, names, parse};
use crate::error::{Error, Kind, LayerRef, innermost, quoted};
use crate::graph::infer::{Facts, Refused, declared_shape, disagreements};
use crate::graph::{
    Body, BodyKind, Cycle, Graph, Node, NodeId, Operation, OutputPort, Port as NodePort, RtInfo,
    layers_to, order,
};
use crate::limits::{self, Limits};
use crate::op::attrs::Attr;
use crate::op::{LayerData, ReadError, Role};
use crate::ops;

/// What a document holds, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) version: u8,
    /// The model's graph, then those of bodies.
    pub(crate) graphs: Vec<Graph>,
    /// Types and shapes of the model's graph, if asked for.
    pub(crate) facts: Option<Facts>,
    /// Layers of the document, those that nothing needs included.
    pub(crate) layers: usize,
}

/// Reads a document. With errors among the problems, what is loaded is only fit to be looked at;
/// without a well-formed document there is nothing.
pub(crate) fn load(
    source: &Source,
    weights: &BinFile,
    limits: &Limits,
    infer: bool,
) -> (Option<Loaded>, Vec<Problem>) {
    let mut problems = Problems::new(source);
    let loaded = parse::parse(source.text(), limits, &mut problems)
        .map(|document| build(document, weights, infer, &mut problems));
    (loaded, problems.into_vec())
}

fn build(
    mut document: Document<'_>,
    weights: &BinFile,
    infer: bool,
    problems: &mut Problems<'_>,
) -> Loaded {
    for (offset, message) in std::mem::take(&mut document.ignored) {
        problems.warn_in(Kind::Structure, offset, Vec::new(), message);
    }
    if document.fragment {
        fragment::complete(&mut document);
    }
    let document = &document;
    let mut graphs: Vec<Graph> = Vec::with_capacity(document.nets.len());
    graphs.resize_with(document.nets.len(), Graph::default);
    // A body stands behind the net that holds it.
    for net in (0..document.nets.len()).rev() {
        graphs[net] = NetBuilder {
            document,
            net,
            weights,
            strings: infer,
            problems,
        }
        .build();
    }
    if !graphs.is_empty() {
        compat::pre_process(&mut graphs[0], document, weights, problems);
        if document.version == 10 {
            compat::widen_inputs(&mut graphs[0]);
        }
    }
    link_bodies(&mut graphs, problems);
    check_variables(&graphs, problems);
    let facts =
        (infer && !graphs.is_empty()).then(|| infer_model(document.version, &mut graphs, problems));
    Loaded {
        name: document.name.as_deref().unwrap_or_default().to_owned(),
        version: document.version,
        layers: document.nets.iter().map(|n| n.layers.len()).sum(),
        graphs,
        facts,
    }
}

/// Infers the model's graph, and then once more if outputs of version 10 are converted.
fn infer_model(version: u8, graphs: &mut [Graph], problems: &mut Problems<'_>) -> Facts {
    let (mut facts, refused) = Facts::infer(graphs);
    for Refused { graph, node, error } in refused {
        let offset = graphs[graph].node(node).offset.unwrap_or(0);
        let layers = layers_to(graphs, graph, node);
        let error = Error::from_op(Default::default(), Kind::Shape, error);
        problems.error_in(error.kind(), offset, layers, error.message());
    }
    if version == 10 && compat::narrow_outputs(&mut graphs[0], &facts) {
        // Layers have moved.
        tell_parents(graphs, 0);
        (facts, _) = Facts::infer(graphs);
    }
    for (id, message) in disagreements(&graphs[0], &facts) {
        let node = graphs[0].node(id);
        let offset = node.offset.unwrap_or(0);
        problems.warn_in(Kind::Shape, offset, vec![node.layer_ref()], message);
    }
    facts
}

/// Tells the graphs of bodies whose bodies they are, and layers how values reach their bodies.
fn link_bodies(graphs: &mut [Graph], problems: &mut Problems<'_>) {
    for index in 0..graphs.len() {
        for node in 0..graphs[index].nodes.len() {
            let holder = &mut graphs[index].nodes[node];
            let (inputs, mut bodies) = (holder.inputs.len(), std::mem::take(&mut holder.bodies));
            let id = NodeId::new(node);
            for body in &mut bodies {
                graphs[body.graph].parent = Some((index, id));
                match body.wire(&graphs[body.graph], inputs) {
                    Ok(wiring) => body.wiring = wiring,
                    Err(message) => {
                        let offset = graphs[index].node(id).offset.unwrap_or(0);
                        let layers = layers_to(graphs, index, id);
                        problems.error_in(Kind::Structure, offset, layers, message);
                    }
                }
            }
            graphs[index].nodes[node].bodies = bodies;
        }
    }
}

/// Tells the graphs of bodies which layer of this graph holds them.
fn tell_parents(graphs: &mut [Graph], index: usize) {
    let holders = graphs[index].nodes().flat_map(|(id, node)| {
        let bodies = node.bodies.iter();
        bodies.map(move |body| (body.graph, id))
    });
    for (body, holder) in holders.collect::<Vec<_>>() {
        graphs[body].parent = Some((index, holder));
    }
}

/// A value that no evaluation finds again is a mistake.
fn check_variables(graphs: &[Graph], problems: &mut Problems<'_>) {
    let of_role = |role: Role| {
        let nodes = graphs
            .iter()
            .enumerate()
            .flat_map(|(graph, nodes)| nodes.nodes().map(move |(id, node)| (graph, id, node)));
        nodes.filter_map(move |(graph, id, node)| {
            let op = node.op().filter(|op| op.role() == role)?;
            Some((op.variable()?, graph, id))
        })
    };
    let read: HashSet<&str> = of_role(Role::ReadValue)
        .map(|(variable, ..)| variable)
        .collect();
    for (variable, graph, id) in of_role(Role::Assign) {
        if !read.contains(variable) {
            let message = format!("no ReadValue reads variable {}", quoted(variable));
            let offset = graphs[graph].node(id).offset.unwrap_or(0);
            problems.error_in(
                Kind::Structure,
                offset,
                layers_to(graphs, graph, id),
                message,
            );
        }
    }
}

struct NetBuilder<'d, 'a, 'p, 's> {
    document: &'d Document<'a>,
    net: usize,
    weights: &'d BinFile,
    /// Whether tables of strings are looked at: their sizes stand in the .bin file.
    strings: bool,
    problems: &'p mut Problems<'s>,
}

impl<'d, 'a> NetBuilder<'d, 'a, '_, '_> {
    fn build(mut self) -> Graph {
        let net = &self.document.nets[self.net];
        let (document, at) = (self.document, self.net);
        let printed = document.fragment && at == 0;
        let wires = wire(
            net,
            printed,
            &|layer| path(document, at, layer),
            self.problems,
        );
        let of_type = |types: &'static [&str]| {
            let layers = net.layers.iter().enumerate();
            layers
                .filter(move |(_, l)| types.contains(&&*l.type_name))
                .map(|(index, _)| index)
        };
        let inputs = |layer: usize| wires.inputs[layer].iter().flatten().map(|s| s.0);
        let sorted = order(
            net.layers.len(),
            of_type(&["Parameter"]),
            of_type(&["Result", "Assign"]),
            inputs,
        );
        let sorted = match sorted {
            Ok(sorted) => sorted,
            Err(Cycle(layer)) => {
                self.error(
                    Kind::Structure,
                    layer,
                    "the layer needs its own output".to_owned(),
                );
                return Graph::default();
            }
        };
        self.warn_unused(&sorted);
        let mut position = vec![None; net.layers.len()];
        let mut graph = Graph {
            rt_info: net.rt_info.clone().unwrap_or_default(),
            ..Graph::default()
        };
        graph.nodes.reserve(sorted.len());
        let watch = limits::watch();
        for &layer in &sorted {
            if let Err(stop) = watch.check() {
                self.error(stop.kind(), layer, stop.message().to_owned());
                return Graph::default();
            }
            let node = self.node(layer, &wires, &position);
            position[layer] = Some(graph.push(node));
        }
        for (index, layer) in net.layers.iter().enumerate() {
            let terminal = || position[index].map(names::unnamed);
            match &*layer.type_name {
                "Parameter" => graph.inputs.extend(terminal()),
                "Result" => graph.outputs.extend(terminal()),
                _ => {}
            }
        }
        names::make_unique(&mut graph);
        let layers: Vec<_> = sorted.iter().map(|&layer| &net.layers[layer]).collect();
        names::name_terminals(&mut graph, document.version == 10 && at == 0, &layers);
        graph
    }

    fn node(&mut self, index: usize, wires: &Wires, position: &[Option<NodeId>]) -> Node {
        let layer = &self.document.nets[self.net].layers[index];
        let sources = wire::connected(layer, &wires.inputs[index]).unwrap_or_else(|message| {
            self.error(Kind::Structure, index, message);
            Vec::new()
        });
        let inputs = sources
            .into_iter()
            .filter_map(|(from, output)| Some(NodePort::new(position[from]?, output)))
            .collect();
        let name = if layer.name.is_empty() {
            format!("{}_{}", layer.type_name, layer.id)
        } else {
            layer.name.clone().into_owned()
        };
        let v10 = self.document.version == 10;
        Node {
            id: layer.id,
            name,
            opset: layer.version.clone().into_owned(),
            operation: self.operation(index, layer),
            origin: None,
            inputs,
            input_rt_info: input_rt_info(layer, v10),
            outputs: layer
                .outputs
                .iter()
                .map(|port| output_port(port, v10))
                .collect(),
            offset: Some(layer.offset),
            rt_info: if v10 {
                Default::default()
            } else {
                layer.rt_info.clone()
            },
            bodies: bodies(layer),
        }
    }

    fn operation(&mut self, index: usize, layer: &Layer<'a>) -> Operation {
        let attributes = layer.data.as_deref().unwrap_or_default();
        let opaque = || Operation::Opaque {
            type_name: layer.type_name.clone().into_owned(),
            attributes: attributes
                .iter()
                .map(|a| (a.name.to_owned(), a.value.clone().into_owned()))
                .collect(),
        };
        if let Some(message) = malformed(layer) {
            self.error(Kind::Structure, index, message);
            return opaque();
        }
        let Some(resolved) = ops::resolve(&layer.type_name, &layer.version) else {
            self.warn(
                Kind::Unsupported,
                index,
                layer.offset,
                "the operation is not supported",
            );
            return opaque();
        };
        let data = LayerData {
            attributes,
            weights: self.weights,
        };
        match resolved.def.read(&data) {
            Ok((op, unknown)) => {
                for attribute in unknown.into_iter().map(|at| &attributes[at]) {
                    let message = format!("attribute `{}` is ignored", attribute.name);
                    self.warn(Kind::Attribute, index, attribute.offset, &message);
                }
                if self.strings
                    && holds_strings(attributes)
                    && let Some(Err(error)) = op.constant()
                {
                    self.error(Kind::Weights, index, error.message);
                }
                Operation::known(&resolved, op)
            }
            Err(ReadError::Attribute(error)) => {
                let offset = error.offset.unwrap_or(layer.offset);
                let layers = path(self.document, self.net, index);
                self.problems
                    .error_in(Kind::Attribute, offset, layers, error.message);
                opaque()
            }
            Err(ReadError::Weights(error)) => {
                self.error(Kind::Weights, index, error.message);
                opaque()
            }
        }
    }

    fn warn_unused(&mut self, sorted: &[usize]) {
        let net = &self.document.nets[self.net];
        let mut used = vec![false; net.layers.len()];
        sorted.iter().for_each(|&layer| used[layer] = true);
        for (index, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            let offset = net.layers[index].offset;
            self.warn(Kind::Structure, index, offset, "no output needs this layer");
        }
    }

    fn error(&mut self, kind: Kind, layer: usize, message: String) {
        let offset = self.document.nets[self.net].layers[layer].offset;
        let layers = path(self.document, self.net, layer);
        self.problems.error_in(kind, offset, layers, message);
    }

    fn warn(&mut self, kind: Kind, layer: usize, offset: usize, message: &str) {
        let layers = path(self.document, self.net, layer);
        self.problems.warn_in(kind, offset, layers, message);
    }
}

/// The bodies of a layer with their port maps; [`link_bodies`] resolves these.
fn bodies(layer: &Layer<'_>) -> Vec<Body> {
    let body = |&(kind, graph): &(BodyKind, usize)| {
        let ports = layer.port_maps.iter().find(|(k, _)| *k == kind);
        Body {
            kind,
            graph,
            ports: ports.map(|(_, ports)| ports.clone()).unwrap_or_default(),
            wiring: Default::default(),
        }
    };
    layer.bodies.iter().map(body).collect()
}

/// What the real runtime crashes on, or takes for something else, and no attribute's type says.
fn malformed(layer: &Layer<'_>) -> Option<String> {
    let type_name = &*layer.type_name;
    let has = |name: &str| layer.data.iter().flatten().any(|a| a.name == name);
    let is_constant = ["const", "constant"]
        .iter()
        .any(|t| type_name.eq_ignore_ascii_case(t));
    match type_name {
        "Parameter" if layer.data.is_none() => {
            Some("a Parameter needs a `<data>` with its element type and shape".to_owned())
        }
        _ if is_constant && type_name != "Const" => Some(format!(
            "a constant's type is spelled `Const`, found `{type_name}`"
        )),
        "ReadValue" | "Assign" if !has("variable_id") => {
            Some("attribute `variable_id` is missing".to_owned())
        }
        "Loop" | "TensorIterator" if layer.bodies.is_empty() => {
            Some(format!("a {type_name} needs a `<body>`"))
        }
        "If" if layer.bodies.len() < 2 => {
            Some("an If needs a `<then_body>` and an `<else_body>`".to_owned())
        }
        _ => None,
    }
}

/// Whether the attributes are those of a constant of strings.
fn holds_strings(attributes: &[Attr<'_>]) -> bool {
    let mut types = attributes.iter().filter(|a| a.name == "element_type");
    types.any(|a| a.value.eq_ignore_ascii_case("string"))
}

/// The layer with the layers whose bodies hold it, outermost first.
fn path(document: &Document<'_>, net: usize, layer: usize) -> Vec<LayerRef> {
    let outwards = std::iter::successors(Some((net, layer)), |(net, _)| document.nets[*net].parent);
    innermost(outwards.map(|(net, layer)| document.nets[net].layers[layer].layer_ref()))
}

/// Nothing where no input has any, as is nearly always so.
fn input_rt_info(layer: &Layer<'_>, v10: bool) -> Vec<RtInfo> {
    if v10 || layer.inputs.iter().all(|port| port.rt_info.is_empty()) {
        return Vec::new();
    }
    let ports = layer.inputs.iter();
    ports.map(|port| port.rt_info.clone()).collect()
}

fn output_port(port: &Port<'_>, v10: bool) -> OutputPort {
    OutputPort {
        names: port.names.as_deref().map(names::split).unwrap_or_default(),
        declared: port.precision.map(|ty| (ty, declared_shape(&port.dims))),
        rt_info: if v10 {
            Default::default()
        } else {
            port.rt_info.clone()
        },
    }
}

/// The first problem that keeps a model from loading.
pub(crate) fn first_error(problems: &[Problem]) -> Option<&Error> {
    let found = problems.iter().find(|p| p.severity == Severity::Error);
    found.map(|p| &p.error)
}
