//! The layers of a model as text that says what they are, whatever their ids, their order in the file
//! and the names that converters number.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::snapshot::{Counts, LayerRecord};
use super::words::{Hash, quote};
use crate::graph::{Body, Feed, Graph, Known, Node, NodeId, Port};
use crate::model::Model;
use crate::op::{Output, Role};
use crate::ops;
use crate::tensor::{ElementType, Tensor};

/// Constants of no more integers are shown.
const MOST_SHOWN: usize = 16;

/// The layers of a model in an order that follows from its structure alone: that of a walk from the
/// outputs backwards, each layer after those before it.
#[derive(Debug, Default)]
pub(super) struct Structure {
    pub(super) counts: Counts,
    pub(super) full: bool,
    pub(super) layers: Vec<LayerRecord>,
    /// Where each record stands in the model; nothing for the beginnings of bodies.
    pub(super) places: Vec<Option<(usize, NodeId)>>,
    /// The positions of the layers.
    pub(super) positions: HashMap<(usize, NodeId), usize>,
    /// What follows from constants only.
    pub(super) constant: HashSet<(usize, NodeId)>,
}

impl Structure {
    /// The structure of a model, with every layer in full if there are no more than `most_full`.
    pub(super) fn of(model: &Model, most_full: usize) -> Self {
        let mut structure = Self {
            counts: counts(model),
            ..Self::default()
        };
        for (index, graph) in model.graphs().iter().enumerate() {
            for (id, node) in graph.nodes() {
                if is_constant(index, node, &structure.constant) {
                    structure.constant.insert((index, id));
                }
            }
        }
        let shown = structure.counts.layers - structure.counts.constants;
        structure.full = shown <= most_full;
        Walk {
            model,
            names: repeated(model),
            numbers: HashMap::new(),
            labels: HashMap::new(),
            bodies: 0,
            structure: &mut structure,
        }
        .all();
        structure
    }
}

/// Whether what a layer gives follows from constants; those before it have been looked at.
fn is_constant(graph: usize, node: &Node, constant: &HashSet<(usize, NodeId)>) -> bool {
    let Some(op) = node.op() else {
        return false;
    };
    let all = || {
        node.inputs()
            .iter()
            .all(|p| constant.contains(&(graph, p.node)))
    };
    op.is_constant()
        || op.role() == Role::Inner && op.is_pure() && !node.inputs().is_empty() && all()
}

#[allow(clippy::cast_possible_truncation)] // no more than memory holds
fn counts(model: &Model) -> Counts {
    let mut counts = Counts::default();
    for (index, graph) in model.graphs().iter().enumerate() {
        for (id, node) in graph.nodes() {
            counts.layers += 1;
            if node.op().is_some_and(|op| op.is_constant()) {
                counts.constants += 1;
                let shape = model
                    .inferred_in(index, id)
                    .first()
                    .and_then(|o| o.shape.to_shape());
                counts.parameters += shape.and_then(|s| s.elements()).unwrap_or(0) as u64;
            }
        }
    }
    counts
}

/// The names that more than one layer of a graph has.
fn repeated(model: &Model) -> Vec<HashSet<&str>> {
    let of = |graph: &'_ Graph| -> Vec<bool> {
        let mut seen = HashSet::new();
        graph
            .nodes()
            .map(|(_, node)| !seen.insert(node.name().to_owned()))
            .collect()
    };
    let all = model.graphs().iter().map(|graph| {
        let again = of(graph);
        graph
            .nodes()
            .filter(|(id, _)| again[id.index()])
            .map(|(_, node)| node.name())
            .collect()
    });
    all.collect()
}

/// Whether a converter numbered something to make this name: it may be another the next time.
pub(super) fn is_automatic(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if name.is_empty() || digits(name) {
        return true;
    }
    let numbered = name.rsplit_once('_').filter(|(_, number)| digits(number));
    numbered.is_some_and(|(kind, _)| kind == "Constant" || ops::find_newest(kind).is_some())
}

struct Walk<'m, 's> {
    model: &'m Model,
    names: Vec<HashSet<&'m str>>,
    /// How many layers of a type had no name of their own.
    numbers: HashMap<String, usize>,
    labels: HashMap<(usize, NodeId), String>,
    bodies: usize,
    structure: &'s mut Structure,
}

/// A graph whose layers are being written.
struct Level {
    graph: usize,
    order: Vec<NodeId>,
    done: usize,
    /// The number of the body, 0 for the model's own graph.
    scope: usize,
    /// The positions of the layers before the one whose body this is.
    holder: Vec<usize>,
    /// The bodies of the next layer that are done.
    bodies: usize,
}

