//! One evaluation of a model.

use smallvec::SmallVec;

use super::observer::{Control, Observer};
use super::pool::{Pool, unexpected};
use crate::error::{Error, Kind, Result};
use crate::graph::infer::describe;
use crate::graph::{NodeId, Operation};
use crate::limits::Limits;
use crate::model::Model;
use crate::op::{Input, Io, Op, OpErrorKind, Output, Outputs, Role};
use crate::tensor::Tensor;

/// The outputs of the nodes that are still needed.
type Slots = Vec<SmallVec<[Tensor; 1]>>;

pub(crate) struct Run<'r, 'o> {
    model: &'r Model,
    observers: &'r mut [&'o mut dyn Observer],
    pool: Pool,
    slots: Slots,
}

impl<'r, 'o> Run<'r, 'o> {
    pub(crate) fn new(
        model: &'r Model,
        limits: &Limits,
        observers: &'r mut [&'o mut dyn Observer],
    ) -> Self {
        let mut slots = Slots::new();
        slots.resize_with(model.graph().nodes.len(), SmallVec::new);
        Self {
            model,
            observers,
            pool: Pool::new(limits),
            slots,
        }
    }

    /// Evaluates the graph on inputs in the order of its Parameters, each known to fit.
    pub(crate) fn run(mut self, inputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let model = self.model;
        let graph = model.graph();
        for (input, tensor) in graph.inputs().iter().zip(inputs) {
            self.slots[input.node.index()].push(tensor);
        }
        let plan = model.plan();
        for (id, _) in graph.nodes() {
            self.node(id)?;
            for &dead in &plan.last_uses[id.index()] {
                for tensor in std::mem::take(&mut self.slots[dead as usize]) {
                    self.pool.release(tensor);
                }
            }
        }
        let outputs = graph.outputs().iter();
        let tensors = outputs.map(|output| self.slots[output.node.index()][0].clone());
        Ok(tensors.collect())
    }

    fn node(&mut self, id: NodeId) -> Result<()> {
        let model = self.model;
        let node = model.graph().node(id);
        let Operation::Known { op, .. } = node.operation() else {
            return Err(Error::at(
                model.place(id),
                Kind::Unsupported,
                "the operation is not supported",
            ));
        };
        // Producers stand before their consumers.
        let (earlier, this) = self.slots.split_at_mut(id.index());
        let inputs = inputs(earlier, model, id)?;
        let mut replaced = None;
        for observer in self.observers.iter_mut() {
            match observer.before(node, &inputs) {
                Control::Continue => {}
                Control::Replace(tensors) => replaced = Some(replacement(model, id, tensors)?),
                Control::Stop => return Err(stopped(model, id)),
            }
        }
        if let Some(tensors) = replaced {
            this[0] = tensors;
        } else if op.role() != Role::Parameter {
            this[0] = evaluate(model, id, &**op, &inputs, &mut self.pool)?;
        }
        drop(inputs);
        self.after(id)
    }

    fn after(&mut self, id: NodeId) -> Result<()> {
        let node = self.model.graph().node(id);
        for observer in self.observers.iter_mut() {
            match observer.after(node, &self.slots[id.index()]) {
                Control::Continue => {}
                Control::Replace(tensors) => {
                    self.slots[id.index()] = replacement(self.model, id, tensors)?;
                }
                Control::Stop => return Err(stopped(self.model, id)),
            }
        }
        Ok(())
    }
}

fn inputs<'t>(
    slots: &'t [SmallVec<[Tensor; 1]>],
    model: &Model,
    id: NodeId,
) -> Result<SmallVec<[&'t Tensor; 4]>> {
    let ports = model.graph().node(id).inputs().iter();
    let tensor = |port: &crate::graph::Port| {
        let found = slots[port.node.index()].get(port.index as usize);
        found.ok_or_else(|| {
            let producer = model.graph().node(port.node);
            let message = format!("{producer} has no output {}", port.index);
            Error::at(model.place(id), Kind::Structure, message)
        })
    };
    ports.map(tensor).collect()
}

/// Evaluates one node: infers what is not settled, allocates, evaluates, checks.
fn evaluate(
    model: &Model,
    id: NodeId,
    op: &dyn Op,
    inputs: &[&Tensor],
    pool: &mut Pool,
) -> Result<SmallVec<[Tensor; 1]>> {
    let failed = |kind: Kind, mut error: crate::op::OpError| {
        if error.kind != OpErrorKind::Limit {
            error.message += &describe(inputs.iter().map(|t| (t.element_type(), t.shape())));
        }
        Error::from_op(model.place(id), kind, error)
    };
    if let Some(constant) = op.constant() {
        let tensor = constant.map_err(|e| failed(Kind::Weights, e))?;
        return Ok(smallvec::smallvec![tensor.clone()]);
    }
    let fact = &model.facts().nodes[id.index()];
    let again: Outputs;
    let inferred = if fact.settled {
        &fact.outputs
    } else {
        let exact: SmallVec<[Input<'_>; 4]> = inputs.iter().map(|t| Input::of(t)).collect();
        again = op.infer(&exact).map_err(|e| failed(Kind::Shape, e))?;
        &again
    };
    if op.reshapes() {
        let shape = exact_shape(model, id, &inferred[0])?;
        let tensor = inputs[0].with_shape(shape);
        return Ok(smallvec::smallvec![
            tensor.map_err(|e| failed(Kind::Shape, e.into()))?
        ]);
    }
    let mut outputs: SmallVec<[Tensor; 1]> = SmallVec::with_capacity(inferred.len());
    for output in inferred {
        outputs.push(match output.shape.to_shape() {
            Some(shape) => pool
                .allocate(output.element_type, &shape)
                .map_err(|e| Error::at(model.place(id), e.kind(), e.message()))?,
            // The operation finds the size and brings the tensor.
            None => {
                Tensor::zeros(output.element_type, [0]).map_err(|e| failed(Kind::Eval, e.into()))?
            }
        });
    }
    let io = Io {
        inputs,
        outputs: &mut outputs,
    };
    op.eval(io).map_err(|e| failed(Kind::Eval, e))?;
    for (output, tensor) in inferred.iter().zip(&outputs) {
        if tensor.element_type() != output.element_type || !output.shape.contains(tensor.shape()) {
            return Err(unexpected(model.place(id), output, tensor));
        }
    }
    Ok(outputs)
}

/// What an observer puts in place of a node's outputs, if it fits.
fn replacement(model: &Model, id: NodeId, tensors: Vec<Tensor>) -> Result<SmallVec<[Tensor; 1]>> {
    let inferred = &model.facts().nodes[id.index()].outputs;
    if inferred.len() != tensors.len() {
        let message = format!(
            "expected {} outputs from the observer, got {}",
            inferred.len(),
            tensors.len()
        );
        return Err(Error::at(model.place(id), Kind::Eval, message));
    }
    for (output, tensor) in inferred.iter().zip(&tensors) {
        let types =
            !output.element_type.is_static() || output.element_type == tensor.element_type();
        if !types || !output.shape.contains(tensor.shape()) {
            return Err(unexpected(model.place(id), output, tensor));
        }
    }
    Ok(tensors.into())
}

fn exact_shape(model: &Model, id: NodeId, output: &Output) -> Result<crate::tensor::Shape> {
    output.shape.to_shape().ok_or_else(|| {
        let message = format!("the shape {} does not follow from the inputs", output.shape);
        Error::at(model.place(id), Kind::Shape, message)
    })
}

fn stopped(model: &Model, id: NodeId) -> Error {
    Error::at(
        model.place(id),
        Kind::Stopped,
        "an observer stopped the run",
    )
}
