//! A panel: one drawing of a graph, of a block that repeats, or of layers that compute a shape.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::color::{self, Scale, type_and_shape};
use super::label::{block_title, constants, short_name};
use super::layout::{Diagram, Layout, Wire, lay_out};
use super::repeat::{Item, Repeat};
use super::scene::Scene;
use super::sizes::size;
use super::text;
use super::{Color, Options};
use crate::graph::{NodeId, Port};
use crate::model::Model;

/// Characters of a line of a layer.
const LINE: usize = 30;

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shows {
    /// A graph of the model.
    Graph,
    /// A block that repeats, by its first copy.
    Block(Repeat),
    /// The layers of a unit that compute a shape.
    Shapes(usize),
}

/// What is to be drawn of a panel.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The scene it is part of.
    pub(super) scene: usize,
    pub(super) shows: Shows,
    pub(super) items: Vec<Item>,
}

/// A drawing.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    pub(super) scene: usize,
    pub(super) shows: Shows,
    pub(super) title: String,
    pub(super) vertices: Vec<Vertex>,
    pub(super) wires: Vec<Line>,
    pub(super) layout: Layout,
}

/// What a vertex stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// The unit at a place of the row.
    Unit(usize),
    /// A layer of a unit.
    Node(NodeId),
    /// A block.
    Block(Repeat),
    /// What lies outside of the panel.
    Outside,
}

/// A box.
#[derive(Debug, Clone)]
pub(super) struct Vertex {
    pub(super) what: What,
    /// The first line is the title.
    pub(super) lines: Vec<String>,
    /// The class of its colour.
    pub(super) class: String,
    /// What a pointer over it shows.
    pub(super) tip: String,
    /// The panel that shows what is in it.
    pub(super) opens: Option<usize>,
    /// Whether layers it is connected with are left out.
    pub(super) loose: bool,
}

/// What connects boxes.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: Vec<usize>,
    /// Type and shape of the value.
    pub(super) label: String,
    /// Whether layers that are left out lie between.
    pub(super) indirect: bool,
    /// Whether it leads to or from something that only computes a shape.
    pub(super) faint: bool,
}

/// What every panel of a drawing is made with.
#[derive(Clone, Copy)]
pub(super) struct Studio<'s> {
    pub(super) model: &'s Model,
    pub(super) scene: &'s Scene,
    pub(super) options: &'s Options,
    pub(super) scale: Option<&'s Scale>,
}

/// Wires before they are laid out: where they leave, which value, and whether something lies between;
/// the targets in order.
type Wires = BTreeMap<(usize, NodeId, u32, bool), Vec<usize>>;

