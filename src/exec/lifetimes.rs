//! Which tensors are alive when, as the evaluation layer by layer keeps them: from the layer that
//! makes them to the last that takes them.

use std::collections::{BTreeMap, HashMap};

use super::{Control, Observer};
use crate::graph::{Body, Node, NodeId};
use crate::model::Model;
use crate::op::Role;
use crate::tensor::{ElementType, Shape, Tensor};

/// What an evaluation keeps in memory, layer by layer. Constants and inputs are not counted: the
/// former lie in the file, the latter belong to the caller. Tensors that share their elements with
/// others, as those of Reshape do, are counted once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// Bytes alive right after each layer of the model's graph, before it frees anything; for a
    /// layer with bodies the most while they were evaluated. In the order of evaluation.
    pub steps: Vec<Step>,
    /// The tensors that are alive at the peak, the largest first.
    pub alive: Vec<Alive>,
    /// The step of the peak.
    pub peak: usize,
}

/// A layer of the model's graph, and the memory while it is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The layer.
    pub node: NodeId,
    /// Bytes alive.
    pub bytes: u64,
}

/// A tensor that is alive at the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alive {
    /// The index of its graph in [`Model::graphs`].
    pub graph: usize,
    /// The layer that made it.
    pub node: NodeId,
    /// Which output of it.
    pub output: usize,
    /// The element type.
    pub element_type: ElementType,
    /// The shape.
    pub shape: Shape,
    /// Its bytes.
    pub bytes: u64,
    /// The last layer that takes it; `None` for an output of the model, which stays.
    pub until: Option<NodeId>,
}

impl Memory {
    /// The most bytes alive at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.steps.get(self.peak).map_or(0, |step| step.bytes)
    }
}

/// Elements that live: from an address to another.
#[derive(Debug)]
struct Block {
    end: usize,
    /// How many tensors have elements in it.
    users: usize,
    /// `None` where it is not counted.
    tensor: Option<Alive>,
}

/// A graph that is being evaluated.
#[derive(Debug)]
struct Frame {
    graph: usize,
    /// For each node that is alive, where its outputs begin.
    alive: HashMap<usize, Vec<usize>>,
    /// The most bytes since the layer that is being evaluated began.
    most: u64,
}

/// Counts what is alive; an observer of a run of the model's own evaluator.
#[derive(Debug)]
pub struct Lifetimes<'m> {
    model: &'m Model,
    /// Positions of layers by id, of each graph that was met.
    places: HashMap<usize, HashMap<u64, usize>>,
    frames: Vec<Frame>,
    blocks: BTreeMap<usize, Block>,
    live: u64,
    found: Memory,
    peak: u64,
    /// Whether there are tensors, not shapes alone.
    measured: bool,
    /// Where the next tensor would be, if there are none.
    imagined: usize,
}

impl<'m> Lifetimes<'m> {
    /// Nothing is alive yet.
    pub fn new(model: &'m Model) -> Self {
        Self {
            model,
            places: HashMap::new(),
            frames: vec![Frame::of(0)],
            blocks: BTreeMap::new(),
            live: 0,
            found: Memory::default(),
            peak: 0,
            measured: true,
            imagined: 1,
        }
    }

    /// What was found.
    pub fn finish(mut self) -> Memory {
        let all = |tensor: &Alive| (std::cmp::Reverse(tensor.bytes), tensor.node.index());
        self.found.alive.sort_by_key(all);
        self.found
    }

    /// What an evaluation would keep, by the inferred shapes alone. `None` unless all are exact.
    /// Bodies count as evaluated once, on top of what is alive around them.
    pub fn of_shapes(model: &'m Model) -> Option<Memory> {
        let graphs = model.graphs();
        // Bodies come after the graphs that hold them, so from the last to the first.
        let mut within = vec![0u64; graphs.len()];
        let mut found = Memory::default();
        for index in (0..graphs.len()).rev() {
            let mut counter = Self::new(model);
            counter.frames = vec![Frame::of(index)];
            counter.measured = false;
            for (id, node) in graphs[index].nodes() {
                let bodies = node.bodies().iter();
                let inner = bodies
                    .map(|body| within.get(body.graph).copied().unwrap_or(0))
                    .max();
                counter.shaped(index, id, node, inner.unwrap_or(0))?;
            }
            within[index] = counter.peak;
            found = counter.finish();
        }
        Some(found)
    }

    /// Counts a layer by what was inferred of it.
    fn shaped(&mut self, graph: usize, id: NodeId, node: &Node, inner: u64) -> Option<()> {
        let mut outputs = Vec::new();
        for (index, inferred) in self.model.inferred_in(graph, id).iter().enumerate() {
            let shape = inferred.shape.to_shape()?;
            let bytes = inferred.element_type.storage_bytes(shape.elements()?)?;
            let shares = node.op().is_some_and(|op| op.reshapes());
            let first = node.inputs().first().filter(|_| shares && index == 0);
            let start = first.and_then(|port| {
                let alive = &self.frames.last()?.alive;
                alive
                    .get(&port.node.index())?
                    .get(port.index as usize)
                    .copied()
            });
            let start = start.unwrap_or_else(|| {
                let start = self.imagined;
                self.imagined += bytes.max(1);
                start
            });
            outputs.push((start, bytes, inferred.element_type, shape));
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.most = frame.most.max(self.live.saturating_add(inner));
        }
        self.layer(id, node, outputs);
        Some(())
    }

