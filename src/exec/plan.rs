//! When each tensor is used last.

use std::sync::OnceLock;

use crate::graph::Graph;

/// What a run needs to know of a graph ahead.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each node, the earlier nodes none of whose outputs is used after it.
    pub(crate) last_uses: Vec<Vec<u32>>,
}

impl Plan {
    /// Room for the plans of this many graphs, made when they are needed.
    pub(crate) fn slots(graphs: usize) -> Box<[OnceLock<Self>]> {
        (0..graphs).map(|_| OnceLock::new()).collect()
    }

    pub(crate) fn new(graph: &Graph) -> Self {
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
        let mut last_uses = vec![Vec::new(); count];
        for (node, last) in last.into_iter().enumerate() {
            // An output that nobody uses goes at once.
            let at = last.unwrap_or(node);
            if at < count {
                last_uses[at].push(u32::try_from(node).unwrap_or(u32::MAX));
            }
        }
        Self { last_uses }
    }
}