impl<'m> Walk<'m, '_> {
    fn all(mut self) {
        let model = self.model;
        if model.graphs().is_empty() {
            return;
        }
        let mut level = self.level(0, 0, Vec::new());
        let mut outer = Vec::new();
        loop {
            let graph = &model.graphs()[level.graph];
            let Some(&id) = level.order.get(level.done) else {
                match outer.pop() {
                    Some(holder) => level = holder,
                    None => return,
                }
                continue;
            };
            let node = graph.node(id);
            if level.bodies == 0 {
                self.name(&level, id, node);
            }
            if let Some(body) = node.bodies().get(level.bodies) {
                level.bodies += 1;
                let inputs = self.inputs(level.graph, node);
                let scope = self.begin_body(&level, id, body, &inputs);
                let inner = self.level(body.graph, scope, inputs);
                outer.push(std::mem::replace(&mut level, inner));
                continue;
            }
            self.push(&level, id, node);
            level.bodies = 0;
            level.done += 1;
        }
    }

    fn level(&self, graph: usize, scope: usize, holder: Vec<usize>) -> Level {
        Level {
            graph,
            order: order(&self.model.graphs()[graph]),
            done: 0,
            scope,
            holder,
            bodies: 0,
        }
    }

    /// Gives a layer its label.
    fn name(&mut self, level: &Level, id: NodeId, node: &Node) {
        let own = !is_automatic(node.name()) && !self.names[level.graph].contains(node.name());
        let label = if own {
            quote(node.name())
        } else {
            let kind = token(node.type_name());
            let number = self.numbers.entry(kind.clone()).or_default();
            *number += 1;
            format!("#{kind}.{number}")
        };
        self.labels.insert((level.graph, id), label);
    }

    /// The positions of the layers that a node takes.
    fn inputs(&self, graph: usize, node: &Node) -> Vec<usize> {
        let positions = &self.structure.positions;
        let known = node
            .inputs()
            .iter()
            .filter_map(|p| positions.get(&(graph, p.node)));
        known.copied().collect()
    }

    fn begin_body(&mut self, level: &Level, id: NodeId, body: &Body, inputs: &[usize]) -> usize {
        self.bodies += 1;
        let mut text = format!("{} of {}", body.kind.tag(), self.labels[&(level.graph, id)]);
        for feed in &body.wiring.feeds {
            let _ = match feed {
                Feed::Whole { input, back: None } => write!(text, " in={input}"),
                Feed::Whole {
                    input,
                    back: Some(back),
                } => write!(text, " in={input},back={back}"),
                Feed::Part { input, slice: s } => write!(
                    text,
                    " in={input}[axis={},{}..{}/{},{}]",
                    s.axis, s.start, s.end, s.stride, s.part_size
                ),
                Feed::Iteration => write!(text, " in=iteration"),
            };
        }
        for made in &body.wiring.yields {
            let _ = match made.joined {
                None => write!(text, " out={}", made.result),
                Some(s) => write!(
                    text,
                    " out={}[axis={},{}..{}/{}]",
                    made.result, s.axis, s.start, s.end, s.stride
                ),
            };
        }
        if let Some(condition) = body.wiring.condition {
            let _ = write!(text, " while={condition}");
        }
        let results = self.model.graphs()[body.graph].outputs().len();
        let _ = write!(text, " results={results}");
        self.record(
            None,
            scoped(level.scope, format!("@{}", self.bodies)),
            text,
            inputs.to_vec(),
        );
        self.bodies
    }

    fn push(&mut self, level: &Level, id: NodeId, node: &Node) {
        let model = self.model;
        let (graph, role) = (level.graph, node.role());
        let is_result = role == Role::Result && graph == 0;
        if node.op().is_some_and(|op| op.is_constant()) || is_result {
            return;
        }
        let inputs = match role {
            Role::Parameter => level.holder.clone(),
            _ => self.inputs(graph, node),
        };
        let mut kind = token(node.type_name());
        if let Some(version) = node.version() {
            let _ = write!(kind, "-{version}");
        }
        let arguments: Vec<String> = node
            .inputs()
            .iter()
            .map(|&port| self.argument(graph, port))
            .collect();
        let outputs: Vec<String> = model
            .inferred_in(graph, id)
            .iter()
            .map(Output::to_string)
            .collect();
        let mut full = format!("{kind} ({})", arguments.join(", "));
        for (name, value) in node.attributes() {
            let plain = !value.is_empty() && !value.contains([' ', '"', '\n', '\r', '\t', '\\']);
            let value = if plain { value } else { quote(&value) };
            let _ = write!(full, " {name}={value}");
        }
        let _ = write!(full, " -> {}", outputs.join(", "));
        let position = self.structure.layers.len();
        if !self.structure.full {
            let hash = format!("{:016x}", Hash::of(full.as_bytes()));
            full = format!("{kind} {}", &hash[..8]);
            for input in &inputs {
                let _ = write!(full, " ^{}", position - input);
            }
            let _ = write!(full, " -> {}", outputs.join(", "));
        }
        let label = scoped(level.scope, self.labels[&(graph, id)].clone());
        self.structure.positions.insert((graph, id), position);
        self.record(Some((graph, id)), label, full, inputs);
    }

    fn record(
        &mut self,
        place: Option<(usize, NodeId)>,
        label: String,
        text: String,
        inputs: Vec<usize>,
    ) {
        self.structure.places.push(place);
        self.structure.layers.push(LayerRecord {
            label,
            text,
            inputs,
            weights: None,
            tensors: Vec::new(),
        });
    }

    /// An input of a layer: the layer that makes it, or what is known of a constant.
    fn argument(&self, graph: usize, port: Port) -> String {
        let node = self.model.graphs()[graph].node(port.node);
        if let Some(text) = constant_text(self.model, graph, port.node, node) {
            return text;
        }
        let label = self
            .labels
            .get(&(graph, port.node))
            .cloned()
            .unwrap_or_default();
        match (port.index, node.outputs().len()) {
            (0, 0..=1) => label,
            (index, _) => format!("{label}.{index}"),
        }
    }
}

