//! Names of tensors, inputs and outputs (sections 1.3, 1.4 and 1.6 of the format).

use std::collections::{HashMap, HashSet};

use super::document::Layer;
use crate::graph::{Graph, NodeId, Terminal};

/// A list of names, each of them once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    /// All of the list, as soon as it is long: a file may have a million names in one place.
    seen: HashSet<String>,
}

impl Names {
    fn add(&mut self, name: String) {
        const FEW: usize = 16;
        if self.list.len() < FEW {
            if self.list.contains(&name) {
                return;
            }
        } else {
            if self.seen.is_empty() {
                self.seen.extend(self.list.iter().cloned());
            }
            if !self.seen.insert(name.clone()) {
                return;
            }
        }
        self.list.push(name);
    }
}

impl From<Vec<String>> for Names {
    fn from(list: Vec<String>) -> Self {
        let seen = HashSet::new();
        Self { list, seen }
    }
}

/// Splits a comma-separated list of names. `\,` is a comma; nothing else is an escape. Empty
/// items and repetitions are dropped, blanks are kept.
pub(in crate::ir) fn split(text: &str) -> Vec<String> {
    let mut names = Names::default();
    let mut name = String::new();
    let mut push = |name: &mut String| {
        let name = std::mem::take(name);
        if !name.is_empty() {
            names.add(name);
        }
    };
    let mut rest = text;
    while let Some(at) = rest.find(',') {
        let (before, after) = rest.split_at(at);
        rest = &after[1..];
        match before.strip_suffix('\\') {
            Some(before) => {
                name.push_str(before);
                name.push(',');
            }
            None => {
                name.push_str(before);
                push(&mut name);
            }
        }
    }
    name.push_str(rest);
    push(&mut name);
    names.list
}

/// Names the inputs and outputs of a graph. `layers` gives the document's layer of each node; in
/// the model's own graph of version 10, layers give their names too.
pub(super) fn name_terminals(graph: &mut Graph, v10: bool, layers: &[&Layer<'_>]) {
    let mut inputs = std::mem::take(&mut graph.inputs);
    for input in &mut inputs {
        let node = graph.node(input.node);
        let names = node.outputs.first().map_or(&[][..], |p| &p.names);
        input.names = names.to_vec();
        if v10 {
            // The real runtime adds the layer's name to the tensor's.
            add(&mut input.names, &node.name);
        }
        input.aliases = vec![node.name.clone()];
    }
    let mut outputs = std::mem::take(&mut graph.outputs);
    for output in &mut outputs {
        let producer = graph.node(output.node).inputs.first().copied();
        let mut names = Vec::new();
        let mut producer_name = None;
        if let Some(port) = producer {
            let node = graph.node(port.node);
            producer_name = Some(node.name.clone());
            if let Some(port) = node.outputs.get(port.index as usize) {
                names.clone_from(&port.names);
            }
            if v10 && node.outputs.len() > 1 {
                add(&mut names, &format!("{}.{}", node.name, port.index));
            } else if v10 {
                add(&mut names, &node.name);
            }
        }
        let layer = layers[output.node.index()];
        let given = layer.output_names.as_deref().map(split).unwrap_or_default();
        output.aliases = vec![graph.node(output.node).name.clone()];
        output.aliases.extend(producer_name);
        if !given.is_empty() && !v10 {
            // With names of its own the output keeps only those; the producer's still find it.
            output.aliases.splice(0..0, names);
            names = given;
        }
        let mut names = Names::from(names);
        for port in &graph.node(output.node).outputs {
            port.names.iter().for_each(|name| names.add(name.clone()));
        }
        output.names = names.list;
    }
    graph.inputs = inputs;
    graph.outputs = outputs;
}

fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|n| n == name) {
        names.push(name.to_owned());
    }
}

/// Renames tensors whose name an earlier tensor has: `x` becomes `x_1`, `x_2`, …. Inputs of the
/// model keep theirs.
pub(super) fn make_unique(graph: &mut Graph) {
    let mut taken: HashSet<String> = HashSet::new();
    // Where to look for the next number: those before it are taken.
    let mut next: HashMap<String, usize> = HashMap::new();
    let inputs: HashSet<usize> = graph.inputs.iter().map(|t| t.node.index()).collect();
    let (first, later): (Vec<usize>, Vec<usize>) =
        (0..graph.nodes.len()).partition(|n| inputs.contains(n));
    for node in first.into_iter().chain(later) {
        for port in &mut graph.nodes[node].outputs {
            for name in &mut port.names {
                if !taken.insert(name.clone()) {
                    let numbered = |n: &usize| !taken.contains(&format!("{name}_{n}"));
                    let next = next.entry(name.clone()).or_insert(1);
                    let free = (*next..).find(numbered).unwrap_or_default();
                    *next = free.saturating_add(1);
                    *name = format!("{name}_{free}");
                    taken.insert(name.clone());
                }
            }
        }
    }
}

/// A Parameter or Result that is not named yet.
pub(super) fn unnamed(node: NodeId) -> Terminal {
    Terminal {
        node,
        names: Vec::new(),
        aliases: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn escaped_commas() {
        for (text, expected) in [
            ("a,b", &["a", "b"][..]),
            (",a,,b,", &["a", "b"]),
            (" a , b ", &[" a ", " b "]),
            (r"a\,b", &["a,b"]),
            (r"a\\,b", &[r"a\,b"]),
            (r"a\b", &[r"a\b"]),
            (r"a\", &[r"a\"]),
            (r"a\,", &["a,"]),
            ("a,a", &["a"]),
            ("", &[]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
