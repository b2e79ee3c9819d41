//! A graph while passes rewrite it.

use std::sync::Arc;

use smallvec::SmallVec;

use super::dead;
use crate::graph::infer::{Fact, Facts};
use crate::graph::{Graph, Known, Node, NodeId, Operation, Port};
use crate::op::{Input, Op, Output, Role};
use crate::ops;
use crate::ops::infrastructure::Const;
use crate::tensor::{ElementType, Tensor};

/// A graph and what is known of its nodes.
pub(super) struct Draft {
    pub(super) graph: Graph,
    pub(super) facts: Vec<Fact>,
}

/// What to put in place of a node that has one output.
pub(super) struct Replaced {
    pub(super) index: usize,
    /// Nodes to put before it. They and the node itself may use them as `index`, `index + 1` and so on.
    pub(super) before: Vec<(Node, Fact)>,
    /// What it is to compute instead, and of what.
    pub(super) operation: Operation,
    pub(super) inputs: SmallVec<[Port; 4]>,
}

impl Draft {
    /// Drafts of all graphs of a model. Bodies of layers that nothing needed, and that are gone, are
    /// empty: inference knows nothing of them.
    pub(super) fn all(graphs: &[Graph], facts: &Facts) -> impl Iterator<Item = Self> {
        let held = held(graphs);
        let all = graphs.iter().zip(facts.graphs()).zip(held);
        all.map(|((graph, facts), held)| match held {
            true => Self {
                graph: graph.clone(),
                facts: facts.to_vec(),
            },
            false => Self {
                graph: Graph::default(),
                facts: Vec::new(),
            },
        })
    }

    /// The graphs, without what nobody needs.
    pub(super) fn finish(drafts: Vec<Self>) -> (Vec<Graph>, Facts) {
        let drafts = dead::drop_dead(drafts);
        let (graphs, facts): (Vec<_>, Vec<_>) =
            drafts.into_iter().map(|d| (d.graph, d.facts)).unzip();
        (graphs, Facts::of_graphs(facts))
    }

    pub(super) fn len(&self) -> usize {
        self.graph.nodes.len()
    }

    pub(super) fn node(&self, index: usize) -> &Node {
        &self.graph.nodes[index]
    }

    /// The operation of a node that computes: not a terminal, nor one with bodies or a state.
    pub(super) fn computes(&self, index: usize) -> Option<&Arc<dyn Op>> {
        let op = self.op(index)?;
        (op.role() == Role::Inner && op.is_pure() && !op.is_constant()).then_some(op)
    }

    /// The operation of a node.
    pub(super) fn op(&self, index: usize) -> Option<&Arc<dyn Op>> {
        match &self.node(index).operation {
            Operation::Known { op, .. } | Operation::Joined { op, .. } => Some(op),
            Operation::Opaque { .. } => None,
        }
    }

