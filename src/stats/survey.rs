//! An observer that counts what each layer gives.

use std::collections::HashMap;

use crate::exec::{Control, Observer, Whereabouts};
use crate::graph::{Body, BodyKind, Node, NodeId};
use crate::metrics::{Histogram, Statistics};
use crate::model::Model;
use crate::op::Role;
use crate::tensor::Tensor;

/// Bins of a histogram.
const BINS: usize = 12;

/// What one output of a layer gave, in all its evaluations.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerStatistics {
    /// The index of the layer's graph in the model.
    pub graph: usize,
    /// The layer.
    pub node: NodeId,
    /// The layer's name, behind those of the layers whose bodies it is in.
    pub name: String,
    /// The operation's type.
    pub type_name: String,
    /// Which of the layer's outputs.
    pub output: usize,
    /// Element type and shape, the last one's of several evaluations.
    pub what: String,
    /// How often the layer was evaluated: layers of loops may be more than once.
    pub evaluations: u64,
    /// Whether it is stored in the model.
    pub is_constant: bool,
    /// Its elements, those of all evaluations together.
    pub statistics: Statistics,
    /// Between smallest and largest, of the last evaluation.
    pub histogram: Option<Histogram>,
}

/// Counts what each layer gives while a model is evaluated; keeps no tensor.
#[derive(Debug)]
pub struct Survey<'m> {
    model: &'m Model,
    place: Whereabouts,
    /// What is put before names in each of the bodies around.
    prefixes: Vec<String>,
    layers: Vec<LayerStatistics>,
    positions: HashMap<(usize, NodeId, usize), usize>,
    /// Whether the last evaluation gave NaN, and infinities.
    odd: HashMap<(usize, NodeId, usize), (bool, bool)>,
    first_odd: Option<usize>,
    first_nan: Option<usize>,
}

impl<'m> Survey<'m> {
    /// An observer for one evaluation of a model: not of its compiled form, whose layers are others.
    pub fn new(model: &'m Model) -> Self {
        Self {
            model,
            place: Whereabouts::new(model.graphs()),
            prefixes: Vec::new(),
            layers: Vec::new(),
            positions: HashMap::new(),
            odd: HashMap::new(),
            first_odd: None,
            first_nan: None,
        }
    }

    /// What was counted, in the order of the evaluation. Results are left out: each is the layer
    /// before it once more.
    pub fn layers(&self) -> &[LayerStatistics] {
        &self.layers
    }

    /// The first output that holds NaN or an infinity although all inputs of its layer are finite.
    /// Constants and inputs of the model do not count.
    pub fn first_not_finite(&self) -> Option<&LayerStatistics> {
        self.layers.get(self.first_odd?)
    }

    /// The first output that holds NaN although no input of its layer does.
    pub fn first_nan(&self) -> Option<&LayerStatistics> {
        self.layers.get(self.first_nan?)
    }

    fn count(&mut self, graph: usize, id: NodeId, node: &Node, output: usize, tensor: &Tensor) {
        let statistics = Statistics::of(tensor);
        let histogram = statistics.min.zip(statistics.max);
        let histogram = histogram.map(|(low, high)| Histogram::of(tensor, low, high, BINS));
        let key = (graph, id, output);
        let odd = (statistics.nan > 0, statistics.infinite() > 0);
        let position = match self.positions.get(&key) {
            Some(&position) => {
                let layer = &mut self.layers[position];
                layer.evaluations += 1;
                layer.statistics.merge(&statistics);
                layer.what = format!("{tensor:?}");
                layer.histogram = histogram;
                position
            }
            None => {
                let position = self.layers.len();
                let prefix = self.prefixes.concat();
                self.layers.push(LayerStatistics {
                    graph,
                    node: id,
                    name: prefix + node.name(),
                    type_name: node.type_name().to_owned(),
                    output,
                    what: format!("{tensor:?}"),
                    evaluations: 1,
                    is_constant: node.op().is_some_and(|op| op.is_constant()),
                    statistics,
                    histogram,
                });
                self.positions.insert(key, position);
                position
            }
        };
        self.odd.insert(key, odd);
        if odd == (false, false) || node.inputs().is_empty() {
            return;
        }
        let before = node.inputs().iter().map(|port| {
            let found = self.odd.get(&(graph, port.node, port.index as usize));
            found.copied().unwrap_or_default()
        });
        let before = before.fold((false, false), |a, b| (a.0 || b.0, a.1 || b.1));
        if before == (false, false) {
            self.first_odd.get_or_insert(position);
        }
        if odd.0 && !before.0 {
            self.first_nan.get_or_insert(position);
        }
    }
}

impl Observer for Survey<'_> {
    fn enter(&mut self, node: &Node, body: &Body, _: u64) {
        /// Names of deep bodies are cut, at the outside.
        const MOST_NAMED: usize = 16;
        let prefix = match body.kind {
            _ if self.prefixes.len() >= MOST_NAMED => String::new(),
            BodyKind::Body => format!("{}/", node.name()),
            kind => format!("{}/{}/", node.name(), kind.tag()),
        };
        self.prefixes.push(prefix);
        self.place.enter(body);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.prefixes.pop();
        self.place.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if node.role() == Role::Result {
            return Control::Continue;
        }
        if let Some((graph, id)) = self.place.find(node) {
            debug_assert!(graph < self.model.graphs().len());
            for (output, tensor) in outputs.iter().enumerate() {
                self.count(graph, id, node, output, tensor);
            }
        }
        Control::Continue
    }
}
