//! Types, shapes and known values of every output of a graph, in one forward pass.
//!
//! Small integer tensors are followed element by element (see [`super::known`]), so that shape
//! computations such as ShapeOf → Gather → Concat → Reshape resolve on dynamic models.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::control::{Entry, Next, Waiting};
use super::known::{Known, KnownOutputs, known_outputs};
use super::{Graph, Node, NodeId, Operation};
use crate::limits::{self, Stop, Watch};
use crate::op::size::expect_possible;
use crate::op::{Input, OpError, Output, Outputs, Role};
use crate::tensor::{Dimension, ElementType, PartialShape, Symbol};

/// What inference knows of a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fact {
    pub(crate) outputs: Outputs,
    pub(crate) known: KnownOutputs,
    /// Inference with exact inputs can tell nothing new, and find nothing wrong.
    pub(crate) settled: bool,
}

impl Fact {
    /// One output of which type and shape are known.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            outputs: smallvec::smallvec![output],
            known: smallvec::smallvec![None],
            settled: false,
        }
    }
}

/// What inference knows of the graphs of a model, by graph and node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts(Vec<Vec<Fact>>);

/// A node that refuses its inputs.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) graph: usize,
    pub(crate) node: NodeId,
    pub(crate) error: OpError,
}

impl Facts {
    /// Infers the first of these graphs, and the bodies among the others that its layers have. A
    /// node that refuses its inputs is reported, and goes on with what the file declares for it.
    pub(crate) fn infer(graphs: &[Graph]) -> (Self, Vec<Refused>) {
        let mut inference = Inference::new(graphs);
        if !graphs.is_empty() {
            inference.walk(Entry::default());
        }
        let mut refused = inference.refused;
        let facts = Self(inference.facts);
        for Refused { graph, node, error } in &mut refused {
            let inputs = facts.inputs(*graph, graphs[*graph].node(*node));
            error.message += &describe(inputs.iter().map(|i| (i.element_type, &*i.shape)));
        }
        (facts, refused)
    }

    /// What a layer with bodies gives for these inputs: it and its bodies are inferred for them alone.
    ///
    /// # Errors
    /// When the layer refuses them.
    pub(crate) fn of_layer(
        graphs: &[Graph],
        (graph, node): (usize, NodeId),
        inputs: &[Input<'_>],
    ) -> Result<Outputs, OpError> {
        let node = graphs[graph].node(node);
        let mut inference = Inference::new(graphs);
        let mut next = inference.control(node, node.role(), inputs)?;
        loop {
            match next {
                Next::Done(fact) => return Ok(fact.outputs),
                Next::Body(waiting, entry) => {
                    inference.walk(entry);
                    next = inference.resume(waiting, inputs)?;
                }
            }
        }
    }

    /// What the file declares, without any inference.
    pub(crate) fn declared(graphs: &[Graph]) -> Self {
        Self(graphs.iter().map(declared_graph).collect())
    }

    /// What is known of the nodes of each of these graphs.
    pub(crate) fn of_graphs(facts: Vec<Vec<Fact>>) -> Self {
        Self(facts)
    }

    /// What is known of the nodes of each graph.
    pub(crate) fn graphs(&self) -> &[Vec<Fact>] {
        &self.0
    }

    /// What is known of a node.
    pub(crate) fn of(&self, graph: usize, node: NodeId) -> Option<&Fact> {
        self.0.get(graph)?.get(node.index())
    }

    /// A node's inputs as its operation sees them.
    pub(super) fn inputs(&self, graph: usize, node: &Node) -> SmallVec<[Input<'_>; 4]> {
        inputs(&self.0[graph], node)
    }
}

/// However small a model is, so many nodes of bodies are inferred before patience ends.
const LEAST_PATIENCE: usize = 10_000;

/// One pass over the graphs of a model.
pub(super) struct Inference<'g> {
    pub(super) graphs: &'g [Graph],
    pub(super) facts: Vec<Vec<Fact>>,
    pub(super) refused: Vec<Refused>,
    /// The next symbol to give.
    symbols: u32,
    /// How many more nodes of bodies are inferred for a better answer: a body is inferred more than
    /// once, and in each of these times the bodies in it are.
    pub(super) patience: usize,
    watch: Watch,
    /// The most dimensions of a shape.
    rank: usize,
}

/// A graph that is being inferred. The graphs whose layers wait for it lie below it on a stack of
/// their own: bodies may be nested deeper than a thread's stack allows.
struct Walk<'g> {
    index: usize,
    graph: &'g Graph,
    /// For each node, its fact if it is an input that is not what the graph itself says.
    given: Vec<Option<Fact>>,
    /// The facts of the nodes before the next one.
    facts: Vec<Fact>,
    /// The next node, while its bodies are inferred.
    waiting: Option<Waiting<'g>>,
}

impl<'g> Walk<'g> {
    fn new(graphs: &'g [Graph], entry: Entry) -> Self {
        let graph = &graphs[entry.graph];
        let mut given: Vec<Option<Fact>> = vec![None; graph.nodes.len()];
        for (terminal, fact) in graph.inputs.iter().zip(entry.parameters) {
            given[terminal.node.index()] = fact;
        }
        Self {
            index: entry.graph,
            graph,
            given,
            facts: Vec::with_capacity(graph.nodes.len()),
            waiting: None,
        }
    }
}

