//! `ovir extract`

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::select::{GRAMMAR, Selector};
use super::table::{Table, bytes, grouped};
use super::{Failure, ModelArg, Outcome, inputs, print_json, shown};
use crate::edit::{self, Values};
use crate::error::Error;
use crate::graph::{Graph, NodeId, Port};
use crate::model::Model;
use crate::tensor::Tensor;

#[derive(Debug, clap::Args)]
#[command(after_long_help = GRAMMAR)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The first layers of the part: what comes into them becomes an input; or names of tensors that
    /// become inputs [default: from the model's inputs on]
    ///
    /// Constants, and what follows from them alone, come along. Where another way leads to the last
    /// layers, the part begins with the model's inputs there.
    #[arg(long, value_name = "SELECTOR", num_args = 1..)]
    from: Vec<String>,
    /// The last layers of the part, whose values become outputs; or names of tensors [default: the
    /// model's outputs that depend on the first layers]
    #[arg(long, value_name = "SELECTOR", num_args = 1..)]
    to: Vec<String>,
    /// Where to write the part; the constants go beside it, with the extension .bin
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Evaluate the whole model on the inputs given by -i, and write what comes into the part to this
    /// .npz file: `ovir eval part.xml -i FILE` evaluates the part on it
    #[arg(long, value_name = "FILE")]
    with_inputs: Option<PathBuf>,
    /// The value of an input of the whole model, by name or by index; or one file for all inputs (see
    /// `ovir help eval`)
    #[arg(
        short,
        long = "input",
        value_name = "NAME=VALUE|FILE",
        requires = "with_inputs"
    )]
    inputs: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.model.limits.begin()?;
    if let Some(path) = &args.with_inputs {
        expect_npz(path)?;
    }
    let model = Model::read_with(&args.model.model, &limits)?;
    let (from, first) = first_values(&model, &args.from)?;
    let to = match args.to.is_empty() {
        true => dependent_outputs(model.graph(), &first),
        false => last_values(&model, &args.to)?,
    };
    let cut = model.cut_between(&from, &to)?;
    let values = match &args.with_inputs {
        Some(path) => {
            model.check_supported()?;
            let given = inputs::read(&model, &args.inputs, &limits)?;
            let values = Values::of(&model, given, &limits, cut.inputs.iter().copied())?;
            let tensors = cut.inputs.iter().map(|&port| values.get(&model, port));
            Some((path, tensors.collect::<Result<Vec<Tensor>, Error>>()?))
        }
        None => None,
    };
    cut.model.write(&args.output)?;
    if let Some((path, tensors)) = &values {
        edit::write_named(path, cut.model.inputs(), tensors)?;
    }
    let part = Part {
        args,
        model: &model,
        cut: &cut,
        weights: std::fs::metadata(args.output.with_extension("bin")).map_or(0, |m| m.len()),
    };
    match args.json {
        true => print_json(out, "extract/1", part.to_json()),
        false => part.print(out),
    }
}

/// An .npz file is what all inputs fit in.
pub(super) fn expect_npz(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default();
    if extension.eq_ignore_ascii_case("npz") {
        return Ok(());
    }
    let message = format!("inputs are written to an .npz file, not to {}", shown(path));
    Err(Failure::Usage(message))
}

/// The layers that selectors mean, each of which means one at least; the name of a tensor that no
/// layer has means that tensor.
fn selected(model: &Model, selectors: &[String]) -> Result<(Vec<NodeId>, Vec<Port>), Failure> {
    let graph = model.graph();
    let (mut layers, mut tensors) = (Vec::new(), Vec::new());
    for text in selectors {
        if graph.find(text).is_none()
            && let Some(port) = edit::find_tensor(graph, text)
        {
            tensors.push(port);
            continue;
        }
        let before = layers.len();
        let meant = Selector::parse(text)?.layers(model.graphs())?;
        layers.extend(meant.into_iter().filter(|(g, _)| *g == 0).map(|(_, id)| id));
        if layers.len() == before {
            let message =
                format!("`{text}` is in a body; parts are cut out of the model's own graph");
            return Err(Failure::Usage(message));
        }
    }
    layers.sort_unstable();
    layers.dedup();
    Ok((layers, tensors))
}

