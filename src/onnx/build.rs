//! The graph of a model: names of values resolved, nodes in order, each mapped to an operation.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::external::Folder;
use super::load::DEFAULT_DOMAIN;
use super::map::{self, Attributes, Mapped, Mapping};
use super::problem::{Problems, Refusal};
use super::proto::{GraphProto, NodeProto, TypeProto};
use super::tensor;
use super::types::Symbols;
use crate::error::{Kind, LayerRef, quoted};
use crate::graph::{
    Cycle, Graph, Node, NodeId, Operation, Origin, OutputPort, Port, Terminal, order,
};
use crate::limits::Limits;
use crate::op::Op;
use crate::ops;
use crate::ops::infrastructure::{Parameter, Result as Output};
use crate::tensor::{ElementType, PartialShape};

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
enum Value {
    Input(NodeId),
    /// Dense ones are counted first, then sparse ones.
    Initializer(usize),
    Node {
        node: usize,
        output: usize,
    },
}

/// A graph that is being made.
pub(super) struct Builder<'m, 'g> {
    proto: &'m GraphProto,
    opsets: &'g [(String, i64)],
    limits: &'g Limits,
    folder: &'g mut Folder,
    problems: &'g mut Problems,
    symbols: Symbols<'m>,
    values: HashMap<&'m str, Value>,
    types: HashMap<&'m str, &'m TypeProto>,
    /// What became of the initialisers and nodes so far.
    initializers: Vec<Option<NodeId>>,
    nodes: Vec<Option<NodeId>>,
    graph: Graph,
}

