//! Snapshots as text that people review.

use std::fmt::{self, Write};

use super::snapshot::{LayerRecord, OutputRecord, Snapshot, TensorRecord};
use super::words::{number, quote, sums};

/// The first line.
pub(super) const TITLE: &str = "ovir snapshot 1";
/// Digits of the sums of an output's sketch: of their small difference some must be left.
const OUTPUT_DIGITS: usize = 13;
/// Digits of those of a layer: distances below 1e-8 of its L2 norm are not seen.
const LAYER_DIGITS: usize = 9;
/// Digits of other numbers.
const DIGITS: usize = 8;

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head())?;
        for layer in &self.layers {
            writeln!(f, "{}", line(layer))?;
            for (at, tensor) in layer.tensors.iter().enumerate() {
                let weights = layer.weights.filter(|_| at == 0);
                writeln!(f, "  {}", traced(tensor, layer, weights))?;
            }
        }
        for (index, output) in self.outputs.iter().enumerate() {
            writeln!(f)?;
            f.write_str(&self.output(index, output))?;
        }
        Ok(())
    }
}

impl Snapshot {
    fn head(&self) -> String {
        let mut out = format!("{TITLE}\n");
        let counts = &self.counts;
        let _ = writeln!(
            out,
            "model layers={} constants={} parameters={}",
            counts.layers, counts.constants, counts.parameters
        );
        let _ = writeln!(out, "seed {}", self.seed);
        self.bounds.write(&mut out);
        for input in &self.inputs {
            let (name, source) = (quote(&input.name), quote(&input.source));
            let _ = writeln!(
                out,
                "input {name} {} {source} {:016x}",
                input.what, input.hash
            );
        }
        let form = if self.full { "full" } else { "hashed" };
        let _ = match self.trace {
            None => writeln!(out, "\nlayers {form}"),
            Some(projections) => writeln!(out, "\nlayers {form} trace={projections}"),
        };
        out
    }

    fn output(&self, index: usize, output: &OutputRecord) -> String {
        let tensor = &output.tensor;
        let mut out = format!("output {index} {} {}", quote(&output.name), tensor.what);
        if let Some(layer) = output.layer.and_then(|layer| self.layers.get(layer)) {
            let _ = write!(out, " from {}", layer.label);
        }
        let optional = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| number(x, DIGITS));
        let _ = write!(
            out,
            "\n  min={} max={} mean={} deviation={} l2={} absmax={} smallest={} zeros={} nan={} inf={}",
            optional(output.min),
            optional(output.max),
            number(output.mean, DIGITS),
            number(output.deviation, DIGITS),
            number(tensor.l2, LAYER_DIGITS),
            number(tensor.absolute_max, DIGITS),
            optional(output.smallest),
            output.zeros,
            tensor.nan,
            tensor.infinite
        );
        if let Some(hash) = tensor.hash {
            let _ = write!(out, "\n  hash {hash:016x}");
        }
        if !output.samples.is_empty() {
            out.push_str("\n  samples");
            for (at, element) in &output.samples {
                let _ = write!(out, " {at}:{element}");
            }
        }
        if !tensor.sketch.is_empty() {
            let _ = write!(out, "\n  sketch {}", sums(&tensor.sketch, OUTPUT_DIGITS));
        }
        out.push('\n');
        out
    }
}

/// The line of a layer: what is compared as text.
pub(super) fn line(layer: &LayerRecord) -> String {
    format!("{} {}", layer.label, layer.text)
}

/// What a layer's outputs are inferred to be, as its line says.
pub(super) fn inferred(text: &str) -> Vec<&str> {
    text.rsplit_once(" -> ")
        .map_or_else(Vec::new, |(_, types)| types.split(", ").collect())
}

/// The line of one of a layer's outputs. What is usual is left out.
fn traced(tensor: &TensorRecord, layer: &LayerRecord, weights: Option<u32>) -> String {
    let mut out = String::new();
    if tensor.index > 0 {
        let _ = write!(out, ".{} ", tensor.index);
    }
    if inferred(&layer.text).get(tensor.index) != Some(&tensor.what.as_str()) {
        let _ = write!(out, "{} ", tensor.what);
    }
    let (l2, most) = (
        number(tensor.l2, LAYER_DIGITS),
        number(tensor.absolute_max, 5),
    );
    let _ = write!(out, "l2={l2} max={most}");
    for (name, count) in [("nan", tensor.nan), ("inf", tensor.infinite)] {
        if count > 0 {
            let _ = write!(out, " {name}={count}");
        }
    }
    if tensor.runs != 1 {
        let _ = write!(out, " runs={}", tensor.runs);
    }
    if let Some(weights) = weights {
        let _ = write!(out, " weights={weights:08x}");
    }
    if let Some(hash) = tensor.hash {
        let _ = write!(out, " hash={hash:016x}");
    }
    if !tensor.sketch.is_empty() {
        let _ = write!(out, " | {}", sums(&tensor.sketch, LAYER_DIGITS));
    }
    out
}
