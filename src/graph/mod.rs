//! The typed layer graph: nodes in topological order, ports by position.

mod allowed;
mod body;
mod builder;
mod control;
mod edit;
pub(crate) mod infer;
mod known;
mod order;
mod rt_info;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

pub use body::{BackEdge, Body, BodyKind, PortMap, PortMapEntry, Purpose, Slice};
pub(crate) use body::{Feed, Parts};
pub use builder::Builder;
pub(crate) use control::is_true;
pub use known::Known;
pub(crate) use known::evaluate as evaluate_known;
pub(crate) use order::{Cycle, order};
pub use rt_info::{RtEntry, RtInfo};

use crate::error::{LayerRef, innermost};
use crate::op::{AttributeList, Op, OpDef, Role, Version};
use crate::tensor::{ElementType, PartialShape};

/// Position of a node in its graph, which is also its place in the topological order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a graph has fewer than 2^32 nodes"))
    }

    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An output of a node: the value that an edge carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// The node that makes the value.
    pub node: NodeId,
    /// Which of its outputs.
    pub index: u32,
}

impl Port {
    pub(crate) fn new(node: NodeId, index: usize) -> Self {
        let index = u32::try_from(index).expect("a node has fewer than 2^32 outputs");
        Self { node, index }
    }
}

/// What a node does.
#[derive(Debug, Clone)]
pub enum Operation {
    /// An operation with its typed attributes.
    Known {
        /// The operation.
        op: Arc<dyn Op>,
        /// Its row in the registry.
        def: &'static OpDef,
        /// Which version of it.
        version: Version,
    },
    /// Layers of a compiled model that are evaluated as one.
    Joined {
        /// What they do.
        op: Arc<dyn Op>,
        /// Their types, such as `Convolution+Add+Relu`.
        type_name: String,
    },
    /// An operation that cannot be evaluated; its outputs have the declared types and shapes.
    Opaque {
        /// The layer's type.
        type_name: String,
        /// The layer's attributes.
        attributes: Vec<(String, String)>,
    },
}

/// An output of a node as the file describes it.
#[derive(Debug, Clone, Default)]
pub struct OutputPort {
    /// Names of the tensor.
    pub names: Vec<String>,
    /// Element type and shape written in the file. Hints, never constraints.
    pub declared: Option<(ElementType, PartialShape)>,
    /// Runtime information of the port.
    pub rt_info: RtInfo,
}

/// What a file calls a node whose operation has another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The type the file names.
    pub(crate) type_name: String,
    /// The version the file means.
    pub(crate) version: u8,
    /// Whether the node only serves the one that stands for the file's.
    pub(crate) helper: bool,
}

/// A layer.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) opset: String,
    pub(crate) operation: Operation,
    pub(crate) origin: Option<Box<Origin>>,
    pub(crate) inputs: SmallVec<[Port; 4]>,
    /// Runtime information of the inputs: none, or one for each.
    pub(crate) input_rt_info: Vec<RtInfo>,
    pub(crate) outputs: Vec<OutputPort>,
    pub(crate) offset: Option<usize>,
    pub(crate) rt_info: RtInfo,
    pub(crate) bodies: Vec<Body>,
}

impl Node {
    /// The layer's id in the file.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The layer's name. Names need not be unique.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operation's type as the file names it, such as `Gather`.
    pub fn type_name(&self) -> &str {
        match (&self.origin, &self.operation) {
            (Some(origin), _) => &origin.type_name,
            (None, Operation::Known { def, .. }) => def.name,
            (None, Operation::Opaque { type_name, .. } | Operation::Joined { type_name, .. }) => {
                type_name
            }
        }
    }

