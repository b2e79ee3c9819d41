//! What of a graph is drawn as one: a layer with its constants, or a few layers that compute a shape.

use std::collections::HashMap;

use super::Options;
use crate::graph::{Graph, Node, NodeId, Port};
use crate::model::Model;
use crate::op::{Output, Role};

/// Outputs of more elements are no shapes.
const MOST_SHAPE: usize = 64;
/// Layers looked at, to see which layers that are drawn feed each other through those that are not.
const WORK: usize = 5_000_000;

/// What is drawn as one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    /// The layers, in order. More than one only compute a shape.
    pub(crate) nodes: Vec<NodeId>,
    /// Layers that only depend on constants, drawn within this one.
    pub(crate) hidden: Vec<NodeId>,
    /// Where its values come from.
    pub(crate) inputs: Vec<Entry>,
}

/// A value that a unit takes from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The unit.
    pub(crate) from: usize,
    /// Which value.
    pub(crate) port: Port,
    /// Whether layers that are left out lie between.
    pub(crate) indirect: bool,
}

/// The units of a graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    pub(crate) units: Vec<Unit>,
    /// Which layers only depend on constants, and are drawn within their consumers.
    pub(crate) constant: Vec<bool>,
    /// How many these are.
    pub(crate) hidden: usize,
    /// Layers of the graph that were left out by choice.
    pub(crate) left_out: usize,
    /// Which layers are connected with one of these; empty if there is none.
    pub(crate) loose: Vec<bool>,
}

impl Unit {
    /// Whether it stands for layers that compute a shape.
    pub(crate) fn is_shapes(&self) -> bool {
        self.nodes.len() > 1
    }
}

impl Units {
    /// The units of the graph at `index` of [`Model::graphs`].
    pub(crate) fn of(model: &Model, index: usize, options: &Options) -> Self {
        let graph = &model.graphs()[index];
        let keep = options.keep.as_ref().and_then(|keep| keep.get(index));
        let kept = |node: usize| keep.is_none_or(|keep| keep.get(node) == Some(&true));
        let constant = if options.constants {
            vec![false; graph.nodes().len()]
        } else {
            constants(graph)
        };
        let shown = |node: usize| kept(node) && !constant[node];
        let groups = if options.fold {
            shape_groups(model, index, &shown)
        } else {
            HashMap::new()
        };
        let mut units = Self::default();
        let mut unit_of = vec![None; graph.nodes().len()];
        let mut unit_of_group: HashMap<usize, usize> = HashMap::new();
        for (id, _) in graph.nodes() {
            let node = id.index();
            if !shown(node) {
                units.left_out += usize::from(!kept(node) && !constant[node]);
                continue;
            }
            let next = units.units.len();
            let unit = match groups.get(&node) {
                Some(group) => *unit_of_group.entry(*group).or_insert(next),
                None => next,
            };
            if unit == next {
                units.units.push(Unit::default());
            }
            units.units[unit].nodes.push(id);
            unit_of[node] = Some(unit);
        }
        if units.left_out > 0 {
            units.loose = loose(graph, &constant, &unit_of);
        }
        units.hide(graph, &constant, &unit_of);
        units.connect(graph, &constant, &unit_of);
        units.constant = constant;
        units
    }

    /// Gives each layer that only depends on constants to the first unit that needs it.
    fn hide(&mut self, graph: &Graph, constant: &[bool], unit_of: &[Option<usize>]) {
        let mut owner: Vec<Option<usize>> = vec![None; graph.nodes().len()];
        let nodes: Vec<(NodeId, &Node)> = graph.nodes().collect();
        for &(id, node) in nodes.iter().rev() {
            let index = id.index();
            let own = if constant[index] {
                owner[index]
            } else {
                unit_of[index]
            };
            let Some(own) = own else { continue };
            if constant[index] {
                self.units[own].hidden.push(id);
                self.hidden += 1;
            }
            for port in node.inputs() {
                let input = &mut owner[port.node.index()];
                *input = Some(input.map_or(own, |other| other.min(own)));
            }
        }
        for unit in &mut self.units {
            unit.hidden.reverse();
        }
    }

    fn connect(&mut self, graph: &Graph, constant: &[bool], unit_of: &[Option<usize>]) {
        let mut work = WORK;
        let mut seen = vec![usize::MAX; graph.nodes().len()];
        for unit in 0..self.units.len() {
            let nodes = std::mem::take(&mut self.units[unit].nodes);
            let mut inputs: Vec<Entry> = Vec::new();
            for node in &nodes {
                for &port in graph.node(*node).inputs() {
                    match unit_of[port.node.index()] {
                        Some(from) if from != unit => inputs.push(Entry {
                            from,
                            port,
                            indirect: false,
                        }),
                        Some(_) => {}
                        None if constant[port.node.index()] => {}
                        None => {
                            let found = behind(
                                graph, constant, unit_of, port.node, unit, &mut seen, &mut work,
                            );
                            inputs.extend(found.into_iter().filter(|entry| entry.from != unit));
                        }
                    }
                }
            }
            if nodes.len() > 1 {
                // Which of the layers takes a value does not matter there.
                let mut met = std::collections::HashSet::new();
                inputs.retain(|entry| met.insert(entry.port));
            }
            self.units[unit].nodes = nodes;
            self.units[unit].inputs = inputs;
        }
    }
}

