//! Snapshots read from their text, with errors by line.

use std::collections::HashMap;
use std::str::FromStr;

use super::bounds::Bounds;
use super::snapshot::{Counts, InputRecord, LayerRecord, OutputRecord, Snapshot, TensorRecord};
use super::text::{TITLE, inferred};
use super::words::{read_sums, unquote, word};
use crate::error::{Error, Kind, plain};

/// What is wrong with a line.
type Wrong = String;

impl FromStr for Snapshot {
    type Err = Error;

    /// Reads the text of a snapshot.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut reader = Reader::default();
        let mut last = 0;
        for (index, line) in text.lines().enumerate() {
            last = index + 1;
            reader
                .line(line.trim_end())
                .map_err(|wrong| at(last, &wrong))?;
        }
        reader.finish().map_err(|wrong| at(last, &wrong))
    }
}

fn at(line: usize, wrong: &str) -> Error {
    Error::new(Kind::Input, format!("line {line}: {wrong}"))
}

#[derive(Default)]
struct Reader {
    snapshot: Option<Snapshot>,
    part: Part,
    /// The positions of layers by label.
    labels: HashMap<String, usize>,
    /// The layer each output comes from.
    makers: Vec<Option<String>>,
}

#[derive(Default, PartialEq)]
enum Part {
    #[default]
    Head,
    Layers,
    Outputs,
}

fn expected<T>(found: Option<T>, what: &str, text: &str) -> Result<T, Wrong> {
    found.ok_or_else(|| format!("expected {what}, found `{}`", plain(text)))
}

fn hex<T>(text: &str, read: impl Fn(&str, u32) -> Result<T, std::num::ParseIntError>) -> Option<T> {
    read(text, 16).ok()
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let Some(snapshot) = &mut self.snapshot else {
            if line != TITLE {
                return Err(format!("expected `{TITLE}`, found `{}`", plain(line)));
            }
            self.snapshot = Some(Snapshot {
                seed: 0,
                bounds: Bounds::default(),
                counts: Counts::default(),
                inputs: Vec::new(),
                full: true,
                trace: None,
                layers: Vec::new(),
                outputs: Vec::new(),
            });
            return Ok(());
        };
        if line.is_empty() {
            return Ok(());
        }
        let (first, rest) = word(line);
        match first {
            "model" if self.part == Part::Head => {
                for (key, value) in settings(rest) {
                    let number = expected(value.parse::<u64>().ok(), "a number", value)?;
                    let size = usize::try_from(number).unwrap_or(usize::MAX);
                    match key {
                        "layers" => snapshot.counts.layers = size,
                        "constants" => snapshot.counts.constants = size,
                        "parameters" => snapshot.counts.parameters = number,
                        _ => return Err(format!("there is no count `{}`", plain(key))),
                    }
                }
            }
            "seed" if self.part == Part::Head => {
                snapshot.seed = expected(rest.parse().ok(), "a seed", rest)?;
            }
            "tolerance" if self.part == Part::Head => {
                snapshot
                    .bounds
                    .read(rest)
                    .map_err(|e| e.message().to_owned())?;
            }
            "input" if self.part == Part::Head => {
                snapshot
                    .inputs
                    .push(expected(input(rest), "an input", line)?);
            }
            "layers" if self.part == Part::Head => {
                self.part = Part::Layers;
                let (form, trace) = word(rest);
                snapshot.full = match form {
                    "full" => true,
                    "hashed" => false,
                    _ => return expected(None, "`full` or `hashed`", form),
                };
                if !trace.is_empty() {
                    let number = trace.strip_prefix("trace=").and_then(|n| n.parse().ok());
                    snapshot.trace = Some(expected(number, "`trace=` and a number", trace)?);
                }
            }
            "output" if self.part != Part::Head => {
                self.part = Part::Outputs;
                let (record, maker) = expected(output(rest), "an output", line)?;
                if record.tensor.index != snapshot.outputs.len() {
                    return Err(format!("output {} is out of order", record.tensor.index));
                }
                snapshot.outputs.push(record);
                self.makers.push(maker);
            }
            "" => {
                let details = line.trim_start();
                match (
                    &self.part,
                    snapshot.layers.last_mut(),
                    snapshot.outputs.last_mut(),
                ) {
                    (Part::Layers, Some(layer), _) => {
                        let (tensor, weights) = traced(details, layer)?;
                        layer.tensors.push(tensor);
                        layer.weights = layer.weights.or(weights);
                    }
                    (Part::Outputs, _, Some(output)) => self::details(details, output)?,
                    _ => return Err("there is nothing that this line says more about".to_owned()),
                }
            }
            _ if self.part == Part::Layers => {
                let (label, text) = expected(label(line), "a layer", line)?;
                let position = snapshot.layers.len();
                let inputs = match snapshot.full {
                    true => arguments(&self.labels, &label, &text),
                    false => backwards(&text, position),
                };
                let inputs = inputs?;
                if self.labels.insert(label.clone(), position).is_some() {
                    return Err(format!("there are two layers {}", plain(&label)));
                }
                snapshot.layers.push(LayerRecord {
                    label,
                    text,
                    inputs,
                    weights: None,
                    tensors: Vec::new(),
                });
            }
            _ => return Err(format!("unexpected `{}`", plain(first))),
        }
        Ok(())
    }

    fn finish(self) -> Result<Snapshot, Wrong> {
        let mut snapshot = self.snapshot.ok_or("there is no snapshot in the text")?;
        if self.part == Part::Head {
            return Err("the layers are missing".to_owned());
        }
        for (output, maker) in snapshot.outputs.iter_mut().zip(self.makers) {
            if let Some(maker) = maker {
                let found = self.labels.get(&maker).copied();
                let found = found.ok_or_else(|| format!("there is no layer {}", plain(&maker)))?;
                output.layer = Some(found);
            }
        }
        // What goes into a body is what its layer takes, which stands behind it.
        let mut scopes: HashMap<String, Vec<usize>> = HashMap::new();
        for index in 0..snapshot.layers.len() {
            let layer = &snapshot.layers[index];
            let Some((scope, name)) = body_of(&layer.label, &layer.text) else {
                continue;
            };
            let holder = self
                .labels
                .get(&name)
                .map(|&at| snapshot.layers[at].inputs.clone());
            let holder = holder.ok_or_else(|| format!("there is no layer {}", plain(&name)))?;
            scopes.insert(scope, holder.clone());
            snapshot.layers[index].inputs = holder;
        }
        for layer in &mut snapshot.layers {
            let scope = layer
                .label
                .strip_prefix('@')
                .and_then(|l| l.split_once(' '));
            let inside = scope.and_then(|(scope, _)| scopes.get(scope));
            if let Some(inputs) = inside.filter(|_| layer.kind().starts_with("Parameter-")) {
                layer.inputs.clone_from(inputs);
            }
        }
        Ok(snapshot)
    }
}

