//! What the layers that are the same differ in, and which are no one's.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::pairs::Pairs;
use super::side::{Side, Whole, attributes, back_edges, is_constant, is_end, version, wires};
use super::weights::{distance, tensor};
use super::{
    At, AttributeChange, Both, DiffOptions, EndChange, Lone, ModelDiff, NameChange, Rewired,
    RtChange, WeightChange,
};
use crate::graph::{BodyKind, NodeId, Port, RtInfo, Terminal};
use crate::model::Model;

/// Layers of one model that are looked through to see whether they explain an edge.
const MOST_BETWEEN: usize = 256;

pub(super) fn report(first: &Model, second: &Model, options: &DiffOptions) -> ModelDiff {
    let wholes = (
        Whole::new(first, options.weights),
        Whole::new(second, options.weights),
    );
    let mut found = ModelDiff::default();
    let mut graphs = VecDeque::from([(0, 0)]);
    while let Some((a, b)) = graphs.pop_front() {
        let (side_a, side_b) = (Side::new(&wholes.0, a), Side::new(&wholes.1, b));
        let pairs = Pairs::find(&side_a, &side_b);
        let mut comparison = Comparison {
            wholes: (&wholes.0, &wholes.1),
            sides: (&side_a, &side_b),
            graphs: (a, b),
            pairs: &pairs,
            options,
            edges: (HashMap::new(), HashMap::new()),
            found: &mut found,
        };
        comparison.run();
        comparison.bodies(&mut graphs);
    }
    if options.rt_info {
        let (a, b) = (first.graph().rt_info(), second.graph().rt_info());
        rt_changes(None, a, b, &mut found.rt_info);
    }
    found
}

/// The edges that layers of one model stand in: for each, what goes in, and the consumer behind.
type Edges = HashMap<usize, (Port, NodeId, usize)>;

struct Comparison<'s, 'm> {
    wholes: (&'s Whole<'m>, &'s Whole<'m>),
    sides: (&'s Side<'m>, &'s Side<'m>),
    graphs: (usize, usize),
    pairs: &'s Pairs,
    options: &'s DiffOptions,
    edges: (Edges, Edges),
    found: &'s mut ModelDiff,
}

impl Comparison<'_, '_> {
    fn run(&mut self) {
        let pairs = self.pairs.second.iter().enumerate();
        let mut both: Vec<(usize, usize)> = pairs.filter_map(|(x, y)| Some((x, (*y)?))).collect();
        both.sort_unstable_by_key(|&(_, y)| y);
        self.found.matched += both.len();
        let wires = (
            wires(self.wholes.0.model, self.graphs.0),
            wires(self.wholes.1.model, self.graphs.1),
        );
        for (x, y) in both {
            self.layer(x, y, &wires);
            self.inputs(x, y);
        }
        self.back_edges();
        self.lone();
        if self.graphs == (0, 0) {
            self.ends(true);
            self.ends(false);
        }
    }

    fn at(&self, x: usize, y: usize) -> Both {
        let at = |graph, node| At {
            graph,
            node: NodeId::new(node),
        };
        Both {
            first: at(self.graphs.0, x),
            second: at(self.graphs.1, y),
        }
    }

