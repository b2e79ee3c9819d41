//! Inference of If, Loop and TensorIterator: what their bodies make of their inputs.

use super::body::{Feed, Parts, Slice, Wiring, Yield};
use super::infer::{Fact, Inference};
use super::known::Known;
use super::{Body, Node};
use crate::op::{Input, OpError, Output, Role, bail, ensure, normalize_axis};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// What goes into a graph that is to be inferred.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) graph: usize,
    /// The facts of its inputs, where they are not the graph's own.
    pub(super) parameters: Vec<Option<Fact>>,
}

/// A layer that waits until one of its bodies is inferred.
pub(super) enum Waiting<'g> {
    If(Branches<'g>),
    Iterations(Iterations<'g>),
}

pub(super) struct Branches<'g> {
    bodies: [&'g Body; 2],
    condition: Option<bool>,
    /// What the first body gives, while the second is inferred.
    first: Option<Vec<Fact>>,
}

pub(super) struct Iterations<'g> {
    body: &'g Body,
    /// The trip count and the condition of a Loop, as far as they are known.
    limits: Option<(Option<i64>, Option<bool>)>,
    /// What goes into the body. Its states are widened until they are no narrower than what it
    /// makes of them.
    parameters: Vec<Option<Fact>>,
    /// How often it was inferred before.
    attempt: usize,
    /// How many nodes had been refused before the body was inferred.
    refused: usize,
}

/// What inference of a layer with bodies does next.
pub(super) enum Next<'g> {
    /// It waits for a body.
    Body(Waiting<'g>, Entry),
    /// It is done.
    Done(Fact),
}

impl<'g> Inference<'g> {
    /// Begins with a layer that has bodies.
    pub(super) fn control(
        &mut self,
        node: &'g Node,
        role: Role,
        inputs: &[Input<'_>],
    ) -> Result<Next<'g>, OpError> {
        match (role, &node.bodies[..]) {
            (Role::If, [one, other]) => {
                let Some(condition) = inputs.first() else {
                    bail!("expected at least 1 input (condition), got none");
                };
                let branches = Branches {
                    bodies: [one, other],
                    condition: boolean(condition, "the condition")?,
                    first: None,
                };
                branches.enter(one, inputs)
            }
            (Role::Loop, [body]) => {
                let [trips, condition, ..] = inputs else {
                    bail!(
                        "expected at least 2 inputs (trip count, condition), got {}",
                        inputs.len()
                    );
                };
                let trips = trips.int_scalar("the trip count")?;
                let goes_on = boolean(condition, "the condition")?;
                self.iterations(body, inputs, Some((trips, goes_on)))
            }
            (Role::TensorIterator, [body]) => self.iterations(body, inputs, None),
            _ => bail!("the layer lacks its bodies"),
        }
    }

    /// Goes on with a layer of which a body was inferred.
    pub(super) fn resume(
        &mut self,
        waiting: Waiting<'g>,
        inputs: &[Input<'_>],
    ) -> Result<Next<'g>, OpError> {
        match waiting {
            Waiting::If(branches) => self.branched(branches, inputs),
            Waiting::Iterations(iterations) => self.iterated(iterations, inputs),
        }
    }

    /// A layer with iterations that is to be inferred anew, its states open.
    pub(super) fn give_up(&mut self, waiting: &mut Waiting<'g>) -> Option<Entry> {
        let Waiting::Iterations(iterations) = waiting else {
            return None;
        };
        self.refused.truncate(iterations.refused);
        open_states(&iterations.body.wiring, &mut iterations.parameters);
        Some(iterations.entry())
    }