impl<'m, 'g> Builder<'m, 'g> {
    pub(super) fn new(
        proto: &'m GraphProto,
        opsets: &'g [(String, i64)],
        limits: &'g Limits,
        folder: &'g mut Folder,
        problems: &'g mut Problems,
    ) -> Self {
        let typed = proto.value_info.iter().chain(&proto.output);
        let types = typed.filter_map(|info| Some((info.name.as_str(), info.r#type.as_ref()?)));
        Self {
            proto,
            opsets,
            limits,
            folder,
            problems,
            symbols: Symbols::default(),
            values: HashMap::new(),
            types: types.collect(),
            initializers: vec![None; proto.initializer.len() + proto.sparse_initializer.len()],
            nodes: vec![None; proto.node.len()],
            graph: Graph {
                // A node has the id of its place in the file.
                next_id: proto.node.len() as u64,
                ..Graph::default()
            },
        }
    }

    pub(super) fn build(mut self) -> Graph {
        self.define();
        let needs: Vec<Vec<usize>> = (0..self.nodes.len()).map(|i| self.needs(i)).collect();
        let roots =
            self.proto
                .output
                .iter()
                .filter_map(|info| match self.values.get(info.name.as_str()) {
                    Some(&Value::Node { node, .. }) => Some(node),
                    _ => None,
                });
        let inputs = |node: usize| needs[node].clone().into_iter();
        match order(self.nodes.len(), [], roots, inputs) {
            Ok(sorted) => {
                for &node in &sorted {
                    self.add_node(node, &needs[node]);
                }
            }
            Err(Cycle(node)) => {
                let layer = Some(self.layer(node));
                let message = "the node needs its own output";
                self.problems.error(Kind::Structure, layer, message);
                return self.graph;
            }
        }
        self.add_outputs();
        self.warn_unused();
        self.graph
    }

    /// Gives every value its name.
    fn define(&mut self) {
        let dense = self.proto.initializer.iter().map(|t| t.name.as_str());
        let sparse = self.proto.sparse_initializer.iter();
        let sparse = sparse.map(|s| s.values.as_ref().map_or("", |t| &t.name));
        for (index, name) in dense.chain(sparse).enumerate() {
            self.name_value(name, Value::Initializer(index));
        }
        for input in &self.proto.input {
            // With a value of its own, an input is a constant.
            if let Some(Value::Initializer(_)) = self.values.get(input.name.as_str()) {
                continue;
            }
            let node = self.parameter(&input.name, input.r#type.as_ref());
            self.name_value(&input.name, Value::Input(node));
        }
        for (node, proto) in self.proto.node.iter().enumerate() {
            for (output, name) in proto.output.iter().enumerate() {
                if !name.is_empty() {
                    self.name_value(name, Value::Node { node, output });
                }
            }
        }
    }

    fn name_value(&mut self, name: &'m str, value: Value) {
        if self.values.contains_key(name) {
            let layer = match value {
                Value::Node { node, .. } => Some(self.layer(node)),
                Value::Input(_) | Value::Initializer(_) => None,
            };
            let message = format!("the value {} is defined twice", quoted(name));
            self.problems.error(Kind::Structure, layer, message);
        } else {
            self.values.insert(name, value);
        }
    }

    fn parameter(&mut self, name: &str, ty: Option<&'m TypeProto>) -> NodeId {
        let (element_type, shape) = self.symbols.of_type(ty).unwrap_or_else(|what| {
            let message = format!("input {} is {what}, which is not supported", quoted(name));
            self.problems.error(Kind::Unsupported, None, message);
            (ElementType::Dynamic, PartialShape::dynamic())
        });
        let declared = Some((element_type, shape.clone()));
        let op = Parameter {
            shape,
            element_type,
        };
        let output = OutputPort {
            names: vec![name.to_owned()],
            declared,
            ..OutputPort::default()
        };
        let id = self.infrastructure("Parameter", name, op, &[], vec![output]);
        self.graph.inputs.push(Terminal {
            node: id,
            names: vec![name.to_owned()],
            aliases: Vec::new(),
        });
        id
    }

    /// Adds a Parameter, Const or Result.
    fn infrastructure(
        &mut self,
        type_name: &str,
        name: &str,
        op: impl Op,
        inputs: &[Port],
        outputs: Vec<OutputPort>,
    ) -> NodeId {
        let resolved = ops::resolve(type_name, "opset1").expect("opset1 has the operation");
        let mut node = Node::made(name, "", &resolved, Box::new(op), inputs);
        node.outputs = outputs;
        self.graph.push(node)
    }

    /// The nodes whose outputs a node takes, or the graphs of its attributes do.
    fn needs(&mut self, node: usize) -> Vec<usize> {
        let proto = &self.proto.node[node];
        let mut needs = Vec::new();
        for (index, name) in proto.input.iter().enumerate() {
            match self.values.get(name.as_str()) {
                Some(&Value::Node { node, .. }) => needs.push(node),
                Some(_) => {}
                None if name.is_empty() => {}
                None => {
                    let message = format!(
                        "input {index} is {}, which is no input, initialiser or output of a node",
                        quoted(name)
                    );
                    let layer = Some(self.layer(node));
                    self.problems.error(Kind::Structure, layer, message);
                }
            }
        }
        for name in captured(proto) {
            if let Some(&Value::Node { node, .. }) = self.values.get(name) {
                needs.push(node);
            }
        }
        needs
    }

    /// The output that a name stands for. Its node was added before.
    fn port(&mut self, name: &str) -> Option<Port> {
        match *self.values.get(name)? {
            Value::Input(node) => Some(Port::new(node, 0)),
            Value::Node { node, output } => Some(Port::new(self.nodes[node]?, output)),
            Value::Initializer(index) => {
                let made = self.initializers[index];
                let node = made.unwrap_or_else(|| self.initializer(index));
                self.initializers[index] = Some(node);
                Some(Port::new(node, 0))
            }
        }
    }

    fn initializer(&mut self, index: usize) -> NodeId {
        let dense = self.proto.initializer.len();
        let (name, constant) = match index.checked_sub(dense) {
            None => {
                let proto = &self.proto.initializer[index];
                (proto.name.as_str(), tensor::read(proto, self.folder))
            }
            Some(index) => {
                let proto = &self.proto.sparse_initializer[index];
                let name = proto.values.as_ref().map_or("", |t| &t.name);
                (name, tensor::read_sparse(proto, self.folder, self.limits))
            }
        };
        let mut output = OutputPort {
            names: vec![name.to_owned()],
            ..OutputPort::default()
        };
        match constant {
            Ok(constant) => {
                let crate::op::Output {
                    element_type,
                    shape,
                } = constant.output();
                output.declared = Some((element_type, shape));
                self.infrastructure("Const", name, constant, &[], vec![output])
            }
            Err(refusal) => {
                let operation = Operation::Opaque {
                    type_name: "Const".to_owned(),
                    attributes: Vec::new(),
                };
                let mut node = Node::of(name, "", operation, &[]);
                node.outputs = vec![output];
                let id = self.graph.push(node);
                self.refuse(self.graph.node(id).layer_ref(), refusal);
                id
            }
        }
    }

    /// Notes why a layer is not taken. What is not supported keeps a model from running, but not
    /// from loading.
    fn refuse(&mut self, layer: LayerRef, refusal: Refusal) {
        match refusal.kind {
            Kind::Unsupported => self
                .problems
                .warn(refusal.kind, Some(layer), refusal.message),
            _ => self.problems.refuse(Some(layer), refusal),
        }
    }

    fn add_node(&mut self, index: usize, needs: &[usize]) {
        let proto = &self.proto.node[index];
        let layer = self.layer(index);
        let mut ports: SmallVec<[Option<Port>; 4]> =
            proto.input.iter().map(|name| self.port(name)).collect();
        let given = proto.input.iter().rposition(|name| !name.is_empty());
        ports.truncate(given.map_or(0, |last| last + 1));
        let before = self.graph.nodes.len();
        let operation = self.map(index, &layer, &ports);
        let mut node = match operation {
            Ok((mapped, version)) => {
                let origin = Origin {
                    type_name: proto.op_type.clone(),
                    version,
                    helper: false,
                };
                mapped.into_node(&layer.name, &layer.opset, Box::new(origin))
            }
            Err(refusal) => {
                self.graph.nodes.truncate(before);
                self.refuse(layer.clone(), refusal);
                let operation = Operation::Opaque {
                    type_name: proto.op_type.clone(),
                    attributes: map::texts(&proto.attribute),
                };
                let captured = needs.iter().filter_map(|&node| self.nodes[node]);
                let captured: Vec<Port> = captured.map(|node| Port::new(node, 0)).collect();
                let mut inputs: Vec<Port> = ports.iter().copied().flatten().collect();
                let taken: HashSet<NodeId> = inputs.iter().map(|port| port.node).collect();
                inputs.extend(captured.iter().filter(|port| !taken.contains(&port.node)));
                Node::of(&layer.name, &layer.opset, operation, &inputs)
            }
        };
        node.id = index as u64;
        node.outputs = proto.output.iter().map(|name| self.output(name)).collect();
        self.nodes[index] = Some(self.graph.push(node));
    }

    /// The operation of a node, and the operator's version.
    fn map(
        &mut self,
        index: usize,
        layer: &LayerRef,
        inputs: &[Option<Port>],
    ) -> Result<(Mapped, u8), Refusal> {
        let proto = &self.proto.node[index];
        let found = match self.opset(proto) {
            (DEFAULT_DOMAIN, Some(opset)) => map::find(&proto.op_type, opset),
            (DEFAULT_DOMAIN, None) => {
                let message = format!("the model imports no opset of {DEFAULT_DOMAIN}");
                return Err(Refusal::structure(message));
            }
            _ => None,
        };
        let Some((operator, version)) = found else {
            return Err(Refusal::unsupported("the operation is not supported"));
        };
        let mut mapping = Mapping {
            node: proto,
            name: &layer.name,
            opset: &layer.opset,
            version,
            inputs,
            attributes: Attributes::new(&proto.attribute),
            graph: &mut self.graph,
            folder: self.folder,
            limits: self.limits,
            warnings: Vec::new(),
        };
        let mapped = mapping.run(operator);
        for warning in mapping.warnings {
            self.problems
                .warn(Kind::Structure, Some(layer.clone()), warning);
        }
        Ok((mapped?, version))
    }

    fn output(&mut self, name: &'m str) -> OutputPort {
        if name.is_empty() {
            return OutputPort::default();
        }
        let ty = self.types.get(name).copied();
        let declared = ty.and_then(|ty| self.symbols.of_type(Some(ty)).ok());
        OutputPort {
            names: vec![name.to_owned()],
            declared,
            ..OutputPort::default()
        }
    }

    fn add_outputs(&mut self) {
        for info in &self.proto.output {
            let name = info.name.as_str();
            let Some(port) = self.port(name) else {
                let message = format!("output {} is the output of no node", quoted(name));
                self.problems.error(Kind::Structure, None, message);
                continue;
            };
            let id = self.infrastructure("Result", name, Output {}, &[port], Vec::new());
            self.graph.outputs.push(Terminal {
                node: id,
                names: vec![name.to_owned()],
                aliases: vec![self.graph.node(port.node).name.clone()],
            });
        }
    }

    fn warn_unused(&mut self) {
        for index in 0..self.nodes.len() {
            if self.nodes[index].is_none() {
                let layer = Some(self.layer(index));
                let message = "no output needs this node";
                self.problems.warn(Kind::Structure, layer, message);
            }
        }
        let used = |index: &usize| self.initializers[*index].is_some();
        let proto = self.proto;
        let unused: Vec<usize> = (0..proto.initializer.len()).filter(|i| !used(i)).collect();
        let captured: HashSet<&str> = proto.node.iter().flat_map(captured).collect();
        for index in unused {
            let name = &proto.initializer[index].name;
            if !captured.contains(name.as_str()) {
                let message = format!("no output needs initialiser {}", quoted(name));
                self.problems.warn(Kind::Structure, None, message);
            }
        }
    }

    /// The domain of a node, and the version of it that the model uses.
    fn opset(&self, node: &'m NodeProto) -> (&'m str, Option<i64>) {
        let domain = match node.domain.as_str() {
            "" => DEFAULT_DOMAIN,
            domain => domain,
        };
        let found = self.opsets.iter().find(|(d, _)| d == domain);
        (domain, found.map(|&(_, version)| version))
    }

    /// A node as problems name it.
    fn layer(&self, index: usize) -> LayerRef {
        let proto = &self.proto.node[index];
        let output = proto.output.iter().find(|name| !name.is_empty());
        let name = match (proto.name.as_str(), output) {
            ("", Some(output)) => output.clone(),
            ("", None) => format!("{}_{index}", proto.op_type),
            (name, _) => name.to_owned(),
        };
        let (domain, version) = self.opset(proto);
        let version = version.map(|version| format!(" {version}"));
        LayerRef {
            id: index as u64,
            name,
            type_name: proto.op_type.clone(),
            opset: format!("{domain}{}", version.unwrap_or_default()),
        }
    }
}

/// The names that the graphs of a node's attributes take from outside, and some of their own.
fn captured(node: &NodeProto) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open: Vec<&GraphProto> = Vec::new();
    let mut nodes: Vec<&NodeProto> = vec![node];
    while let Some(node) = nodes.pop() {
        for attribute in &node.attribute {
            open.extend(attribute.g.as_deref());
            open.extend(&attribute.graphs);
        }
        while let Some(graph) = open.pop() {
            names.extend(graph.output.iter().map(|info| info.name.as_str()));
            for node in &graph.node {
                names.extend(node.input.iter().map(String::as_str));
                nodes.push(node);
            }
        }
    }
    names
}