    /// Adds what a layer differs in, but for its inputs.
    fn layer(
        &mut self,
        x: usize,
        y: usize,
        wires: &(HashMap<usize, String>, HashMap<usize, String>),
    ) {
        let (a, b) = (self.sides.0.node(x), self.sides.1.node(y));
        let layer = self.at(x, y);
        if is_constant(a) && is_constant(b) {
            self.constant(x, y);
        } else if self.graphs != (0, 0) || !is_end(a) {
            let mut changes = changes(attributes(a), attributes(b));
            let ends = (wires.0.get(&x), wires.1.get(&y));
            if ends.0 != ends.1 {
                changes.push(("port map".to_owned(), ends.0.cloned(), ends.1.cloned()));
            }
            let versions = (version(a), version(b));
            let version = (versions.0 != versions.1).then_some(versions);
            if version.is_some() || !changes.is_empty() {
                self.found.changed.push(AttributeChange {
                    layer,
                    version,
                    attributes: changes,
                });
            }
        }
        if self.options.names {
            if a.name() != b.name() {
                self.found.names.push(NameChange {
                    layer,
                    output: None,
                    names: (vec![a.name().to_owned()], vec![b.name().to_owned()]),
                });
            }
            for (output, (a, b)) in a.outputs().iter().zip(b.outputs()).enumerate() {
                if sorted(&a.names) != sorted(&b.names) {
                    self.found.names.push(NameChange {
                        layer,
                        output: Some(output),
                        names: (sorted(&a.names), sorted(&b.names)),
                    });
                }
            }
        }
        if self.options.rt_info {
            rt_changes(
                Some(layer),
                a.rt_info(),
                b.rt_info(),
                &mut self.found.rt_info,
            );
        }
    }

    fn constant(&mut self, x: usize, y: usize) {
        let models = (self.wholes.0.model, self.wholes.1.model);
        let layer = self.at(x, y);
        let inferred = |model: &Model, at: At| {
            let outputs = model.inferred_in(at.graph, at.node);
            outputs.first().cloned().unwrap_or_default()
        };
        let types = (
            inferred(models.0, layer.first),
            inferred(models.1, layer.second),
        );
        let contents = (
            self.wholes.0.content(self.graphs.0, x),
            self.wholes.1.content(self.graphs.1, y),
        );
        if types.0 == types.1 && contents.0 == contents.1 {
            return;
        }
        let tensors = (tensor(self.sides.0.node(x)), tensor(self.sides.1.node(y)));
        let distance = match tensors {
            (Some(a), Some(b)) if self.options.weights => distance(a, b),
            _ => None,
        };
        let user = self.sides.1.consumers[y].first();
        self.found.weights.push(WeightChange {
            layer,
            user: user.map(|&(node, input, _)| (NodeId::new(node), input)),
            types,
            distance,
        });
    }

    /// Adds the inputs that take another value.
    fn inputs(&mut self, x: usize, y: usize) {
        let (a, b) = (self.sides.0.node(x).inputs(), self.sides.1.node(y).inputs());
        for input in 0..a.len().max(b.len()) {
            let (first, second) = (a.get(input).copied(), b.get(input).copied());
            if let (Some(p), Some(q)) = (first, second)
                && self.accounted(p, q, (x, y, input))
            {
                continue;
            }
            let layer = self.at(x, y);
            self.found.rewired.push(Rewired {
                layer,
                input,
                first,
                second,
            });
        }
    }

    /// Whether two values are the same, or layers of one model account for it that they are not.
    fn accounted(&mut self, p: Port, q: Port, (x, y, input): (usize, usize, usize)) -> bool {
        let (from, to) = (p.node.index(), q.node.index());
        let second = |p: Port| {
            let node = self.pairs.second[p.node.index()]?;
            Some(Port::new(NodeId::new(node), p.index as usize))
        };
        let first = |q: Port| {
            let node = self.pairs.first[q.node.index()]?;
            Some(Port::new(NodeId::new(node), q.index as usize))
        };
        match (self.pairs.second[from], self.pairs.first[to]) {
            (Some(_), Some(_)) => second(p) == Some(q),
            // Something stands in its place.
            (None, None) => true,
            (Some(_), None) => {
                let goal = second(p);
                let way = way(self.sides.1, q, goal, &self.pairs.first);
                for node in way.iter().flatten() {
                    if let Some(goal) = goal {
                        let edge = (goal, NodeId::new(y), input);
                        self.edges.1.entry(*node).or_insert(edge);
                    }
                }
                way.is_some()
            }
            (None, Some(_)) => {
                let goal = first(q);
                let way = way(self.sides.0, p, goal, &self.pairs.second);
                for node in way.iter().flatten() {
                    if let Some(goal) = goal {
                        let edge = (goal, NodeId::new(x), input);
                        self.edges.0.entry(*node).or_insert(edge);
                    }
                }
                way.is_some()
            }
        }
    }