impl Studio<'_> {
    /// Draws a panel. `opens` tells the panel of a block or a unit.
    pub(super) fn draw(&self, plan: &Plan, opens: &dyn Fn(&What) -> Option<usize>) -> Panel {
        let (mut vertices, wires) = match plan.shows {
            Shows::Shapes(unit) => self.shapes(unit),
            _ => self.parts(plan),
        };
        for vertex in &mut vertices {
            vertex.opens = opens(&vertex.what);
        }
        let wires: Vec<Line> = wires
            .into_iter()
            .map(|((from, node, port, indirect), to)| {
                let outside = vertices[from].what == What::Outside;
                let from_shapes = vertices[from].class == "ksg";
                let to_outside = to.iter().all(|&to| vertices[to].what == What::Outside);
                Line {
                    label: self.value(Port { node, index: port }),
                    from,
                    to,
                    indirect,
                    faint: from_shapes || outside || to_outside,
                }
            })
            .collect();
        let diagram = Diagram {
            boxes: vertices.iter().map(size).collect(),
            wires: wires
                .iter()
                .map(|line| Wire {
                    from: line.from,
                    to: line.to.clone(),
                })
                .collect(),
        };
        Panel {
            scene: plan.scene,
            shows: plan.shows.clone(),
            title: self.title(plan),
            layout: lay_out(&diagram),
            vertices,
            wires,
        }
    }

    fn title(&self, plan: &Plan) -> String {
        match plan.shows {
            Shows::Graph => self.scene.title.clone(),
            Shows::Block(repeat) => {
                format!("{}  ×{}", self.block_title(&repeat), repeat.copies)
            }
            Shows::Shapes(unit) => {
                let unit = &self.scene.units.units[unit];
                format!("shape of {}", text::count(unit.nodes.len(), "layer"))
            }
        }
    }

    fn block_title(&self, repeat: &Repeat) -> String {
        let graph = &self.model.graphs()[self.scene.graph];
        let nodes = |copy: usize| {
            let start = repeat.start + copy * repeat.length;
            let units = self.scene.sequence[start..start + repeat.length].iter();
            units.flat_map(|&unit| &self.scene.units.units[unit].nodes)
        };
        let names: Vec<Vec<&str>> = (0..repeat.copies)
            .map(|copy| nodes(copy).map(|&n| graph.node(n).name()).collect())
            .collect();
        let types: Vec<&str> = nodes(0).map(|&n| graph.node(n).type_name()).collect();
        block_title(&names, &types)
    }

    /// Type and shape of a value; a name if neither is known.
    fn value(&self, port: Port) -> String {
        let outputs = self.model.inferred_in(self.scene.graph, port.node);
        if let Some(output) = outputs.get(port.index as usize) {
            return type_and_shape(output);
        }
        let graph = &self.model.graphs()[self.scene.graph];
        let output = graph.node(port.node).outputs().get(port.index as usize);
        let declared = output.and_then(|o| o.declared.clone());
        let declared = declared.map(|(ty, shape)| crate::op::Output::new(ty, shape));
        declared.map_or_else(String::new, |output| type_and_shape(&output))
    }

    /// The boxes and wires of a stretch of the row.
    fn parts(&self, plan: &Plan) -> (Vec<Vertex>, Wires) {
        let stretch = match plan.shows {
            Shows::Block(repeat) => repeat.start..repeat.start + repeat.length,
            _ => 0..self.scene.sequence.len(),
        };
        let outside = match plan.shows {
            Shows::Block(repeat) => self.entries(&repeat),
            _ => Vec::new(),
        };
        let first = outside.len();
        let mut entry_of: HashMap<Port, usize> = HashMap::new();
        let mut vertices = Vec::new();
        for (port, vertex) in outside {
            entry_of.insert(port, vertices.len());
            vertices.push(vertex);
        }
        let mut vertex_of = vec![usize::MAX; stretch.len()];
        for (index, item) in plan.items.iter().enumerate() {
            for place in item.places() {
                if let Some(vertex) = vertex_of.get_mut(place.wrapping_sub(stretch.start)) {
                    *vertex = first + index;
                }
            }
            vertices.push(match item {
                Item::Unit(place) => self.unit(*place),
                Item::Block(repeat, _) => self.block(repeat),
            });
        }
        let mut wires = Wires::new();
        for place in stretch.clone() {
            let unit = &self.scene.units.units[self.scene.sequence[place]];
            let to = vertex_of[place - stretch.start];
            for entry in &unit.inputs {
                let at = self.scene.place[entry.from];
                let from = if stretch.contains(&at) {
                    vertex_of[at - stretch.start]
                } else {
                    match entry_of.get(&entry.port) {
                        Some(&vertex) => vertex,
                        None => continue,
                    }
                };
                if from == to {
                    continue;
                }
                let port = match from.checked_sub(first).map(|index| &plan.items[index]) {
                    Some(Item::Block(repeat, _)) => self.leaves(repeat, entry.port, at),
                    _ => entry.port,
                };
                let key = (from, port.node, port.index, entry.indirect);
                let ends = wires.entry(key).or_default();
                if !ends.contains(&to) {
                    ends.push(to);
                }
            }
        }
        if let Shows::Block(repeat) = plan.shows {
            self.exits(&repeat, &vertex_of, &mut vertices, &mut wires);
        }
        (vertices, wires)
    }

    /// The value as the first copy of a block makes it: those of all copies leave as one wire.
    fn leaves(&self, repeat: &Repeat, port: Port, at: usize) -> Port {
        let first = repeat.start + (at - repeat.start) % repeat.length;
        let node = self.scene.units.units[self.scene.sequence[first]]
            .nodes
            .last();
        Port {
            node: node.copied().unwrap_or(port.node),
            index: port.index,
        }
    }

    /// What enters the first copy of a block from outside.
    fn entries(&self, repeat: &Repeat) -> Vec<(Port, Vertex)> {
        let graph = &self.model.graphs()[self.scene.graph];
        let copy = repeat.start..repeat.start + repeat.length;
        let mut found: Vec<(Port, Vertex)> = Vec::new();
        for place in copy.clone() {
            let unit = &self.scene.units.units[self.scene.sequence[place]];
            let next = &self.scene.units.units[self.scene.sequence[place + repeat.length]];
            for (index, entry) in unit.inputs.iter().enumerate() {
                let inside = copy.contains(&self.scene.place[entry.from]);
                if inside || found.iter().any(|(port, _)| *port == entry.port) {
                    continue;
                }
                let other = next.inputs.get(index);
                let chained = other.is_some_and(|o| copy.contains(&self.scene.place[o.from]));
                let shared = other.is_some_and(|o| o.port == entry.port);
                let source = graph.node(entry.port.node);
                let name = short_name(source.name(), source.type_name(), LINE);
                let line = match (chained, shared) {
                    (true, _) => "from the copy before",
                    (_, true) => "the same for all copies",
                    _ => "each copy its own",
                };
                let lines = vec![line.to_owned(), format!("{}: {name}", source.type_name())];
                found.push((entry.port, outside(lines)));
            }
        }
        found
    }

    /// What leaves the first copy of a block.
    fn exits(
        &self,
        repeat: &Repeat,
        vertex_of: &[usize],
        vertices: &mut Vec<Vertex>,
        wires: &mut Wires,
    ) {
        let graph = &self.model.graphs()[self.scene.graph];
        let copy = repeat.start..repeat.start + repeat.length;
        for place in copy.clone() {
            let mut out: BTreeMap<u32, (Port, Option<usize>, bool)> = BTreeMap::new();
            for &consumer in &self.scene.consumers[self.scene.sequence[place]] {
                let at = self.scene.place[consumer];
                if copy.contains(&at) {
                    continue;
                }
                for entry in &self.scene.units.units[consumer].inputs {
                    if self.scene.place[entry.from] != place {
                        continue;
                    }
                    let next = at < repeat.end();
                    let index = entry.port.index;
                    let row = out.entry(index).or_insert((entry.port, None, false));
                    row.2 |= next;
                    if !next {
                        row.1 = row.1.or(Some(consumer));
                    }
                }
            }
            for (_, (port, consumer, next)) in out {
                let mut lines = Vec::new();
                if next {
                    lines.push("to the next copy".to_owned());
                }
                if let Some(&id) = consumer.and_then(|c| self.scene.units.units[c].nodes.first()) {
                    let node = graph.node(id);
                    let name = short_name(node.name(), node.type_name(), LINE);
                    lines.push(format!("to {}: {name}", node.type_name()));
                }
                let from = vertex_of[place - repeat.start];
                let key = (from, port.node, port.index, false);
                wires.entry(key).or_default().push(vertices.len());
                vertices.push(outside(lines));
            }
        }
    }

    /// The layers of a unit that compute a shape.
    fn shapes(&self, unit: usize) -> (Vec<Vertex>, Wires) {
        let graph = &self.model.graphs()[self.scene.graph];
        let unit = &self.scene.units.units[unit];
        let mut vertices = Vec::new();
        let mut entry_of: HashMap<Port, usize> = HashMap::new();
        for entry in &unit.inputs {
            if entry_of.contains_key(&entry.port) {
                continue;
            }
            entry_of.insert(entry.port, vertices.len());
            let source = graph.node(entry.port.node);
            let name = short_name(source.name(), source.type_name(), LINE);
            vertices.push(outside(vec![source.type_name().to_owned(), name]));
        }
        let mut vertex_of: HashMap<NodeId, usize> = HashMap::new();
        let mut wires = Wires::new();
        for &id in &unit.nodes {
            let to = vertices.len();
            vertex_of.insert(id, to);
            vertices.push(self.layer(id, What::Node(id)));
            for port in graph.node(id).inputs() {
                let from = vertex_of.get(&port.node).or_else(|| entry_of.get(port));
                let Some(&from) = from else { continue };
                let ends = wires
                    .entry((from, port.node, port.index, false))
                    .or_default();
                if !ends.contains(&to) {
                    ends.push(to);
                }
            }
        }
        (vertices, wires)
    }

    fn unit(&self, place: usize) -> Vertex {
        let unit = &self.scene.units.units[self.scene.sequence[place]];
        if !unit.is_shapes() {
            let id = unit.nodes[0];
            return self.layer(id, What::Unit(place));
        }
        let graph = &self.model.graphs()[self.scene.graph];
        let names = unit.nodes.iter().map(|&id| graph.node(id).name());
        let mut tip = format!(
            "{} that compute a shape",
            text::count(unit.nodes.len(), "layer")
        );
        for name in names.take(8) {
            tip.push_str(&format!("\n{}", text::visible(name)));
        }
        let mut lines = vec!["shape".to_owned(), text::count(unit.nodes.len(), "layer")];
        let class = self.measured(&unit.nodes, &mut lines);
        Vertex {
            what: What::Unit(place),
            lines,
            class: class.unwrap_or_else(|| "ksg".to_owned()),
            tip,
            opens: None,
            loose: false,
        }
    }

    fn layer(&self, id: NodeId, what: What) -> Vertex {
        let graph = &self.model.graphs()[self.scene.graph];
        let node = graph.node(id);
        let type_name = node.type_name();
        let mut lines = vec![text::cut(type_name, LINE)];
        let name = short_name(node.name(), type_name, LINE);
        if !name.is_empty() && name != lines[0] {
            lines.push(name);
        }
        let constants = constants(self.model, self.scene.graph, &self.scene.units, node);
        if !constants.is_empty() {
            lines.push(text::cut(&constants, LINE + 10));
        }
        if !node.bodies().is_empty() {
            lines.push(match node.bodies().len() {
                1 => "1 body".to_owned(),
                count => format!("{count} bodies"),
            });
        }
        let class = match &self.options.color {
            Color::Measured(_) => self.measured(&[id], &mut lines),
            Color::Type => self
                .model
                .inferred_in(self.scene.graph, id)
                .first()
                .map(|output| color::type_class(output.element_type).to_owned()),
            Color::Operation => Some(color::kind(node).to_owned()),
        };
        let loose = self.scene.units.loose.get(id.index()) == Some(&true);
        let mut tip = format!(
            "{} ({}",
            text::visible(type_name),
            text::visible(node.opset())
        );
        tip.push_str(")\n");
        tip.push_str(&text::visible(node.name()));
        for output in self.model.inferred_in(self.scene.graph, id) {
            tip.push('\n');
            tip.push_str(&text::visible(&output.to_string()));
        }
        Vertex {
            what,
            lines,
            class: class.unwrap_or_else(|| "v".to_owned()),
            tip,
            opens: None,
            loose,
        }
    }

    fn block(&self, repeat: &Repeat) -> Vertex {
        let graph = &self.model.graphs()[self.scene.graph];
        let nodes = |range: Range<usize>| -> Vec<NodeId> {
            let units = self.scene.sequence[range].iter();
            units
                .flat_map(|&unit| self.scene.units.units[unit].nodes.iter().copied())
                .collect()
        };
        let first = nodes(repeat.start..repeat.start + repeat.length);
        let mut types: BTreeMap<&str, usize> = BTreeMap::new();
        for &id in &first {
            *types.entry(graph.node(id).type_name()).or_default() += 1;
        }
        let mut types: Vec<(&str, usize)> = types.into_iter().collect();
        types.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        let mut lines = vec![
            format!("{}  ×{}", self.block_title(repeat), repeat.copies),
            format!("{} each", text::count(first.len(), "layer")),
        ];
        if types.len() > 1 {
            let shown = types
                .iter()
                .take(3)
                .map(|(name, count)| format!("{count} {name}"));
            let shown: Vec<String> = shown.collect();
            let more = if types.len() > 3 { ", …" } else { "" };
            lines.push(text::cut(&format!("{}{more}", shown.join(", ")), LINE + 14));
        }
        let all = nodes(repeat.start..repeat.end());
        let class = self.measured(&all, &mut lines);
        Vertex {
            what: What::Block(*repeat),
            tip: lines.join("\n"),
            lines,
            class: class.unwrap_or_else(|| "kbl".to_owned()),
            opens: None,
            loose: false,
        }
    }

    /// The class of the colour of layers that were measured; their number becomes a line.
    fn measured(&self, nodes: &[NodeId], lines: &mut Vec<String>) -> Option<String> {
        let (Color::Measured(measured), Some(scale)) = (&self.options.color, self.scale) else {
            return None;
        };
        let values = measured.values.get(self.scene.graph)?;
        let found = nodes.iter().filter_map(|id| *values.get(id.index())?);
        let value = found.reduce(|a, b| measured.what.join(a, b));
        if let Some(value) = value {
            lines.push(measured.what.show(value));
        }
        Some(scale.class(value))
    }
}

fn outside(lines: Vec<String>) -> Vertex {
    Vertex {
        what: What::Outside,
        tip: lines.join("\n"),
        lines: lines.iter().map(|line| text::cut(line, LINE + 8)).collect(),
        class: "out".to_owned(),
        opens: None,
        loose: false,
    }
}
