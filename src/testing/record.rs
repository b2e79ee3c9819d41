//! A snapshot is taken: an observer counts each layer's outputs as they come, and keeps none.

use std::collections::HashMap;

use super::bounds::Bounds;
use super::snapshot::{InputRecord, OutputRecord, Snapshot, TensorRecord};
use super::structure::{Structure, is_automatic, is_known, is_shown};
use super::words::{Hash, number, quote};
use crate::error::{Error, Kind, Result};
use crate::exec::{Control, Observer, Whereabouts, joined};
use crate::graph::{Body, Node, NodeId};
use crate::io::{Value, Wanted, input_seed};
use crate::limits::Limits;
use crate::metrics::{Sketch, Statistics};
use crate::model::{CompileOptions, Model};
use crate::op::Role;
use crate::tensor::{ElementType, Tensor, convert};

/// Projections of an output.
const OUTPUT_PROJECTIONS: usize = 16;
/// Elements of an output that are shown.
const SAMPLES: u64 = 8;
/// Characters of a string that are shown.
const MOST_CHARACTERS: usize = 40;

/// How a snapshot is taken.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Whether every layer gets a line with a sketch of its outputs.
    pub trace: bool,
    /// The seed of samples and sketches.
    pub seed: u64,
    /// How far tensors may be from those of the snapshot.
    pub bounds: Bounds,
    /// Layers are written in full if there are no more than this besides constants, else as hashes.
    pub full_layers: usize,
    /// Projections of every layer's sketch. `None`: 8, and 4 of more than 600 layers, so that the
    /// text stays small.
    pub projections: Option<usize>,
    /// Evaluate the compiled model, of which only the outputs can be compared.
    pub compiled: bool,
    /// Bounds of the evaluation.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trace: false,
            seed: 0,
            bounds: Bounds::default(),
            full_layers: 200,
            projections: None,
            compiled: false,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// How a snapshot was taken, so that another can be compared with it.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            trace: snapshot.is_traced(),
            seed: snapshot.seed,
            bounds: snapshot.bounds.clone(),
            full_layers: if snapshot.full { usize::MAX } else { 0 },
            projections: snapshot.trace,
            ..Self::default()
        }
    }
}

/// A value for an input of the model at a position, and where it comes from.
#[derive(Debug, Clone)]
pub struct GivenInput {
    /// The input's position.
    pub index: usize,
    /// Its value.
    pub tensor: Tensor,
    /// Text that makes the value again, such as `random:seed=0`; `given` if there is none.
    pub source: String,
}

/// No values for inputs: all are random.
pub const RANDOM: [(usize, Tensor); 0] = [];

impl GivenInput {
    /// Random numbers from a seed, of which each input has its own, in the range that the model allows.
    ///
    /// # Errors
    /// When the input's type or shape is open, or larger than the limits.
    pub fn random(model: &Model, index: usize, seed: u64, limits: &Limits) -> Result<Self> {
        let name = model
            .inputs()
            .get(index)
            .map_or("", |terminal| terminal.name());
        let wrong = |message: &str| {
            Error::new(
                Kind::Input,
                format!("input {}: {message}", crate::error::quoted(name)),
            )
        };
        if model.input_type(index).is_none() {
            return Err(wrong("there is none"));
        }
        let source = format!("random:seed={}", input_seed(seed, index));
        let value = source
            .parse::<Value>()
            .and_then(|value| value.load(&Wanted::by(model, index), limits));
        let tensor = value.map_err(|e| wrong(&e.to_string()))?;
        Ok(Self {
            index,
            tensor,
            source,
        })
    }
}

impl Snapshot {
    /// Evaluates a model and takes down its structure and what it gave. Activations are not kept.
    ///
    /// # Errors
    /// When the model cannot be evaluated on these inputs.
    pub fn record(model: &Model, inputs: &[GivenInput], options: &Options) -> Result<Self> {
        Self::record_with(model, inputs, options, &mut [])
    }