    /// Adds what iterations hand on, where the Results are not the same.
    fn back_edges(&mut self) {
        let of = |model: &Model, graph| -> HashMap<usize, usize> {
            back_edges(model, graph).into_iter().collect()
        };
        let a = of(self.wholes.0.model, self.graphs.0);
        let b = of(self.wholes.1.model, self.graphs.1);
        let mut swapped: Vec<_> = a
            .iter()
            .filter_map(|(parameter, result)| {
                let (y, second) = (self.pairs.second[*parameter]?, self.pairs.second[*result]);
                let other = b.get(&y)?;
                (second != Some(*other)).then_some((*parameter, y, *result, *other))
            })
            .collect();
        swapped.sort_unstable();
        for (x, y, first, second) in swapped {
            let layer = self.at(x, y);
            self.found.rewired.push(Rewired {
                layer,
                input: 0,
                first: Some(Port::new(NodeId::new(first), 0)),
                second: Some(Port::new(NodeId::new(second), 0)),
            });
        }
    }

    /// Adds the layers that only one model has.
    fn lone(&mut self) {
        let main = self.graphs == (0, 0);
        let list = |side: &Side<'_>, done: &[Option<usize>], edges: &Edges, graph| {
            let folded = |at: usize| {
                let mut consumers = side.consumers[at].iter().peekable();
                is_constant(side.node(at))
                    && consumers.peek().is_some()
                    && consumers.all(|&(consumer, ..)| done[consumer].is_none())
            };
            let mut all = Vec::new();
            for at in (0..side.len()).filter(|&at| done[at].is_none()) {
                // The inputs and outputs of the model are told as such.
                if folded(at) || main && is_end(side.node(at)) {
                    continue;
                }
                let inputs = side.node(at).inputs().iter().map(|port| port.node.index());
                let constants = inputs.filter(|&p| done[p].is_none() && folded(p)).count();
                all.push(Lone {
                    at: At {
                        graph,
                        node: NodeId::new(at),
                    },
                    constants,
                    within: edges.get(&at).copied(),
                });
            }
            all
        };
        let (a, b) = self.sides;
        let removed = list(a, &self.pairs.second, &self.edges.0, self.graphs.0);
        let added = list(b, &self.pairs.first, &self.edges.1, self.graphs.1);
        self.found.removed.extend(removed);
        self.found.added.extend(added);
    }

    /// Adds changes of the model's inputs, or of its outputs.
    fn ends(&mut self, inputs: bool) {
        let models = (self.wholes.0.model, self.wholes.1.model);
        let of = |model| {
            if inputs {
                Model::inputs(model)
            } else {
                Model::outputs(model)
            }
        };
        let (a, b) = (of(models.0), of(models.1));
        let place = |terminals: &[Terminal]| -> HashMap<usize, usize> {
            let all = terminals.iter().enumerate();
            all.map(|(index, t)| (t.node.index(), index)).collect()
        };
        let places = place(b);
        let mut changes = Vec::new();
        let mut order = Vec::new();
        for (index, terminal) in a.iter().enumerate() {
            let second = self.pairs.second[terminal.node.index()];
            let second = second.and_then(|node| places.get(&node).copied());
            let Some(other) = second else {
                changes.push(EndChange {
                    first: Some(index),
                    second: None,
                    names: None,
                    types: None,
                });
                continue;
            };
            order.push(other);
            let names = (sorted(&terminal.names), sorted(&b[other].names));
            let type_of = |model: &Model, terminal: &Terminal| {
                model
                    .inferred(terminal.node)
                    .first()
                    .cloned()
                    .unwrap_or_default()
            };
            let types = (type_of(models.0, terminal), type_of(models.1, &b[other]));
            let names = (names.0 != names.1).then_some(names);
            // Sizes that are not known have an identity of their own in each model.
            let differ = types.0.to_string() != types.1.to_string();
            let types = differ.then_some(types);
            if names.is_some() || types.is_some() {
                changes.push(EndChange {
                    first: Some(index),
                    second: Some(other),
                    names,
                    types,
                });
            }
        }
        let taken: HashSet<usize> = order.iter().copied().collect();
        let new = (0..b.len()).filter(|index| !taken.contains(index));
        changes.extend(new.map(|index| EndChange {
            first: None,
            second: Some(index),
            names: None,
            types: None,
        }));
        if inputs {
            self.found.inputs = changes;
            self.found.inputs_reordered = !order.is_sorted();
        } else {
            self.found.outputs = changes;
            self.found.outputs_reordered = !order.is_sorted();
        }
    }

    /// The bodies of layers that both have.
    fn bodies(&self, graphs: &mut VecDeque<(usize, usize)>) {
        for (x, y) in self.pairs.second.iter().enumerate() {
            let Some(y) = y else { continue };
            let of = |side: &Side<'_>, at: usize| -> HashMap<BodyKind, usize> {
                let bodies = side.node(at).bodies().iter();
                bodies.map(|body| (body.kind, body.graph)).collect()
            };
            let (a, b) = (of(self.sides.0, x), of(self.sides.1, *y));
            let both = a
                .iter()
                .filter_map(|(kind, graph)| Some((*graph, *b.get(kind)?)));
            let mut both: Vec<_> = both.collect();
            both.sort_unstable();
            graphs.extend(both);
        }
    }
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// The layers of one model alone on a way from `goal` to `end`, if there is one.
fn way(
    side: &Side<'_>,
    end: Port,
    goal: Option<Port>,
    done: &[Option<usize>],
) -> Option<Vec<usize>> {
    let goal = goal?;
    let mut behind: HashMap<usize, Option<usize>> = HashMap::from([(end.node.index(), None)]);
    let mut queue = VecDeque::from([end.node.index()]);
    while let Some(at) = queue.pop_front() {
        for &port in side.node(at).inputs() {
            if port == goal {
                let mut nodes = vec![at];
                while let Some(Some(next)) = nodes.last().and_then(|last| behind.get(last)) {
                    nodes.push(*next);
                }
                return Some(nodes);
            }
            let next = port.node.index();
            if done[next].is_none() && !behind.contains_key(&next) && behind.len() < MOST_BETWEEN {
                behind.insert(next, Some(at));
                queue.push_back(next);
            }
        }
    }
    None
}

