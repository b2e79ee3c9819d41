//! The bodies of If, Loop and TensorIterator, and how values pass in and out of them.

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
