//! How much the layers of a model compute and move, those joined by compilation included.

use std::collections::{HashMap, HashSet};

use super::profiler::Layer;
use crate::graph::{NodeId, Port};
use crate::model::Model;
use crate::ops::cost::{Costs, picks};
use crate::tensor::Shape;

/// What one evaluation of a layer computes and moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount {
    /// Floating-point operations, where they are known.
    pub(super) flops: Option<u64>,
    /// Bytes that are read and written.
    pub(super) bytes: u64,
}

/// The layers of a model of exact shapes, found by their names.
pub(super) struct Work {
    model: Model,
    costs: Costs,
    /// Names that several layers have find none.
    names: HashMap<String, Option<NodeId>>,
}

impl Work {
    /// The work of a model whose inputs have the shapes that are evaluated.
    pub(super) fn new(model: Model) -> Self {
        let mut names = HashMap::new();
        for (id, node) in model.graph().nodes() {
            let entry = names.entry(node.name().to_owned());
            entry.and_modify(|found| *found = None).or_insert(Some(id));
        }
        Self {
            model,
            costs: Costs::default(),
            names,
        }
    }

    /// Floating-point operations of one evaluation of the model. `None` if they are not known of a
    /// layer: its shapes are open, it holds bodies, or nothing tells how its operation computes.
    pub(super) fn total(&self) -> Option<u64> {
        let layers = self.model.graph().nodes().map(|(id, _)| self.flops(id));
        layers
            .into_iter()
            .try_fold(0u64, |all, flops| Some(all.saturating_add(flops?)))
    }

    /// The amount of a layer that was evaluated, which may stand for several of the model.
    pub(super) fn of(&self, layer: &Layer) -> Amount {
        let found = self.amount(layer);
        found.unwrap_or(Amount {
            flops: None,
            bytes: layer.bytes,
        })
    }

    fn amount(&self, layer: &Layer) -> Option<Amount> {
        let nodes = self.parts(layer)?;
        let mut flops = nodes.iter().map(|&id| self.flops(id));
        let flops = flops.try_fold(0u64, |all, flops| Some(all.saturating_add(flops?)));
        let inside: HashSet<NodeId> = nodes.iter().copied().collect();
        let graph = self.model.graph();
        let inputs = nodes.iter().flat_map(|&id| graph.node(id).inputs());
        let outside: HashSet<Port> = inputs
            .filter(|p| !inside.contains(&p.node))
            .copied()
            .collect();
        let last = *nodes.first()?;
        let outputs = (0..self.model.inferred(last).len()).map(|index| Port::new(last, index));
        let read = outside.into_iter().map(|port| self.read(port, &nodes));
        let mut sizes = read.chain(outputs.map(|port| self.bytes(port)));
        let bytes = sizes.try_fold(0u64, |all, size| Some(all.saturating_add(size?)))?;
        Some(Amount { flops, bytes })
    }

    /// The layers that an evaluated one stands for, the last first: it has its name, and the others
    /// stand before it.
    fn parts(&self, layer: &Layer) -> Option<Vec<NodeId>> {
        let graph = self.model.graph();
        let last = (*self.names.get(&layer.name)?)?;
        let is = |id: NodeId, ty: &str| graph.node(id).type_name() == ty;
        let mut types = layer.type_name.rsplit('+');
        if !is(last, types.next()?) {
            return None;
        }
        let mut nodes = vec![last];
        for ty in types {
            let before = nodes.iter().rev().flat_map(|&id| graph.node(id).inputs());
            let mut fits = before
                .map(|port| port.node)
                .filter(|id| !nodes.contains(id));
            let found = fits.find(|&id| is(id, ty))?;
            nodes.push(found);
        }
        Some(nodes)
    }

    fn flops(&self, id: NodeId) -> Option<u64> {
        let node = self.model.graph().node(id);
        let inputs = node.inputs().iter().map(|&port| self.shape(port));
        let inputs: Vec<Shape> = inputs.collect::<Option<_>>()?;
        let outputs =
            (0..self.model.inferred(id).len()).map(|index| self.shape(Port::new(id, index)));
        let outputs: Vec<Shape> = outputs.collect::<Option<_>>()?;
        let sizes = |shapes: &[Shape]| -> Vec<Vec<usize>> {
            shapes.iter().map(|shape| shape.to_vec()).collect()
        };
        let (inputs, outputs) = (sizes(&inputs), sizes(&outputs));
        let inputs: Vec<&[usize]> = inputs.iter().map(Vec::as_slice).collect();
        let outputs: Vec<&[usize]> = outputs.iter().map(Vec::as_slice).collect();
        self.costs.flops(node, &inputs, &outputs)
    }

    fn shape(&self, port: Port) -> Option<Shape> {
        self.model
            .inferred(port.node)
            .get(port.index as usize)?
            .shape
            .to_shape()
    }

    /// Bytes of a port that some layers read.
    fn read(&self, port: Port, nodes: &[NodeId]) -> Option<u64> {
        let all = self.bytes(port)?;
        let users = nodes.iter().map(|&id| (id, self.model.graph().node(id)));
        let read = users.map(|(id, node)| match node.inputs() {
            inputs if !inputs.contains(&port) => Some(0),
            [first, others @ ..] if *first == port && !others.contains(&port) && picks(node) => {
                self.bytes(Port::new(id, 0))
            }
            _ => Some(all),
        });
        let read = read.reduce(|a, b| Some(a?.saturating_add(b?)))?;
        Some(all.min(read?))
    }

    fn bytes(&self, port: Port) -> Option<u64> {
        let output = self.model.inferred(port.node).get(port.index as usize)?;
        let elements = output.shape.to_shape()?.elements()?;
        output
            .element_type
            .storage_bytes(elements)
            .map(|bytes| bytes as u64)
    }
}
