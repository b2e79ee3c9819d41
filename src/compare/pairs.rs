//! What of one side stands for what of the other: by name, then by position.

use std::collections::HashMap;

use crate::graph::{Graph, NodeId, Port};
use crate::model::Model;
use crate::op::Role;

/// Pairs things by their names, and what is left by position if as many are left on both sides.
///
/// A name that is a number stands for a position of the other side.
pub(super) fn by_names(a: &[Vec<String>], b: &[Vec<String>]) -> Vec<Option<usize>> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, names) in b.iter().enumerate() {
        for name in names {
            first.entry(name).or_insert(index);
        }
    }
    let mut taken = vec![false; b.len()];
    let mut pairs = vec![None; a.len()];
    for (pair, names) in pairs.iter_mut().zip(a) {
        let found = names
            .iter()
            .find_map(|name| first.get(name.as_str()).copied());
        if let Some(found) = found.filter(|&index| !taken[index]) {
            taken[found] = true;
            *pair = Some(found);
        }
    }
    // Files name their entries by index.
    for (index, pair) in pairs.iter_mut().enumerate().filter(|(_, p)| p.is_none()) {
        let number = index.to_string();
        let there = first.get(number.as_str()).copied();
        let own = a[index].iter().find_map(|name| name.parse().ok());
        let own = own.filter(|&at: &usize| at < b.len());
        if let Some(found) = there.or(own).filter(|&at| !taken[at]) {
            taken[found] = true;
            *pair = Some(found);
        }
    }
    let left: Vec<usize> = (0..b.len()).filter(|&index| !taken[index]).collect();
    if pairs.iter().filter(|pair| pair.is_none()).count() == left.len() {
        let empty = pairs.iter_mut().filter(|pair| pair.is_none());
        for (pair, found) in empty.zip(left) {
            *pair = Some(found);
        }
    }
    pairs
}

/// The names of a model's inputs.
pub(super) fn input_names(model: &Model) -> Vec<Vec<String>> {
    let names = model.inputs().iter().map(|input| {
        let mut names = input.names.clone();
        names.extend(input.aliases.iter().cloned());
        names
    });
    names.collect()
}

/// For each node of a model's main graph the node of another model's that stands for it: the one of
/// its name, or else one of its type that takes the same inputs.
pub(super) fn layers(a: &Model, b: &Model) -> Vec<Option<NodeId>> {
    let (a_graph, b_graph) = (a.graph(), b.graph());
    let mut pairs: Vec<Option<NodeId>> = vec![None; a_graph.nodes().len()];
    let mut taken = vec![false; b_graph.nodes().len()];
    // Layers of one name pair in order.
    let mut named: HashMap<&str, Vec<NodeId>> = HashMap::new();
    for (id, node) in b_graph.nodes() {
        named.entry(node.name()).or_default().push(id);
    }
    named.values_mut().for_each(|ids| ids.reverse());
    for (id, node) in a_graph.nodes() {
        let found = named.get_mut(node.name()).and_then(Vec::pop);
        if let Some(found) = found {
            pairs[id.index()] = Some(found);
            taken[found.index()] = true;
        }
    }
    let terminals = [
        (a_graph.inputs(), b_graph.inputs()),
        (a_graph.outputs(), b_graph.outputs()),
    ];
    for (a, b) in terminals.into_iter().filter(|(a, b)| a.len() == b.len()) {
        for (a, b) in a.iter().zip(b) {
            let pair = &mut pairs[a.node.index()];
            if pair.is_none() && !taken[b.node.index()] {
                *pair = Some(b.node);
                taken[b.node.index()] = true;
            }
        }
    }
    by_structure(a_graph, b_graph, &mut pairs, &mut taken);
    pairs
}

/// Type and inputs of a node, in the numbers of the other graph.
type Shape<'g> = (&'g str, Vec<Port>);

/// Pairs nodes of one type whose inputs are pairs, from the inputs on. Constants have no inputs and
/// stay alone.
fn by_structure(a: &Graph, b: &Graph, pairs: &mut [Option<NodeId>], taken: &mut [bool]) {
    let mut left: HashMap<Shape<'_>, Vec<NodeId>> = HashMap::new();
    for (id, node) in b.nodes() {
        if !taken[id.index()] && !node.inputs().is_empty() {
            let shape = (node.type_name(), node.inputs().to_vec());
            left.entry(shape).or_default().push(id);
        }
    }
    left.values_mut().for_each(|ids| ids.reverse());
    for (id, node) in a.nodes() {
        if pairs[id.index()].is_some() || node.inputs().is_empty() || node.role() == Role::Result {
            continue;
        }
        let inputs = node.inputs().iter().map(|port| {
            let node = pairs[port.node.index()]?;
            Some(Port { node, ..*port })
        });
        let Some(inputs) = inputs.collect::<Option<Vec<Port>>>() else {
            continue;
        };
        let found = left.get_mut(&(node.type_name(), inputs)).and_then(Vec::pop);
        if let Some(found) = found {
            pairs[id.index()] = Some(found);
            taken[found.index()] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(a: &[&[&str]], b: &[&[&str]]) -> Vec<Option<usize>> {
        let owned = |side: &[&[&str]]| -> Vec<Vec<String>> {
            let names = side
                .iter()
                .map(|n| n.iter().map(|&n| n.to_owned()).collect());
            names.collect()
        };
        by_names(&owned(a), &owned(b))
    }

    #[test]
    fn names_then_positions() {
        assert_eq!(
            paired(&[&["x"], &["y", "z"]], &[&["z"], &["x"]]),
            [Some(1), Some(0)]
        );
        assert_eq!(
            paired(&[&["x"], &["y"]], &[&["y"], &["q"]]),
            [Some(1), Some(0)]
        );
        assert_eq!(
            paired(&[&["x"], &["y"]], &[&["q"], &["r"]]),
            [Some(0), Some(1)]
        );
        assert_eq!(
            paired(&[&["x"], &["y"]], &[&["1"], &["0"], &["w"]]),
            [Some(1), Some(0)]
        );
        assert_eq!(
            paired(&[&["1"], &["0"], &["w"]], &[&["x"], &["y"]]),
            [Some(1), Some(0), None]
        );
        assert_eq!(paired(&[&["x"], &["y"]], &[&["q"]]), [None, None]);
    }
}