/// The nearest layers drawn that a layer which is left out depends on.
fn behind(
    graph: &Graph,
    constant: &[bool],
    unit_of: &[Option<usize>],
    node: NodeId,
    unit: usize,
    seen: &mut [usize],
    work: &mut usize,
) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if seen[node.index()] == unit || *work == 0 {
            continue;
        }
        seen[node.index()] = unit;
        *work -= 1;
        for &port in graph.node(node).inputs() {
            match unit_of[port.node.index()] {
                Some(from) => {
                    let entry = Entry {
                        from,
                        port,
                        indirect: true,
                    };
                    if !found.contains(&entry) {
                        found.push(entry);
                    }
                }
                None if constant[port.node.index()] => {}
                None => stack.push(port.node),
            }
        }
    }
    found
}

/// Which layers are connected with one that is neither drawn nor a constant.
fn loose(graph: &Graph, constant: &[bool], unit_of: &[Option<usize>]) -> Vec<bool> {
    let mut loose = vec![false; graph.nodes().len()];
    let drawn = |at: usize| constant[at] || unit_of[at].is_some();
    for (id, node) in graph.nodes() {
        let index = id.index();
        for port in node.inputs() {
            let input = port.node.index();
            loose[index] |= !drawn(input);
            loose[input] |= !drawn(index);
        }
    }
    loose
}

/// Which layers only depend on constants.
fn constants(graph: &Graph) -> Vec<bool> {
    let mut constant = vec![false; graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let index = id.index();
        let follows = || {
            let pure = node.op().is_none_or(|op| op.is_pure());
            let mut inputs = node.inputs().iter();
            pure && role(node) == Role::Inner
                && node.bodies().is_empty()
                && !node.inputs().is_empty()
                && inputs.all(|port| constant[port.node.index()])
        };
        constant[index] = is_constant(node) || follows();
    }
    // An output of the model that is one is drawn.
    for terminal in graph.outputs() {
        constant[terminal.node.index()] = false;
    }
    constant
}

fn role(node: &Node) -> Role {
    node.op().map_or(Role::Inner, |op| op.role())
}

/// Whether a layer is a constant, one whose bytes are not there included.
pub(crate) fn is_constant(node: &Node) -> bool {
    node.type_name() == "Const" || node.op().is_some_and(|op| op.is_constant())
}

/// For each layer of a group that computes a shape, a number of the group.
///
/// Layers of one group are at one level: on each way from an input, as many shapes were used before
/// them. So no way leads out of a group and back into it.
fn shape_groups(
    model: &Model,
    index: usize,
    shown: &dyn Fn(usize) -> bool,
) -> HashMap<usize, usize> {
    let graph = &model.graphs()[index];
    let count = graph.nodes().len();
    let mut is_shape = vec![false; count];
    let mut level = vec![0usize; count];
    // The group of a layer: a forest of layers that point to an earlier one of their group.
    let mut earlier: Vec<usize> = (0..count).collect();
    for (id, node) in graph.nodes() {
        let at = id.index();
        let inputs = || node.inputs().iter().map(|port| port.node.index());
        let computed = || {
            let mut shapes = inputs().filter(|&input| shown(input)).peekable();
            shapes.peek().is_some() && shapes.all(|input| is_shape[input])
        };
        let begins = matches!(node.type_name(), "ShapeOf" | "Shape") && node.inputs().len() == 1;
        let small = model.inferred_in(index, id).iter().all(is_small);
        let pure = node.op().is_some_and(|op| op.is_pure()) && role(node) == Role::Inner;
        is_shape[at] = shown(at)
            && pure
            && small
            && node.bodies().is_empty()
            && !model.inferred_in(index, id).is_empty()
            && (begins || computed());
        let above = inputs().map(|input| {
            let used = is_shape[input] && !is_shape[at];
            level[input].saturating_add(usize::from(used))
        });
        level[at] = above.max().unwrap_or(0);
        if !is_shape[at] {
            continue;
        }
        for input in inputs() {
            if is_shape[input] && level[input] == level[at] {
                let (a, b) = (root(&mut earlier, input), root(&mut earlier, at));
                earlier[a.max(b)] = a.min(b);
            }
        }
    }
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    let shapes: Vec<usize> = (0..count).filter(|&at| is_shape[at]).collect();
    let roots: Vec<usize> = shapes.iter().map(|&at| root(&mut earlier, at)).collect();
    for root in &roots {
        *sizes.entry(*root).or_default() += 1;
    }
    let pairs = shapes.into_iter().zip(roots);
    pairs.filter(|(_, root)| sizes[root] > 1).collect()
}

/// The first layer of a group.
fn root(earlier: &mut [usize], mut at: usize) -> usize {
    while earlier[at] != at {
        earlier[at] = earlier[earlier[at]];
        at = earlier[at];
    }
    at
}

/// Whether an output may be a shape, or what one is computed from.
fn is_small(output: &Output) -> bool {
    let elements = output.shape.to_shape().and_then(|shape| shape.elements());
    elements.is_some_and(|count| count <= MOST_SHAPE) && output.shape.rank().is_some_and(|r| r <= 1)
}
