//! A model: its graphs, what inference knows of them, and the front door to evaluation.

mod compiled;
mod format;
mod inspection;
mod ports;
mod request;
mod write;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Kind, LayerRef, Place, Result};
use crate::exec::{Observer, Plan};
use crate::graph::infer::{Fact, Facts, Refused};
use crate::graph::{Graph, Known, NodeId, Operation, Terminal, find_terminal, layers_to};
use crate::ir::{Problem, Source};
use crate::limits::{Limits, under};
use crate::op::Output;
use crate::ops::infrastructure::Parameter;
use crate::tensor::{ElementType, PartialShape, Tensor};

pub use compiled::{CompileOptions, CompiledModel};
pub use format::Format;
pub use inspection::{Depth, Inspection};
pub use ports::{Outputs, PortKey};
pub use request::{InferRequest, Variable};

/// A model that was read, typed and inferred. Cloning is cheap; all threads may share it.
#[derive(Debug, Clone)]
pub struct Model(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    format: Format,
    graphs: Arc<[Graph]>,
    facts: Facts,
    source: Option<Arc<Source>>,
    warnings: Vec<Problem>,
    /// Whether every layer can be evaluated.
    supported: OnceLock<bool>,
    /// By graph.
    plans: Box<[OnceLock<Plan>]>,
}

