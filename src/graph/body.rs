//! The bodies of If, Loop and TensorIterator, and how values pass in and out of them.

use std::collections::HashMap;
use std::fmt;

use super::{Graph, Terminal};

/// Which body of its layer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// The body of a Loop or TensorIterator.
    Body,
    /// The branch of an If that is taken when the condition is true.
    Then,
    /// The other branch of an If.
    Else,
}

impl BodyKind {
    /// The body's tag in a document.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Then => "then_body",
            Self::Else => "else_body",
        }
    }
}

/// A body: a graph of the same model, and its port map.
#[derive(Debug, Clone)]
pub struct Body {
    /// Which body of its layer it is.
    pub kind: BodyKind,
    /// Index of the graph in the model.
    pub graph: usize,
    /// Inputs and outputs.
    pub ports: PortMap,
    pub(crate) wiring: Wiring,
}

/// How a layer's inputs and outputs are connected to a body.
#[derive(Debug, Clone, Default)]
pub struct PortMap {
    /// Inputs, in document order.
    pub inputs: Vec<PortMapEntry>,
    /// Outputs, in document order.
    pub outputs: Vec<PortMapEntry>,
    /// Values that an iteration hands to the next.
    pub back_edges: Vec<BackEdge>,
}

/// One connection between a layer and its body.
#[derive(Debug, Clone)]
pub struct PortMapEntry {
    /// For an input: its index. For an output: a key that orders the outputs. Negative: not
    /// connected outside.
    pub external_port_id: i64,
    /// Id of a Parameter or Result of the body.
    pub internal_layer_id: u64,
    /// How the value is cut up or put together over the iterations.
    pub slice: Option<Slice>,
    /// What the value means to a Loop.
    pub purpose: Option<Purpose>,
}

/// A value cut up, or put together, along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The axis.
    pub axis: i64,
    /// First index; negative counts from the end.
    pub start: i64,
    /// Last index, inclusive; negative counts from the end.
    pub end: i64,
    /// Step; negative runs backwards.
    pub stride: i64,
    /// Size of one part.
    pub part_size: u64,
}

/// What a body's input or output means to a Loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The input is the number of the iteration.
    CurrentIteration,
    /// The output says whether to go on.
    ExecutionCondition,
}

/// A value that an iteration hands to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackEdge {
    /// Id of a Result of the body.
    pub from_layer: u64,
    /// Id of a Parameter of the body.
    pub to_layer: u64,
}

/// How the values of a layer reach its body, and leave it: a port map with its ids resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wiring {
    /// For each Parameter of the body, where its value comes from.
    pub(crate) feeds: Vec<Feed>,
    /// For each output of the layer, what it is made of.
    pub(crate) yields: Vec<Yield>,
    /// The Result that says whether a Loop goes on.
    pub(crate) condition: Option<usize>,
}

/// Where the value of a body's Parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feed {
    /// An input of the layer; after the first iteration a Result of the one before, if `back`.
    Whole { input: usize, back: Option<usize> },
    /// A part of an input of the layer, another one in each iteration.
    Part { input: usize, slice: Slice },
    /// The number of the iteration.
    Iteration,
}

impl fmt::Display for Feed {
    /// Without the positions of Results: those of a file say nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { input, back: None } => write!(f, "input {input}"),
            Self::Whole { input, .. } => write!(f, "input {input}, then the last iteration's"),
            Self::Part { input, slice } => write!(f, "parts of input {input} along {slice}"),
            Self::Iteration => f.write_str("number of the iteration"),
        }
    }
}

/// What an output of a layer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Yield {
    /// The Result of the body.
    pub(crate) result: usize,
    /// The results of all iterations are put together; otherwise the last one's is the output.
    pub(crate) joined: Option<Slice>,
}

