//! What evaluations of a model keep from one to the next.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use super::pool::Pool;
use crate::graph::NodeId;
use crate::limits::Limits;
use crate::model::Model;
use crate::tensor::Tensor;

/// The outputs of one node.
pub(super) type Tensors = SmallVec<[Tensor; 1]>;

/// The outputs of a node that are still needed.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) tensors: Tensors,
    /// Whether the tensor is in a small buffer of the node's own, which it finds here at the next
    /// evaluation.
    pub(super) stays: bool,
}

impl Deref for Slot {
    type Target = Tensors;

    fn deref(&self) -> &Tensors {
        &self.tensors
    }
}

impl DerefMut for Slot {
    fn deref_mut(&mut self) -> &mut Tensors {
        &mut self.tensors
    }
}

/// The slots of the nodes of a graph.
pub(super) type Slots = Vec<Slot>;

/// The memory of evaluations, one at a time: constants, results until the next evaluation, and the
/// buffers of everything else.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(super) pool: Pool,
    /// By graph.
    slots: Vec<Slots>,
    /// The model that the slots belong to.
    model: Option<Model>,
}

impl Workspace {
    /// Begins a run of this model.
    pub(super) fn begin(&mut self, model: &Model, limits: &Limits) {
        self.pool.begin(limits);
        if !self.model.as_ref().is_some_and(|own| own.is(model)) {
            self.slots.clear();
            self.slots.resize_with(model.graphs().len(), Slots::new);
            self.model = Some(model.clone());
        }
        // Only the first graph keeps results.
        let plan = model.plan(0);
        if let Some(slots) = self.slots.first_mut().filter(|slots| !slots.is_empty()) {
            for &id in &plan.results {
                for tensor in slots[id.index()].drain(..) {
                    self.pool.release(tensor);
                }
            }
        }
    }

    /// The slots of a graph, empty but for constants; nothing if there is no memory for them.
    pub(super) fn take(&mut self, graph: usize, nodes: usize) -> Option<Slots> {
        let mut slots = std::mem::take(&mut self.slots[graph]);
        let more = nodes.saturating_sub(slots.len());
        slots.try_reserve_exact(more).ok()?;
        slots.resize_with(nodes, Slot::default);
        Some(slots)
    }

    /// Keeps the slots of a graph for its next evaluation.
    pub(super) fn put(
        &mut self,
        graph: usize,
        mut slots: Slots,
        results: impl Iterator<Item = NodeId>,
    ) {
        if graph > 0 {
            // The next iteration may come before the layer has used the results of this one.
            results.for_each(|id| slots[id.index()].clear());
        }
        self.slots[graph] = slots;
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}
