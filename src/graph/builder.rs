//! Graphs made in code.

use super::{Graph, Node, Port, Terminal};
use crate::error::{Error, Kind, Place, Result};
use crate::op::attrs::Attr;
use crate::op::{LayerData, NoWeights, Op, ReadError};
use crate::ops::infrastructure::{Const, Parameter};
use crate::ops::{self, Resolved};
use crate::tensor::{ElementType, PartialShape, Tensor};

/// Makes a graph in code, layer by layer.
///
/// ```
/// use ovir::graph::Builder;
/// use ovir::tensor::{ElementType, Tensor};
///
/// let mut graph = Builder::new();
/// let x = graph.parameter("x", ElementType::F32, "?,3".parse()?);
/// let axes = graph.constant("axes", Tensor::vector(&[1i64]));
/// let sum = graph.add("sum", "ReduceSum", "opset1", &[("keep_dims", "true")], &[x, axes])?;
/// graph.result("y", sum);
/// let model = graph.build("row sums")?;
///
/// let y = model.evaluate([("x", Tensor::new([2, 3], &[1f32, 2., 3., 4., 5., 6.])?)])?;
/// assert_eq!(y["y"].as_slice::<f32>()?, [6., 15.]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input of the model.
    pub fn parameter(&mut self, name: &str, ty: ElementType, shape: PartialShape) -> Port {
        let op = Parameter {
            shape,
            element_type: ty,
        };
        let port = self.push(name, "Parameter", Box::new(op), &[]);
        self.graph.inputs.push(Terminal {
            node: port.node,
            names: vec![name.to_owned()],
            aliases: Vec::new(),
        });
        port
    }

    /// Adds a constant.
    pub fn constant(&mut self, name: &str, tensor: Tensor) -> Port {
        self.push(name, "Const", Box::new(Const::new(tensor)), &[])
    }

    /// Adds a layer, with attributes in IR's spelling, and gives its first output.
    ///
    /// # Errors
    /// When the opset has no such operation, or an attribute is wrong or unknown.
    pub fn add(
        &mut self,
        name: &str,
        type_name: &str,
        opset: &str,
        attributes: &[(&str, &str)],
        inputs: &[Port],
    ) -> Result<Port> {
        let error = |kind, message: String| {
            let place = Place {
                layers: vec![crate::error::LayerRef {
                    id: self.graph.nodes.len() as u64,
                    name: name.to_owned(),
                    type_name: type_name.to_owned(),
                    opset: opset.to_owned(),
                }],
                ..Place::default()
            };
            Error::at(place, kind, message)
        };
        let Some(resolved) = ops::resolve(type_name, opset) else {
            return Err(error(
                Kind::Unsupported,
                "the operation is not supported".to_owned(),
            ));
        };
        let attributes: Vec<Attr<'_>> = attributes.iter().map(|&(k, v)| Attr::new(k, v)).collect();
        let layer = LayerData {
            attributes: &attributes,
            weights: &NoWeights,
        };
        let (op, unknown) = resolved.def.read(&layer).map_err(|e| match e {
            ReadError::Attribute(e) => error(Kind::Attribute, e.message),
            ReadError::Weights(e) => error(Kind::Weights, e.message),
        })?;
        if let Some(&unknown) = unknown.first() {
            let name = attributes[unknown].name;
            return Err(error(
                Kind::Attribute,
                format!("there is no attribute `{name}`"),
            ));
        }
        Ok(self.push_resolved(name, &resolved, opset, op, inputs))
    }

    /// Another output of the layer that made `port`.
    #[must_use]
    pub fn output(port: Port, index: usize) -> Port {
        Port::new(port.node, index)
    }

    /// Makes a value an output of the model.
    pub fn result(&mut self, name: &str, value: Port) {
        let op = ops::infrastructure::Result {};
        let port = self.push(name, "Result", Box::new(op), &[value]);
        self.graph.outputs.push(Terminal {
            node: port.node,
            names: vec![name.to_owned()],
            aliases: Vec::new(),
        });
    }

    /// The model.
    ///
    /// # Errors
    /// When types or shapes do not fit together.
    pub fn build(mut self, name: &str) -> Result<crate::Model> {
        self.graph.sort();
        crate::Model::from_graph(name, self.graph)
    }

    fn push(&mut self, name: &str, type_name: &str, op: Box<dyn Op>, inputs: &[Port]) -> Port {
        let resolved = ops::resolve(type_name, "opset1").expect("opset1 has the operation");
        self.push_resolved(name, &resolved, "opset1", op, inputs)
    }

    fn push_resolved(
        &mut self,
        name: &str,
        resolved: &Resolved,
        opset: &str,
        op: Box<dyn Op>,
        inputs: &[Port],
    ) -> Port {
        let node = Node::made(name, opset, resolved, op, inputs);
        Port::new(self.graph.push(node), 0)
    }
}