impl Body {
    /// Resolves the ids of the port map, for a layer with this many inputs.
    ///
    /// # Errors
    /// What the port map names, and the body or the layer does not have.
    pub(crate) fn wire(&self, body: &Graph, inputs: usize) -> Result<Wiring, String> {
        let places = |terminals: &[Terminal]| -> HashMap<u64, usize> {
            // Of two with one id the first counts.
            let ids = terminals.iter().map(|t| body.node(t.node).id).enumerate();
            ids.rev().map(|(index, id)| (id, index)).collect()
        };
        let find = |places: &HashMap<u64, usize>, id: u64, what: &str| {
            let found = places.get(&id).copied();
            found.ok_or_else(|| format!("the port map names {what} {id}, the body has none"))
        };
        let (parameters, results) = (places(&body.inputs), places(&body.outputs));
        let parameter = |id| find(&parameters, id, "Parameter");
        let result = |id| find(&results, id, "Result");
        let mut feeds = vec![None; body.inputs.len()];
        for entry in &self.ports.inputs {
            let input = usize::try_from(entry.external_port_id).ok();
            let feed = match (entry.purpose, input) {
                (Some(Purpose::CurrentIteration), _) => Feed::Iteration,
                (_, Some(input)) if input < inputs => match entry.slice {
                    Some(slice) => Feed::Part { input, slice },
                    None => Feed::Whole { input, back: None },
                },
                (_, _) => {
                    return Err(format!(
                        "the port map names input {}, the layer has {inputs}",
                        entry.external_port_id
                    ));
                }
            };
            feeds[parameter(entry.internal_layer_id)?].get_or_insert(feed);
        }
        for edge in &self.ports.back_edges {
            let from = result(edge.from_layer)?;
            if let Some(Feed::Whole { back, .. }) = &mut feeds[parameter(edge.to_layer)?] {
                back.get_or_insert(from);
            }
        }
        let feed = |(feed, terminal): (Option<Feed>, &Terminal)| {
            feed.ok_or_else(|| format!("{} has no value from outside", body.node(terminal.node)))
        };
        let mut outputs: Vec<&PortMapEntry> = self.ports.outputs.iter().collect();
        let condition = outputs
            .iter()
            .find(|e| e.purpose == Some(Purpose::ExecutionCondition));
        let condition = condition.map(|e| result(e.internal_layer_id)).transpose()?;
        outputs.retain(|entry| entry.external_port_id >= 0);
        outputs.sort_by_key(|entry| entry.external_port_id);
        let yields = outputs.into_iter().map(|entry| {
            Ok(Yield {
                result: result(entry.internal_layer_id)?,
                joined: entry.slice,
            })
        });
        Ok(Wiring {
            feeds: feeds
                .into_iter()
                .zip(&body.inputs)
                .map(feed)
                .collect::<Result<_, _>>()?,
            yields: yields.collect::<Result<_, String>>()?,
            condition,
        })
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            axis,
            start,
            end,
            stride,
            part_size,
        } = self;
        write!(
            f,
            "axis {axis} from {start} to {end} by {stride}, parts of {part_size}"
        )
    }
}

impl Slice {
    /// The first element of each part of an axis of this size, in the order of the iterations.
    ///
    /// # Errors
    /// When the parts do not fill the range, or leave the axis.
    pub(crate) fn parts(&self, size: usize) -> Result<Parts, String> {
        let place = |at: i64| {
            let at = if at < 0 {
                at.checked_add_unsigned(size as u64)
            } else {
                Some(at)
            };
            at.and_then(|at| usize::try_from(at).ok())
                .filter(|&at| at < size)
        };
        let outside = |what: &str, at: i64| {
            format!("{what} {at} is outside axis {} of size {size}", self.axis)
        };
        let part = usize::try_from(self.part_size).unwrap_or(usize::MAX);
        if size == 0 {
            return Ok(Parts {
                first: 0,
                part,
                count: 0,
                backward: self.stride < 0,
            });
        }
        let start = place(self.start).ok_or_else(|| outside("start", self.start))?;
        let end = place(self.end).ok_or_else(|| outside("end", self.end))?;
        let backward = self.stride < 0;
        let (low, high) = if backward { (end, start) } else { (start, end) };
        if low > high {
            return Err(format!(
                "start {} and end {} do not fit stride {}",
                self.start, self.end, self.stride
            ));
        }
        let len = high - low + 1;
        if self.stride.unsigned_abs() != self.part_size {
            return Err(format!(
                "the stride {} is not the size {} of a part",
                self.stride, self.part_size
            ));
        }
        if !len.is_multiple_of(part) {
            return Err(format!("{len} elements cannot be cut into parts of {part}"));
        }
        Ok(Parts {
            first: low,
            part,
            count: len / part,
            backward,
        })
    }
}

/// The parts of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The lowest element of them all.
    first: usize,
    /// Elements of one part.
    pub(crate) part: usize,
    /// How many there are.
    pub(crate) count: usize,
    backward: bool,
}

impl Parts {
    /// Where the part of an iteration begins.
    pub(crate) fn start(&self, iteration: usize) -> Option<usize> {
        let index = if self.backward {
            self.count.checked_sub(iteration.checked_add(1)?)?
        } else {
            (iteration < self.count).then_some(iteration)?
        };
        self.first.checked_add(index.checked_mul(self.part)?)
    }
}