/// The values that come into the first layers, and the layers.
fn first_values(model: &Model, selectors: &[String]) -> Result<(Vec<Port>, Vec<NodeId>), Failure> {
    let (layers, mut ports) = selected(model, selectors)?;
    let varying = edit::varying(model.graph());
    for &layer in &layers {
        for port in model.varying_inputs(&varying, layer) {
            let inside = layers.binary_search(&port.node).is_ok();
            if !inside && !ports.contains(&port) {
                ports.push(port);
            }
        }
    }
    let tensors = ports.iter().map(|port| port.node);
    let first = layers.iter().copied().chain(tensors).collect();
    Ok((ports, first))
}

/// The values that leave the last layers.
fn last_values(model: &Model, selectors: &[String]) -> Result<Vec<Port>, Failure> {
    let graph = model.graph();
    let (layers, mut ports) = selected(model, selectors)?;
    for &layer in &layers {
        let inside = graph
            .consumers(layer)
            .any(|(id, _)| layers.binary_search(&id).is_ok());
        if !inside {
            let outputs = model.inferred(layer).len();
            ports.extend((0..outputs).map(|index| Port::new(layer, index)));
        }
    }
    Ok(ports)
}

/// The outputs of the model that depend on any of these layers; all without any.
fn dependent_outputs(graph: &Graph, layers: &[NodeId]) -> Vec<Port> {
    let mut depends = vec![layers.is_empty(); graph.nodes().len()];
    for (id, node) in graph.nodes() {
        depends[id.index()] |=
            layers.contains(&id) || node.inputs().iter().any(|port| depends[port.node.index()]);
    }
    let outputs = graph.outputs().iter().map(|output| output.node);
    outputs
        .filter(|node| depends[node.index()])
        .map(|node| Port::new(node, 0))
        .collect()
}

/// What was cut out.
struct Part<'a> {
    args: &'a Args,
    model: &'a Model,
    cut: &'a edit::Cut,
    weights: u64,
}

impl Part<'_> {
    fn ends(&self) -> impl Iterator<Item = (&'static str, String, String, String)> {
        let graph = self.model.graph();
        let part = &self.cut.model;
        let inputs = part.inputs().iter().enumerate().map(move |(index, input)| {
            let layer = graph.node(self.cut.inputs[index].node).name().to_owned();
            let ty = part.input_type(index).map(ToString::to_string);
            (
                "input",
                input.name().to_owned(),
                ty.unwrap_or_default(),
                layer,
            )
        });
        let outputs = part
            .outputs()
            .iter()
            .enumerate()
            .map(move |(index, output)| {
                let from = part.graph().node(output.node).inputs().first();
                let layer = from.map_or("", |port| part.graph().node(port.node).name());
                let ty = part.output_type(index).map(ToString::to_string);
                let ty = ty.unwrap_or_default();
                ("output", output.name().to_owned(), ty, layer.to_owned())
            });
        inputs.chain(outputs)
    }

    fn print(&self, out: &mut dyn Write) -> Outcome {
        let mut table = Table::new(0, &[false, false, false, false]);
        for (end, name, ty, layer) in self.ends() {
            let layer = match layer == name {
                true => String::new(),
                false => format!("of layer {layer}"),
            };
            table.row([end.to_owned(), name, ty, layer]);
        }
        table.print(out)?;
        writeln!(
            out,
            "wrote {}: {} of {} layers, {} of constants",
            shown(&self.args.output),
            grouped(edit::layers(&self.cut.model) as u64),
            grouped(edit::layers(self.model) as u64),
            bytes(self.weights)
        )?;
        if let Some(path) = &self.args.with_inputs {
            writeln!(out, "wrote {}: what comes into the part", shown(path))?;
        }
        Ok(())
    }

    fn to_json(&self) -> serde_json::Value {
        let list = |wanted: &str| -> Vec<_> {
            let ends = self.ends().filter(|(end, ..)| *end == wanted);
            ends.map(|(_, name, ty, layer)| json!({ "name": name, "type": ty, "layer": layer }))
                .collect()
        };
        json!({
            "model": self.args.output,
            "layers": edit::layers(&self.cut.model),
            "layers_before": edit::layers(self.model),
            "weights_bytes": self.weights,
            "inputs": list("input"),
            "outputs": list("output"),
            "with_inputs": self.args.with_inputs,
        })
    }
}
