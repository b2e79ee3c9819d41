//! Drops what nobody needs.

use super::draft::Draft;
use crate::graph::NodeId;
use crate::op::Role;

/// Drops the nodes that no output and no variable needs, and makes nodes follow each other again.
pub(super) fn drop_dead(drafts: Vec<Draft>) -> Vec<Draft> {
    let kept: Vec<Vec<Option<NodeId>>> = drafts.iter().map(renumbered).collect();
    let apply = |(index, mut draft): (usize, Draft)| {
        let new = |id: NodeId| kept[index][id.index()].unwrap_or(id);
        let keep: Vec<bool> = kept[index].iter().map(Option::is_some).collect();
        let mut at = keep.iter();
        draft.graph.nodes.retain(|_| at.next() == Some(&true));
        let mut at = keep.iter();
        draft.facts.retain(|_| at.next() == Some(&true));
        for port in draft.graph.nodes.iter_mut().flat_map(|n| &mut n.inputs) {
            port.node = new(port.node);
        }
        let graph = &mut draft.graph;
        for terminal in graph.inputs.iter_mut().chain(&mut graph.outputs) {
            terminal.node = new(terminal.node);
        }
        if let Some((parent, node)) = &mut graph.parent
            && let Some(new) = kept[*parent][node.index()]
        {
            *node = new;
        }
        draft
    };
    drafts.into_iter().enumerate().map(apply).collect()
}

/// For each node, whether an output or a variable needs it.
pub(super) fn needed(draft: &Draft) -> Vec<bool> {
    let mut needed = vec![false; draft.len()];
    for terminal in draft.graph.inputs.iter().chain(&draft.graph.outputs) {
        needed[terminal.node.index()] = true;
    }
    for (index, node) in draft.graph.nodes.iter().enumerate().rev() {
        // A body may assign variables.
        needed[index] |= node.role() == Role::Assign || !node.bodies.is_empty();
        if needed[index] {
            for port in &node.inputs {
                needed[port.node.index()] = true;
            }
        }
    }
    needed
}

/// For each node, its place among those that are kept.
fn renumbered(draft: &Draft) -> Vec<Option<NodeId>> {
    let mut next = 0;
    let number = |kept: bool| {
        let id = NodeId::new(next);
        next += usize::from(kept);
        kept.then_some(id)
    };
    needed(draft).into_iter().map(number).collect()
}
