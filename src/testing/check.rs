//! Two snapshots held against each other.

use std::collections::HashMap;
use std::fmt;

use super::bounds::{Bound, Rule};
use super::snapshot::{OutputRecord, Snapshot, TensorRecord};
use super::text::line;
use super::words::number;
use crate::metrics::{Sketch, sketch_distance};

/// Lines of a list in a message; the rest are counted.
const MOST_LINES: usize = 12;

/// In what a model is not as it was recorded.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// What the structure lost (`-`) and gained (`+`), one line each.
    pub structure: Vec<String>,
    /// Inputs that are not those of the recording. Then values are not compared.
    pub inputs: Vec<String>,
    /// The layers whose outputs moved further than allowed, in order. None if the structure changed,
    /// or layers were not traced.
    pub layers: Vec<Moved>,
    /// The outputs that did.
    pub outputs: Vec<Moved>,
    /// How many layers were compared.
    pub compared: usize,
}

/// A tensor that is not as it was.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The layer's name or an output's.
    pub name: String,
    /// The operation and its version, such as `Convolution-1`.
    pub kind: String,
    /// Element type and shape, as `f32[1,3]`.
    pub what: String,
    /// What is different.
    pub reasons: Vec<String>,
    /// The estimated L2 distance, as a part of the recorded L2 norm.
    pub relative_l2: Option<f64>,
    /// For a layer: how far its inputs are from the recorded ones, at most.
    pub inputs: Option<Inputs>,
    /// For a layer with weights: whether they are other ones.
    pub weights_changed: Option<bool>,
}

/// What happened to the inputs of a layer that moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Inputs {
    /// None was seen to move.
    Same,
    /// They moved, at most by this part of their L2 norm, which is allowed.
    Within(f64),
    /// They moved further than allowed.
    Moved,
}

impl Snapshot {
    /// How another run differs from this one, by the bounds of this one.
    pub fn changes(&self, new: &Self) -> Changes {
        let mut changes = Changes {
            structure: self.structure_changes(new),
            ..Changes::default()
        };
        for old in &self.inputs {
            let given = new.inputs.iter().find(|new| new.name == old.name);
            if let Some(new) = given.filter(|new| new.what != old.what || new.hash != old.hash) {
                changes.inputs.push(format!(
                    "input \"{}\" was {} from `{}`, is {} from `{}`",
                    old.name, old.what, old.source, new.what, new.source
                ));
            }
        }
        if !changes.inputs.is_empty() {
            return changes;
        }
        if changes.structure.is_empty() && self.trace.is_some() && self.trace == new.trace {
            self.layer_changes(new, &mut changes);
        }
        // Of another structure the outputs that are still there tell how much it matters.
        for (index, old) in self.outputs.iter().enumerate() {
            let Some(new) = new.outputs.get(index) else {
                continue;
            };
            let found = match self.bounds.of(&old.name) {
                Rule::Skip => None,
                Rule::Default(bound) => output(old, new, bound, true),
                Rule::Own(bound) => output(old, new, bound, false),
            };
            changes.outputs.extend(found.map(|moved| Moved {
                name: old.label(index),
                ..moved
            }));
        }
        changes
    }

    fn structure_changes(&self, new: &Self) -> Vec<String> {
        let lines = |snapshot: &Self| -> Vec<String> {
            let inputs = snapshot
                .inputs
                .iter()
                .map(|i| format!("input \"{}\"", i.name));
            let layers = snapshot.layers.iter().map(line);
            let counts = snapshot.counts;
            let counts = format!(
                "model layers={} constants={} parameters={}",
                counts.layers, counts.constants, counts.parameters
            );
            let outputs = snapshot.outputs.iter().enumerate().map(|(index, output)| {
                let from = output.layer.and_then(|at| snapshot.layers.get(at));
                format!(
                    "{} from {}",
                    output.label(index),
                    from.map_or("", |l| &l.label)
                )
            });
            std::iter::once(counts)
                .chain(inputs)
                .chain(layers)
                .chain(outputs)
                .collect()
        };
        if self.full != new.full {
            return vec!["the layers are written in another form: record the snapshot anew".into()];
        }
        let (old, new) = (lines(self), lines(new));
        if old == new {
            Vec::new()
        } else {
            difference(&old, &new)
        }
    }

