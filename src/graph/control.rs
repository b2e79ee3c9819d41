//! Inference of If, Loop and TensorIterator: what their bodies make of their inputs.

use super::body::{Feed, Parts, Slice, Wiring, Yield};
use super::infer::{Fact, Inference};
use super::known::Known;
use super::{Body, Node};
use crate::op::{Input, OpError, Output, Role, bail, ensure, normalize_axis};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

impl Inference<'_> {
    /// The outputs of a layer with bodies.
    pub(super) fn control(
        &mut self,
        node: &Node,
        role: Role,
        inputs: &[Input<'_>],
    ) -> Result<Fact, OpError> {
        match (role, &node.bodies[..]) {
            (Role::If, [one, other]) => self.branches([one, other], inputs),
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

    fn branches(&mut self, bodies: [&Body; 2], inputs: &[Input<'_>]) -> Result<Fact, OpError> {
        let Some(condition) = inputs.first() else {
            bail!("expected at least 1 input (condition), got none");
        };
        let condition = boolean(condition, "the condition")?;
        let mut branches = Vec::new();
        for body in bodies {
            let parameters = body
                .wiring
                .feeds
                .iter()
                .map(|feed| parameter(*feed, inputs));
            let parameters = parameters.collect::<Result<_, _>>()?;
            self.graph(body.graph, parameters);
            let results = body.wiring.yields.iter();
            let results: Vec<Fact> = results.map(|y| self.result(body.graph, y.result)).collect();
            branches.push((body.kind == super::BodyKind::Then, results));
        }
        let (one, other) = (&branches[0].1, &branches[1].1);
        ensure!(
            one.len() == other.len(),
            "the branches have {} and {} outputs, expected as many",
            one.len(),
            other.len()
        );
        let taken = branches.iter().find(|(then, _)| Some(*then) == condition);
        let facts = match taken {
            Some((_, facts)) => facts.clone(),
            None => one
                .iter()
                .zip(other)
                .map(|(a, b)| Ok(Fact::of(union(&a.outputs[0], &b.outputs[0])?)))
                .collect::<Result<_, OpError>>()?,
        };
        Ok(joined(facts))
    }

    /// `limits` are the trip count and the condition of a Loop, as far as they are known.
    fn iterations(
        &mut self,
        body: &Body,
        inputs: &[Input<'_>],
        limits: Option<(Option<i64>, Option<bool>)>,
    ) -> Result<Fact, OpError> {
        let wiring = &body.wiring;
        ensure!(
            limits.is_none() || wiring.condition.is_some(),
            "the port map names no output with the purpose execution_condition"
        );
        let parameters: Vec<Option<Fact>> = wiring
            .feeds
            .iter()
            .map(|feed| parameter(*feed, inputs))
            .collect::<Result<_, _>>()?;
        let states = self.settle(body, parameters)?;
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
        Ok(joined(facts))
    }

    /// Infers a body until its states are no wider than what it makes of them.
    fn settle(
        &mut self,
        body: &Body,
        mut parameters: Vec<Option<Fact>>,
    ) -> Result<Vec<Option<Fact>>, OpError> {
        let wiring = &body.wiring;
        let state = |feed: &Feed| match *feed {
            Feed::Whole { back, .. } => back,
            _ => None,
        };
        if self.patience == 0 {
            for (parameter, feed) in parameters.iter_mut().zip(&wiring.feeds) {
                if let (Some(fact), Some(_)) = (parameter, state(feed)) {
                    fact.outputs[0].shape = PartialShape::dynamic();
                }
            }
        }
        for attempt in 0.. {
            let before = self.refused.len();
            self.graph(body.graph, parameters.clone());
            let mut wider = false;
            for (parameter, feed) in parameters.iter_mut().zip(&wiring.feeds) {
                let (Some(parameter), Some(result)) = (parameter, state(feed)) else {
                    continue;
                };
                let made = self.result(body.graph, result).outputs.remove(0);
                let state = &mut parameter.outputs[0];
                let mut both = union(state, &made)?;
                if attempt >= 2 && both != *state {
                    // It grows with every iteration.
                    both.shape = open(&both.shape, &state.shape);
                }
                wider |= both != *state;
                *state = both;
            }
            if !wider {
                break;
            }
            self.refused.truncate(before);
            self.patience = self.patience.saturating_sub(1);
        }
        Ok(parameters)
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
