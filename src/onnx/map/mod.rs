//! What ONNX operators mean: which operation does the same, with which attributes and helpers.
//!
//! Each file holds a family and its table: one row for each operator and the versions that one
//! mapping covers. A version is the opset of `ai.onnx` that introduced it.

mod arithmetic;
mod attributes;
mod infrastructure;
mod movement;
mod reduction;
mod shape;
mod typing;

use std::sync::Arc;

pub(super) use attributes::{Attributes, texts};

use super::external::Folder;
use super::ops::{GUARDED, Guard, Guarded, Inner};
use super::problem::Refusal;
use super::proto::NodeProto;
use crate::graph::{Graph, Node, Operation, Origin, Port};
use crate::limits::Limits;
use crate::op::attrs::Attr;
use crate::op::{LayerData, NoWeights, Op, OpDef, ReadError, Version};
use crate::ops;
use crate::ops::infrastructure::Const;
use crate::tensor::{Few, Tensor};

type Result<T> = std::result::Result<T, Refusal>;

/// One row of a family's table.
#[derive(Debug)]
pub(super) struct Operator {
    /// The operator's type.
    pub(super) name: &'static str,
    /// The versions the mapping covers.
    pub(super) versions: &'static [u8],
    map: fn(&mut Mapping<'_, '_>) -> Result<Mapped>,
}

const fn row(
    name: &'static str,
    versions: &'static [u8],
    map: fn(&mut Mapping<'_, '_>) -> Result<Mapped>,
) -> Operator {
    Operator {
        name,
        versions,
        map,
    }
}

/// The tables of all families.
pub(super) const FAMILIES: &[(&str, &[Operator])] = &[
    ("arithmetic", arithmetic::OPERATORS),
    ("infrastructure", infrastructure::OPERATORS),
    ("movement", movement::OPERATORS),
    ("reduction", reduction::OPERATORS),
    ("shape", shape::OPERATORS),
    ("type", typing::OPERATORS),
];

/// The newest opset of `ai.onnx` whose operators are known.
pub(super) const NEWEST_OPSET: i64 = 28;

/// The row and the version that an operator has in an opset: the newest that is not newer.
pub(super) fn find(name: &str, opset: i64) -> Option<(&'static Operator, u8)> {
    if opset > NEWEST_OPSET {
        return None;
    }
    let rows = FAMILIES.iter().flat_map(|(_, rows)| *rows);
    rows.filter(|row| row.name == name)
        .filter_map(|row| {
            let versions = row.versions.iter().copied();
            Some((row, versions.filter(|&v| i64::from(v) <= opset).max()?))
        })
        .max_by_key(|&(_, version)| version)
}

/// What a node becomes.
#[derive(Debug)]
pub(super) struct Mapped {
    operation: Operation,
    inputs: Vec<Port>,
}

/// One node on its way into the graph.
pub(super) struct Mapping<'m, 'g> {
    pub(super) node: &'m NodeProto,
    /// The node's name in the graph.
    pub(super) name: &'g str,
    /// The opset as messages name it.
    pub(super) opset: &'g str,
    /// The operator's version.
    pub(super) version: u8,
    /// Where the inputs come from; `None` for one that is left out.
    pub(super) inputs: &'g [Option<Port>],
    pub(super) attributes: Attributes<'m>,
    pub(super) graph: &'g mut Graph,
    pub(super) folder: &'g mut Folder,
    pub(super) limits: &'g Limits,
    /// What is odd about the node.
    pub(super) warnings: Vec<String>,
}

impl Mapping<'_, '_> {
    /// Makes the node and its helpers; the port is its only output.
    pub(super) fn run(&mut self, operator: &Operator) -> Result<Mapped> {
        let outputs = self.node.output.len();
        if outputs != 1 {
            let message = format!("expected 1 output, got {outputs}");
            return Err(Refusal::structure(message));
        }
        let mapped = (operator.map)(self)?;
        match self.attributes.unknown() {
            None => Ok(mapped),
            Some(name) => Err(Refusal::attribute(format!(
                "{}-{} has no attribute `{name}`",
                operator.name, self.version
            ))),
        }
    }

    /// The inputs, all of which the operator needs.
    fn inputs<const N: usize>(&self, names: [&str; N]) -> Result<[Port; N]> {
        Ok(self.inputs_and(names, [])?.0)
    }