    /// The same with further observers of the evaluation.
    ///
    /// # Errors
    /// As [`Snapshot::record`], and when an observer stops the run.
    pub fn record_with(
        model: &Model,
        inputs: &[GivenInput],
        options: &Options,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Self> {
        let structure = Structure::of(model, options.full_layers);
        let trace = options.trace && !options.compiled;
        let mut recorder = Recorder::new(model, structure, options);
        let given = inputs.iter().map(|i| (i.index, i.tensor.clone()));
        let limits = &options.limits;
        let outputs = if options.compiled {
            let compile = CompileOptions {
                limits: limits.clone(),
                ..CompileOptions::default()
            };
            let mut request = model.compile(&compile)?.infer_request();
            request.infer_with(given, limits, observers)?
        } else {
            let own = trace.then_some(&mut recorder as &mut dyn Observer);
            model.evaluate_with(given, limits, &mut joined(own, observers))?
        };
        let (structure, projections) = (&recorder.structure, recorder.projections);
        let outputs = outputs.into_tensors();
        let outputs = outputs.iter().enumerate();
        let outputs = outputs.map(|(i, tensor)| output(model, structure, i, tensor, options.seed));
        let outputs: Vec<OutputRecord> = outputs.collect();
        let mut records: Vec<InputRecord> = Vec::new();
        for (index, terminal) in model.inputs().iter().enumerate() {
            let found = inputs.iter().find(|input| input.index == index);
            let input = found.ok_or_else(|| Error::new(Kind::Input, "an input has no value"))?;
            records.push(InputRecord {
                name: terminal.name().to_owned(),
                what: format!("{:?}", input.tensor),
                source: input.source.clone(),
                hash: Hash::of_tensor(&input.tensor),
            });
        }
        let (counts, full) = (structure.counts, structure.full);
        let exact = Self {
            seed: options.seed,
            bounds: options.bounds.clone(),
            counts,
            inputs: records,
            full,
            trace: trace.then_some(projections),
            layers: recorder.finish(),
            outputs,
        };
        // Numbers have the digits of the text, so that what was just taken and what was read are equal.
        exact.to_string().parse()
    }
}

/// What a layer of a body gave so far, in all iterations as if they were one tensor.
struct Seen {
    record: TensorRecord,
    sketch: Sketch,
    hash: Hash,
}

/// Counts the outputs of every layer.
struct Recorder<'m> {
    model: &'m Model,
    structure: Structure,
    place: Whereabouts,
    projections: usize,
    seed: u64,
    bounds: Bounds,
    /// By position of the layer.
    seen: HashMap<usize, Vec<Seen>>,
    /// The constants that layers take and the structure does not show, and what follows from
    /// constants, with their hashes when they are known.
    weights: HashMap<(usize, NodeId), Option<u64>>,
}

impl<'m> Recorder<'m> {
    fn new(model: &'m Model, structure: Structure, options: &Options) -> Self {
        let mut recorder = Self {
            model,
            structure,
            place: Whereabouts::new(model.graphs()),
            projections: 0,
            seed: options.seed,
            bounds: options.bounds.clone(),
            seen: HashMap::new(),
            weights: HashMap::new(),
        };
        recorder.weights = recorder.taken();
        let places = recorder.structure.places.iter().flatten();
        let traced = places
            .filter(|(graph, id)| recorder.is_traced(*graph, *id))
            .count();
        recorder.projections = options
            .projections
            .unwrap_or(if traced > 600 { 4 } else { 8 });
        recorder
    }

    /// What follows from constants is told by a hash of theirs, and what inference knows by the
    /// structure.
    fn is_traced(&self, graph: usize, id: NodeId) -> bool {
        let input = graph == 0 && self.model.graphs()[0].node(id).role() == Role::Parameter;
        !input
            && !self.structure.constant.contains(&(graph, id))
            && !is_known(self.model, graph, id)
    }

