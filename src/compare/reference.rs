//! The side that is believed: a saved run, or a runtime that is asked again and again.

use std::collections::{HashMap, HashSet};

use super::{Names, Run};
use crate::error::Result;
use crate::graph::{Graph, NodeId};
use crate::model::Model;
use crate::op::Role;
use crate::tensor::Tensor;

/// A tensor of an inner layer that a runtime is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The name that the answer has it under.
    pub key: String,
    /// The layer's name in the runtime's model.
    pub layer: String,
    /// Which of the layer's outputs.
    pub output: usize,
    /// Names of the tensor, for runtimes whose layers have none.
    pub names: Vec<String>,
}

/// A node of the graph that a runtime executes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executed {
    /// The runtime's name for it.
    pub name: String,
    /// What it does.
    pub kind: String,
    /// The implementation.
    pub primitive: String,
    /// The precision it computes in.
    pub precision: String,
    /// The layers of the model that it stands for.
    pub layers: Vec<String>,
}

/// What a runtime answers.
#[derive(Debug, Default)]
pub struct Answer {
    /// The outputs, and the tensors that were asked for, under their keys. Some may be missing.
    pub run: Run,
    /// The executed graph, if it was asked for and the runtime tells.
    pub executed: Vec<Executed>,
    /// Packages and their versions.
    pub versions: Vec<(String, String)>,
    /// The device by its full name.
    pub device: String,
}

/// A runtime with a model.
pub trait Backend {
    /// What it is, for people.
    fn title(&self) -> String;

    /// Evaluates the model on its inputs, in order, with their names.
    ///
    /// # Errors
    /// Of kind [`crate::Kind::Backend`] when the runtime is missing or fails.
    fn evaluate(
        &mut self,
        inputs: &[(String, Tensor)],
        taps: &[Tap],
        executed: bool,
    ) -> Result<Answer>;
}

/// Asks a runtime for its outputs and, if `layers`, for the tensors of inner layers that survive its
/// fusion, or for all where it does not tell what it executes. They get the names of a dump of
/// `model`, which is the runtime's as `ovir` reads it.
///
/// # Errors
/// As [`Backend::evaluate`].
pub fn ask(
    backend: &mut dyn Backend,
    model: &Model,
    inputs: &[(String, Tensor)],
    layers: bool,
) -> Result<Answer> {
    let answer = backend.evaluate(inputs, &[], layers)?;
    if !layers {
        return Ok(answer);
    }
    let known = Layers::new(model);
    let wanted = match answer.executed.is_empty() {
        true => {
            let nodes = model
                .graph()
                .nodes()
                .filter(|(_, node)| node.role() == Role::Inner);
            let nodes = nodes.filter(|(_, n)| !n.op().is_some_and(|op| op.is_constant()));
            let slots = nodes
                .flat_map(|(id, _)| (0..model.inferred(id).len()).map(move |output| (id, output)));
            slots.collect()
        }
        false => known.surviving(&answer.executed),
    };
    let Answer { run, .. } = backend.evaluate(inputs, &known.taps(&wanted), false)?;
    Ok(Answer { run, ..answer })
}

/// What of a reference's model the search asks about.
pub(super) struct Layers<'m> {
    /// The model as `ovir` reads it.
    pub(super) model: &'m Model,
    /// The names of all tensors of its main graph, by node and output.
    pub(super) names: Vec<Vec<String>>,
}

impl<'m> Layers<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self {
            model,
            names: Names::new().of_model(model),
        }
    }

    /// How the reference is asked for tensors of these nodes.
    pub(super) fn taps(&self, wanted: &[(NodeId, usize)]) -> Vec<Tap> {
        let graph = self.model.graph();
        let taps = wanted.iter().filter_map(|&(id, output)| {
            let node = graph.node(id);
            Some(Tap {
                key: self.names.get(id.index())?.get(output)?.clone(),
                layer: node.name().to_owned(),
                output,
                names: node
                    .outputs()
                    .get(output)
                    .map_or_else(Vec::new, |o| o.names.clone()),
            })
        });
        taps.collect()
    }

    /// The tensors that there are while the executed graph runs: reading them un-fuses nothing. A
    /// node of that graph stands for several layers; what leaves it are the tensors that layers
    /// outside take, or that nobody takes.
    pub(super) fn surviving(&self, executed: &[Executed]) -> Vec<(NodeId, usize)> {
        let graph = self.model.graph();
        let mut by_name: HashMap<&str, NodeId> = HashMap::new();
        for (id, node) in graph.nodes() {
            by_name.entry(node.name()).or_insert(id);
        }
        let used = uses(graph);
        let mut found = HashSet::new();
        for node in executed {
            let layers = node.layers.iter();
            let group: HashSet<NodeId> = layers
                .filter_map(|name| by_name.get(name.as_str()).copied())
                .collect();
            // The last of a group is its result, whatever else names of layers tell.
            let Some(&last) = group.iter().max() else {
                continue;
            };
            let outputs = self.model.inferred(last).len();
            let taken = (0..outputs).filter(|&output| {
                used.get(&(last, output))
                    .is_some_and(|takers| takers.iter().any(|taker| !group.contains(taker)))
            });
            found.extend(taken.map(|output| (last, output)));
        }
        let inner = |(id, _): &(NodeId, usize)| {
            let node = graph.node(*id);
            node.role() != Role::Parameter && !node.op().is_some_and(|op| op.is_constant())
        };
        let mut found: Vec<_> = found.into_iter().filter(inner).collect();
        found.sort_unstable();
        found
    }
}

/// The nodes that take each tensor of a graph.
pub(super) fn uses(graph: &Graph) -> HashMap<(NodeId, usize), Vec<NodeId>> {
    let mut used: HashMap<(NodeId, usize), Vec<NodeId>> = HashMap::new();
    for (id, node) in graph.nodes() {
        for port in node.inputs() {
            let takers = used.entry((port.node, port.index as usize)).or_default();
            takers.push(id);
        }
    }
    used
}