impl<'g> Inference<'g> {
    fn new(graphs: &'g [Graph]) -> Self {
        let nodes: usize = graphs.iter().map(|graph| graph.nodes.len()).sum();
        Self {
            graphs,
            // Bodies of layers that are not supported stay as they are declared.
            facts: graphs.iter().map(declared_graph).collect(),
            refused: Vec::new(),
            symbols: first_free_symbol(graphs),
            patience: nodes.saturating_mul(16).max(LEAST_PATIENCE),
            watch: limits::watch(),
            rank: limits::current(|limits| limits.rank),
        }
    }

    /// Infers a graph, and the bodies that its layers have.
    fn walk(&mut self, entry: Entry) {
        let mut walks = vec![Walk::new(self.graphs, entry)];
        let mut patient = true;
        while let Some(walk) = walks.last_mut() {
            match self.advance(walk) {
                Ok(Some(entry)) => walks.push(Walk::new(self.graphs, entry)),
                Ok(None) => {
                    let done = walks.pop();
                    done.into_iter()
                        .for_each(|walk| self.facts[walk.index] = walk.facts);
                }
                // What was not met stays as it is declared.
                Err(stop) => {
                    let node = NodeId::new(walk.facts.len());
                    self.refuse(walk.index, node, stop.into());
                    return;
                }
            }
            if patient && self.patience == 0 {
                patient = false;
                self.begin_anew(&mut walks);
            }
        }
    }

    /// Infers the outermost layer with iterations anew, and from now on every body once, whatever
    /// comes into it in a later iteration.
    fn begin_anew(&mut self, walks: &mut Vec<Walk<'g>>) {
        let outermost = walks.iter_mut().enumerate().find_map(|(at, walk)| {
            let entry = self.give_up(walk.waiting.as_mut()?)?;
            Some((at, entry))
        });
        if let Some((at, entry)) = outermost {
            walks.truncate(at + 1);
            walks.push(Walk::new(self.graphs, entry));
        }
    }

    /// Goes on with a graph, to its end or to a body.
    fn advance(&mut self, walk: &mut Walk<'g>) -> Result<Option<Entry>, Stop> {
        while let Some(node) = walk.graph.nodes.get(walk.facts.len()) {
            self.watch.check()?;
            let at = walk.facts.len();
            let fact = match walk.given[at].take() {
                Some(fact) => Ok(fact),
                None => match self.node(node, walk.waiting.take(), &walk.facts) {
                    Ok(Next::Body(waiting, entry)) => {
                        walk.waiting = Some(waiting);
                        return Ok(Some(entry));
                    }
                    Ok(Next::Done(fact)) => {
                        expect_possible(&fact.outputs, self.rank).map(|()| fact)
                    }
                    Err(error) => Err(error),
                },
            };
            let mut fact = fact.unwrap_or_else(|error| {
                self.refuse(walk.index, NodeId::new(at), error);
                declared(node)
            });
            self.name_unknown_sizes(&mut fact.outputs);
            walk.facts.push(fact);
            self.patience = self.patience.saturating_sub(usize::from(walk.index > 0));
        }
        Ok(None)
    }

    fn refuse(&mut self, graph: usize, node: NodeId, error: OpError) {
        self.refused.push(Refused { graph, node, error });
    }

    /// `waiting` is the node after one of its bodies was inferred.
    fn node(
        &mut self,
        node: &'g Node,
        waiting: Option<Waiting<'g>>,
        facts: &[Fact],
    ) -> Result<Next<'g>, OpError> {
        let (Operation::Known { op, .. } | Operation::Joined { op, .. }) = &node.operation else {
            return Ok(Next::Done(declared(node)));
        };
        let inputs = inputs(facts, node);
        if let Some(waiting) = waiting {
            return self.resume(waiting, &inputs);
        }
        if matches!(op.role(), Role::If | Role::Loop | Role::TensorIterator) {
            return self.control(node, op.role(), &inputs);
        }
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
            && !inputs
                .iter()
                .enumerate()
                .any(|(index, input)| decides(input) && op.infers_from(index));
        Ok(Next::Done(Fact {
            outputs,
            known,
            settled,
        }))
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

/// The outputs of every node as the file declares them.
fn declared_graph(graph: &Graph) -> Vec<Fact> {
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
    nodes.collect()
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

/// A node's inputs as its operation sees them.
fn inputs<'f>(facts: &'f [Fact], node: &Node) -> SmallVec<[Input<'f>; 4]> {
    let input = |port: &super::Port| {
        let fact = &facts[port.node.index()];
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

/// The first symbol that no size written in the file has: sizes may come with names.
fn first_free_symbol(graphs: &[Graph]) -> u32 {
    let declared = graphs
        .iter()
        .flat_map(|graph| &graph.nodes)
        .flat_map(|node| &node.outputs);
    let declared = declared.filter_map(|port| Some(port.declared.as_ref()?.1.clone()));
    let inputs = graphs.iter().flat_map(|graph| {
        graph.inputs.iter().filter_map(|input| {
            let outputs = graph.node(input.node).op()?.infer(&[]).ok()?;
            Some(outputs.into_iter().next()?.shape)
        })
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
    graph
        .nodes()
        .zip(&facts.0[0])
        .flat_map(|((id, node), fact)| {
            let inferred = &fact.outputs;
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
