//! Evaluation of If, Loop and TensorIterator.

use std::cell::OnceCell;

use super::pool::unexpected;
use super::run::{At, Results, Run, fits};
use super::workspace::Tensors;
use crate::error::{Error, Kind, Result};
use crate::graph::infer::Facts;
use crate::graph::{Body, BodyKind, Feed, Parts, Slice, is_true};
use crate::kernel::concat::Concat;
use crate::kernel::moving::move_elements;
use crate::kernel::strided::{Cut, View, Views};
use crate::op::{Input, OpError, Output, Outputs, Role, normalize_axis};
use crate::tensor::{Shape, Tensor, convert};

/// What goes into a body that is to be evaluated.
pub(super) struct Entry {
    pub(super) graph: usize,
    pub(super) values: Vec<Tensor>,
}

/// A layer that waits until its body is evaluated.
pub(super) enum Waiting<'r> {
    If(&'r Body),
    Iterations(Box<Iterations<'r>>),
}

pub(super) struct Iterations<'r> {
    body: &'r Body,
    /// The axis and the parts of each input that is cut.
    cuts: Vec<Option<(usize, Parts)>>,
    /// How many iterations there are at most,
    most: u64,
    /// and whether that is the limit, not the layer's own number.
    limited: bool,
    go_on: bool,
    iteration: u64,
    /// The results of the last iteration.
    states: Results,
    /// For each output, the results that are put together to it.
    joined: Vec<Vec<Tensor>>,
}

/// What evaluation of a layer does next.
pub(super) enum Next<'r> {
    /// It waits for a body.
    Body(Waiting<'r>, Entry),
    /// It is done.
    Done(Tensors),
}

