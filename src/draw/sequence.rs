//! Units in a row in which what repeats stands side by side, and what tells equal units apart.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::unit::Units;
use crate::graph::{Node, order};
use crate::model::Model;

/// Units in an order in which each stands behind those it takes values from: a walk in depth from
/// the outputs, so that a branch stands together. What nothing needs, an output of the model for
/// example, stands right behind the last that it takes values from.
pub(crate) fn sequence(units: &Units) -> Vec<usize> {
    let count = units.units.len();
    let mut needed = vec![false; count];
    for unit in &units.units {
        for entry in &unit.inputs {
            needed[entry.from] = true;
        }
    }
    // The last first: what a model is made for mostly stands at its end.
    let ends = (0..count).rev().filter(|&unit| !needed[unit]);
    let inputs = |unit: usize| units.units[unit].inputs.iter().map(|entry| entry.from);
    // Units without cycles: they are drawn in the order of the model if that should ever fail.
    let sorted = order(count, [], ends, inputs).unwrap_or_else(|_| (0..count).collect());
    let mut place = vec![0; count];
    for (at, &unit) in sorted.iter().enumerate() {
        place[unit] = at;
    }
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut sequence = Vec::with_capacity(count);
    let last = |unit: usize| inputs(unit).max_by_key(|&from| place[from]);
    for &unit in &sorted {
        if let (false, Some(last)) = (needed[unit], last(unit)) {
            behind[last].push(unit);
        }
    }
    for &unit in &sorted {
        if needed[unit] || last(unit).is_none() {
            sequence.push(unit);
            sequence.extend(&behind[unit]);
        }
    }
    sequence
}

/// For each unit a number that is equal for units that do the same: type, version, attributes, types
/// and shapes of outputs and of constants.
pub(crate) fn labels(model: &Model, index: usize, units: &Units) -> Vec<u64> {
    let graph = &model.graphs()[index];
    let labels = units.units.iter().map(|unit| {
        let mut hasher = DefaultHasher::new();
        if unit.is_shapes() {
            // Their order may differ.
            let mut types: BTreeMap<&str, usize> = BTreeMap::new();
            for &node in &unit.nodes {
                *types.entry(graph.node(node).type_name()).or_default() += 1;
            }
            types.hash(&mut hasher);
            return hasher.finish();
        }
        for &id in &unit.nodes {
            let node = graph.node(id);
            hash_node(node, &mut hasher);
            for output in model.inferred_in(index, id) {
                output.to_string().hash(&mut hasher);
            }
            for (position, port) in node.inputs().iter().enumerate() {
                if units.constant.get(port.node.index()) == Some(&true) {
                    position.hash(&mut hasher);
                    let outputs = model.inferred_in(index, port.node);
                    let output = outputs.get(port.index as usize);
                    output.map(ToString::to_string).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    });
    labels.collect()
}

fn hash_node(node: &Node, hasher: &mut DefaultHasher) {
    node.type_name().hash(hasher);
    node.opset().hash(hasher);
    node.inputs().len().hash(hasher);
    node.outputs().len().hash(hasher);
    for (name, value) in node.attributes() {
        // Names of variables differ in everything that is otherwise equal.
        if name != "variable_id" {
            (name, value).hash(hasher);
        }
    }
    if !node.bodies().is_empty() {
        // Bodies are not compared: no two are taken for equal.
        (node.id(), node.name()).hash(hasher);
    }
}