    fn branched(
        &mut self,
        mut branches: Branches<'g>,
        inputs: &[Input<'_>],
    ) -> Result<Next<'g>, OpError> {
        let [one, other] = branches.bodies;
        let results = |body: &Body| -> Vec<Fact> {
            let results = body.wiring.yields.iter();
            results.map(|y| self.result(body.graph, y.result)).collect()
        };
        let Some(first) = branches.first.take() else {
            branches.first = Some(results(one));
            return branches.enter(other, inputs);
        };
        let second = results(other);
        ensure!(
            first.len() == second.len(),
            "the branches have {} and {} outputs, expected as many",
            first.len(),
            second.len()
        );
        let taken = |body: &Body| Some(body.kind == super::BodyKind::Then) == branches.condition;
        let facts = if taken(one) {
            first
        } else if taken(other) {
            second
        } else {
            let both = first.iter().zip(&second);
            both.map(|(a, b)| Ok(Fact::of(union(&a.outputs[0], &b.outputs[0])?)))
                .collect::<Result<_, OpError>>()?
        };
        Ok(Next::Done(joined(facts)))
    }

    fn iterations(
        &mut self,
        body: &'g Body,
        inputs: &[Input<'_>],
        limits: Option<(Option<i64>, Option<bool>)>,
    ) -> Result<Next<'g>, OpError> {
        let wiring = &body.wiring;
        ensure!(
            limits.is_none() || wiring.condition.is_some(),
            "the port map names no output with the purpose execution_condition"
        );
        let mut parameters = parameters(wiring, inputs)?;
        if self.patience == 0 {
            open_states(wiring, &mut parameters);
        }
        let iterations = Iterations {
            body,
            limits,
            parameters,
            attempt: 0,
            refused: self.refused.len(),
        };
        Ok(iterations.enter())
    }

    fn iterated(
        &mut self,
        mut iterations: Iterations<'g>,
        inputs: &[Input<'_>],
    ) -> Result<Next<'g>, OpError> {
        if self.widen(&mut iterations)? {
            self.refused.truncate(iterations.refused);
            iterations.attempt += 1;
            return Ok(iterations.enter());
        }
        let Iterations {
            body,
            limits,
            parameters: states,
            ..
        } = iterations;
        let wiring = &body.wiring;
        let parts = parts(wiring, inputs)?;
        let goes_on = wiring.condition.map(|result| {
            let fact = self.result(body.graph, result);
            match fact.known.first() {
                Some(Some(Known::Tensor(tensor))) => is_true(tensor),
                _ => None,
            }
        });
        let count = match limits {
            None => parts.ok_or_else(|| {
                OpError::new("no input is cut into parts, so the number of iterations is not known")
            })?,
            Some((_, Some(false))) | Some((Some(0), _)) => Some(0),
            Some((Some(trips), Some(true))) if goes_on == Some(Some(true)) => {
                usize::try_from(trips).ok()
            }
            Some(_) => None,
        };
        let runs = |(trips, go_on): (Option<i64>, Option<bool>)| {
            go_on == Some(true) && trips.is_some_and(|trips| trips != 0)
        };
        let none = limits.is_some_and(|limits| !runs(limits));
        let mut facts = Vec::new();
        for taken in &wiring.yields {
            let inferred = self.result(body.graph, taken.result).outputs.remove(0);
            facts.push(Fact::of(match taken.joined {
                Some(slice) => join(inferred, slice, count)?,
                // Without an iteration a state is what it began as.
                None if none => match initial(wiring, taken, &states) {
                    Some(state) => union(&inferred, state)?,
                    None => inferred,
                },
                None => inferred,
            }));
        }
        Ok(Next::Done(joined(facts)))
    }

    /// Widens the states of a body by what it makes of them; tells whether they were too narrow.
    fn widen(&mut self, iterations: &mut Iterations<'g>) -> Result<bool, OpError> {
        let body = iterations.body;
        let mut wider = false;
        for (parameter, feed) in iterations.parameters.iter_mut().zip(&body.wiring.feeds) {
            let (Some(parameter), Some(result)) = (parameter, state(feed)) else {
                continue;
            };
            let made = self.result(body.graph, result).outputs.remove(0);
            let state = &mut parameter.outputs[0];
            let mut both = union(state, &made)?;
            if iterations.attempt >= 2 && both != *state {
                // It grows with every iteration.
                both.shape = open(&both.shape, &state.shape);
            }
            wider |= both != *state;
            *state = both;
        }
        Ok(wider)
    }