    /// Whether the node only serves another that stands for one of the file's, such as a constant
    /// that holds its axes.
    pub fn is_helper(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.helper)
    }

    /// The opset the layer names, such as `opset8`.
    pub fn opset(&self) -> &str {
        &self.opset
    }

    /// What the node does.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The operation, unless it is opaque.
    pub fn op(&self) -> Option<&dyn Op> {
        match &self.operation {
            Operation::Known { op, .. } | Operation::Joined { op, .. } => Some(&**op),
            Operation::Opaque { .. } => None,
        }
    }

    /// The version of the operation, such as the opset that introduced it.
    pub fn version(&self) -> Option<Version> {
        match (&self.origin, &self.operation) {
            (Some(origin), Operation::Known { .. }) => Some(Version::Opset(origin.version)),
            (None, Operation::Known { version, .. }) => Some(*version),
            (_, Operation::Opaque { .. } | Operation::Joined { .. }) => None,
        }
    }

    /// The attributes in IR's spelling.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let owned = |list: AttributeList| {
            list.into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Vec<_>>()
        };
        match &self.operation {
            Operation::Known { op, def, .. } => owned(def.attributes(&**op)),
            Operation::Joined { .. } => Vec::new(),
            Operation::Opaque { attributes, .. } => attributes.clone(),
        }
    }

    /// Where the inputs come from.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs as the file describes them.
    pub fn outputs(&self) -> &[OutputPort] {
        &self.outputs
    }

    /// Byte offset of the layer in its document.
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// Runtime information of the layer.
    pub fn rt_info(&self) -> &RtInfo {
        &self.rt_info
    }

    /// Runtime information of an input.
    pub fn input_rt_info(&self, index: usize) -> Option<&RtInfo> {
        self.input_rt_info.get(index)
    }

    /// The bodies of an If, Loop or TensorIterator.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    pub(crate) fn role(&self) -> Role {
        self.op().map_or(Role::Inner, Op::role)
    }

    pub(crate) fn layer_ref(&self) -> LayerRef {
        LayerRef {
            id: self.id,
            name: self.name.clone(),
            type_name: self.type_name().to_owned(),
            opset: self.opset.clone(),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layer_ref().fmt(f)
    }
}

/// An input or output of a graph: a Parameter or Result, and the names it answers to.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// The Parameter or Result.
    pub node: NodeId,
    /// Names of the tensor, the main one first. May be empty.
    pub names: Vec<String>,
    /// Other names that find it: those of the layer, and of the layer before a Result.
    pub(crate) aliases: Vec<String>,
}

impl Terminal {
    /// The name to show: the first tensor name, or the layer's.
    pub fn name(&self) -> &str {
        let first = self.names.first().or(self.aliases.first());
        first.map_or("", String::as_str)
    }
}

/// A graph of layers.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Terminal>,
    pub(crate) outputs: Vec<Terminal>,
    /// The graph and the node whose body this is.
    pub(crate) parent: Option<(usize, NodeId)>,
    pub(crate) rt_info: RtInfo,
    /// Above every layer's id.
    pub(crate) next_id: u64,
}

impl Graph {
    /// All nodes, producers before consumers.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        let numbered = self.nodes.iter().enumerate();
        numbered.map(|(index, node)| (NodeId::new(index), node))
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The first node with this layer name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        let found = self.nodes.iter().position(|n| n.name == name);
        found.map(NodeId::new)
    }

    /// The inputs, in the order of the file.
    pub fn inputs(&self) -> &[Terminal] {
        &self.inputs
    }

    /// The outputs, in the order of the file.
    pub fn outputs(&self) -> &[Terminal] {
        &self.outputs
    }

    /// The nodes that take any output of this one, with the position of the input.
    pub fn consumers(&self, node: NodeId) -> impl Iterator<Item = (NodeId, usize)> {
        // Consumers stand behind their producers.
        let later = self.nodes().skip(node.index() + 1);
        later.flat_map(move |(id, consumer)| {
            let inputs = consumer.inputs.iter().enumerate();
            inputs
                .filter(move |(_, port)| port.node == node)
                .map(move |(index, _)| (id, index))
        })
    }

    /// The graph and the node whose body this is.
    pub fn parent(&self) -> Option<(usize, NodeId)> {
        self.parent
    }

    /// Runtime information of the graph.
    pub fn rt_info(&self) -> &RtInfo {
        &self.rt_info
    }
}

/// A node with the layers whose bodies hold it, outermost first.
pub(crate) fn layers_to(graphs: &[Graph], graph: usize, node: NodeId) -> Vec<LayerRef> {
    let outwards = std::iter::successors(Some((graph, node)), |(graph, _)| graphs[*graph].parent);
    innermost(outwards.map(|(graph, node)| graphs[graph].node(node).layer_ref()))
}

/// Finds an input or output by name: tensor names first, then layer names.
pub(crate) fn find_terminal(terminals: &[Terminal], name: &str) -> Option<usize> {
    let by_tensor = |t: &Terminal| t.names.iter().any(|n| n == name);
    let by_alias = |t: &Terminal| t.aliases.iter().any(|n| n == name);
    let tensor = terminals.iter().position(by_tensor);
    tensor.or_else(|| terminals.iter().position(by_alias))
}
