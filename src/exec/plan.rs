//! What is evaluated, and when each tensor is used last.

use std::sync::OnceLock;

use crate::graph::infer::Fact;
use crate::graph::{Graph, Node, NodeId};
use crate::op::Role;
use crate::tensor::Shape;

/// Tensors of up to so many bytes stay with the nodes that make them: what is around them takes as
/// much.
const SMALL: u64 = 1 << 10;

/// What a run needs to know of a graph ahead.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The constants.
    pub(crate) constants: Vec<NodeId>,
    /// The other nodes, in order, but for Parameters that somebody reads: there is nothing to do.
    pub(crate) steps: Vec<NodeId>,
    /// The nodes whose outputs the run gives back.
    pub(crate) results: Vec<NodeId>,
    /// The bytes of those whose shapes are known.
    pub(crate) result_bytes: u64,
    /// For each node, whether its outputs are in memory of the run. What the caller brings is his.
    pub(crate) makes: Vec<bool>,
    /// For each node, the earlier nodes none of whose outputs is used after it; constants stay.
    pub(crate) last_uses: Vec<Vec<u32>>,
    /// For each node, the shape of its only output, if no run finds another and the tensor is so small
    /// that its memory stays with the node from one run to the next.
    pub(crate) small: Vec<Option<Shape>>,
}

impl Plan {
    /// Room for the plans of this many graphs, made when they are needed.
    pub(crate) fn slots(graphs: usize) -> Box<[OnceLock<Self>]> {
        (0..graphs).map(|_| OnceLock::new()).collect()
    }

    pub(crate) fn new<'f>(graph: &Graph, fact: impl Fn(NodeId) -> &'f Fact) -> Self {
        let count = graph.nodes.len();
        let mut last: Vec<Option<usize>> = vec![None; count];
        for (id, node) in graph.nodes() {
            for port in node.inputs() {
                last[port.node.index()] = Some(id.index());
            }
        }
        // What the run gives back stays.
        for output in graph.outputs() {
            last[output.node.index()] = Some(count);
        }
        let is_constant = |id: NodeId| graph.node(id).op().is_some_and(|op| op.is_constant());
        let is_there =
            |id: NodeId| graph.node(id).role() == Role::Parameter && last[id.index()].is_some();
        let (constants, steps): (Vec<_>, Vec<_>) = graph
            .nodes()
            .map(|(id, _)| id)
            .filter(|&id| !is_there(id))
            .partition(|&id| is_constant(id));
        for &id in &constants {
            last[id.index()] = Some(count);
        }
        let mut last_uses = vec![Vec::new(); count];
        for (node, last) in last.into_iter().enumerate() {
            // An output that nobody uses goes at once.
            let at = last.unwrap_or(node);
            if at < count {
                last_uses[at].push(u32::try_from(node).unwrap_or(u32::MAX));
            }
        }
        Self {
            constants,
            steps,
            result_bytes: graph
                .outputs()
                .iter()
                .filter_map(|output| fact(output.node).outputs.first()?.known_bytes())
                .fold(0, u64::saturating_add),
            results: graph.outputs().iter().map(|output| output.node).collect(),
            makes: graph
                .nodes()
                .map(|(_, node)| node.role() != Role::Parameter)
                .collect(),
            last_uses,
            small: graph
                .nodes()
                .map(|(id, node)| small(node, fact(id)))
                .collect(),
        }
    }
}

/// See [`Plan::small`].
fn small(node: &Node, fact: &Fact) -> Option<Shape> {
    let op = node.op().filter(|op| op.role() == Role::Inner)?;
    let [output] = &fact.outputs[..] else {
        return None;
    };
    let own = fact.settled && !op.is_constant() && !op.reshapes();
    // Strings have memory of their own.
    let small = output.known_bytes().is_some_and(|bytes| bytes <= SMALL);
    (own && small).then(|| output.shape.to_shape()).flatten()
}