    /// What is known of a Result of a body.
    fn result(&self, graph: usize, result: usize) -> Fact {
        let node = self.graphs[graph].outputs[result].node;
        let mut fact = self.facts[graph][node.index()].clone();
        if fact.outputs.is_empty() {
            fact = Fact::of(Output::default());
        }
        fact.settled = false;
        fact
    }
}

impl<'g> Branches<'g> {
    fn enter(self, body: &Body, inputs: &[Input<'_>]) -> Result<Next<'g>, OpError> {
        let entry = Entry {
            graph: body.graph,
            parameters: parameters(&body.wiring, inputs)?,
        };
        Ok(Next::Body(Waiting::If(self), entry))
    }
}

impl<'g> Iterations<'g> {
    fn entry(&self) -> Entry {
        Entry {
            graph: self.body.graph,
            parameters: self.parameters.clone(),
        }
    }

    fn enter(self) -> Next<'g> {
        let entry = self.entry();
        Next::Body(Waiting::Iterations(self), entry)
    }
}

/// The Result that a Parameter's value comes from after the first iteration.
fn state(feed: &Feed) -> Option<usize> {
    match *feed {
        Feed::Whole { back, .. } => back,
        _ => None,
    }
}

/// Makes states what they are in any iteration.
fn open_states(wiring: &Wiring, parameters: &mut [Option<Fact>]) {
    for (parameter, feed) in parameters.iter_mut().zip(&wiring.feeds) {
        if let (Some(fact), Some(_)) = (parameter, state(feed)) {
            fact.outputs[0] = Output::new(ElementType::Dynamic, PartialShape::dynamic());
        }
    }
}

/// What a body's Parameters are, going by the layer's inputs.
fn parameters(wiring: &Wiring, inputs: &[Input<'_>]) -> Result<Vec<Option<Fact>>, OpError> {
    let feeds = wiring.feeds.iter();
    feeds.map(|feed| parameter(*feed, inputs)).collect()
}

/// What a body's Parameter is in an iteration, going by the layer's inputs.
///
/// `None` if the body's own declaration says it.
fn parameter(feed: Feed, inputs: &[Input<'_>]) -> Result<Option<Fact>, OpError> {
    let (input, slice, changes) = match feed {
        Feed::Whole { input, back } => (input, None, back.is_some()),
        Feed::Part { input, slice } => (input, Some(slice), true),
        Feed::Iteration => return Ok(None),
    };
    let Some(input) = inputs.get(input) else {
        bail!(
            "expected at least {} inputs, got {}",
            input + 1,
            inputs.len()
        );
    };
    let mut fact = Fact::of(Output::new(
        input.element_type,
        input.shape.clone().into_owned(),
    ));
    if let Some(slice) = slice
        && let Some(dims) = fact.outputs[0].shape.dims_mut()
    {
        let axis = normalize_axis(slice.axis, dims.len())?;
        let part = usize::try_from(slice.part_size).unwrap_or(usize::MAX);
        dims[axis] = Dimension::fixed(part);
    }
    if !changes {
        fact.known[0] = match (input.value, input.ranges) {
            (Some(tensor), _) => Some(Known::Tensor(tensor.clone())),
            (None, Some(ranges)) => Some(Known::Ranges(ranges.into())),
            (None, None) => None,
        };
    }
    Ok(Some(fact))
}

/// How many parts the inputs are cut into: `None` if none is cut, `Some(None)` if it is not known.
fn parts(wiring: &Wiring, inputs: &[Input<'_>]) -> Result<Option<Option<usize>>, OpError> {
    let mut found: Option<Option<usize>> = None;
    for feed in &wiring.feeds {
        let Feed::Part { input, slice } = *feed else {
            continue;
        };
        let cut = cut(&inputs[input].shape, slice)?.map(|parts| parts.count);
        if let (Some(Some(one)), Some(other)) = (found, cut) {
            ensure!(
                one == other,
                "input {input} is cut into {other} parts, another one into {one}"
            );
        }
        found = Some(found.flatten().or(cut));
    }
    Ok(found)
}

/// The parts of an input, if its size is known.
fn cut(shape: &PartialShape, slice: Slice) -> Result<Option<Parts>, OpError> {
    let Some(dims) = shape.dims() else {
        return Ok(None);
    };
    let axis = normalize_axis(slice.axis, dims.len())?;
    let size = dims[axis].value();
    size.map(|size| slice.parts(size).map_err(OpError::new))
        .transpose()
}

/// An output that the results of `count` iterations are put together to.
fn join(mut result: Output, slice: Slice, count: Option<usize>) -> Result<Output, OpError> {
    if let Some(dims) = result.shape.dims_mut() {
        ensure!(
            !dims.is_empty(),
            "scalars cannot be put together along axis {}",
            slice.axis
        );
        let axis = normalize_axis(slice.axis, dims.len())?;
        dims[axis] = match count {
            Some(count) => dims[axis] * Dimension::fixed(count),
            None => Dimension::dynamic(),
        };
    }
    Ok(result)
}

/// The state that a result becomes.
fn initial<'f>(wiring: &Wiring, taken: &Yield, states: &'f [Option<Fact>]) -> Option<&'f Output> {
    let fed = |feed: &Feed| matches!(feed, Feed::Whole { back: Some(result), .. } if *result == taken.result);
    let at = wiring.feeds.iter().position(fed)?;
    states[at].as_ref()?.outputs.first()
}

/// Type and shape of a value that is one of two.
fn union(a: &Output, b: &Output) -> Result<Output, OpError> {
    let ty = match (a.element_type, b.element_type) {
        (ElementType::Dynamic, _) | (_, ElementType::Dynamic) => ElementType::Dynamic,
        (a, b) => {
            ensure!(
                a == b,
                "a value is {a} here and {b} there, expected one element type"
            );
            a
        }
    };
    let shape = match (a.shape.dims(), b.shape.dims()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| a.union(*b)).collect()
        }
        _ => PartialShape::dynamic(),
    };
    Ok(Output::new(ty, shape))
}

