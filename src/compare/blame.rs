//! What is to be told of the layer that a search ends at.

use std::collections::{BTreeMap, BTreeSet};

use super::reference::Layers;
use super::search::{Blamed, Finding, Reference, Searcher, Slot};
use super::{Explanation, Named};
use crate::graph::NodeId;
use crate::op::Role;
use crate::tensor::Tensor;

impl Searcher<'_> {
    /// What is to be told of a finding, and of the nodes that may be to blame for it. `along` is the
    /// model's own run, `known` are the reference's tensors, beside the inputs of both.
    pub(super) fn blamed(
        &self,
        alone: Finding,
        nodes: Vec<NodeId>,
        along: &[Finding],
        reference: &Reference<'_>,
        (known, inputs): (&BTreeMap<Slot, Named>, &[(usize, Tensor)]),
    ) -> Blamed {
        let worst = |wanted: &dyn Fn(Slot) -> bool| {
            let found = along.iter().filter(|f| f.slot.is_some_and(wanted));
            found.max_by(|a, b| a.compared.badness().1.total_cmp(&b.compared.badness().1))
        };
        let graph = self.model.graph();
        let feeds = self.feeds(&nodes, known, inputs);
        let before = worst(&|slot| feeds.iter().any(|(feed, _)| *feed == slot)).cloned();
        let after = worst(&|slot| Some(slot) == alone.slot).cloned();
        let explanation = reference
            .model()
            .map_or_else(Explanation::default, |other| {
                let theirs = Layers::new(other);
                Explanation::of(self.model, &nodes, &theirs, &self.pairs, &self.varies)
            });
        let node = alone.slot.map(|(id, _)| id);
        let attributes = node.map_or_else(Vec::new, |id| graph.node(id).attributes());
        let expected = known.iter().filter(|((id, _), _)| Some(*id) == node);
        Blamed {
            before,
            after,
            explanation,
            attributes,
            expected: expected
                .map(|(slot, named)| (*slot, named.clone()))
                .collect(),
            alone,
            nodes,
            feeds,
            pairs: self.pairs.clone(),
        }
    }

    /// What the reference has where values come into these nodes.
    fn feeds(
        &self,
        nodes: &[NodeId],
        known: &BTreeMap<Slot, Named>,
        inputs: &[(usize, Tensor)],
    ) -> Vec<(Slot, Named)> {
        let graph = self.model.graph();
        let ports = nodes.iter().flat_map(|&id| graph.node(id).inputs());
        let slots: BTreeSet<Slot> = ports
            .map(|port| (port.node, port.index as usize))
            .filter(|(id, _)| !nodes.contains(id) && self.varies[id.index()])
            .collect();
        let feeds = slots.into_iter().filter_map(|slot| {
            if graph.node(slot.0).role() != Role::Parameter {
                return known.get(&slot).map(|named| (slot, named.clone()));
            }
            let input = graph
                .inputs()
                .iter()
                .position(|input| input.node == slot.0)?;
            let (_, tensor) = inputs.iter().find(|(index, _)| *index == input)?;
            let name = graph.inputs()[input].name();
            Some((slot, Named::new(name, tensor.clone())))
        });
        feeds.collect()
    }
}