/// Names whose values differ.
fn changes(
    a: Vec<(String, String)>,
    b: Vec<(String, String)>,
) -> Vec<(String, Option<String>, Option<String>)> {
    let mut all: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    for (name, value) in a {
        all.entry(name).or_default().0 = Some(value);
    }
    for (name, value) in b {
        all.entry(name).or_default().1 = Some(value);
    }
    let changed = all.into_iter().filter(|(_, (a, b))| a != b);
    changed.map(|(name, (a, b))| (name, a, b)).collect()
}

fn rt_changes(layer: Option<Both>, a: &RtInfo, b: &RtInfo, found: &mut Vec<RtChange>) {
    let entries = |info: &RtInfo| -> Vec<(String, String)> {
        let mut path: Vec<String> = Vec::new();
        let entry = |entry: &crate::graph::RtEntry| {
            path.truncate(entry.depth);
            path.push(entry.key().to_owned());
            let attributes = entry.attributes.iter().filter(|(name, _)| name != "name");
            let text: Vec<_> = attributes
                .map(|(name, value)| match name.as_str() {
                    "value" => value.clone(),
                    _ => format!("{name}={value}"),
                })
                .collect();
            (path.join("/"), text.join(" "))
        };
        info.0.iter().map(entry).collect()
    };
    let all = changes(entries(a), entries(b)).into_iter();
    found.extend(all.map(|(key, first, second)| RtChange {
        layer,
        key,
        first,
        second,
    }));
}
