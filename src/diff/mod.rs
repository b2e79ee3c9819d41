//! What two models differ in as structures, whatever their ids, the order of their layers and the
//! names that tools make.

mod pairs;
mod report;
mod side;
mod text;
mod weights;

use crate::graph::{NodeId, Port};
use crate::model::Model;
use crate::op::Output;

pub use text::canonical;
pub use weights::Distance;

/// What is compared besides the structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffOptions {
    /// Elements of constants.
    pub weights: bool,
    /// Names of layers, and of tensors within the model.
    pub names: bool,
    /// Runtime information, which changes no result.
    pub rt_info: bool,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            weights: true,
            names: false,
            rt_info: false,
        }
    }
}

/// A layer of one of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct At {
    /// The index of its graph in [`Model::graphs`].
    pub graph: usize,
    /// The node.
    pub node: NodeId,
}

/// A layer that both models have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Both {
    /// The layer of the first model.
    pub first: At,
    /// The layer of the second model.
    pub second: At,
}

/// What two models differ in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelDiff {
    /// How many layers both have.
    pub matched: usize,
    /// Changes of the model's inputs.
    pub inputs: Vec<EndChange>,
    /// Changes of the model's outputs.
    pub outputs: Vec<EndChange>,
    /// Layers of the second model alone.
    pub added: Vec<Lone>,
    /// Layers of the first model alone.
    pub removed: Vec<Lone>,
    /// Layers whose attributes or versions differ.
    pub changed: Vec<AttributeChange>,
    /// Inputs of layers that take another value; what layers added or removed account for is not
    /// among them.
    pub rewired: Vec<Rewired>,
    /// Constants that differ.
    pub weights: Vec<WeightChange>,
    /// Layers and tensors of other names, if asked for.
    pub names: Vec<NameChange>,
    /// Runtime information that differs, if asked for.
    pub rt_info: Vec<RtChange>,
    /// Whether both have the same inputs in another order. That alone is no difference.
    pub inputs_reordered: bool,
    /// Whether both have the same outputs in another order. That alone is no difference.
    pub outputs_reordered: bool,
}

impl ModelDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many differences there are.
    pub fn count(&self) -> usize {
        self.inputs.len()
            + self.outputs.len()
            + self.added.len()
            + self.removed.len()
            + self.changed.len()
            + self.rewired.len()
            + self.weights.len()
            + self.names.len()
            + self.rt_info.len()
    }
}

/// A layer that only one of the models has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lone {
    /// The layer.
    pub at: At,
    /// How many of its inputs are constants that nothing but such layers takes; these are not
    /// told on their own.
    pub constants: usize,
    /// The edge of both models that it stands in, as seen in its model: the value that goes in, and
    /// the layer and input behind it.
    pub within: Option<(Port, NodeId, usize)>,
}

/// An input or output of the models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndChange {
    /// Its position in the first model; `None` if only the second has it.
    pub first: Option<usize>,
    /// Its position in the second model; `None` if only the first has it.
    pub second: Option<usize>,
    /// Tensor names, if they differ.
    pub names: Option<(Vec<String>, Vec<String>)>,
    /// Element types and shapes, if they differ.
    pub types: Option<(Output, Output)>,
}

/// A layer with other attributes, or of another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeChange {
    /// The layer.
    pub layer: Both,
    /// The versions, if they differ.
    pub version: Option<(String, String)>,
    /// Name, value in the first model, value in the second.
    pub attributes: Vec<(String, Option<String>, Option<String>)>,
}

/// An input of a layer that takes another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewired {
    /// The layer.
    pub layer: Both,
    /// Which of its inputs.
    pub input: usize,
    /// What it takes in the first model.
    pub first: Option<Port>,
    /// What it takes in the second model.
    pub second: Option<Port>,
}

/// A constant that is another one.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightChange {
    /// The constant.
    pub layer: Both,
    /// A layer of the second model that takes it, and the input.
    pub user: Option<(NodeId, usize)>,
    /// Element type and shape in both models.
    pub types: (Output, Output),
    /// How far apart the elements are, where shapes are the same.
    pub distance: Option<Distance>,
}

/// A layer, or a tensor of it, with another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameChange {
    /// The layer.
    pub layer: Both,
    /// The output whose tensor names differ; `None` for the layer's own name.
    pub output: Option<usize>,
    /// The names in both models.
    pub names: (Vec<String>, Vec<String>),
}

/// An entry of runtime information that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtChange {
    /// The layer; `None` for the model's own.
    pub layer: Option<Both>,
    /// The path of keys to the entry.
    pub key: String,
    /// What stands there in the first model.
    pub first: Option<String>,
    /// What stands there in the second model.
    pub second: Option<String>,
}

/// Finds what two models differ in.
pub fn diff(first: &Model, second: &Model, options: &DiffOptions) -> ModelDiff {
    report::report(first, second, options)
}