    /// The inputs that the operator needs, then those that may be left out.
    fn inputs_and<const N: usize, const M: usize>(
        &self,
        needed: [&str; N],
        optional: [&str; M],
    ) -> Result<([Port; N], [Option<Port>; M])> {
        if self.inputs.len() > N + M {
            let names: Vec<&str> = needed.into_iter().chain(optional).collect();
            let message = format!(
                "expected at most {} inputs ({}), got {}",
                N + M,
                names.join(", "),
                self.inputs.len()
            );
            return Err(Refusal::structure(message));
        }
        let at = |i: usize| self.inputs.get(i).copied().flatten();
        if let Some(missing) = (0..N).find(|&i| at(i).is_none()) {
            let message = format!("input {missing} ({}) is missing", needed[missing]);
            return Err(Refusal::structure(message));
        }
        let rest = std::array::from_fn(|i| at(N + i));
        let first: Vec<Port> = (0..N).filter_map(at).collect();
        match <[Port; N]>::try_from(first) {
            Ok(first) => Ok((first, rest)),
            Err(_) => Err(Refusal::structure("an input is missing")),
        }
    }

    /// Adds a constant that the file does not have.
    fn constant(&mut self, suffix: &str, tensor: Tensor) -> Port {
        let resolved = ops::resolve("Const", "opset1").expect("opset1 has Const");
        let name = format!("{}/{suffix}", self.name);
        let constant = Box::new(Const::new(tensor));
        let mut node = Node::made(&name, "opset1", &resolved, constant, &[]);
        node.origin = Some(self.origin("Const", 1, true));
        Port::new(self.graph.push(node), 0)
    }

    /// Adds an operation that the node needs before its own.
    fn helper(
        &mut self,
        suffix: &str,
        type_name: &str,
        opset: &str,
        attributes: &[(&str, &str)],
        inputs: &[Port],
    ) -> Result<Port> {
        let mapped = registered(type_name, opset, attributes, inputs)?;
        let name = format!("{}/{suffix}", self.name);
        let origin = self.origin(&self.node.op_type, self.version, true);
        let node = mapped.into_node(&name, self.opset, origin);
        Ok(Port::new(self.graph.push(node), 0))
    }

    /// An operation that only ONNX models have.
    fn own(&self, op: impl Op, def: &'static OpDef, inputs: &[Port]) -> Mapped {
        Mapped::new(Arc::new(op), def, Version::Opset(self.version), inputs)
    }

    /// An operation of the registry behind a stricter rule.
    fn guarded(
        &self,
        guard: Guard,
        type_name: &str,
        opset: &str,
        attributes: &[(&str, &str)],
        inputs: &[Port],
    ) -> Result<Mapped> {
        let inner = resolve(type_name, opset, attributes)?;
        Ok(self.own(Guarded { guard, inner }, &GUARDED, inputs))
    }

    fn origin(&self, type_name: &str, version: u8, helper: bool) -> Box<Origin> {
        Box::new(Origin {
            type_name: type_name.to_owned(),
            version,
            helper,
        })
    }

    /// The integers of a constant.
    fn known_ints(&self, port: Port) -> Option<Few<i64>> {
        let op = self.graph.node(port.node).op()?;
        let output = op.infer(&[]).ok().filter(|_| op.constant().is_some())?;
        // No more is looked at than inference would.
        let small = output.first()?.shape.elements().max()? <= 4096;
        let tensor = op.constant().filter(|_| small)?.ok()?;
        crate::op::Input::of(tensor).ints()
    }
}

/// An operation of the registry.
fn registered(
    type_name: &str,
    opset: &str,
    attributes: &[(&str, &str)],
    inputs: &[Port],
) -> Result<Mapped> {
    let inner = resolve(type_name, opset, attributes)?;
    let version = inner.version.unwrap_or(Version::Opset(0));
    Ok(Mapped::new(inner.op.into(), inner.def, version, inputs))
}

/// Reads an operation of the registry.
fn resolve(type_name: &str, opset: &str, attributes: &[(&str, &str)]) -> Result<Inner> {
    let resolved = ops::resolve(type_name, opset)
        .ok_or_else(|| Refusal::unsupported("the operation is not supported"))?;
    let attributes: Vec<Attr<'_>> = attributes.iter().map(|&(k, v)| Attr::new(k, v)).collect();
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    match resolved.def.read(&layer) {
        Ok((op, _)) => Ok(Inner {
            op,
            def: resolved.def,
            version: Some(resolved.version),
        }),
        Err(ReadError::Attribute(e)) => Err(Refusal::attribute(e.message)),
        Err(ReadError::Weights(e)) => Err(Refusal::weights(e.message)),
    }
}

impl Mapped {
    fn new(op: Arc<dyn Op>, def: &'static OpDef, version: Version, inputs: &[Port]) -> Self {
        Self {
            operation: Operation::Known { op, def, version },
            inputs: inputs.to_vec(),
        }
    }

    /// The node; the caller gives it its outputs.
    pub(super) fn into_node(self, name: &str, opset: &str, origin: Box<Origin>) -> Node {
        let mut node = Node::of(name, opset, self.operation, &self.inputs);
        node.origin = Some(origin);
        node
    }
}
