//! What a snapshot holds.

use super::bounds::Bounds;

/// A model as it was: its structure, and what it gave for some inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The seed of samples and sketches.
    pub(super) seed: u64,
    pub(super) bounds: Bounds,
    pub(super) counts: Counts,
    pub(super) inputs: Vec<InputRecord>,
    /// Whether layers are written in full, or as hashes.
    pub(super) full: bool,
    /// The projections of every layer's sketch, if layers were traced.
    pub(super) trace: Option<usize>,
    pub(super) layers: Vec<LayerRecord>,
    pub(super) outputs: Vec<OutputRecord>,
}

/// How large a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Layers, those of bodies included.
    pub(super) layers: usize,
    /// How many of them are constants.
    pub(super) constants: usize,
    /// Elements of all constants.
    pub(super) parameters: u64,
}

/// An input of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRecord {
    /// The input's name.
    pub name: String,
    /// Element type and shape, as `f32[1,3]`.
    pub what: String,
    /// Where the elements come from, such as `random:seed=0`; `given` if only the caller knows.
    pub source: String,
    /// A hash of the elements.
    pub hash: u64,
}

/// A layer, or the beginning of a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayerRecord {
    /// The line's first words: the body it is in, and the layer's name in quotes, or its type and
    /// number.
    pub(super) label: String,
    /// The rest of the line.
    pub(super) text: String,
    /// The positions of the layers before it.
    pub(super) inputs: Vec<usize>,
    /// A hash of the weights it takes.
    pub(super) weights: Option<u32>,
    /// Its outputs, if they were traced.
    pub(super) tensors: Vec<TensorRecord>,
}

/// An output of a layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TensorRecord {
    /// Which of the layer's.
    pub(super) index: usize,
    /// Element type and shape.
    pub(super) what: String,
    /// How often a layer of a body was evaluated.
    pub(super) runs: u64,
    pub(super) l2: f64,
    pub(super) absolute_max: f64,
    pub(super) nan: u64,
    pub(super) infinite: u64,
    /// Of tensors that are to be equal.
    pub(super) hash: Option<u64>,
    pub(super) sketch: Vec<f64>,
}

/// An output of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct OutputRecord {
    /// Its name, empty if that is an automatic one.
    pub(super) name: String,
    /// The position of the layer that makes it.
    pub(super) layer: Option<usize>,
    pub(super) tensor: TensorRecord,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) smallest: Option<f64>,
    pub(super) zeros: u64,
    /// Positions and elements.
    pub(super) samples: Vec<(u64, String)>,
}

impl Snapshot {
    /// The seed of samples and sketches.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How far tensors may be from the recorded ones.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Takes over the bounds of another, such as that which is to be replaced.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The inputs of the run.
    pub fn inputs(&self) -> &[InputRecord] {
        &self.inputs
    }

    /// Whether every layer was traced.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// The number of layers that were traced.
    pub fn traced(&self) -> usize {
        self.layers.iter().filter(|l| !l.tensors.is_empty()).count()
    }
}

impl LayerRecord {
    /// The type and version of the operation.
    pub(super) fn kind(&self) -> &str {
        super::words::word(&self.text).0
    }

    /// The name without quotes, without the body.
    pub(super) fn name(&self) -> String {
        let label = match self.label.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').map_or("", |(_, label)| label),
            None => &self.label,
        };
        super::words::unquote(label).map_or_else(|| label.to_owned(), |(name, _)| name)
    }
}

impl OutputRecord {
    /// What to call it.
    pub(super) fn label(&self, index: usize) -> String {
        match self.name.as_str() {
            "" => format!("output {index}"),
            name => format!("output {}", super::words::quote(name)),
        }
    }
}
