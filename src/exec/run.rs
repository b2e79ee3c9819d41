//! One evaluation of a model.

use smallvec::SmallVec;

use super::control::{Entry, Next, Waiting};
use super::evaluate::evaluate;
use super::observer::{Control, Observer};
use super::plan::Plan;
use super::pool::{Pool, unexpected};
use super::state::State;
use super::workspace::{Slot, Slots, Tensors, Workspace};
use crate::error::{Error, Kind, Place, Result};
use crate::graph::infer::Fact;
use crate::graph::{Graph, Node, NodeId, Operation};
use crate::limits::{self, Limits, Stop};
use crate::model::Model;
use crate::op::{Op, Output, Role};
use crate::tensor::{Few, Shape, Tensor};

/// The outputs of a graph.
pub(crate) type Results = SmallVec<[Tensor; 2]>;

/// A graph that is being evaluated. The graphs whose layers wait for it lie below it on a stack of
/// their own: bodies may be nested deeper than a thread's stack allows.
struct Frame<'r> {
    index: usize,
    graph: &'r Graph,
    plan: &'r Plan,
    slots: Slots,
    /// How many nodes are done.
    done: usize,
    /// The next node, while its body is evaluated.
    waiting: Option<Waiting<'r>>,
    /// What the body gave.
    results: Results,
}

impl Frame<'_> {
    /// The node to go on with: constants come first, but observers see the order of the file.
    fn next(&self, watched: bool) -> Option<NodeId> {
        if watched {
            return (self.done < self.graph.nodes.len()).then(|| NodeId::new(self.done));
        }
        let Plan {
            constants, steps, ..
        } = self.plan;
        match constants.get(self.done) {
            Some(id) => Some(*id),
            None => steps.get(self.done - constants.len()).copied(),
        }
    }
}

pub(crate) struct Run<'r, 'o> {
    pub(super) model: &'r Model,
    pub(super) limits: &'r Limits,
    pub(super) observers: &'r mut [&'o mut dyn Observer],
    workspace: &'r mut Workspace,
    /// The variables as the run found them.
    pub(super) state: &'r State,
}

