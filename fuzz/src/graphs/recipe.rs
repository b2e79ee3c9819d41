//! A graph as it was made: constants, parameters with their values, layers.

use std::fmt;

use ovir::graph::{Builder, Port};
use ovir::op::Output;
use ovir::tensor::{PartialShape, Tensor};
use ovir::{Model, Result, io};

use super::document::document;

/// An output of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    pub step: usize,
    pub output: usize,
}

/// What makes values.
#[derive(Debug, Clone)]
pub enum Step {
    /// An input of the model: what is said of its shape, and what it is.
    Parameter(PartialShape, Tensor),
    Constant(Tensor),
    Layer(Layer),
}

/// An operation.
#[derive(Debug, Clone)]
pub struct Layer {
    pub kind: &'static str,
    pub opset: &'static str,
    pub attributes: Vec<(&'static str, String)>,
    pub inputs: Vec<Value>,
    /// Those of an If or a Loop.
    pub bodies: Vec<Body>,
    /// How many outputs it has, as inference says.
    pub outputs: usize,
    /// Whether the outputs depend on the order of a sum of floats, here or before.
    pub rounded: bool,
}

/// A body, whose parameters come first among its steps: their values are shapes and types only.
#[derive(Debug, Clone)]
pub struct Body {
    /// Its tag in a document.
    pub tag: &'static str,
    pub recipe: Recipe,
    /// The entries of its port map, and its back edges.
    pub ports: String,
    pub back: String,
}

/// A graph and the values of its inputs.
#[derive(Debug, Clone, Default)]
pub struct Recipe {
    pub steps: Vec<Step>,
    pub results: Vec<Value>,
}

impl Recipe {
    /// The model; `exact`: for the shapes of the values, not for what is said of them.
    ///
    /// # Errors
    /// When a layer does not take its inputs.
    pub fn build(&self, exact: bool) -> Result<Model> {
        if self.has_bodies() {
            let (document, weights) = document(self, exact);
            return Model::from_bytes("random.xml", document.into_bytes(), weights);
        }
        let mut builder = Builder::new();
        let mut ports: Vec<Port> = Vec::new();
        let of = |ports: &[Port], value: &Value| Builder::output(ports[value.step], value.output);
        for (number, step) in self.steps.iter().enumerate() {
            let name = format!("s{number}");
            ports.push(match step {
                Step::Parameter(shape, tensor) => {
                    let shape = if exact {
                        tensor.shape().into()
                    } else {
                        shape.clone()
                    };
                    builder.parameter(&name, tensor.element_type(), shape)
                }
                Step::Constant(tensor) => builder.constant(&name, tensor.clone()),
                Step::Layer(layer) => {
                    let attributes: Vec<_> = layer
                        .attributes
                        .iter()
                        .map(|(k, v)| (*k, v.as_str()))
                        .collect();
                    let inputs: Vec<_> = layer.inputs.iter().map(|v| of(&ports, v)).collect();
                    builder.add(&name, layer.kind, layer.opset, &attributes, &inputs)?
                }
            });
        }
        for (index, value) in self.results.iter().enumerate() {
            builder.result(&format!("r{index}"), of(&ports, value));
        }
        builder.build("random")
    }

    fn has_bodies(&self) -> bool {
        let has = |step: &Step| matches!(step, Step::Layer(layer) if !layer.bodies.is_empty());
        self.steps.iter().any(has)
    }

    /// The last layer alone: `outputs` are those of all steps before.
    fn last(&self, outputs: &[Vec<Output>]) -> Self {
        let mut alone = Self::default();
        let Some(Step::Layer(layer)) = self.steps.last() else {
            return alone;
        };
        let mut layer = layer.clone();
        for (index, input) in layer.inputs.iter_mut().enumerate() {
            alone.steps.push(match &self.steps[input.step] {
                Step::Constant(tensor) => Step::Constant(tensor.clone()),
                _ => {
                    let fact = &outputs[input.step][input.output];
                    let shape = fact.shape.to_shape().unwrap_or_default();
                    let none = Tensor::zeros(fact.element_type, shape.clone());
                    Step::Parameter((&shape).into(), none.expect("small"))
                }
            });
            *input = Value {
                step: index,
                output: 0,
            };
        }
        alone.steps.push(Step::Layer(layer));
        alone
    }

