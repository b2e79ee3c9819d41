//! Some layers of a model as a model of their own.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, OutputPort, Port, Terminal};
use crate::model::Model;
use crate::op::{Op, Role};
use crate::ops;
use crate::ops::infrastructure::{Const, Parameter, Result as Output};
use crate::tensor::Tensor;

/// What stands for a value that a kept layer takes and no kept layer makes.
#[derive(Debug, Clone)]
pub(crate) enum Boundary {
    /// An input of the type and shape that inference knows.
    Input,
    /// A constant.
    Constant(Tensor),
}

/// A model of some layers of another.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    pub(crate) model: Model,
    /// For each input, the value of the original that it stands for.
    pub(crate) inputs: Vec<Port>,
}

/// Which layers of a model's graph are kept, and where the cut goes.
#[derive(Debug, Clone)]
pub(crate) struct Cutter<'m> {
    model: &'m Model,
    /// For each node, whether it is kept. Constants and inputs come along with those who take them.
    pub(crate) kept: Vec<bool>,
    /// Values that are inputs, whether their layer is kept or not.
    pub(crate) at: HashSet<Port>,
    /// The values that are outputs, in order. The output of a Result stands for that output of the
    /// model, with its names.
    pub(crate) outputs: Vec<Port>,
}

impl<'m> Cutter<'m> {
    /// A cut that keeps nothing yet.
    pub(crate) fn new(model: &'m Model) -> Self {
        Self {
            model,
            kept: vec![false; model.graph().nodes.len()],
            at: HashSet::new(),
            outputs: Vec::new(),
        }
    }

    /// Makes the model. Layers that no output and no variable needs are left out. A variable stays
    /// one if the layers that read and write it are kept; else its value is an input.
    ///
    /// # Errors
    /// When the layers do not take what the cut gives them.
    pub(crate) fn cut(mut self, boundary: &mut dyn FnMut(Port) -> Boundary) -> Result<Cut> {
        self.keep_whole_variables();
        self.drop_unneeded();
        let model = self.model;
        let mut draft = Draft {
            model,
            at: &self.at,
            graph: Graph {
                rt_info: model.graph().rt_info.clone(),
                next_id: model.graph().next_id,
                ..Graph::default()
            },
            new: vec![None; self.kept.len()],
            cut: HashMap::new(),
            inputs: Vec::new(),
        };
        for (id, node) in model.graph().nodes() {
            if self.kept[id.index()] {
                let inputs = node.inputs.iter();
                let inputs = inputs.map(|&port| draft.value(port, boundary)).collect();
                let node = Node {
                    inputs,
                    ..node.clone()
                };
                draft.new[id.index()] = Some(draft.graph.push(node));
            }
        }
        for &port in &self.outputs {
            draft.result(port, boundary);
        }
        let Draft {
            mut graph,
            mut inputs,
            ..
        } = draft;
        // As the values come in the original.
        inputs.sort_by_key(|(port, _)| (port.node, port.index));
        let (inputs, terminals) = inputs.into_iter().unzip();
        graph.inputs = terminals;
        let graphs = with_bodies(graph, model.graphs());
        Ok(Cut {
            model: model.rebuilt(graphs)?,
            inputs,
        })
    }

    /// Leaves out layers of variables that are only read, or only written.
    fn keep_whole_variables(&mut self) {
        let graph = self.model.graph();
        let of = |kept: &[bool], role: Role| -> HashSet<&str> {
            let nodes = graph
                .nodes()
                .filter(|(id, node)| kept[id.index()] && node.role() == role);
            nodes
                .filter_map(|(_, node)| node.op()?.variable())
                .collect()
        };
        let (read, written) = (
            of(&self.kept, Role::ReadValue),
            of(&self.kept, Role::Assign),
        );
        for (id, node) in graph.nodes() {
            if let Some(variable) = node.op().and_then(|op| op.variable()) {
                self.kept[id.index()] &= read.contains(variable) && written.contains(variable);
            }
        }
    }

    fn drop_unneeded(&mut self) {
        let graph = self.model.graph();
        let mut needed = vec![false; self.kept.len()];
        for port in &self.outputs {
            let port = taken(graph, *port);
            needed[port.node.index()] |= !self.at.contains(&port);
        }
        for (id, node) in graph.nodes.iter().enumerate().rev() {
            needed[id] |= node.role() == Role::Assign;
            needed[id] &= self.kept[id];
            if needed[id] {
                for port in &node.inputs {
                    needed[port.node.index()] |= !self.at.contains(port);
                }
            }
        }
        // What has a place elsewhere is no layer of the cut.
        for (id, kept) in self.kept.iter_mut().enumerate() {
            let role = graph.nodes[id].role();
            let placed = matches!(role, Role::Parameter | Role::Result);
            *kept = needed[id] && !placed;
        }
    }
}

/// The value that a Result hands on; any other value as it is.
pub(super) fn taken(graph: &Graph, mut port: Port) -> Port {
    // Results may follow each other.
    while graph.node(port.node).role() == Role::Result {
        match graph.node(port.node).inputs.first() {
            Some(&from) => port = from,
            None => break,
        }
    }
    port
}

/// A graph that is being put together.
struct Draft<'m, 'c> {
    model: &'m Model,
    at: &'c HashSet<Port>,
    graph: Graph,
    /// For each node of the original, its place in the new graph.
    new: Vec<Option<NodeId>>,
    /// The values at the cut.
    cut: HashMap<Port, Port>,
    inputs: Vec<(Port, Terminal)>,
}

