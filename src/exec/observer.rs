//! Everything that looks at a run is an observer of it.

use std::collections::HashMap;

use crate::graph::{Body, Graph, Node, NodeId};
use crate::tensor::Tensor;

/// Watches a run, layer by layer. A run without observers pays nothing for them.
pub trait Observer {
    /// Called before a layer is evaluated. `Replace` gives its outputs in place of the evaluation.
    fn before(&mut self, node: &Node, inputs: &[&Tensor]) -> Control {
        let _ = (node, inputs);
        Control::Continue
    }

    /// Called before a body of a layer (If, Loop, TensorIterator) is evaluated. Until
    /// [`Observer::leave`], layers are those of the body; iterations count from 0.
    fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        let _ = (node, body, iteration);
    }

    /// Called after a body of a layer was evaluated.
    fn leave(&mut self, node: &Node, body: &Body, iteration: u64) {
        let _ = (node, body, iteration);
    }

    /// Called after a layer is evaluated. `Replace` puts other outputs in place of its own.
    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let _ = (node, outputs);
        Control::Continue
    }
}

/// An observer, if there is one, and others behind it.
pub(crate) fn joined<'o>(
    own: Option<&'o mut dyn Observer>,
    others: &'o mut [&mut dyn Observer],
) -> Vec<&'o mut dyn Observer> {
    let mut all: Vec<&mut dyn Observer> = own.into_iter().collect();
    for observer in others {
        all.push(&mut **observer);
    }
    all
}

/// Where an observed evaluation is: in which graph, and which of its nodes a layer is.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    ids: Vec<HashMap<u64, NodeId>>,
    within: Vec<usize>,
}

impl Whereabouts {
    pub(crate) fn new(graphs: &[Graph]) -> Self {
        let ids = |graph: &Graph| graph.nodes().map(|(id, node)| (node.id(), id)).collect();
        Self {
            ids: graphs.iter().map(ids).collect(),
            within: Vec::new(),
        }
    }

    pub(crate) fn enter(&mut self, body: &Body) {
        self.within.push(body.graph);
    }

    pub(crate) fn leave(&mut self) {
        self.within.pop();
    }

    /// The graph and the node of a layer that is evaluated now.
    pub(crate) fn find(&self, node: &Node) -> Option<(usize, NodeId)> {
        let graph = self.within.last().copied().unwrap_or(0);
        let &id = self.ids.get(graph)?.get(&node.id())?;
        Some((graph, id))
    }
}

/// What a run does next.
#[derive(Debug, Clone, Default)]
pub enum Control {
    /// Go on.
    #[default]
    Continue,
    /// Go on with these outputs of the layer: as many, and of the types and shapes inferred.
    Replace(Vec<Tensor>),
    /// End the run with an error of kind [`crate::Kind::Stopped`].
    Stop,
}