/// A type as one word.
fn token(type_name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_+-:".contains(c);
    type_name
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

fn scoped(scope: usize, label: String) -> String {
    match scope {
        0 => label,
        scope => format!("@{scope} {label}"),
    }
}

/// A constant: its elements if they are few integers, else its type and shape.
fn constant_text(model: &Model, graph: usize, id: NodeId, node: &Node) -> Option<String> {
    let op = node.op().filter(|op| op.is_constant())?;
    let output = model.inferred_in(graph, id).first()?;
    let shown = is_shown(output)
        .then(|| op.constant().and_then(Result::ok))
        .flatten();
    Some(match shown {
        Some(tensor) => format!("{output}{{{}}}", integers(tensor)),
        None => format!("const {output}"),
    })
}

/// Whether the elements of a constant are part of the structure, such as axes and sizes.
pub(super) fn is_shown(output: &Output) -> bool {
    let ty = output.element_type;
    let count = output.shape.to_shape().and_then(|s| s.elements());
    (ty.is_integer() || ty == ElementType::Boolean) && count.is_some_and(|n| n <= MOST_SHOWN)
}

fn integers(tensor: &Tensor) -> String {
    let numbers = crate::tensor::convert::few_i64(tensor);
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(",")
}

/// Whether inference knows what a layer gives in every run.
pub(super) fn is_known(model: &Model, graph: usize, id: NodeId) -> bool {
    let known = &model.fact(graph, id).known;
    !known.is_empty() && known.iter().all(|k| matches!(k, Some(Known::Tensor(_))))
}

/// The nodes of a graph, each after those before it, as a walk from the outputs backwards meets
/// them. What no output needs comes last.
fn order(graph: &Graph) -> Vec<NodeId> {
    let mut seen = vec![false; graph.nodes().len()];
    let mut order = Vec::with_capacity(seen.len());
    let mut stack: Vec<(NodeId, usize)> = Vec::new();
    let mut assigns: Vec<(&str, NodeId)> = graph
        .nodes()
        .filter(|(_, node)| node.role() == Role::Assign)
        .map(|(id, node)| {
            (
                node.op().and_then(|op| op.variable()).unwrap_or_default(),
                id,
            )
        })
        .collect();
    assigns.sort();
    let outputs = graph.outputs().iter().map(|terminal| terminal.node);
    let inputs = graph.inputs().iter().map(|terminal| terminal.node);
    let assigns = assigns.into_iter().map(|(_, id)| id);
    let rest = graph.nodes().map(|(id, _)| id);
    for root in inputs.chain(outputs).chain(assigns).chain(rest) {
        if !std::mem::replace(&mut seen[root.index()], true) {
            stack.push((root, 0));
        }
        while let Some((id, next)) = stack.pop() {
            match graph.node(id).inputs().get(next) {
                Some(port) => {
                    stack.push((id, next + 1));
                    if !std::mem::replace(&mut seen[port.node.index()], true) {
                        stack.push((port.node, 0));
                    }
                }
                None => order.push(id),
            }
        }
    }
    order
}