    /// The name of the operation that a value is computed by.
    pub(super) fn computed_by(&self, port: Port) -> Option<&'static str> {
        self.computes(port.node.index())?;
        match &self.node(port.node.index()).operation {
            Operation::Known { def, .. } => Some(def.name),
            _ => None,
        }
    }

    /// The same for a node, if it is one of `f32`.
    pub(super) fn kind(&self, index: usize) -> Option<&'static str> {
        let output = self.facts[index].outputs.first()?;
        let single = output.element_type == ElementType::F32;
        self.computed_by(port(index)).filter(|_| single)
    }

    /// An attribute of a node's operation.
    pub(super) fn attribute(&self, index: usize, name: &str) -> Option<String> {
        let attributes = self.node(index).attributes();
        let found = attributes.into_iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value)
    }

    /// Whether an attribute is true.
    pub(super) fn is_set(&self, index: usize, name: &str) -> bool {
        self.attribute(index, name)
            .is_some_and(|value| value == "true")
    }

    /// Type and shape of a value.
    pub(super) fn output(&self, port: Port) -> Option<&Output> {
        let fact = &self.facts[port.node.index()];
        fact.outputs.get(port.index as usize)
    }

    /// The elements of a value, if they are known.
    pub(super) fn value(&self, port: Port) -> Option<&Tensor> {
        let fact = &self.facts[port.node.index()];
        if let Some(Some(Known::Tensor(tensor))) = fact.known.get(port.index as usize) {
            return Some(tensor);
        }
        let constant = self.op(port.node.index())?.constant()?;
        constant.ok().filter(|_| port.index == 0)
    }

    /// The only element of a constant of `f32`.
    pub(super) fn number(&self, port: Port) -> Option<f32> {
        match self.value(port)?.as_slice::<f32>().ok()? {
            &[number] => Some(number),
            _ => None,
        }
    }

    /// The inputs of a node with all that is known of them.
    pub(super) fn inputs(&self, index: usize) -> Option<SmallVec<[Input<'_>; 4]>> {
        let ports = self.node(index).inputs.iter();
        let input = |port: &Port| {
            let output = self.output(*port)?;
            let mut input = Input::new(output.element_type, &output.shape);
            input.value = self.value(*port);
            Some(input)
        };
        ports.map(input).collect()
    }

    /// For each node, the nodes that use any of its outputs, each as often as it does.
    pub(super) fn consumers(&self) -> Vec<Vec<usize>> {
        let mut consumers = vec![Vec::new(); self.len()];
        for (id, node) in self.graph.nodes() {
            for port in &node.inputs {
                consumers[port.node.index()].push(id.index());
            }
        }
        consumers
    }

    /// Puts a constant in place of a node of one output.
    pub(super) fn set_constant(&mut self, index: usize, tensor: Tensor) {
        let (operation, fact) = constant(tensor);
        self.facts[index] = fact;
        let node = &mut self.graph.nodes[index];
        node.operation = operation;
        node.origin = None;
        node.inputs.clear();
    }

    /// Frees what a constant holds that nobody needs any more.
    pub(super) fn forget(&mut self, index: usize) {
        if let Ok(nothing) = Tensor::zeros(ElementType::U8, [0]) {
            self.set_constant(index, nothing);
        }
    }

    /// Puts nodes in place of others of one of the graphs; the places of these ascend.
    pub(super) fn replace(drafts: &mut [Self], which: usize, replaced: Vec<Replaced>) {
        let Self { graph, facts } = &mut drafts[which];
        // How far each node moves.
        let mut moves = vec![0; graph.nodes.len()];
        for replaced in &replaced {
            moves[replaced.index] = replaced.before.len();
        }
        let mut far = 0;
        for by in &mut moves {
            far += *by;
            *by = far;
        }
        let moved = |id: NodeId| NodeId::new(id.index() + moves[id.index()]);
        let nodes = std::mem::take(&mut graph.nodes);
        let old = nodes.into_iter().zip(std::mem::take(facts)).enumerate();
        let mut replaced = replaced.into_iter().peekable();
        for (index, (mut node, fact)) in old {
            let mut before = Vec::new();
            // From here on places are those of new nodes.
            let mut new = usize::MAX;
            if let Some(with) = replaced.next_if(|with| with.index == index) {
                before = with.before;
                node.operation = with.operation;
                node.origin = None;
                node.input_rt_info.clear();
                node.inputs = with.inputs;
                new = index;
            }
            let by = moves[index] - before.len();
            let find = |port: &mut Port| {
                let place = port.node.index();
                port.node = match place >= new {
                    true => NodeId::new(place + by),
                    false => moved(port.node),
                };
            };
            for (mut node, fact) in before {
                node.inputs.iter_mut().for_each(find);
                graph.push(node);
                facts.push(fact);
            }
            node.inputs.iter_mut().for_each(find);
            graph.nodes.push(node);
            facts.push(fact);
        }
        for terminal in graph.inputs.iter_mut().chain(&mut graph.outputs) {
            terminal.node = moved(terminal.node);
        }
        for body in drafts {
            if let Some((parent, node)) = &mut body.graph.parent
                && *parent == which
            {
                *node = moved(*node);
            }
        }
    }

    /// Puts an operation in place of a node, and of those before it that it does the work of.
    pub(super) fn set(
        &mut self,
        index: usize,
        op: Arc<dyn Op>,
        type_name: String,
        inputs: impl IntoIterator<Item = Port>,
    ) {
        let node = &mut self.graph.nodes[index];
        node.operation = Operation::Joined { op, type_name };
        node.origin = None;
        node.inputs = inputs.into_iter().collect();
    }
}

/// A constant, and what is known of it.
pub(super) fn constant(tensor: Tensor) -> (Operation, Fact) {
    let resolved = ops::resolve("Const", "opset1").expect("opset1 has constants");
    let mut fact = Fact::of(Output::new(tensor.element_type(), tensor.shape()));
    fact.known = smallvec::smallvec![Some(Known::Tensor(tensor.clone()))];
    (
        Operation::known(&resolved, Box::new(Const::new(tensor))),
        fact,
    )
}

/// Which graphs are the model's own, or bodies of layers that are there.
fn held(graphs: &[Graph]) -> Vec<bool> {
    let mut held = vec![false; graphs.len()];
    let mut next: Vec<usize> = (0..graphs.len().min(1)).collect();
    while let Some(index) = next.pop() {
        if !std::mem::replace(&mut held[index], true) {
            let bodies = graphs[index].nodes.iter().flat_map(|node| &node.bodies);
            next.extend(bodies.map(|body| body.graph));
        }
    }
    held
}

/// A port of a node by its index.
pub(super) fn port(index: usize) -> Port {
    Port::new(NodeId::new(index), 0)
}