/// The positions of the layers that a line in full names between its parentheses.
fn arguments(
    labels: &HashMap<String, usize>,
    label: &str,
    text: &str,
) -> Result<Vec<usize>, Wrong> {
    let mut inputs = Vec::new();
    let scope = label.strip_prefix('@').and_then(|l| l.split_once(' '));
    let scope = scope.map_or(String::new(), |(scope, _)| format!("@{scope} "));
    let (_, rest) = word(text);
    let Some(mut rest) = rest.strip_prefix('(') else {
        return Ok(inputs);
    };
    while !rest.is_empty() && !rest.starts_with(')') {
        let end;
        let name = if rest.starts_with('"') {
            let (_, after) = expected(unquote(rest), "the end of a name", rest)?;
            end = rest.len() - after.len();
            Some(&rest[..end])
        } else {
            end = rest.find([',', ')', '{', '[']).unwrap_or(rest.len());
            // Types and numbers; behind the number there may be that of the output.
            let dots = |name: &str| name.match_indices('.').map(|(at, _)| at).nth(1);
            let name = Some(&rest[..end]).filter(|name| name.starts_with('#'));
            name.map(|name| &name[..dots(name).unwrap_or(name.len())])
        };
        if let Some(name) = name {
            let found = labels.get(&format!("{scope}{name}"));
            let found = found.ok_or_else(|| format!("no layer {} stands above", plain(name)))?;
            inputs.push(*found);
        }
        // Shapes and lists of numbers have commas of their own, but no spaces.
        rest = match next_argument(&rest[end..]) {
            Some(next) => next,
            None => break,
        };
    }
    Ok(inputs)
}

/// The number of the body that a line begins, and the label of the layer that has it.
fn body_of(label: &str, text: &str) -> Option<(String, String)> {
    let (_, rest) = text
        .split_once(" of ")
        .filter(|(tag, _)| tag.ends_with("body"))?;
    let (name, _) = word(rest);
    let own = label.rsplit_once('@')?;
    // The body of a layer in a body stands in that one.
    Some((own.1.to_owned(), format!("{}{name}", own.0)))
}

fn next_argument(text: &str) -> Option<&str> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ')' if !quoted => return None,
            ',' if !quoted && text[at + 1..].starts_with(' ') => return Some(&text[at + 2..]),
            _ => {}
        }
    }
    None
}

fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_whitespace()
        .map(|s| s.split_once('=').unwrap_or((s, "")))
}

fn input(text: &str) -> Option<InputRecord> {
    let (name, rest) = unquote(text)?;
    let (what, rest) = word(rest.trim_start());
    let (source, rest) = unquote(rest)?;
    let hash = hex(rest.trim(), u64::from_str_radix)?;
    Some(InputRecord {
        name,
        what: what.to_owned(),
        source,
        hash,
    })
}