impl<'r, 'o> Run<'r, 'o> {
    pub(crate) fn new(
        model: &'r Model,
        limits: &'r Limits,
        state: &'r State,
        workspace: &'r mut Workspace,
        observers: &'r mut [&'o mut dyn Observer],
    ) -> Self {
        workspace.begin(model, limits);
        Self {
            model,
            limits,
            observers,
            workspace,
            state,
        }
    }

    /// Evaluates the model on inputs in the order of its Parameters, each known to fit: they are taken
    /// out. Adds the outputs to `outputs`; what Assign leaves in variables goes to `assigned`.
    pub(crate) fn run(
        mut self,
        inputs: &mut [Option<Tensor>],
        (outputs, assigned): (&mut Results, &mut State),
    ) -> Result<()> {
        limits::check()?;
        self.check_outputs()?;
        self.graphs(
            inputs.iter_mut().filter_map(Option::take),
            outputs,
            assigned,
        )?;
        let bytes = outputs.iter().map(|output| output.byte_len() as u64);
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > self.limits.output_bytes {
            let message = format!(
                "the outputs have {bytes} bytes, the limit is {}",
                self.limits.output_bytes
            );
            return Err(Error::new(Kind::Limit, message));
        }
        Ok(())
    }

    /// Whether the outputs whose shapes are known already are within the limit.
    fn check_outputs(&self) -> Result<()> {
        let (model, limit) = (self.model, self.limits.output_bytes);
        if model.plan(0).result_bytes <= limit {
            return Ok(());
        }
        let mut all = 0u64;
        for output in model.outputs() {
            let Some(found) = model.fact(0, output.node).outputs.first() else {
                continue;
            };
            // Of a type that is not known yet, or of strings, the size shows later.
            let bytes = found.known_bytes().unwrap_or(0);
            all = all.saturating_add(bytes);
            if all > limit {
                // The layer that makes it says more than the Result.
                let result = model.graphs()[0].node(output.node);
                let id = result
                    .inputs()
                    .first()
                    .map_or(output.node, |port| port.node);
                let message = format!(
                    "an output {found} needs {bytes} bytes, the limit of all outputs is {limit}"
                );
                return Err(At { graph: 0, id }.error(model, Kind::Limit, message));
            }
        }
        Ok(())
    }

    pub(super) fn pool(&mut self) -> &mut Pool {
        &mut self.workspace.pool
    }

    /// Evaluates the model's graph, and the bodies that its layers come to.
    fn graphs(
        &mut self,
        inputs: impl IntoIterator<Item = Tensor>,
        outputs: &mut Results,
        assigned: &mut State,
    ) -> Result<()> {
        let mut frame = self.begin(0, inputs)?;
        let mut outer: Vec<Frame<'r>> = Vec::new();
        loop {
            if let Some(Entry { graph, values }) = self.advance(&mut frame, assigned)? {
                let inner = self.begin(graph, values)?;
                outer.push(std::mem::replace(&mut frame, inner));
                continue;
            }
            let Some(mut holder) = outer.pop() else {
                self.end(frame, outputs);
                return Ok(());
            };
            self.end(frame, &mut holder.results);
            frame = holder;
        }
    }

    /// Begins with the graph at `index` of the model.
    fn begin(
        &mut self,
        index: usize,
        inputs: impl IntoIterator<Item = Tensor>,
    ) -> Result<Frame<'r>> {
        let graph = &self.model.graphs()[index];
        let slots = self.workspace.take(index, graph.nodes.len());
        let mut slots = slots.ok_or(Stop::Memory)?;
        for (input, tensor) in graph.inputs().iter().zip(inputs) {
            slots[input.node.index()].push(tensor);
        }
        Ok(Frame {
            index,
            graph,
            plan: self.model.plan(index),
            slots,
            done: 0,
            waiting: None,
            results: Results::new(),
        })
    }

    /// Adds the outputs of a graph of which every node is done.
    fn end(&mut self, frame: Frame<'r>, outputs: &mut Results) {
        let Frame { graph, slots, .. } = frame;
        for output in graph.outputs() {
            outputs.push(slots[output.node.index()][0].clone());
        }
        if self.observers.is_empty() {
            // What an observer put in place of a constant must not stay.
            let results = graph.outputs().iter().map(|output| output.node);
            self.workspace.put(frame.index, slots, results);
        }
    }

    /// Goes on with a graph, to its end or to a body.
    fn advance(&mut self, frame: &mut Frame<'r>, assigned: &mut State) -> Result<Option<Entry>> {
        let watched = !self.observers.is_empty();
        while let Some(id) = frame.next(watched) {
            // Constants stay from one evaluation to the next.
            let kept = !watched && frame.done < frame.plan.constants.len();
            if !kept || frame.slots[id.index()].is_empty() {
                let entry = self.node(id, frame, assigned)?;
                if entry.is_some() {
                    return Ok(entry);
                }
            }
            frame.done += 1;
            for &dead in &frame.plan.last_uses[id.index()] {
                let own = frame.plan.makes[dead as usize];
                let slot = &mut frame.slots[dead as usize];
                let pool = &mut self.workspace.pool;
                if slot.stays && slot.tensors.iter_mut().all(|tensor| pool.rest(tensor)) {
                    continue;
                }
                slot.stays = false;
                for tensor in slot.drain(..) {
                    if own {
                        pool.release(tensor);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Evaluates a node, or goes on with one that waited for its body.
    fn node(
        &mut self,
        id: NodeId,
        frame: &mut Frame<'r>,
        assigned: &mut State,
    ) -> Result<Option<Entry>> {
        let model = self.model;
        let at = At {
            graph: frame.index,
            id,
        };
        let node = at.node(model);
        let (Operation::Known { op, .. } | Operation::Joined { op, .. }) = node.operation() else {
            return Err(at.error(model, Kind::Unsupported, "the operation is not supported"));
        };
        // Producers stand before their consumers.
        let (earlier, this) = frame.slots.split_at_mut(id.index());
        let this = &mut this[0];
        let small = frame.plan.small[id.index()].as_ref();
        let inputs = inputs(earlier, model, at)?;
        let next = if let Some(waiting) = frame.waiting.take() {
            let results = std::mem::take(&mut frame.results);
            Some(self.resume(at, waiting, results, &inputs)?)
        } else if let Some(tensors) = self.before(at, &inputs)? {
            this.tensors = tensors;
            this.stays = false;
            None
        } else {
            match op.role() {
                // The caller has put its value there.
                Role::Parameter => None,
                Role::If | Role::Loop | Role::TensorIterator => {
                    Some(self.control(at, op.role(), &inputs)?)
                }
                Role::ReadValue => {
                    this.tensors = smallvec::smallvec![self.read_value(at, &**op, &inputs)?];
                    None
                }
                Role::Assign | Role::Inner | Role::Result => {
                    let pool = &mut self.workspace.pool;
                    evaluate(model, at, (&**op, small), &inputs, pool, this)?;
                    None
                }
            }
        };
        match next {
            None => {}
            Some(Next::Done(tensors)) => this.tensors = tensors,
            Some(Next::Body(waiting, entry)) => {
                frame.waiting = Some(waiting);
                return Ok(Some(entry));
            }
        }
        if let (Role::Assign, Some(variable)) = (op.role(), op.variable()) {
            assigned.set(variable, this[0].clone());
        }
        drop(inputs);
        // A kernel that was told to end leaves anything behind.
        if let Err(stop) = limits::check() {
            return Err(at.error(model, stop.kind(), stop.message()));
        }
        self.after(at, &mut frame.slots)?;
        Ok(None)
    }

    /// What an observer gives in place of a node's outputs.
    fn before(&mut self, at: At, inputs: &[&Tensor]) -> Result<Option<Tensors>> {
        let (model, node) = (self.model, at.node(self.model));
        let mut replaced = None;
        for observer in self.observers.iter_mut() {
            match observer.before(node, inputs) {
                Control::Continue => {}
                Control::Replace(tensors) => replaced = Some(replacement(model, at, tensors)?),
                Control::Stop => return Err(stopped(model, at)),
            }
        }
        Ok(replaced)
    }

    fn after(&mut self, at: At, slots: &mut Slots) -> Result<()> {
        let node = at.node(self.model);
        for observer in self.observers.iter_mut() {
            match observer.after(node, &slots[at.id.index()]) {
                Control::Continue => {}
                Control::Replace(tensors) => {
                    let slot = &mut slots[at.id.index()];
                    slot.tensors = replacement(self.model, at, tensors)?;
                    slot.stays = false;
                }
                Control::Stop => return Err(stopped(self.model, at)),
            }
        }
        Ok(())
    }

    /// What the evaluation before left in a variable, its initial value, or zeros.
    fn read_value(&mut self, at: At, op: &dyn Op, inputs: &[&Tensor]) -> Result<Tensor> {
        let inferred = &at.inferred(self.model);
        let left = op.variable().and_then(|variable| self.state.get(variable));
        let tensor = match (left, inputs) {
            (Some(left), _) => left.clone(),
            (None, [initial, ..]) => (*initial).clone(),
            (None, []) => {
                let dims = inferred.shape.dims().unwrap_or_default();
                let shape: Shape = dims.iter().map(|d| d.value().unwrap_or(0)).collect();
                let pool = &mut self.workspace.pool;
                let mut zeros = pool
                    .allocate(inferred.element_type, &shape)
                    .map_err(|e| at.error(self.model, e.kind(), e.message()))?;
                zeros.bytes_mut().fill(0);
                zeros
            }
        };
        if !fits(inferred, &tensor) {
            return Err(unexpected(at.place(self.model), inferred, &tensor));
        }
        Ok(tensor)
    }
}

/// A node of one of a model's graphs.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) graph: usize,
    pub(super) id: NodeId,
}

impl At {
    pub(super) fn node(self, model: &Model) -> &Node {
        model.graphs()[self.graph].node(self.id)
    }

    pub(super) fn place(self, model: &Model) -> Place {
        model.place_in(self.graph, self.id)
    }

    pub(super) fn error(self, model: &Model, kind: Kind, message: impl Into<String>) -> Error {
        Error::at(self.place(model), kind, message)
    }

    /// Type and shape of the first output. A model that was only looked at, not inferred, may know
    /// nothing of it.
    pub(super) fn inferred(self, model: &Model) -> Output {
        self.fact(model)
            .outputs
            .first()
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn fact(self, model: &Model) -> &Fact {
        model.fact(self.graph, self.id)
    }
}

/// Whether a tensor is what was inferred.
pub(super) fn fits(inferred: &Output, tensor: &Tensor) -> bool {
    let ty = inferred.element_type;
    (!ty.is_static() || ty == tensor.element_type()) && inferred.shape.contains(tensor.shape())
}

fn inputs<'t>(slots: &'t [Slot], model: &Model, at: At) -> Result<Few<&'t Tensor>> {
    let mut inputs = SmallVec::new();
    for port in at.node(model).inputs() {
        let Some(found) = slots[port.node.index()].get(port.index as usize) else {
            let producer = model.graphs()[at.graph].node(port.node);
            let message = format!("{producer} has no output {}", port.index);
            return Err(at.error(model, Kind::Structure, message));
        };
        inputs.push(found);
    }
    Ok(inputs)
}

/// What an observer puts in place of a node's outputs, if it fits.
fn replacement(model: &Model, at: At, tensors: Vec<Tensor>) -> Result<Tensors> {
    let inferred = &at.fact(model).outputs;
    if inferred.len() != tensors.len() {
        let message = format!(
            "expected {} outputs from the observer, got {}",
            inferred.len(),
            tensors.len()
        );
        return Err(at.error(model, Kind::Eval, message));
    }
    for (output, tensor) in inferred.iter().zip(&tensors) {
        if !fits(output, tensor) {
            return Err(unexpected(at.place(model), output, tensor));
        }
    }
    Ok(tensors.into())
}

fn stopped(model: &Model, at: At) -> Error {
    at.error(model, Kind::Stopped, "an observer stopped the run")
}