    /// What inference says of the last step, if that is possible; `outputs` are those before it.
    ///
    /// # Errors
    /// When it does not take its inputs.
    pub fn infer_last(&self, outputs: &[Vec<Output>]) -> Result<Vec<Output>> {
        let mut until = match self.has_bodies() {
            true => self.last(outputs),
            false => self.clone(),
        };
        let step = until.steps.len() - 1;
        until.results = vec![Value { step, output: 0 }];
        let model = until.build(true)?;
        let node = model.graph().find(&format!("s{step}"));
        Ok(node
            .map(|node| model.inferred(node).to_vec())
            .unwrap_or_default())
    }

    /// The values of the model's inputs.
    pub fn inputs(&self) -> Vec<Tensor> {
        let value = |step: &Step| match step {
            Step::Parameter(_, tensor) => Some(tensor.clone()),
            _ => None,
        };
        self.steps.iter().filter_map(value).collect()
    }

    /// Whether results need more of a layer than its shapes, which may be known without it: those that
    /// are empty need nothing. The layer is told as errors do, by the names of those that it is in and
    /// of itself.
    pub fn needs(&self, layers: &[&str]) -> bool {
        let [name, inside @ ..] = layers else {
            return true;
        };
        let model = self.build(true).ok();
        let empty = |value: &Value| {
            let graph = model.as_ref().map(Model::graph);
            let node = graph.and_then(|g| g.find(&format!("s{}", value.step)));
            let facts = node.zip(model.as_ref()).map(|(n, m)| m.inferred(n));
            let shape = facts.and_then(|f| f.get(value.output)?.shape.to_shape());
            shape.is_some_and(|shape| shape.contains(&0))
        };
        let mut needed = vec![false; self.steps.len()];
        for result in self.results.iter().filter(|result| !empty(result)) {
            needed[result.step] = true;
        }
        for (number, step) in self.steps.iter().enumerate().rev() {
            if let Step::Layer(layer) = step
                && needed[number]
                && layer.kind != "ShapeOf"
            {
                let inputs = layer.inputs.iter().filter(|input| !empty(input));
                inputs.for_each(|input| needed[input.step] = true);
            }
        }
        let number = name.strip_prefix('s').and_then(|n| n.parse().ok());
        let number: usize = number.expect("layers are named by their numbers");
        let bodies = match &self.steps[number] {
            Step::Layer(layer) => &layer.bodies[..],
            _ => &[],
        };
        let within = inside.is_empty() || bodies.iter().any(|body| body.recipe.needs(inside));
        needed[number] && within
    }

    /// Whether a value depends on the order of a sum.
    pub fn rounded(&self, value: Value) -> bool {
        matches!(&self.steps[value.step], Step::Layer(layer) if layer.rounded)
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = io::text::Options::exact();
        let shown = |tensor: &Tensor| format!("{tensor:?}\n{}", io::text::format(tensor, &options));
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                Step::Parameter(shape, tensor) => {
                    writeln!(f, "s{number} = Parameter {shape} = {}", shown(tensor))?;
                }
                Step::Constant(tensor) => writeln!(f, "s{number} = Const {}", shown(tensor))?,
                Step::Layer(layer) => {
                    write!(f, "s{number} = {} {}", layer.kind, layer.opset)?;
                    for (name, value) in &layer.attributes {
                        write!(f, " {name}=\"{value}\"")?;
                    }
                    for input in &layer.inputs {
                        write!(f, " s{}.{}", input.step, input.output)?;
                    }
                    writeln!(f)?;
                    for body in &layer.bodies {
                        let Body {
                            tag,
                            ports,
                            back,
                            recipe,
                        } = body;
                        writeln!(f, "{tag} {ports}{back}\n{recipe}end of {tag}")?;
                    }
                }
            }
        }
        for (index, value) in self.results.iter().enumerate() {
            writeln!(f, "r{index} = s{}.{}", value.step, value.output)?;
        }
        Ok(())
    }
}
