//! Types, shapes and known values of every output of a graph, in one forward pass.
//!
//! Small integer tensors are followed element by element, so that shape computations such as
//! ShapeOf → Gather → Concat → Reshape resolve on dynamic models. A tensor all of whose elements
//! are known goes through the operation's own `eval`. One that is only partly known, as intervals
//! and symbols, goes through `eval` as well where the operation only moves elements: each element
//! is replaced by a number that stands for it.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Graph, Node, NodeId, Operation};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, Role};
use crate::tensor::{Dimension, ElementType, PartialShape, Symbol, Tensor, ValueRange, convert};

/// Tensors of more elements are not followed: they are data, not shapes.
const MOST_KNOWN: usize = 4096;

/// What inference knows of the elements of an output.
#[derive(Debug, Clone)]
pub enum Known {
    /// All of them.
    Tensor(Tensor),
    /// The interval each one lies in.
    Ranges(Arc<[ValueRange]>),
}

/// What inference knows of a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fact {
    pub(crate) outputs: Outputs,
    pub(crate) known: SmallVec<[Option<Known>; 1]>,
    /// Inference with exact inputs can tell nothing new, and find nothing wrong.
    pub(crate) settled: bool,
}

/// What inference knows of a graph, by node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) nodes: Vec<Fact>,
    /// The next symbol to give.
    symbols: u32,
}

impl Facts {
    /// Infers the whole graph. A node that refuses its inputs is reported, and goes on with what
    /// the file declares for it.
    pub(crate) fn infer(graph: &Graph, mut refused: impl FnMut(NodeId, OpError)) -> Self {
        let mut facts = Self {
            nodes: Vec::with_capacity(graph.nodes.len()),
            symbols: first_free_symbol(graph),
        };
        for (id, node) in graph.nodes() {
            let mut fact = match facts.infer_node(node) {
                Ok(fact) => fact,
                Err(error) => {
                    refused(id, error);
                    declared(node)
                }
            };
            facts.name_unknown_sizes(&mut fact.outputs);
            facts.nodes.push(fact);
        }
        facts
    }

    /// What the file declares, without any inference.
    pub(crate) fn declared(graph: &Graph) -> Self {
        let nodes = graph.nodes().map(|(_, node)| {
            // A Result writes down no output: it has what it is given.
            let port = node.inputs().first().filter(|_| node.outputs().is_empty());
            port.map_or_else(
                || declared(node),
                |port| {
                    let mut fact = declared(graph.node(port.node));
                    let output = fact.outputs.drain(..).nth(port.index as usize);
                    fact.outputs.extend(output);
                    fact
                },
            )
        });
        Self {
            nodes: nodes.collect(),
            symbols: 0,
        }
    }

    fn infer_node(&self, node: &Node) -> Result<Fact, OpError> {
        let Operation::Known { op, .. } = &node.operation else {
            return Ok(declared(node));
        };
        let inputs = self.inputs(node);
        let outputs = op.infer(&inputs)?;
        let known = known_outputs(&**op, &inputs, &outputs);
        let decides = |input: &Input<'_>| {
            input.element_type.is_integer()
                && input.rank().is_none_or(|r| r <= 1)
                && input.value.is_none()
        };
        let settled = outputs.iter().all(Output::is_static)
            && inputs
                .iter()
                .all(|i| i.shape.is_static() && i.element_type.is_static())
            && !inputs.iter().any(decides);
        Ok(Fact {
            outputs,
            known,
            settled,
        })
    }

    pub(super) fn inputs(&self, node: &Node) -> SmallVec<[Input<'_>; 4]> {
        let input = |port: &super::Port| {
            let fact = &self.nodes[port.node.index()];
            // An edge out of an output that the operation does not have carries nothing.
            let Some(output) = fact.outputs.get(port.index as usize) else {
                return Input {
                    element_type: ElementType::Dynamic,
                    shape: Cow::Owned(PartialShape::dynamic()),
                    value: None,
                    ranges: None,
                };
            };
            let mut input = Input::new(output.element_type, &output.shape);
            match fact.known.get(port.index as usize) {
                Some(Some(Known::Tensor(tensor))) => input.value = Some(tensor),
                Some(Some(Known::Ranges(ranges))) => input.ranges = Some(ranges),
                _ => {}
            }
            input
        };
        node.inputs.iter().map(input).collect()
    }

    /// The types and shapes of a node's inputs, for the end of an error message.
    pub(crate) fn describe_inputs(&self, node: &Node) -> String {
        let inputs = self.inputs(node);
        describe(inputs.iter().map(|i| (i.element_type, &*i.shape)))
    }

    /// Gives every unknown size an identity, so that equal sizes are seen to be equal further on.
    fn name_unknown_sizes(&mut self, outputs: &mut Outputs) {
        for output in outputs {
            for dim in output.shape.dims_mut().into_iter().flatten() {
                if !dim.is_static() && dim.symbol().is_none() {
                    *dim = dim.with_symbol(Some(Symbol(self.symbols)));
                    self.symbols = self.symbols.wrapping_add(1);
                }
            }
        }
    }
}

