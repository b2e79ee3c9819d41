//! A graph as the matching sees it: labels of nodes, and hashes of what they follow from and lead to.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rayon::prelude::*;

use super::weights::content;
use crate::graph::{Body, Feed, Graph, Node, NodeId};
use crate::model::Model;
use crate::op::Role;

/// How much of a layer two must have in common to be taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Everything: attributes, elements of constants, bodies.
    Full,
    /// Type, version and attributes; of constants the type and shape.
    Label,
    /// The type.
    Kind,
}

/// One of the two graphs.
pub(super) struct Side<'m> {
    pub(super) graph: &'m Graph,
    full: Vec<u64>,
    labels: Vec<u64>,
    kinds: Vec<u64>,
    /// For each node, who takes what it makes: the consumer, its input, and the output.
    pub(super) consumers: Vec<Vec<(usize, usize, u32)>>,
}

impl<'m> Side<'m> {
    pub(super) fn new(whole: &'m Whole<'_>, index: usize) -> Self {
        let graph = &whole.model.graphs()[index];
        let mut consumers = vec![Vec::new(); graph.nodes().len()];
        for (id, node) in graph.nodes() {
            for (input, port) in node.inputs().iter().enumerate() {
                consumers[port.node.index()].push((id.index(), input, port.index));
            }
        }
        let Labels {
            full,
            labels,
            kinds,
        } = whole.labels(index);
        Self {
            graph,
            full,
            labels,
            kinds,
            consumers,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn node(&self, at: usize) -> &'m Node {
        self.graph.node(NodeId::new(at))
    }

    pub(super) fn level(&self, level: Level) -> &[u64] {
        match level {
            Level::Full => &self.full,
            Level::Label => &self.labels,
            Level::Kind => &self.kinds,
        }
    }

    /// For each node a hash of all it follows from. `seeds` stand in place of some labels.
    pub(super) fn upward(&self, level: Level, seeds: &HashMap<usize, u64>) -> Vec<u64> {
        upward(self.graph, self.level(level), seeds)
    }

    /// For each node a hash of all that follows from it. `own` are the labels.
    pub(super) fn downward(&self, own: &[u64], seeds: &HashMap<usize, u64>) -> Vec<u64> {
        let mut hashes = vec![0; self.len()];
        for at in (0..self.len()).rev() {
            let mut below: Vec<u64> = self.consumers[at]
                .iter()
                .map(|&(consumer, input, port)| hash(&(hashes[consumer], input, port)))
                .collect();
            below.sort_unstable();
            let label = seeds.get(&at).copied().unwrap_or(own[at]);
            hashes[at] = hash(&(label, below));
        }
        hashes
    }
}

fn upward(graph: &Graph, labels: &[u64], seeds: &HashMap<usize, u64>) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::with_capacity(labels.len());
    for (id, node) in graph.nodes() {
        let label = seeds.get(&id.index()).copied();
        let mut hasher = DefaultHasher::new();
        label.unwrap_or(labels[id.index()]).hash(&mut hasher);
        for port in node.inputs() {
            // Producers stand before their consumers.
            (hashes[port.node.index()], port.index).hash(&mut hasher);
        }
        hashes.push(hasher.finish());
    }
    hashes
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A model, with hashes of the elements of its constants and of its bodies.
pub(super) struct Whole<'m> {
    pub(super) model: &'m Model,
    /// By graph and node; of constants alone.
    contents: Vec<HashMap<usize, u64>>,
    /// By graph.
    bodies: Vec<u64>,
}

struct Labels {
    full: Vec<u64>,
    labels: Vec<u64>,
    kinds: Vec<u64>,
}

impl<'m> Whole<'m> {
    /// Looks at all of a model. The elements of constants are only looked at if `weights`.
    pub(super) fn new(model: &'m Model, weights: bool) -> Self {
        let graphs = model.graphs();
        let constants = |graph: &Graph| -> Vec<usize> {
            let all = graph.nodes().filter(|(_, node)| is_constant(node));
            all.map(|(id, _)| id.index()).collect()
        };
        let contents = |graph: &Graph| -> HashMap<usize, u64> {
            if !weights {
                return HashMap::new();
            }
            let all = constants(graph).into_par_iter();
            all.filter_map(|at| Some((at, content(graph.node(NodeId::new(at)))?)))
                .collect()
        };
        let mut whole = Self {
            model,
            contents: graphs.iter().map(contents).collect(),
            bodies: vec![0; graphs.len()],
        };
        // Bodies before the graphs that hold them.
        let mut order: Vec<usize> = (0..graphs.len()).collect();
        let depths = depths(graphs);
        order.sort_by_key(|&index| std::cmp::Reverse(depths[index]));
        for index in order.into_iter().filter(|&index| index > 0) {
            whole.bodies[index] = whole.body(index);
        }
        whole
    }