impl<'r> Run<'r, '_> {
    /// Begins with a layer that has bodies.
    pub(super) fn control(&mut self, at: At, role: Role, inputs: &[&Tensor]) -> Result<Next<'r>> {
        let model = self.model;
        let lacks = || at.error(model, Kind::Structure, "the layer lacks its bodies");
        let bodies = at.node(model).bodies();
        let needed = match role {
            Role::If => 1,
            Role::Loop => 2,
            _ => 0,
        };
        if inputs.len() < needed {
            let message = format!("expected at least {needed} inputs, got {}", inputs.len());
            return Err(at.error(self.model, Kind::Shape, message));
        }
        match (role, bodies) {
            (Role::If, bodies) => {
                let taken = if self.condition(at, inputs[0])? {
                    BodyKind::Then
                } else {
                    BodyKind::Else
                };
                let body = bodies.iter().find(|body| body.kind == taken);
                self.branch(at, body.ok_or_else(lacks)?, inputs)
            }
            (_, [body]) => self.iterations(at, role, body, inputs),
            _ => Err(lacks()),
        }
    }

    /// Goes on with a layer whose body gave these results.
    pub(super) fn resume(
        &mut self,
        at: At,
        waiting: Waiting<'r>,
        results: Results,
        inputs: &[&Tensor],
    ) -> Result<Next<'r>> {
        match waiting {
            Waiting::If(body) => {
                self.leave(at, body, 0);
                let outputs = body.wiring.yields.iter();
                let outputs = outputs.map(|y| results[y.result].clone()).collect();
                self.done(at, outputs)
            }
            Waiting::Iterations(mut iterations) => {
                self.iterated(at, &mut iterations, results)?;
                self.iterate(at, iterations, inputs)
            }
        }
    }

    /// A layer with these outputs.
    fn done(&self, at: At, outputs: Tensors) -> Result<Next<'r>> {
        for (inferred, tensor) in at.fact(self.model).outputs.iter().zip(&outputs) {
            if !fits(inferred, tensor) {
                return Err(unexpected(at.place(self.model), inferred, tensor));
            }
        }
        Ok(Next::Done(outputs))
    }

    fn condition(&self, at: At, tensor: &Tensor) -> Result<bool> {
        is_true(tensor).ok_or_else(|| {
            let message = format!("the condition must be one boolean, got {tensor:?}");
            at.error(self.model, Kind::Eval, message)
        })
    }

    fn branch(&mut self, at: At, body: &'r Body, inputs: &[&Tensor]) -> Result<Next<'r>> {
        let mut values = Vec::with_capacity(body.wiring.feeds.len());
        for feed in &body.wiring.feeds {
            let Feed::Whole { input, .. } = *feed else {
                return Err(at.error(self.model, Kind::Structure, "a branch takes whole inputs"));
            };
            values.push(inputs[input].clone());
        }
        let entry = self.enter(at, body, 0, values)?;
        Ok(Next::Body(Waiting::If(body), entry))
    }

    /// Begins an evaluation of a body.
    fn enter(&mut self, at: At, body: &Body, iteration: u64, values: Vec<Tensor>) -> Result<Entry> {
        let (model, graph) = (self.model, &self.model.graphs()[body.graph]);
        for (terminal, value) in graph.inputs().iter().zip(&values) {
            let inner = At {
                graph: body.graph,
                id: terminal.node,
            };
            let inferred = &inner.inferred(model);
            if !fits(inferred, value) {
                return Err(unexpected(inner.place(model), inferred, value));
            }
        }
        let node = at.node(model);
        for observer in self.observers.iter_mut() {
            observer.enter(node, body, iteration);
        }
        Ok(Entry {
            graph: body.graph,
            values,
        })
    }

    fn leave(&mut self, at: At, body: &Body, iteration: u64) {
        let node = at.node(self.model);
        for observer in self.observers.iter_mut() {
            observer.leave(node, body, iteration);
        }
    }

    fn iterations(
        &mut self,
        at: At,
        role: Role,
        body: &'r Body,
        inputs: &[&Tensor],
    ) -> Result<Next<'r>> {
        let mut most = self.limits.loop_trips;
        let mut go_on = true;
        let mut limited = true;
        if role == Role::Loop {
            let trips = convert::one_i64(inputs[0]).unwrap_or(-1);
            if let Ok(trips) = u64::try_from(trips)
                && trips <= most
            {
                (most, limited) = (trips, false);
            }
            go_on = self.condition(at, inputs[1])?;
        }
        let cuts = self.cuts(at, body, inputs)?;
        if role == Role::TensorIterator {
            let count = cuts
                .iter()
                .flatten()
                .map(|(_, parts)| parts.count as u64)
                .min();
            let Some(count) = count else {
                let message = "no input is cut into parts";
                return Err(at.error(self.model, Kind::Eval, message));
            };
            if count <= most {
                (most, limited) = (count, false);
            }
        }
        let iterations = Iterations {
            body,
            cuts,
            most,
            limited,
            go_on,
            iteration: 0,
            states: Results::new(),
            joined: vec![Vec::new(); body.wiring.yields.len()],
        };
        self.iterate(at, Box::new(iterations), inputs)
    }

    /// Begins the next iteration, or ends.
    fn iterate(
        &mut self,
        at: At,
        iterations: Box<Iterations<'r>>,
        inputs: &[&Tensor],
    ) -> Result<Next<'r>> {
        let Iterations {
            body,
            go_on,
            most,
            iteration,
            ..
        } = *iterations;
        if go_on && iteration < most {
            let values = self.values(at, &iterations, inputs)?;
            let entry = self.enter(at, body, iteration, values)?;
            return Ok(Next::Body(Waiting::Iterations(iterations), entry));
        }
        if go_on && iterations.limited {
            let message = format!("the loop has not ended after {most} iterations, the limit");
            return Err(at.error(self.model, Kind::Limit, message));
        }
        let Iterations { states, joined, .. } = *iterations;
        let mut outputs = Tensors::new();
        let exact = OnceCell::new();
        for (index, (taken, parts)) in body.wiring.yields.iter().zip(joined).enumerate() {
            outputs.push(match taken.joined {
                Some(slice) if parts.is_empty() => {
                    let all = || exact.get_or_init(|| self.exact(at, inputs));
                    let exact = || all().as_ref()?.get(index).cloned();
                    self.nothing(at, body, taken.result, slice, exact)?
                }
                Some(slice) => self.join(at, slice, parts)?,
                None => match states.get(taken.result) {
                    Some(last) => last.clone(),
                    None => self.never(at, body, taken.result, inputs)?,
                },
            });
        }
        for state in states {
            self.pool().release(state);
        }
        self.done(at, outputs)
    }

    /// What goes into the body in the next iteration.
    fn values(
        &mut self,
        at: At,
        iterations: &Iterations<'r>,
        inputs: &[&Tensor],
    ) -> Result<Vec<Tensor>> {
        let Iterations {
            body,
            cuts,
            iteration,
            states,
            ..
        } = iterations;
        let feeds = &body.wiring.feeds;
        let mut values = Vec::with_capacity(feeds.len());
        for (index, (feed, cut)) in feeds.iter().zip(cuts).enumerate() {
            values.push(match (*feed, cut) {
                (
                    Feed::Whole {
                        back: Some(back), ..
                    },
                    _,
                ) if *iteration > 0 => states[back].clone(),
                (Feed::Part { input, .. }, Some((axis, parts))) => {
                    self.part(at, inputs[input], *axis, *parts, *iteration)?
                }
                (Feed::Whole { input, .. } | Feed::Part { input, .. }, _) => inputs[input].clone(),
                (Feed::Iteration, _) => self.iteration(at, body, index, *iteration)?,
            });
        }
        Ok(values)
    }

    /// Takes what an iteration gave.
    fn iterated(
        &mut self,
        at: At,
        iterations: &mut Iterations<'r>,
        results: Results,
    ) -> Result<()> {
        let wiring = &iterations.body.wiring;
        self.leave(at, iterations.body, iterations.iteration);
        for (taken, joined) in wiring.yields.iter().zip(&mut iterations.joined) {
            if taken.joined.is_some() {
                joined.push(results[taken.result].clone());
            }
        }
        if let Some(condition) = wiring.condition {
            iterations.go_on = self.condition(at, &results[condition])?;
        }
        for state in std::mem::replace(&mut iterations.states, results) {
            self.pool().release(state);
        }
        iterations.iteration += 1;
        Ok(())
    }

    /// The axis and the parts of each input that is cut.
    fn cuts(&self, at: At, body: &Body, inputs: &[&Tensor]) -> Result<Vec<Option<(usize, Parts)>>> {
        let cut = |feed: &Feed| {
            let Feed::Part { input, slice } = *feed else {
                return Ok(None);
            };
            let shape = inputs[input].shape();
            let axis = normalize_axis(slice.axis, shape.rank())?;
            let parts = slice.parts(shape[axis]).map_err(OpError::new)?;
            Ok(Some((axis, parts)))
        };
        let cuts: Result<Vec<_>, OpError> = body.wiring.feeds.iter().map(cut).collect();
        cuts.map_err(|e| Error::from_op(at.place(self.model), Kind::Eval, e))
    }

    /// The part of an input for an iteration.
    fn part(
        &mut self,
        at: At,
        tensor: &Tensor,
        axis: usize,
        parts: Parts,
        iteration: u64,
    ) -> Result<Tensor> {
        let start = usize::try_from(iteration).ok().and_then(|i| parts.start(i));
        let Some(first) = start else {
            let message = format!("iteration {iteration} of an input of {} parts", parts.count);
            return Err(at.error(self.model, Kind::Eval, message));
        };
        let shape = tensor.shape();
        let mut cuts: Vec<Cut> = shape.iter().map(|&size| Cut::whole(size)).collect();
        cuts[axis] = Cut {
            first,
            step: 1,
            len: parts.part,
        };
        let dims: Shape = cuts.iter().map(|cut| cut.len).collect();
        let mut out = self.allocate(at, tensor, &dims)?;
        let view = Views(smallvec::smallvec![View::new(shape, &cuts)]);
        move_elements(&view, &[tensor], std::slice::from_mut(&mut out))
            .map_err(|e| Error::from_op(at.place(self.model), Kind::Eval, e))?;
        Ok(out)
    }

    fn allocate(&mut self, at: At, like: &Tensor, shape: &Shape) -> Result<Tensor> {
        let tensor = self.pool().allocate(like.element_type(), shape);
        tensor.map_err(|e| at.error(self.model, e.kind(), e.message()))
    }

    /// The number of an iteration, as the body's Parameter takes it.
    fn iteration(&self, at: At, body: &Body, parameter: usize, iteration: u64) -> Result<Tensor> {
        let terminal = &self.model.graphs()[body.graph].inputs()[parameter];
        let inner = At {
            graph: body.graph,
            id: terminal.node,
        };
        let wanted = inner.inferred(self.model);
        let number = Tensor::scalar(iteration.cast_signed());
        let number = match wanted.element_type {
            ty if ty.is_static() => convert::convert(&number, ty),
            _ => Ok(number),
        };
        let shaped = number.and_then(|number| match wanted.shape.rank() {
            Some(1) => number.with_shape([1]),
            _ => Ok(number),
        });
        shaped.map_err(|e| at.error(self.model, Kind::Eval, e.to_string()))
    }

    /// What inference tells of a layer's outputs for exactly these inputs. What the layer would
    /// refuse, it is not asked for.
    fn exact(&self, at: At, inputs: &[&Tensor]) -> Option<Outputs> {
        let inputs: Vec<_> = inputs.iter().map(|t| Input::of(t)).collect();
        Facts::of_layer(self.model.graphs(), (at.graph, at.id), &inputs).ok()
    }

    /// The results of no iteration, put together: nothing along the axis. The other sizes are those
    /// that the body would give, if need be for the `exact` inputs; where they are not known, the
    /// least.
    fn nothing(
        &self,
        at: At,
        body: &Body,
        result: usize,
        slice: Slice,
        exact: impl FnOnce() -> Option<Output>,
    ) -> Result<Tensor> {
        let inner = At {
            graph: body.graph,
            id: self.model.graphs()[body.graph].outputs()[result].node,
        };
        let mut inferred = inner.inferred(self.model);
        if !inferred.shape.is_static()
            && let Some(exact) = exact()
        {
            inferred = exact;
        }
        let dims = inferred.shape.dims().unwrap_or_default();
        let mut dims: Shape = dims.iter().map(|d| d.min()).collect();
        let failed = |error| Error::from_op(at.place(self.model), Kind::Eval, error);
        let axis = normalize_axis(slice.axis, dims.rank()).map_err(failed)?;
        dims[axis] = 0;
        Tensor::zeros(inferred.element_type, dims).map_err(|e| failed(e.into()))
    }

    /// The results of all iterations, at least one, put together along an axis.
    fn join(&mut self, at: At, slice: Slice, mut parts: Vec<Tensor>) -> Result<Tensor> {
        let failed = |model, error| Error::from_op(At::place(at, model), Kind::Eval, error);
        let model = self.model;
        let first = &parts[0];
        let mut dims = first.shape().clone();
        let axis = normalize_axis(slice.axis, dims.rank()).map_err(|e| failed(model, e))?;
        let mut size = 0usize;
        for part in &parts {
            let same = |(k, (a, b)): (usize, (&usize, &usize))| k == axis || a == b;
            let shape = part.shape();
            if shape.rank() != dims.rank() || !shape.iter().zip(&dims).enumerate().all(same) {
                let message = format!(
                    "an iteration gives {shape}, the first gave {}",
                    first.shape()
                );
                return Err(at.error(model, Kind::Eval, message));
            }
            size = size.saturating_add(shape[axis]);
        }
        dims[axis] = size;
        if slice.stride < 0 {
            parts.reverse();
        }
        let mut out = self.allocate(at, &parts[0], &dims)?;
        let pieces: Vec<&Tensor> = parts.iter().filter(|part| !part.is_empty()).collect();
        let lines = pieces
            .iter()
            .map(|t| t.shape()[axis..].iter().product())
            .collect();
        if !out.is_empty() {
            move_elements(&Concat { lines }, &pieces, std::slice::from_mut(&mut out))
                .map_err(|e| failed(model, e))?;
        }
        for part in parts {
            self.pool().release(part);
        }
        Ok(out)
    }

    /// The last value of a result without an iteration: what the state it becomes began as.
    fn never(&self, at: At, body: &Body, result: usize, inputs: &[&Tensor]) -> Result<Tensor> {
        let state = body.wiring.feeds.iter().find_map(|feed| match *feed {
            Feed::Whole {
                input,
                back: Some(back),
            } if back == result => Some(inputs[input].clone()),
            _ => None,
        });
        state.ok_or_else(|| {
            let message = "the body is not evaluated even once, and an output has no initial value";
            at.error(self.model, Kind::Eval, message)
        })
    }
}