/// `; inputs: f32[1,3,?,?], i64[1]`, or nothing without inputs.
pub(crate) fn describe<S: std::fmt::Display>(
    inputs: impl Iterator<Item = (ElementType, S)>,
) -> String {
    let inputs: Vec<String> = inputs.map(|(ty, shape)| format!("{ty}{shape}")).collect();
    if inputs.is_empty() {
        return String::new();
    }
    format!("; inputs: {}", inputs.join(", "))
}

/// The outputs as the file declares them: all there is for an opaque operation.
fn declared(node: &Node) -> Fact {
    let outputs: Outputs = node
        .outputs
        .iter()
        .map(|port| match &port.declared {
            Some((ty, shape)) => Output::new(*ty, shape.clone()),
            None => Output::default(),
        })
        .collect();
    Fact {
        known: smallvec::smallvec![None; outputs.len()],
        outputs,
        settled: false,
    }
}

/// The number of elements, if it is known and small.
fn small(output: &Output) -> Option<usize> {
    let count = output.shape.to_shape()?.elements()?;
    (output.element_type.is_static() && count <= MOST_KNOWN).then_some(count)
}

fn known_outputs(
    op: &dyn Op,
    inputs: &[Input<'_>],
    outputs: &Outputs,
) -> SmallVec<[Option<Known>; 1]> {
    let unknown = || smallvec::smallvec![None; outputs.len()];
    if outputs.iter().any(|o| small(o).is_none()) || op.role() == Role::Parameter || !op.is_pure() {
        return unknown();
    }
    if let Some(constant) = op.constant() {
        return smallvec::smallvec![constant.ok().cloned().map(Known::Tensor)];
    }
    let values: Option<SmallVec<[&Tensor; 4]>> = inputs.iter().map(|i| i.value).collect();
    if let Some(values) = values {
        // What evaluation refuses, it will refuse with a place when it is asked for.
        return match evaluate(op, &values, outputs) {
            Ok(tensors) => tensors
                .into_iter()
                .map(|t| Some(Known::Tensor(t)))
                .collect(),
            Err(_) => unknown(),
        };
    }
    if !outputs.iter().all(|o| o.element_type.is_integer()) {
        return unknown();
    }
    let mut known = unknown();
    if op.moves() != Moves::None {
        known = move_ranges(op, inputs, outputs.len()).unwrap_or(known);
    } else if let Some(ranges) = op.infer_value(inputs, &outputs[0])
        && ranges.iter().any(|r| *r != ValueRange::UNKNOWN)
    {
        known[0] = Some(Known::Ranges(ranges.into()));
    }
    for (known, output) in known.iter_mut().zip(outputs) {
        if let Some(tensor) = known.as_ref().and_then(|known| exact(known, output)) {
            *known = Some(Known::Tensor(tensor));
        }
    }
    known
}

/// The tensor of an output of whose elements every one turned out to be known.
fn exact(known: &Known, output: &Output) -> Option<Tensor> {
    let Known::Ranges(ranges) = known else {
        return None;
    };
    let values: Vec<i64> = ranges.iter().map(|r| r.value()).collect::<Option<_>>()?;
    let wide = Tensor::new(output.shape.to_shape()?, &values).ok()?;
    convert::convert(&wide, output.element_type).ok()
}

fn evaluate(op: &dyn Op, inputs: &[&Tensor], outputs: &Outputs) -> Result<Vec<Tensor>, OpError> {
    let shape = |o: &Output| o.shape.to_shape().unwrap_or_default();
    if op.reshapes() {
        return Ok(vec![inputs[0].with_shape(shape(&outputs[0]))?]);
    }
    let allocate = |o: &Output| Tensor::zeros(o.element_type, shape(o));
    let mut tensors = outputs
        .iter()
        .map(allocate)
        .collect::<Result<Vec<_>, _>>()?;
    op.eval(Io {
        inputs,
        outputs: &mut tensors,
    })?;
    Ok(tensors)
}

/// Moves what is known of elements through an operation that moves elements.
///
/// Every element is given a number, 0 standing for "the number 0"; the operation moves the
/// numbers, and each output element is what its number stands for.
fn move_ranges(
    op: &dyn Op,
    inputs: &[Input<'_>],
    outputs: usize,
) -> Option<SmallVec<[Option<Known>; 1]>> {
    let moves = op.moves();
    let mut stand_for = vec![ValueRange::exact(0)];
    let mut numbered: SmallVec<[Option<Tensor>; 4]> = SmallVec::new();
    let mut informed = false;
    for (index, input) in inputs.iter().enumerate() {
        if !moves.includes(index) {
            input.value?;
            numbered.push(None);
            continue;
        }
        let shape = input.shape.to_shape()?;
        let count = shape.elements().filter(|&n| n <= MOST_KNOWN)?;
        let ranges = match input.ranges() {
            Some(ranges) => {
                informed = true;
                ranges
            }
            None => Cow::Owned(vec![ValueRange::UNKNOWN; count]),
        };
        let first = stand_for.len();
        let numbers = first..first + ranges.len();
        stand_for.extend_from_slice(&ranges);
        let numbers: Vec<i64> = numbers.map(|n| i64::try_from(n).unwrap_or(0)).collect();
        numbered.push(Some(Tensor::new(shape, &numbers).ok()?));
    }
    if !informed {
        return None;
    }
    let tensors: SmallVec<[&Tensor; 4]> = inputs
        .iter()
        .zip(&numbered)
        .map(|(input, number)| number.as_ref().or(input.value))
        .collect::<Option<_>>()?;
    let again: SmallVec<[Input<'_>; 4]> = tensors.iter().map(|t| Input::of(t)).collect();
    let inferred = op.infer(&again).ok()?;
    if inferred.len() != outputs || inferred.iter().any(|o| small(o).is_none()) {
        return None;
    }
    let moved = evaluate(op, &tensors, &inferred).ok()?;
    let known = |tensor: &Tensor| {
        let numbers = tensor.as_slice::<i64>().ok()?;
        let ranges = numbers
            .iter()
            .map(|&n| {
                usize::try_from(n)
                    .ok()
                    .and_then(|n| stand_for.get(n))
                    .copied()
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Known::Ranges(ranges.into()))
    };
    Some(moved.iter().map(known).collect())
}

/// The first symbol that no size written in the file has: sizes may come with names.
fn first_free_symbol(graph: &Graph) -> u32 {
    let declared = graph.nodes.iter().flat_map(|node| &node.outputs);
    let declared = declared.filter_map(|port| Some(port.declared.as_ref()?.1.clone()));
    let inputs = graph.inputs.iter().filter_map(|input| {
        let outputs = graph.node(input.node).op()?.infer(&[]).ok()?;
        Some(outputs.into_iter().next()?.shape)
    });
    declared
        .chain(inputs)
        .flat_map(|shape| shape.dims().unwrap_or_default().to_vec())
        .filter_map(|dim| Some(dim.symbol()?.0.saturating_add(1)))
        .max()
        .unwrap_or(0)
}

/// The outputs whose declaration in the file cannot be what was inferred.
pub(crate) fn disagreements(
    graph: &Graph,
    facts: &Facts,
) -> impl Iterator<Item = (NodeId, String)> {
    graph.nodes().flat_map(|(id, node)| {
        let inferred = &facts.nodes[id.index()].outputs;
        let pairs = node.outputs.iter().zip(inferred).enumerate();
        pairs.filter_map(move |(index, (port, output))| {
            let declared = port.declared.as_ref().filter(|d| disagrees(d, output))?;
            let (ty, shape) = declared;
            Some((
                id,
                format!("output {index} is declared as {ty}{shape}, inferred as {output}"),
            ))
        })
    })
}

/// Whether what the file declares for an output cannot be what was inferred.
pub(crate) fn disagrees(declared: &(ElementType, PartialShape), inferred: &Output) -> bool {
    let (ty, shape) = declared;
    let types = ty.is_static() && inferred.element_type.is_static();
    (types && *ty != inferred.element_type) || !shape.compatible(&inferred.shape)
}

/// The declared dimensions of a port.
pub(crate) fn declared_shape(dims: &[i64]) -> PartialShape {
    let dim = |&d: &i64| usize::try_from(d).map_or(Dimension::dynamic(), Dimension::fixed);
    dims.iter().map(dim).collect()
}