    /// A hash of a body: of what nobody takes, which includes its Results, and of what each
    /// iteration hands to the next.
    fn body(&self, index: usize) -> u64 {
        let graph = &self.model.graphs()[index];
        let hashes = upward(graph, &self.labels(index).full, &HashMap::new());
        let mut taken = vec![false; hashes.len()];
        for port in graph.nodes().flat_map(|(_, node)| node.inputs()) {
            taken[port.node.index()] = true;
        }
        let ends = hashes.iter().zip(&taken).filter(|(_, taken)| !**taken);
        let mut all: Vec<u64> = ends.map(|(hash, _)| *hash).collect();
        for (parameter, result) in back_edges(self.model, index) {
            all.push(hash(&(hashes[parameter], hashes[result])));
        }
        all.sort_unstable();
        hash(&all)
    }

    fn labels(&self, index: usize) -> Labels {
        let graph = &self.model.graphs()[index];
        let ends = wires(self.model, index);
        let mut all = Labels {
            full: Vec::new(),
            labels: Vec::new(),
            kinds: Vec::new(),
        };
        for (id, node) in graph.nodes() {
            let kind = hash(&node.type_name());
            let label = hash(&(kind, version(node), attributes(node), ends.get(&id.index())));
            let bodies = node.bodies().iter();
            let bodies: Vec<_> = bodies
                .map(|body| (body.kind, self.bodies[body.graph]))
                .collect();
            let content = self.contents[index].get(&id.index());
            all.kinds.push(kind);
            all.labels.push(label);
            all.full.push(hash(&(label, content, bodies)));
        }
        all
    }

    /// The hash of a constant's elements.
    pub(super) fn content(&self, graph: usize, node: usize) -> Option<u64> {
        self.contents[graph].get(&node).copied()
    }
}

/// How deep in bodies each graph lies.
fn depths(graphs: &[Graph]) -> Vec<usize> {
    let mut depths: Vec<Option<usize>> = vec![None; graphs.len()];
    for index in 0..graphs.len() {
        let mut way = Vec::new();
        let mut at = index;
        while depths[at].is_none() {
            way.push(at);
            match graphs[at].parent() {
                Some((parent, _)) if way.len() <= graphs.len() => at = parent,
                _ => break,
            }
        }
        let first = depths[at].map_or(0, |depth| depth + 1);
        for (depth, graph) in (first..).zip(way.into_iter().rev()) {
            depths[graph].get_or_insert(depth);
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

/// The body that a graph is, unless it is the model's own.
fn body_of(model: &Model, index: usize) -> Option<&Body> {
    let graphs = model.graphs();
    let (parent, holder) = graphs[index].parent()?;
    let bodies = graphs[parent].node(holder).bodies();
    bodies.iter().find(|body| body.graph == index)
}

/// What the Parameters and Results of a body are to the layer around it, by node.
pub(super) fn wires(model: &Model, index: usize) -> HashMap<usize, String> {
    let mut ends = HashMap::new();
    let Some(body) = body_of(model, index) else {
        return ends;
    };
    let graph = &model.graphs()[index];
    for (parameter, feed) in graph.inputs().iter().zip(&body.wiring.feeds) {
        ends.insert(parameter.node.index(), feed.to_string());
    }
    for (position, result) in graph.outputs().iter().enumerate() {
        let mut text = Vec::new();
        for (output, made) in body.wiring.yields.iter().enumerate() {
            if made.result == position {
                text.push(match made.joined {
                    None => format!("output {output}"),
                    Some(slice) => format!("output {output} along {slice}"),
                });
            }
        }
        if body.wiring.condition == Some(position) {
            text.push("condition".to_owned());
        }
        ends.insert(result.node.index(), text.join(", "));
    }
    ends
}

/// The Parameters of a body that have a Result of the iteration before, and that Result, by node.
pub(super) fn back_edges(model: &Model, index: usize) -> Vec<(usize, usize)> {
    let graph = &model.graphs()[index];
    let feeds = body_of(model, index).map_or(&[][..], |body| &body.wiring.feeds);
    let ends = graph.inputs().iter().zip(feeds);
    let edges = ends.filter_map(|(parameter, feed)| match feed {
        Feed::Whole {
            back: Some(result), ..
        } => Some((
            parameter.node.index(),
            graph.outputs().get(*result)?.node.index(),
        )),
        _ => None,
    });
    edges.collect()
}

pub(super) fn is_constant(node: &Node) -> bool {
    node.op().is_some_and(|op| op.is_constant()) || node.type_name() == "Const"
}

pub(super) fn is_end(node: &Node) -> bool {
    matches!(node.role(), Role::Parameter | Role::Result)
}

/// The version as it is told: what introduced the operation, or else what the file names.
pub(super) fn version(node: &Node) -> String {
    match node.version() {
        Some(version) => version.to_string(),
        None => node.opset().to_owned(),
    }
}

/// The attributes in one order; where a constant's bytes lie does not count.
pub(super) fn attributes(node: &Node) -> Vec<(String, String)> {
    let mut all = node.attributes();
    if is_constant(node) {
        all.retain(|(name, _)| name != "offset" && name != "size");
    }
    all.sort_unstable();
    all
}

/// A name that says something: one that no tool made of the type and a number.
pub(super) fn given_name(node: &Node) -> Option<&str> {
    let name = node.name();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['_', '-', '.']);
    let made = stem.is_empty()
        || name.len() > stem.len() && stem.eq_ignore_ascii_case(node.type_name())
        || name.len() > stem.len() && is_constant(node) && stem.eq_ignore_ascii_case("constant");
    (!made).then_some(name)
}
