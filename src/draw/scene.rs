//! A graph of the model as it is drawn: its units in a row, and what repeats.

use super::Options;
use super::repeat::{self, Item};
use super::sequence::{labels, sequence};
use super::text;
use super::unit::Units;
use crate::model::Model;

/// Fewer units are all drawn.
const FEWEST_FOLDED: usize = 32;

/// A graph as it is drawn.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Position in [`Model::graphs`].
    pub(super) graph: usize,
    pub(super) title: String,
    pub(super) units: Units,
    /// The units, producers before consumers.
    pub(super) sequence: Vec<usize>,
    /// The place of each unit in the row.
    pub(super) place: Vec<usize>,
    /// Who takes values of each unit, each once.
    pub(super) consumers: Vec<Vec<usize>>,
    /// The parts of the row.
    pub(super) items: Vec<Item>,
}

impl Scene {
    pub(super) fn of(model: &Model, graph: usize, options: &Options) -> Self {
        let units = Units::of(model, graph, options);
        let mut row = sequence(&units);
        let items = if options.fold && row.len() > FEWEST_FOLDED {
            let labels = labels(model, graph, &units);
            repeat::fold(&units, &labels, &mut row)
        } else {
            (0..row.len()).map(Item::Unit).collect()
        };
        let mut place = vec![0; row.len()];
        for (at, &unit) in row.iter().enumerate() {
            place[unit] = at;
        }
        let mut consumers = vec![Vec::new(); row.len()];
        for (index, unit) in units.units.iter().enumerate() {
            for entry in &unit.inputs {
                // Each consumer comes once: its inputs stand together.
                if consumers[entry.from].last() != Some(&index) {
                    consumers[entry.from].push(index);
                }
            }
        }
        Self {
            graph,
            title: title(model, graph),
            units,
            sequence: row,
            place,
            consumers,
            items,
        }
    }
}

fn title(model: &Model, graph: usize) -> String {
    let Some((parent, node)) = model.graphs()[graph].parent() else {
        let name = text::visible(model.name());
        return if name.is_empty() {
            "model".to_owned()
        } else {
            name
        };
    };
    let holder = model.graphs()[parent].node(node);
    let bodies = holder.bodies().iter();
    let kind = bodies.clone().find(|body| body.graph == graph);
    let kind = kind.map_or("body", |body| match body.kind {
        crate::graph::BodyKind::Body => "body",
        crate::graph::BodyKind::Then => "then branch",
        crate::graph::BodyKind::Else => "else branch",
    });
    let name = text::cut(holder.name(), 40);
    format!("{kind} of {} {name}", text::visible(holder.type_name()))
}