impl Model {
    /// Reads `model.xml` and the `model.bin` beside it, or an ONNX model: a file called `.onnx`, or
    /// one that is no document but holds such a model.
    ///
    /// The `.bin` file is mapped: its constants are read when they are needed, and it must not be
    /// written to or truncated while the model is in use. So are an ONNX model and its files of
    /// external data. [`Limits::map`] has them read instead. Constants are only looked for in the
    /// model's own folder, see [`Limits::allow_outside`].
    ///
    /// # Errors
    /// The first problem that keeps the model from loading.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, &Limits::default())
    }

    /// Reads a model under limits of your own.
    ///
    /// # Errors
    /// The first problem that keeps the model from loading.
    pub fn read_with(path: impl AsRef<Path>, limits: &Limits) -> Result<Self> {
        Self::inspect_with(path, Depth::Inference, limits)?.into_model()
    }

    /// Reads a model from memory; `name` stands for the file in messages. An ONNX model has no
    /// weights besides, and cannot have external data.
    ///
    /// # Errors
    /// The first problem that keeps the model from loading.
    pub fn from_bytes(name: &str, document: Vec<u8>, weights: Vec<u8>) -> Result<Self> {
        Self::from_bytes_with(name, document, weights, &Limits::default())
    }

    /// Reads a model from memory, as [`Model::from_bytes`] does, under limits of your own.
    ///
    /// # Errors
    /// The first problem that keeps the model from loading.
    pub fn from_bytes_with(
        name: &str,
        document: Vec<u8>,
        weights: Vec<u8>,
        limits: &Limits,
    ) -> Result<Self> {
        Self::inspect_bytes(name, document, weights, Depth::Inference, limits)?.into_model()
    }

    /// Reads a model from memory with every problem in it.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn inspect_bytes(
        name: &str,
        document: Vec<u8>,
        weights: Vec<u8>,
        depth: Depth,
        limits: &Limits,
    ) -> Result<Inspection> {
        under(limits, || {
            inspection::of_bytes(name.into(), document, weights, depth, limits)
        })
    }

    /// Reads a model with every problem in it.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn inspect(path: impl AsRef<Path>, depth: Depth) -> Result<Inspection> {
        Self::inspect_with(path, depth, &Limits::default())
    }

    /// Reads a model with every problem in it, under limits of your own.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn inspect_with(
        path: impl AsRef<Path>,
        depth: Depth,
        limits: &Limits,
    ) -> Result<Inspection> {
        under(limits, || inspection::of_file(path.as_ref(), depth, limits))
    }

    pub(crate) fn from_graph(name: &str, graph: Graph) -> Result<Self> {
        let graphs = vec![graph];
        let (facts, refused) = Facts::infer(&graphs);
        let model = Self(Arc::new(Inner {
            name: name.to_owned(),
            format: Format::Ir { version: 11 },
            supported: OnceLock::new(),
            plans: Plan::slots(graphs.len()),
            graphs: graphs.into(),
            facts,
            source: None,
            warnings: Vec::new(),
        }));
        model.unless_refused(refused)
    }

    /// The same model with other graphs of the same inputs and outputs.
    fn with_graphs(&self, (graphs, facts): (Vec<Graph>, Facts)) -> Self {
        Self(Arc::new(Inner {
            name: self.0.name.clone(),
            format: self.0.format.clone(),
            supported: OnceLock::new(),
            plans: Plan::slots(graphs.len()),
            graphs: graphs.into(),
            facts,
            source: self.0.source.clone(),
            warnings: self.0.warnings.clone(),
        }))
    }

    /// The model, if no node refuses its inputs.
    fn unless_refused(self, refused: Vec<Refused>) -> Result<Self> {
        match refused.into_iter().next() {
            None => Ok(self),
            Some(Refused { graph, node, error }) => {
                let place = self.place_in(graph, node);
                Err(Error::from_op(place, Kind::Shape, error))
            }
        }
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What kind of file the model comes from.
    pub fn format(&self) -> &Format {
        &self.0.format
    }

    /// What is odd about the document, but did not keep it from loading.
    pub fn warnings(&self) -> &[Problem] {
        &self.0.warnings
    }

    /// The model's graph.
    pub fn graph(&self) -> &Graph {
        &self.0.graphs[0]
    }

    /// The model's graph, then those of the bodies of If, Loop and TensorIterator.
    pub fn graphs(&self) -> &[Graph] {
        &self.0.graphs
    }

    /// The inputs, in the order of the file.
    pub fn inputs(&self) -> &[Terminal] {
        self.graph().inputs()
    }

    /// The outputs, in the order of the file.
    pub fn outputs(&self) -> &[Terminal] {
        self.graph().outputs()
    }

    /// The position of an input, by tensor name or layer name.
    pub fn find_input(&self, name: &str) -> Option<usize> {
        find_terminal(self.inputs(), name)
    }

    /// The position of an output, by tensor name, layer name, or name of the layer before it.
    pub fn find_output(&self, name: &str) -> Option<usize> {
        find_terminal(self.outputs(), name)
    }

    /// The inferred element types and shapes of a node's outputs.
    pub fn inferred(&self, node: NodeId) -> &[Output] {
        self.inferred_in(0, node)
    }

    /// The inferred element types and shapes of the outputs of a node of the graph at `graph` of
    /// [`Model::graphs`].
    pub fn inferred_in(&self, graph: usize, node: NodeId) -> &[Output] {
        let fact = self.0.facts.of(graph, node);
        fact.map_or(&[], |f| &f.outputs)
    }

    /// What inference knows of the elements of a node's output: small integer tensors mostly.
    pub fn known(&self, node: NodeId, output: usize) -> Option<&Known> {
        self.0.facts.of(0, node)?.known.get(output)?.as_ref()
    }

    /// The element type and shape of an input.
    pub fn input_type(&self, index: usize) -> Option<&Output> {
        self.inferred(self.inputs().get(index)?.node).first()
    }

    /// The element type and shape of an output.
    pub fn output_type(&self, index: usize) -> Option<&Output> {
        self.inferred(self.outputs().get(index)?.node).first()
    }

    /// The integers that every consumer of an input takes, both ends included, if its elements are
    /// indices or axes.
    pub fn allowed_values(&self, input: usize) -> Option<(i64, i64)> {
        self.0
            .facts
            .allowed_values(self.graph(), self.inputs().get(input)?.node)
    }

    /// The layers that cannot be evaluated, those in bodies included.
    pub fn unsupported(&self) -> Vec<LayerRef> {
        let nodes = self.graphs().iter().flat_map(|g| &g.nodes);
        nodes
            .filter(|n| matches!(n.operation, Operation::Opaque { .. }))
            .map(|n| n.layer_ref())
            .collect()
    }

    /// The model for other input shapes: inference starts anew from them.
    ///
    /// # Errors
    /// When there is no such input, or the shapes do not fit the model.
    pub fn reshape<'k, K: Into<PortKey<'k>>>(
        &self,
        shapes: impl IntoIterator<Item = (K, PartialShape)>,
    ) -> Result<Self> {
        let mut graph = self.graph().clone();
        for (key, shape) in shapes {
            let index = key.into().find(self.inputs(), "input")?;
            let node = self.inputs()[index].node;
            let ty = self
                .input_type(index)
                .map_or(ElementType::Dynamic, |t| t.element_type);
            Parameter::set(&mut graph.nodes[node.index()].operation, ty, shape);
        }
        let mut graphs = self.0.graphs.to_vec();
        graphs[0] = graph;
        self.rebuilt(graphs)
    }

    /// A model of other graphs, inferred anew, whose nodes come from the same file.
    ///
    /// # Errors
    /// When a node refuses its inputs.
    pub(crate) fn rebuilt(&self, graphs: Vec<Graph>) -> Result<Self> {
        let (facts, refused) = Facts::infer(&graphs);
        self.with_graphs((graphs, facts)).unless_refused(refused)
    }

    /// Evaluates the model, layer by layer, each as its specification says.
    ///
    /// Inputs are given by name or by position; every input needs one.
    ///
    /// # Errors
    /// When inputs are missing or do not fit, a layer is not supported or refuses its values, or
    /// a limit is reached.
    pub fn evaluate<'k, K: Into<PortKey<'k>>>(
        &self,
        inputs: impl IntoIterator<Item = (K, Tensor)>,
    ) -> Result<Outputs> {
        self.evaluate_with(inputs, &Limits::default(), &mut [])
    }

    /// Evaluates the model under limits and observers of your own.
    ///
    /// # Errors
    /// As [`Model::evaluate`], and when an observer stops the run.
    pub fn evaluate_with<'k, K: Into<PortKey<'k>>>(
        &self,
        inputs: impl IntoIterator<Item = (K, Tensor)>,
        limits: &Limits,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Outputs> {
        self.infer_request().infer_with(inputs, limits, observers)
    }

    /// A request: evaluations that share the model's variables (ReadValue, Assign).
    pub fn infer_request(&self) -> InferRequest {
        InferRequest::new(self.clone())
    }

    /// The error of a model with layers that cannot be evaluated, all of them named.
    pub(crate) fn check_supported(&self) -> Result<()> {
        let supported = || self.unsupported().is_empty();
        if *self.0.supported.get_or_init(supported) {
            return Ok(());
        }
        let missing = self.unsupported();
        if missing.is_empty() {
            return Ok(());
        }
        Err(self.unsupported_error(&missing, "is not supported"))
    }

    /// The tensors for the inputs in order, checked: one for each, unless it is an error.
    fn bind<'k, K: Into<PortKey<'k>>>(
        &self,
        inputs: impl IntoIterator<Item = (K, Tensor)>,
        bound: &mut Vec<Option<Tensor>>,
    ) -> Result<()> {
        self.check_supported()?;
        bound.clear();
        bound.resize_with(self.inputs().len(), || None);
        for (key, tensor) in inputs {
            let index = key.into().find(self.inputs(), "input")?;
            let name = || crate::error::quoted(self.inputs()[index].name());
            if let Some(expected) = self.input_type(index) {
                let ty = expected.element_type;
                let types = !ty.is_static() || ty == tensor.element_type();
                if !types || !expected.shape.contains(tensor.shape()) {
                    let message = format!("input {} takes {expected}, got {tensor:?}", name());
                    return Err(Error::new(Kind::Input, message));
                }
            }
            if bound[index].replace(tensor).is_some() {
                return Err(Error::new(
                    Kind::Input,
                    format!("input {} is given twice", name()),
                ));
            }
        }
        if bound.iter().all(Option::is_some) {
            return Ok(());
        }
        let missing: Vec<String> = self
            .inputs()
            .iter()
            .zip(&*bound)
            .enumerate()
            .filter(|(_, (_, tensor))| tensor.is_none())
            .map(|(index, (input, _))| {
                let ty = self.input_type(index).map(ToString::to_string);
                let name = crate::error::quoted(input.name());
                format!("{name} {}", ty.unwrap_or_default())
            })
            .collect();
        let message = format!("no value for input {}", missing.join(", "));
        Err(Error::new(Kind::Input, message))
    }

    /// What inference knows of a node of one of the graphs.
    pub(crate) fn fact(&self, graph: usize, node: NodeId) -> &Fact {
        let fact = self.0.facts.of(graph, node);
        fact.expect("every node has a fact")
    }

    /// What inference knows of all nodes.
    #[cfg(feature = "cli")]
    pub(crate) fn facts(&self) -> &Facts {
        &self.0.facts
    }

    /// Whether both are one model.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn plan(&self, graph: usize) -> &Plan {
        self.0.plans[graph]
            .get_or_init(|| Plan::new(&self.graphs()[graph], |id| self.fact(graph, id)))
    }

    /// Where a node of the model's graph stands in its file.
    pub fn place(&self, node: NodeId) -> Place {
        self.place_in(0, node)
    }

    /// Where a node of the graph at `graph` of [`Model::graphs`] stands in its file.
    pub fn place_in(&self, graph: usize, node: NodeId) -> Place {
        let source = self.0.source.as_ref();
        let mut place = match (source, self.graphs()[graph].node(node).offset()) {
            (Some(source), Some(offset)) => source.place(offset),
            (source, _) => Place {
                file: source.map(|s| Arc::clone(s.name())),
                ..Place::default()
            },
        };
        place.layers = layers_to(self.graphs(), graph, node);
        place
    }
}