impl Draft<'_, '_> {
    /// The value in the new graph.
    fn value(&mut self, port: Port, boundary: &mut dyn FnMut(Port) -> Boundary) -> Port {
        let original = self.model.graph();
        let port = taken(original, port);
        if let Some(&cut) = self.cut.get(&port) {
            return cut;
        }
        let is_cut = self.at.contains(&port);
        if let Some(node) = self.new[port.node.index()].filter(|_| !is_cut) {
            return Port {
                node,
                index: port.index,
            };
        }
        let node = original.node(port.node);
        let new = if is_cut && node.role() != Role::Parameter {
            self.input(port)
        } else if node.role() == Role::Parameter {
            self.parameter(port)
        } else if node.op().is_some_and(|op| op.is_constant()) {
            let node = self.graph.push(node.clone());
            self.new[port.node.index()] = Some(node);
            Port::new(node, 0)
        } else {
            match boundary(port) {
                Boundary::Input => self.input(port),
                Boundary::Constant(tensor) => self.constant(port, tensor),
            }
        };
        self.cut.insert(port, new);
        new
    }

    /// An input of the model that stays one.
    fn parameter(&mut self, port: Port) -> Port {
        let original = self.model.graph();
        let node = self.graph.push(original.node(port.node).clone());
        let mut terminals = original.inputs.iter();
        if let Some(terminal) = terminals.find(|terminal| terminal.node == port.node) {
            let terminal = Terminal {
                node,
                ..terminal.clone()
            };
            self.inputs.push((port, terminal));
        }
        Port::new(node, 0)
    }

    /// A value of the original that is an input.
    fn input(&mut self, port: Port) -> Port {
        let output = self.model.inferred(port.node).get(port.index as usize);
        let output = output.cloned().unwrap_or_default();
        let op = Parameter {
            shape: output.shape,
            element_type: output.element_type,
        };
        let new = self.made("Parameter", port, Box::new(op));
        let names = self.graph.node(new.node).outputs[0].names.clone();
        let layer = self.graph.node(new.node).name.clone();
        self.inputs.push((
            port,
            Terminal {
                node: new.node,
                names,
                aliases: vec![layer],
            },
        ));
        new
    }

    fn constant(&mut self, port: Port, tensor: Tensor) -> Port {
        self.made("Const", port, Box::new(Const::new(tensor)))
    }

    /// A layer that stands for the one that made a value: with its name, and the tensor's.
    fn made(&mut self, type_name: &str, port: Port, op: Box<dyn Op>) -> Port {
        let names = tensor_names(self.model.graph(), port);
        let resolved = ops::resolve(type_name, "opset1").expect("opset1 has the operation");
        let mut node = Node::made(&names[0], "opset1", &resolved, op, &[]);
        node.outputs = vec![OutputPort {
            names,
            ..OutputPort::default()
        }];
        Port::new(self.graph.push(node), 0)
    }

    /// Adds an output.
    fn result(&mut self, port: Port, boundary: &mut dyn FnMut(Port) -> Boundary) {
        let original = self.model.graph();
        let mut outputs = original.outputs.iter();
        let value = self.value(port, boundary);
        let (node, terminal) = match outputs.find(|output| output.node == port.node) {
            Some(terminal) => {
                let node = Node {
                    inputs: [value].into_iter().collect(),
                    ..original.node(port.node).clone()
                };
                (node, terminal.clone())
            }
            None => {
                let names = tensor_names(original, port);
                let resolved = ops::resolve("Result", "opset1").expect("opset1 has Result");
                let name = format!("{}/result", names[0]);
                let op = Box::new(Output {});
                let mut node = Node::made(&name, "opset1", &resolved, op, &[value]);
                node.outputs.clear();
                let terminal = Terminal {
                    node: port.node,
                    names,
                    aliases: vec![name, original.node(port.node).name.clone()],
                };
                (node, terminal)
            }
        };
        let node = self.graph.push(node);
        self.graph.outputs.push(Terminal { node, ..terminal });
    }
}

/// The names of a value: the tensor's, or else the layer's, with the number of the output if it has
/// several.
pub(crate) fn tensor_names(graph: &Graph, port: Port) -> Vec<String> {
    let node = graph.node(port.node);
    let names = node.outputs.get(port.index as usize).map(|o| &o.names);
    match names.filter(|names| !names.is_empty()) {
        Some(names) => names.clone(),
        None if node.outputs.len() > 1 => vec![format!("{}.{}", node.name, port.index)],
        None => vec![node.name.clone()],
    }
}

/// The graph with the bodies of its layers, out of the graphs of the original.
pub(super) fn with_bodies(graph: Graph, originals: &[Graph]) -> Vec<Graph> {
    let mut graphs = vec![graph];
    let mut at = 0;
    while at < graphs.len() {
        for node in 0..graphs[at].nodes.len() {
            let mut bodies = std::mem::take(&mut graphs[at].nodes[node].bodies);
            for body in &mut bodies {
                let new = graphs.len();
                graphs.push(Graph {
                    parent: Some((at, NodeId::new(node))),
                    ..originals[body.graph].clone()
                });
                body.graph = new;
            }
            graphs[at].nodes[node].bodies = bodies;
        }
        at += 1;
    }
    graphs
}