    fn taken(&self) -> HashMap<(usize, NodeId), Option<u64>> {
        let mut taken = HashMap::new();
        let constant = &self.structure.constant;
        for (graph, nodes) in self.model.graphs().iter().enumerate() {
            for (_, node) in nodes
                .nodes()
                .filter(|(id, _)| !constant.contains(&(graph, *id)))
            {
                for port in node.inputs() {
                    let inferred = self.model.inferred_in(graph, port.node).first();
                    let maker = nodes.node(port.node).op();
                    let stored = maker.is_some_and(|op| op.is_constant());
                    let shown = stored && inferred.is_some_and(is_shown);
                    if constant.contains(&(graph, port.node)) && !shown {
                        taken.insert((graph, port.node), None);
                    }
                }
            }
        }
        taken
    }

    fn see(&mut self, position: usize, outputs: &[Tensor]) {
        let name = self.structure.layers[position].name();
        let own = matches!(self.bounds.of(&name), super::bounds::Rule::Own(_));
        let (seed, projections) = (self.seed, self.projections);
        let seen = self.seen.entry(position).or_default();
        for (index, tensor) in outputs.iter().enumerate() {
            if seen.len() == index {
                seen.push(Seen {
                    record: TensorRecord {
                        index,
                        ..TensorRecord::default()
                    },
                    sketch: Sketch::new(seed, projections),
                    hash: Hash::new(),
                });
            }
            let seen = &mut seen[index];
            let statistics = Statistics::of(tensor);
            let record = &mut seen.record;
            let what = format!("{tensor:?}");
            if record.runs > 0 && record.what != what {
                record.what = format!("{}[…]", tensor.element_type());
            } else {
                record.what = what;
            }
            record.runs += 1;
            record.l2 = record.l2.hypot(statistics.l2);
            record.absolute_max = record.absolute_max.max(statistics.absolute_max);
            record.nan += statistics.nan;
            record.infinite += statistics.infinite();
            if is_exact(tensor.element_type()) && !own {
                let hash = Hash::of_tensor(tensor);
                seen.hash.add(&hash.to_le_bytes());
            } else {
                seen.sketch.extend(tensor);
            }
        }
    }

    /// The records of the layers.
    fn finish(self) -> Vec<super::snapshot::LayerRecord> {
        let mut layers = self.structure.layers;
        for (position, seen) in self.seen {
            let layer = &mut layers[position];
            let tensors = seen.into_iter().map(|seen| {
                let exact = seen.sketch.elements() == 0 && seen.record.runs > 0;
                let empty = exact && !is_exact_text(&seen.record.what);
                TensorRecord {
                    hash: (exact && !empty).then(|| seen.hash.finish()),
                    sketch: if exact {
                        Vec::new()
                    } else {
                        seen.sketch.sums().to_vec()
                    },
                    ..seen.record
                }
            });
            layer.tensors = tensors.collect();
            let Some((graph, id)) = self.structure.places[position] else {
                continue;
            };
            let mut hash = Hash::new();
            let mut any = false;
            for port in self.model.graphs()[graph].node(id).inputs() {
                if let Some(Some(weights)) = self.weights.get(&(graph, port.node)) {
                    hash.add(&weights.to_le_bytes());
                    any = true;
                }
            }
            #[allow(clippy::cast_possible_truncation)] // half of the hash is enough
            let weights = any.then(|| hash.finish() as u32);
            layer.weights = weights;
        }
        layers
    }
}

/// Whether tensors of a type are to be equal.
fn is_exact(ty: ElementType) -> bool {
    !(ty.is_float() || ty.is_complex())
}

/// The same of a type as it is written, with a shape behind it.
fn is_exact_text(what: &str) -> bool {
    let name = what.split('[').next().unwrap_or_default();
    name.parse().is_ok_and(is_exact)
}