    /// A layer is done: its outputs live, and what it was the last to take does not.
    fn layer(&mut self, id: NodeId, node: &Node, outputs: Vec<(usize, usize, ElementType, Shape)>) {
        let Some(graph) = self.frames.last().map(|frame| frame.graph) else {
            return;
        };
        // What a body takes is alive around it already, or comes from its last iteration.
        let given = node.role() == Role::Parameter && (graph == 0 || !self.measured);
        let counted = !given && !node.op().is_some_and(|op| op.is_constant());
        let mut starts = Vec::new();
        for (output, (start, bytes, element_type, shape)) in outputs.into_iter().enumerate() {
            let tensor = counted.then(|| Alive {
                graph,
                node: id,
                output,
                element_type,
                shape,
                bytes: bytes as u64,
                until: None,
            });
            starts.push(self.hold(start, bytes, tensor));
        }
        let live = self.live;
        let main = self.frames.len() == 1;
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        frame.alive.insert(id.index(), starts);
        let most = std::mem::replace(&mut frame.most, 0).max(live);
        if main {
            self.found.steps.push(Step {
                node: id,
                bytes: most,
            });
        }
        self.reach(most);
        let plan = self.model.plan(graph);
        let dead: Vec<usize> = plan.last_uses[id.index()]
            .iter()
            .map(|&node| node as usize)
            .collect();
        for node in dead {
            let starts = self
                .frames
                .last_mut()
                .and_then(|frame| frame.alive.remove(&node));
            for start in starts.into_iter().flatten() {
                self.release(start);
            }
        }
    }

    /// Keeps what is alive, if there never was more.
    fn reach(&mut self, bytes: u64) {
        for frame in &mut self.frames {
            frame.most = frame.most.max(bytes);
        }
        if self.frames.len() == 1 {
            // The step is done: what follows begins anew.
            self.frames[0].most = 0;
        }
        if bytes <= self.peak {
            return;
        }
        self.peak = bytes;
        // The step that is being evaluated, or was just added.
        self.found.peak = match self.frames.len() {
            1 => self.found.steps.len().saturating_sub(1),
            _ => self.found.steps.len(),
        };
        let tensors = self
            .blocks
            .values()
            .filter_map(|block| block.tensor.clone());
        self.found.alive = tensors.collect();
        for tensor in &mut self.found.alive {
            tensor.until = until(self.model, tensor.graph, tensor.node);
        }
    }

    /// Elements are in use; gives where the block begins.
    fn hold(&mut self, start: usize, bytes: usize, tensor: Option<Alive>) -> usize {
        if bytes == 0 {
            // It stands nowhere.
            return usize::MAX;
        }
        if let Some((&first, block)) = self.blocks.range_mut(..=start).next_back()
            && start < block.end
        {
            block.users += 1;
            return first;
        }
        let counted = tensor.as_ref().map_or(0, |tensor| tensor.bytes);
        self.live = self.live.saturating_add(counted);
        let block = Block {
            end: start.saturating_add(bytes),
            users: 1,
            tensor,
        };
        self.blocks.insert(start, block);
        start
    }

    fn release(&mut self, start: usize) {
        let Some(block) = self.blocks.get_mut(&start) else {
            return;
        };
        block.users -= 1;
        if block.users == 0 {
            let counted = block.tensor.as_ref().map_or(0, |tensor| tensor.bytes);
            self.live = self.live.saturating_sub(counted);
            self.blocks.remove(&start);
        }
    }

    fn place(&mut self, graph: usize, node: &Node) -> NodeId {
        let places = self.places.entry(graph).or_insert_with(|| {
            let nodes = self.model.graphs()[graph].nodes();
            nodes.map(|(id, node)| (node.id(), id.index())).collect()
        });
        NodeId::new(places.get(&node.id()).copied().unwrap_or(0))
    }
}

impl Frame {
    fn of(graph: usize) -> Self {
        Self {
            graph,
            alive: HashMap::new(),
            most: 0,
        }
    }
}

/// The last layer that takes what a node makes.
fn until(model: &Model, graph: usize, node: NodeId) -> Option<NodeId> {
    let uses = &model.plan(graph).last_uses;
    let dead = |last: &Vec<u32>| last.iter().any(|&dead| dead as usize == node.index());
    uses.iter().position(dead).map(NodeId::new)
}

impl Observer for Lifetimes<'_> {
    fn enter(&mut self, _: &Node, body: &Body, _: u64) {
        self.frames.push(Frame::of(body.graph));
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        for start in frame.alive.into_values().flatten() {
            self.release(start);
        }
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let Some(graph) = self.frames.last().map(|frame| frame.graph) else {
            return Control::Continue;
        };
        let id = self.place(graph, node);
        let sizes = outputs.iter().map(|tensor| {
            // Strings have no bytes to look at.
            let start = match tensor.as_strings() {
                Ok(strings) => strings.as_ptr() as usize,
                Err(_) => tensor.bytes().as_ptr() as usize,
            };
            (
                start,
                tensor.byte_len(),
                tensor.element_type(),
                tensor.shape().clone(),
            )
        });
        let sizes = sizes.collect();
        self.layer(id, node, sizes);
        Control::Continue
    }
}