/// A shape of which the dimensions that differ from another's may be any.
fn open(shape: &PartialShape, before: &PartialShape) -> PartialShape {
    match (shape.dims(), before.dims()) {
        (Some(dims), Some(before)) if dims.len() == before.len() => dims
            .iter()
            .zip(before)
            .map(|(dim, before)| {
                if dim == before {
                    *dim
                } else {
                    Dimension::dynamic()
                }
            })
            .collect(),
        _ => PartialShape::dynamic(),
    }
}

/// The facts of one node with these outputs.
fn joined(facts: Vec<Fact>) -> Fact {
    let mut all = Fact::default();
    for fact in facts {
        all.outputs.extend(fact.outputs);
        all.known.extend(fact.known);
    }
    all
}

/// A condition: a scalar or a tensor of one element. `None` if it is not known yet.
fn boolean(input: &Input<'_>, what: &str) -> Result<Option<bool>, OpError> {
    input.expect_at_most_1d(what)?;
    ensure!(
        input.shape.elements().contains(1),
        "{what} must be one element, got shape {}",
        input.shape
    );
    ensure!(
        input.element_type.class().is_some() || !input.element_type.is_static(),
        "{what} must be boolean, got {}",
        input.element_type
    );
    Ok(input.value.and_then(is_true))
}

/// Whether the one element of a tensor is not zero.
pub(crate) fn is_true(tensor: &Tensor) -> Option<bool> {
    let value = crate::tensor::convert::convert(tensor, ElementType::Boolean).ok()?;
    (value.len() == 1).then(|| value.bytes()[0] != 0)
}