    fn layer_changes(&self, new: &Self, changes: &mut Changes) {
        let mut moved: Vec<Inputs> = Vec::with_capacity(self.layers.len());
        for (old, new) in self.layers.iter().zip(&new.layers) {
            // What was not traced passes on what its inputs did.
            let before = old.inputs.iter().filter_map(|&at| moved.get(at));
            let before = before.fold(Inputs::Same, |a, b| a.worse(*b));
            let rule = self.bounds.of(&old.name());
            let (Rule::Default(bound) | Rule::Own(bound)) = rule else {
                moved.push(before);
                continue;
            };
            let exact = matches!(rule, Rule::Default(_));
            let mut status = if old.tensors.is_empty() {
                before
            } else {
                Inputs::Same
            };
            changes.compared += usize::from(!old.tensors.is_empty());
            for (index, old_tensor) in old.tensors.iter().enumerate() {
                let Some(new_tensor) = new.tensors.get(index) else {
                    continue;
                };
                let found = tensor(old_tensor, new_tensor, bound, exact);
                if found.reasons.is_empty() {
                    status = status.worse(match found.relative_l2 {
                        Some(distance) if distance > 0.0 => Inputs::Within(distance),
                        _ => Inputs::Same,
                    });
                    continue;
                }
                status = Inputs::Moved;
                let several = old.tensors.len() > 1;
                let output = if several {
                    format!(", output {}", old_tensor.index)
                } else {
                    String::new()
                };
                let weights = old.weights.zip(new.weights);
                changes.layers.push(Moved {
                    name: format!("{}{output}", old.label),
                    kind: old.kind().to_owned(),
                    inputs: Some(before),
                    weights_changed: weights.map(|(old, new)| old != new),
                    ..found
                });
            }
            moved.push(status);
        }
    }
}

impl Inputs {
    fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Moved, _) | (_, Self::Moved) => Self::Moved,
            (Self::Within(a), Self::Within(b)) => Self::Within(a.max(b)),
            (Self::Within(a), Self::Same) | (Self::Same, Self::Within(a)) => Self::Within(a),
            (Self::Same, Self::Same) => Self::Same,
        }
    }
}

/// What lines were lost and gained, in their order.
fn difference(old: &[String], new: &[String]) -> Vec<String> {
    let count = |lines: &[String]| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        lines
            .iter()
            .for_each(|line| *counts.entry(line.clone()).or_default() += 1);
        counts
    };
    let only = |lines: &[String], mut others: HashMap<String, usize>, sign: &str| {
        let mut only = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            match others.get_mut(line).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => only.push((index, format!("{sign} {line}"))),
            }
        }
        only
    };
    let mut all = only(old, count(new), "-");
    all.extend(only(new, count(old), "+"));
    // Both lists share their beginnings, so positions put what belongs together side by side.
    all.sort_by_key(|(index, _)| *index);
    if all.is_empty() {
        return vec!["the same layers stand in another order".to_owned()];
    }
    all.into_iter().map(|(_, line)| line).collect()
}

/// How a tensor differs. `exact`: integers, booleans and strings are to be equal.
#[allow(clippy::cast_precision_loss)] // counts of elements
fn tensor(old: &TensorRecord, new: &TensorRecord, bound: Bound, exact: bool) -> Moved {
    let mut reasons = Vec::new();
    let mut relative_l2 = None;
    if old.what != new.what {
        reasons.push(format!("was {}, is {}", old.what, new.what));
    }
    for (name, old, new) in [
        ("NaN", old.nan, new.nan),
        ("infinite", old.infinite, new.infinite),
        ("evaluations", old.runs, new.runs),
    ] {
        if old != new {
            reasons.push(format!("{name} {old} → {new}"));
        }
    }
    if exact && old.hash.is_some() {
        if old.hash != new.hash && reasons.is_empty() {
            reasons.push("elements are other ones".to_owned());
        }
    } else if old.what == new.what {
        let apart = sketch_distance(&old.sketch, &new.sketch).unwrap_or(0.0);
        let norms = (old.l2 - new.l2).abs();
        let part = |x: f64| if x == 0.0 { 0.0 } else { x / old.l2 };
        relative_l2 = Some(part(apart.max(norms)));
        let allowed = bound.relative_l2 * old.l2 + bound.absolute * elements(&old.what).sqrt();
        // Not `>`: NaN is not allowed either.
        if !(apart <= allowed && norms <= allowed) {
            let error = 100.0 * Sketch::standard_error(old.sketch.len());
            let allowed = part(allowed);
            reasons.push(format!(
                "relative L2 distance {} (estimated to {error:.0} %), allowed {}; L2 {} → {}",
                number(part(apart.max(norms)), 3),
                number(allowed, 3),
                number(old.l2, 7),
                number(new.l2, 7)
            ));
        }
        element(
            "largest magnitude",
            Some(old.absolute_max),
            Some(new.absolute_max),
            old,
            bound,
        )
        .into_iter()
        .for_each(|reason| reasons.push(reason));
    }
    Moved {
        name: String::new(),
        kind: String::new(),
        what: old.what.clone(),
        reasons,
        relative_l2,
        inputs: None,
        weights_changed: None,
    }
}