impl Observer for Recorder<'_> {
    fn enter(&mut self, _: &Node, body: &Body, _: u64) {
        self.place.enter(body);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.place.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let Some((graph, id)) = self.place.find(node) else {
            return Control::Continue;
        };
        if self.structure.constant.contains(&(graph, id)) {
            if let Some(known @ None) = self.weights.get_mut(&(graph, id)) {
                let mut hash = Hash::new();
                for tensor in outputs {
                    hash.add(&Hash::of_tensor(tensor).to_le_bytes());
                }
                *known = Some(hash.finish());
            }
        } else if self.is_traced(graph, id)
            && let Some(&position) = self.structure.positions.get(&(graph, id))
        {
            self.see(position, outputs);
        }
        Control::Continue
    }
}

fn output(
    model: &Model,
    structure: &Structure,
    index: usize,
    tensor: &Tensor,
    seed: u64,
) -> OutputRecord {
    let terminal = &model.outputs()[index];
    let name = terminal.name();
    let result = model.graph().node(terminal.node);
    let maker = result
        .inputs()
        .first()
        .and_then(|p| structure.positions.get(&(0, p.node)));
    let statistics = Statistics::of(tensor);
    let exact = is_exact(tensor.element_type());
    let sketch = Sketch::of(tensor, seed, OUTPUT_PROJECTIONS);
    OutputRecord {
        name: if is_automatic(name) {
            String::new()
        } else {
            name.to_owned()
        },
        layer: maker.copied(),
        min: statistics.min,
        max: statistics.max,
        mean: statistics.mean,
        deviation: statistics.deviation,
        smallest: statistics.smallest,
        zeros: statistics.zeros,
        samples: samples(tensor, seed.wrapping_add(index as u64)),
        tensor: TensorRecord {
            index,
            what: format!("{tensor:?}"),
            runs: 1,
            l2: statistics.l2,
            absolute_max: statistics.absolute_max,
            nan: statistics.nan,
            infinite: statistics.infinite(),
            hash: exact.then(|| Hash::of_tensor(tensor)),
            sketch: if sketch.elements() > 0 {
                sketch.sums().to_vec()
            } else {
                Vec::new()
            },
        },
    }
}

/// A few elements at seeded positions.
fn samples(tensor: &Tensor, seed: u64) -> Vec<(u64, String)> {
    let count = tensor.len() as u64;
    let draw = |i: u64| {
        let random = crate::metrics::signs(!seed, i);
        #[allow(clippy::cast_possible_truncation)] // below the number of elements
        let at = ((u128::from(random) * u128::from(count)) >> 64) as u64;
        at
    };
    let mut at: Vec<u64> = match count {
        0..=SAMPLES => (0..count).collect(),
        _ => (0..SAMPLES).map(draw).collect(),
    };
    at.sort_unstable();
    at.dedup();
    at.into_iter()
        .filter_map(|at| Some((at, element(tensor, usize::try_from(at).ok()?)?)))
        .collect()
}

/// An element as text without spaces outside of quotes.
fn element(tensor: &Tensor, at: usize) -> Option<String> {
    let ty = tensor.element_type();
    if let Ok(strings) = tensor.as_strings() {
        let text = strings.get(at)?.to_str();
        let mut start: String = text.chars().take(MOST_CHARACTERS).collect();
        if start.len() < text.len() {
            start.push('…');
        }
        return Some(quote(&start));
    }
    if let Some(parts) = tensor.complex_parts() {
        let (re, im) = (element(&parts, 2 * at)?, element(&parts, 2 * at + 1)?);
        let plus = if im.starts_with('-') { "" } else { "+" };
        return Some(format!("{re}{plus}{im}j"));
    }
    if ty.is_float() {
        let mut x = [0f64];
        convert::widen(tensor, at, &mut x);
        let digits = if ty == ElementType::F64 { 15 } else { 8 };
        return Some(number(x[0], digits));
    }
    if ty == ElementType::U64 {
        return tensor.as_slice::<u64>().ok()?.get(at).map(u64::to_string);
    }
    let mut x = [0i64];
    convert::widen(tensor, at, &mut x);
    Some(x[0].to_string())
}
