//! Numbers of every layer of an evaluation: its time, its range, its error against another run.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use super::Failure;
use super::progress::Progress;
use super::sides::IN_MEMORY;
use crate::compare::{Keep, Names, Run, inputs_for};
use crate::draw::Quantity;
use crate::exec::{Control, Observer};
use crate::graph::{Body, Node};
use crate::limits::Limits;
use crate::metrics::{Difference, Statistics, Tolerance};
use crate::model::Model;
use crate::tensor::Tensor;

/// A number for each node of each graph.
type Numbers = Vec<Vec<Option<f64>>>;

/// A saved run, or that of another model on the same inputs.
pub(super) fn reference(
    path: &Path,
    model: &Model,
    given: &[(usize, Tensor)],
    limits: &Limits,
) -> Result<Run, Failure> {
    let is = |extension: &str| {
        let found = path.extension();
        found.is_some_and(|e| e.eq_ignore_ascii_case(extension))
    };
    if path.is_dir() || is("npz") || is("safetensors") {
        return Ok(Run::read(path, limits)?);
    }
    let other = Model::read_with(path, limits)?;
    other.check_supported()?;
    let inputs = inputs_for(model, &other, given)?;
    let keep = Keep {
        in_memory: IN_MEMORY,
        folder: None,
    };
    let mut progress = Progress::of_layers([&other]);
    let observers = &mut progress.observers();
    Ok(Run::of_model(
        &other,
        &inputs,
        Some(&keep),
        limits,
        observers,
    )?)
}

/// Measures every layer of an evaluation.
pub(super) struct Probe {
    limits: Limits,
    /// For each graph, the positions of layers by their ids.
    positions: Vec<HashMap<u64, usize>>,
    /// The names of the outputs of the model's graph.
    names: Vec<Vec<String>>,
    /// The graphs that are being evaluated, and when the layer there began.
    within: Vec<(usize, Instant)>,
    /// Seconds.
    pub(super) time: Numbers,
    /// Largest absolute values.
    pub(super) range: Numbers,
    /// Relative L2 errors.
    pub(super) error: Numbers,
    reference: Option<Run>,
    /// How many tensors were compared.
    pub(super) matched: usize,
    /// Why a tensor of the reference cannot be read.
    pub(super) failed: Option<crate::Error>,
}

impl Probe {
    pub(super) fn new(model: &Model, reference: Option<Run>, limits: &Limits) -> Self {
        let positions = model.graphs().iter().map(|graph| {
            let nodes = graph.nodes().filter(|(_, node)| node.id() != u64::MAX);
            nodes.map(|(id, node)| (node.id(), id.index())).collect()
        });
        let none: Numbers = model
            .graphs()
            .iter()
            .map(|graph| vec![None; graph.nodes().len()])
            .collect();
        Self {
            limits: limits.clone(),
            positions: positions.collect(),
            names: Names::new().of_model(model),
            within: vec![(0, Instant::now())],
            time: none.clone(),
            range: none.clone(),
            error: none,
            reference,
            matched: 0,
            failed: None,
        }
    }

    /// The largest error of the outputs of a layer that the reference has, too.
    fn compare(&mut self, at: usize, outputs: &[Tensor]) -> crate::Result<Option<f64>> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let mut worst: Option<f64> = None;
        for (index, tensor) in outputs.iter().enumerate() {
            let name = self.names.get(at).and_then(|names| names.get(index));
            let Some(other) = name.and_then(|name| reference.layer(name)) else {
                continue;
            };
            let other = other.load(&self.limits)?;
            let found = Difference::between(tensor, &other, &Tolerance::default());
            let Some(values) = found.values else {
                continue;
            };
            self.matched += 1;
            let error = match values.not_finite {
                0 => values.rel_l2,
                _ => f64::NAN,
            };
            worst = Some(worst.map_or(error, |w| Quantity::Error.join(w, error)));
        }
        Ok(worst)
    }
}

impl Observer for Probe {
    fn before(&mut self, _: &Node, _: &[&Tensor]) -> Control {
        if let Some(last) = self.within.last_mut() {
            last.1 = Instant::now();
        }
        Control::Continue
    }

    fn enter(&mut self, _: &Node, body: &Body, _: u64) {
        self.within.push((body.graph, Instant::now()));
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.within.pop();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let Some(&(graph, began)) = self.within.last() else {
            return Control::Continue;
        };
        let seconds = began.elapsed().as_secs_f64();
        let Some(&at) = self.positions[graph].get(&node.id()) else {
            return Control::Continue;
        };
        let join = |what: Quantity, number: &mut Option<f64>, value: f64| {
            *number = Some(number.map_or(value, |n| what.join(n, value)));
        };
        join(Quantity::Time, &mut self.time[graph][at], seconds);
        // Positions that are told beside values, as those of the largest elements, are no range.
        let real = |t: &Tensor| t.element_type().is_float();
        let values = outputs.iter().any(real);
        let told = outputs.iter().filter(|t| real(t) || !values);
        for statistics in told.map(Statistics::of) {
            let range = &mut self.range[graph][at];
            if statistics.nan > 0 {
                join(Quantity::Range, range, f64::NAN);
            } else if statistics.infinite() > 0 {
                join(Quantity::Range, range, f64::INFINITY);
            } else if statistics.finite > 0 {
                join(Quantity::Range, range, statistics.absolute_max);
            }
        }
        if graph == 0 {
            match self.compare(at, outputs) {
                Ok(error) => self.error[0][at] = error,
                Err(error) => {
                    self.failed = Some(error);
                    return Control::Stop;
                }
            }
        }
        Control::Continue
    }
}
