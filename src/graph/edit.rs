//! Changes to a graph: nodes inserted into edges.

use super::{Graph, Node, NodeId, Operation, OutputPort, Port, RtInfo, order};
use crate::op::{Op, Role};
use crate::ops::Resolved;

impl Operation {
    /// An operation of the registry, with its attributes.
    pub(crate) fn known(resolved: &Resolved, op: Box<dyn Op>) -> Self {
        Self::Known {
            op: op.into(),
            def: resolved.def,
            version: resolved.version,
        }
    }
}

impl Node {
    /// A layer that stands in no file.
    pub(crate) fn made(
        name: &str,
        opset: &str,
        resolved: &Resolved,
        op: Box<dyn Op>,
        inputs: &[Port],
    ) -> Self {
        Self::of(name, opset, Operation::known(resolved, op), inputs)
    }

    /// A node of this operation that stands in no document.
    pub(crate) fn of(name: &str, opset: &str, operation: Operation, inputs: &[Port]) -> Self {
        Self {
            id: u64::MAX,
            name: name.to_owned(),
            opset: opset.to_owned(),
            operation,
            origin: None,
            inputs: inputs.into(),
            input_rt_info: Vec::new(),
            outputs: vec![OutputPort::default()],
            offset: None,
            rt_info: RtInfo::default(),
            bodies: Vec::new(),
        }
    }
}

impl Graph {
    /// Adds a node at the end; [`Graph::sort`] must follow.
    ///
    /// A layer that stands in no file gets an id that no other has.
    pub(crate) fn push(&mut self, mut node: Node) -> NodeId {
        if node.id == u64::MAX {
            node.id = self.next_id;
        }
        self.next_id = self.next_id.max(node.id.saturating_add(1));
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    /// Makes the consumers of `from`, but for `except`, take `to`.
    pub(crate) fn redirect(&mut self, from: Port, to: Port, except: NodeId) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if index != except.index() {
                let inputs = node.inputs.iter_mut().filter(|p| **p == from);
                inputs.for_each(|p| *p = to);
            }
        }
    }

    /// Restores the topological order after nodes were added.
    pub(crate) fn sort(&mut self) {
        let parameters = self.inputs.iter().map(|t| t.node.index());
        let all = 0..self.nodes.len();
        let inputs = |n: usize| {
            let ports: Vec<_> = self.nodes[n]
                .inputs
                .iter()
                .map(|p| p.node.index())
                .collect();
            ports.into_iter()
        };
        let order = order(self.nodes.len(), parameters, all, inputs)
            .expect("an insertion into edges makes no cycle");
        let mut position = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            position[old] = new;
        }
        let renumber = |id: NodeId| NodeId::new(position[id.index()]);
        let mut slots: Vec<_> = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(Some)
            .collect();
        self.nodes = order.iter().filter_map(|&old| slots[old].take()).collect();
        for port in self.nodes.iter_mut().flat_map(|n| &mut n.inputs) {
            port.node = renumber(port.node);
        }
        for terminal in self.inputs.iter_mut().chain(&mut self.outputs) {
            terminal.node = renumber(terminal.node);
        }
        // A Parameter whose attributes are wrong has no operation.
        let is_input = |op: &dyn Op| op.role() == Role::Parameter;
        debug_assert!(
            self.inputs
                .iter()
                .all(|t| self.node(t.node).op().is_none_or(is_input)),
            "terminals follow their nodes"
        );
    }
}
