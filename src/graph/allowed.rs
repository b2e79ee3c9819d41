//! Which integers an input may hold, asked of all its consumers.

use super::infer::Facts;
use super::{Graph, NodeId, Port};

/// Values are followed through this many nodes at most.
const FARTHEST: usize = 10_000;

impl Facts {
    /// The integers that all consumers of output 0 of a node of the model's graph take, both ends included.
    pub(crate) fn allowed_values(&self, graph: &Graph, from: NodeId) -> Option<(i64, i64)> {
        let mut ports = vec![Port::new(from, 0)];
        let mut range: Option<(i64, i64)> = None;
        let mut next = 0;
        while next < ports.len() && next < FARTHEST {
            let port = ports[next];
            next += 1;
            for (id, index) in graph.consumers(port.node) {
                let node = graph.node(id);
                let Some(op) = node.op().filter(|_| node.inputs()[index] == port) else {
                    continue;
                };
                if let Some((low, high)) = op.allowed(&self.inputs(0, node), index) {
                    let (l, h) = range.unwrap_or((i64::MIN, i64::MAX));
                    range = Some((l.max(low), h.min(high)));
                }
                let same = (op.reshapes() || op.keeps_numbers()) && index == 0;
                let through = Port::new(id, 0);
                if (same || op.moves().includes(index)) && !ports.contains(&through) {
                    ports.push(through);
                }
            }
        }
        range.filter(|(low, high)| low <= high)
    }
}
