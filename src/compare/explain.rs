//! Why two layers that should be the same are not.

use super::reference::Layers;
use crate::graph::{Node, NodeId};
use crate::metrics::{Difference, Tolerance};
use crate::model::Model;

/// What a layer of one model differs in from the layer that stands for it in another one.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// The operations, if they differ.
    pub operations: Option<(String, String)>,
    /// Attributes whose values differ: the name, the value here, the value there.
    pub attributes: Vec<(String, String, String)>,
    /// Inputs that come from other layers: the position, the layer here, the layer there.
    pub inputs: Vec<(usize, String, String)>,
    /// Constants behind the layer that hold other values: the name, and the difference.
    pub constants: Vec<(String, Difference)>,
}

impl Explanation {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        let lists = self.attributes.len() + self.inputs.len() + self.constants.len();
        self.operations.is_none() && lists == 0
    }

    /// What the layers at `nodes` differ in from their partners.
    pub(super) fn of(
        model: &Model,
        nodes: &[NodeId],
        reference: &Layers<'_>,
        pairs: &[Option<NodeId>],
        varies: &[bool],
    ) -> Self {
        let mut found = Self::default();
        for &id in nodes {
            let Some(other) = pairs[id.index()] else {
                continue;
            };
            let (a, b) = (model.graph().node(id), reference.model.graph().node(other));
            found.compare(a, b);
            found.compare_inputs(model, reference.model, (a, b), pairs);
        }
        for (id, other) in constants(model, nodes, varies, pairs) {
            let node = model.graph().node(id);
            let tensor = |node: &Node| node.op()?.constant()?.ok().cloned();
            let here = tensor(node);
            let there = tensor(reference.model.graph().node(other));
            if let (Some(here), Some(there)) = (here, there) {
                let difference = Difference::between(&here, &there, &Tolerance::EXACT);
                if !difference.is_none() {
                    found.constants.push((node.name().to_owned(), difference));
                }
            }
        }
        found
    }

    fn compare(&mut self, a: &Node, b: &Node) {
        let operation = |node: &Node| match node.version() {
            Some(version) => format!("{}-{version}", node.type_name()),
            None => node.type_name().to_owned(),
        };
        if operation(a) != operation(b) {
            self.operations = Some((operation(a), operation(b)));
            return;
        }
        let there = b.attributes();
        for (name, value) in a.attributes() {
            let other = there.iter().find(|(other, _)| *other == name);
            if let Some((_, other)) = other.filter(|(_, other)| *other != value) {
                self.attributes.push((name, value, other.clone()));
            }
        }
    }

    fn compare_inputs(
        &mut self,
        model: &Model,
        reference: &Model,
        (a, b): (&Node, &Node),
        pairs: &[Option<NodeId>],
    ) {
        for (index, (here, there)) in a.inputs().iter().zip(b.inputs()).enumerate() {
            let pair = pairs[here.node.index()];
            if pair.is_some() && (pair, here.index) != (Some(there.node), there.index) {
                let name = |model: &Model, node| model.graph().node(node).name().to_owned();
                let names = (name(model, here.node), name(reference, there.node));
                self.inputs.push((index, names.0, names.1));
            }
        }
    }
}

/// The constants that nodes take, themselves or through layers that depend on no input, with their
/// partners.
fn constants(
    model: &Model,
    nodes: &[NodeId],
    varies: &[bool],
    pairs: &[Option<NodeId>],
) -> Vec<(NodeId, NodeId)> {
    let graph = model.graph();
    let mut seen = vec![false; graph.nodes().len()];
    let mut open: Vec<NodeId> = nodes.to_vec();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        if node.op().is_some_and(|op| op.is_constant()) {
            found.extend(pairs[id.index()].map(|other| (id, other)));
        }
        for port in node.inputs() {
            if !varies[port.node.index()] && !std::mem::replace(&mut seen[port.node.index()], true)
            {
                open.push(port.node);
            }
        }
    }
    found.sort_unstable();
    found
}