fn output(text: &str) -> Option<(OutputRecord, Option<String>)> {
    let (index, rest) = word(text);
    let (name, rest) = unquote(rest)?;
    let (what, rest) = word(rest.trim_start());
    let maker = rest.strip_prefix("from ").map(str::to_owned);
    let tensor = TensorRecord {
        index: index.parse().ok()?,
        what: what.to_owned(),
        runs: 1,
        ..TensorRecord::default()
    };
    let record = OutputRecord {
        name,
        tensor,
        ..OutputRecord::default()
    };
    Some((record, maker))
}

/// The label of a layer's line, and the rest.
fn label(line: &str) -> Option<(String, String)> {
    let (mut end, mut rest) = (0, line);
    while rest.starts_with('@') {
        let (scope, after) = word(rest);
        end += scope.len() + 1;
        rest = after;
    }
    let (name, text) = word(rest);
    if name.starts_with(['"', '#']) {
        return Some((line[..end + name.len()].to_owned(), text.to_owned()));
    }
    // The beginning of a body has no name.
    (end > 0).then(|| (line[..end - 1].to_owned(), rest.to_owned()))
}

/// The layers a hashed line points back to.
fn backwards(text: &str, position: usize) -> Result<Vec<usize>, Wrong> {
    let words = text.split(' ').take_while(|w| *w != "->");
    let back = words.filter_map(|w| w.strip_prefix('^'));
    back.map(|number| {
        let back = number.parse().ok().filter(|&n| n > 0);
        let found = back.and_then(|n| position.checked_sub(n));
        expected(found, "the number of a line above", number)
    })
    .collect()
}

fn traced(text: &str, layer: &LayerRecord) -> Result<(TensorRecord, Option<u32>), Wrong> {
    let (numbers, sums) = text.split_once(" | ").unwrap_or((text, ""));
    let mut tensor = TensorRecord {
        runs: 1,
        ..TensorRecord::default()
    };
    let mut weights = None;
    tensor.sketch = expected(read_sums(sums), "the sums of a sketch", sums)?;
    for setting in numbers.split(' ') {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        let wrong = "a number";
        match key {
            "l2" => tensor.l2 = expected(value.parse().ok(), wrong, setting)?,
            "max" => tensor.absolute_max = expected(value.parse().ok(), wrong, setting)?,
            "nan" => tensor.nan = expected(value.parse().ok(), wrong, setting)?,
            "inf" => tensor.infinite = expected(value.parse().ok(), wrong, setting)?,
            "runs" => tensor.runs = expected(value.parse().ok(), wrong, setting)?,
            "weights" => weights = Some(expected(hex(value, u32::from_str_radix), wrong, setting)?),
            "hash" => {
                tensor.hash = Some(expected(hex(value, u64::from_str_radix), wrong, setting)?);
            }
            key if key.starts_with('.') => {
                tensor.index = expected(key[1..].parse().ok(), wrong, setting)?;
            }
            key if key.contains('[') => tensor.what = key.to_owned(),
            _ => return Err(format!("unexpected `{}`", plain(setting))),
        }
    }
    if tensor.what.is_empty() {
        let what = inferred(&layer.text).get(tensor.index).copied();
        tensor.what = expected(what, "an output of the layer", text)?.to_owned();
    }
    Ok((tensor, weights))
}

fn details(text: &str, output: &mut OutputRecord) -> Result<(), Wrong> {
    let (first, rest) = word(text);
    let tensor = &mut output.tensor;
    match first {
        "hash" => {
            let hash = hex(rest, u64::from_str_radix);
            tensor.hash = Some(expected(hash, "a hash", rest)?);
        }
        "sketch" => tensor.sketch = expected(read_sums(rest), "the sums of a sketch", rest)?,
        "samples" => {
            let mut rest = rest;
            while !rest.is_empty() {
                let (sample, after) = word(rest);
                let split = sample.split_once(':');
                let read = split.and_then(|(at, text)| Some((at.parse().ok()?, text.to_owned())));
                output
                    .samples
                    .push(expected(read, "POSITION:ELEMENT", sample)?);
                rest = after;
            }
        }
        _ => {
            for (key, value) in settings(text) {
                let number = || expected(value.parse::<f64>().ok(), "a number", value);
                let count = || expected(value.parse::<u64>().ok(), "a count", value);
                let optional = || match value {
                    "none" => Ok(None),
                    _ => number().map(Some),
                };
                match key {
                    "min" => output.min = optional()?,
                    "max" => output.max = optional()?,
                    "mean" => output.mean = number()?,
                    "deviation" => output.deviation = number()?,
                    "l2" => tensor.l2 = number()?,
                    "absmax" => tensor.absolute_max = number()?,
                    "smallest" => output.smallest = optional()?,
                    "zeros" => output.zeros = count()?,
                    "nan" => tensor.nan = count()?,
                    "inf" => tensor.infinite = count()?,
                    _ => return Err(format!("unexpected `{}`", plain(key))),
                }
            }
        }
    }
    Ok(())
}