/// The elements of a tensor as it is written; 1 if that does not tell.
fn elements(what: &str) -> f64 {
    let dims = what
        .split_once('[')
        .map_or("", |(_, dims)| dims.trim_end_matches(']'));
    let sizes = dims
        .split(',')
        .filter(|d| !d.is_empty())
        .map(|d| d.parse::<f64>().unwrap_or(1.0));
    sizes.product::<f64>().max(1.0)
}

fn element(
    name: &str,
    old: Option<f64>,
    new: Option<f64>,
    tensor: &TensorRecord,
    bound: Bound,
) -> Option<String> {
    let allowed = bound.element * tensor.absolute_max + bound.absolute;
    let near = match (old, new) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= allowed || a.is_nan() && b.is_nan(),
        (None, None) => true,
        _ => false,
    };
    let text = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| number(x, 7));
    (!near).then(|| {
        format!(
            "{name} {} → {}, allowed ±{}",
            text(old),
            text(new),
            number(allowed, 2)
        )
    })
}

fn output(old: &OutputRecord, new: &OutputRecord, bound: Bound, exact: bool) -> Option<Moved> {
    let mut found = tensor(&old.tensor, &new.tensor, bound, exact);
    if old.tensor.what == new.tensor.what && !(exact && old.tensor.hash.is_some()) {
        let mut check = |name: &str, old_number, new_number| {
            let reason = element(name, old_number, new_number, &old.tensor, bound);
            found.reasons.extend(reason);
        };
        check("min", old.min, new.min);
        check("max", old.max, new.max);
        for ((at, a), (_, b)) in old.samples.iter().zip(&new.samples) {
            if a != b {
                // Complex numbers are left to the sketch.
                if let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) {
                    check(&format!("element {at}"), Some(x), Some(y));
                }
            }
        }
    } else if let Some(((at, a), (_, b))) = old
        .samples
        .iter()
        .zip(&new.samples)
        .find(|(a, b)| a.1 != b.1)
        && old.tensor.what == new.tensor.what
    {
        found.reasons.push(format!("element {at} {a} → {b}"));
    }
    (!found.reasons.is_empty()).then_some(found)
}

impl Changes {
    /// Whether nothing changed further than allowed.
    pub fn is_empty(&self) -> bool {
        let Self {
            structure,
            inputs,
            layers,
            outputs,
            ..
        } = self;
        structure.is_empty() && inputs.is_empty() && layers.is_empty() && outputs.is_empty()
    }

    /// The first layer that moved: all before it are as they were.
    pub fn first(&self) -> Option<&Moved> {
        self.layers.first()
    }
}

impl Moved {
    /// Why it moved, as far as a snapshot can tell.
    fn cause(&self) -> Option<String> {
        let own = match self.weights_changed {
            Some(true) => "its weights are other ones",
            _ => "this layer changed",
        };
        Some(match self.inputs? {
            Inputs::Same => format!("its inputs are unchanged: {own}"),
            Inputs::Within(part) => format!(
                "its inputs moved by {} of their L2 norm at most, which is allowed: {own}, or it makes \
                 small differences large",
                number(part, 2)
            ),
            Inputs::Moved => "its inputs moved too".to_owned(),
        })
    }
}

fn list(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    for line in lines.iter().take(MOST_LINES) {
        writeln!(f, "  {}", crate::error::one_line(line))?;
    }
    match lines.len().saturating_sub(MOST_LINES) {
        0 => Ok(()),
        more => writeln!(f, "  … and {more} more"),
    }
}

impl fmt::Display for Changes {
    /// What a reader wants first: the cause, then how far it reaches.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.inputs.is_empty() {
            writeln!(
                f,
                "the inputs are not those of the snapshot, values are not compared:"
            )?;
            list(f, &self.inputs)?;
        }
        if !self.structure.is_empty() {
            writeln!(f, "the structure changed ({} lines):", self.structure.len())?;
            list(f, &self.structure)?;
        }
        if let Some(first) = self.first() {
            writeln!(
                f,
                "first moved: layer {} ({}) {}",
                first.name, first.kind, first.what
            )?;
            list(f, &first.reasons)?;
            if let Some(cause) = first.cause() {
                writeln!(f, "  {cause}")?;
            }
            match self.layers.len() - 1 {
                0 => writeln!(f, "no other of {} layers moved", self.compared)?,
                1 => writeln!(f, "then 1 other of {} layers", self.compared)?,
                more => writeln!(f, "then {more} others of {} layers", self.compared)?,
            }
        }
        for moved in &self.outputs {
            writeln!(f, "{} {} moved:", moved.name, moved.what)?;
            list(f, &moved.reasons)?;
        }
        Ok(())
    }
}
