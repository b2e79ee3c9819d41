//! `ovir memory`

use std::io::Write;

use serde_json::{Value, json};

use super::progress::Progress;
use super::shapes::reshaped;
use super::table::{Table, bar, bytes, grouped};
use super::{Failure, ModelArg, Outcome, inputs, print_json, shown};
use crate::exec::Observer;
use crate::exec::lifetimes::{Alive, Lifetimes, Memory};
use crate::graph::NodeId;
use crate::model::Model;

/// Rows of the chart.
const MOST_BINS: usize = 20;

/// Tensors of the table, unless other many are asked for.
const MOST_TENSORS: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, as `ovir eval` takes it: the model is evaluated and what it keeps is
    /// measured; inputs without a value are random. Without -i, the shapes alone are counted where
    /// they are all known
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// Count for this shape of an input, such as `x=1,3,224,224`
    #[arg(long = "shape", value_name = "NAME=DIMS")]
    shapes: Vec<String>,
    /// Show so many tensors of the peak, the largest; 0 for all
    #[arg(long, value_name = "N", default_value_t = MOST_TENSORS)]
    top: usize,
    /// Print JSON, with the bytes at every layer
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let (limits, model) = args.model.read()?;
    let model = reshaped(model, &args.shapes, &limits)?;
    let counted = match args.inputs.is_empty() {
        true => Lifetimes::of_shapes(&model),
        false => None,
    };
    let measured = counted.is_none();
    let memory = match counted {
        Some(memory) => memory,
        None => {
            model.check_supported()?;
            if args.inputs.is_empty() && !open_inputs(&model).is_empty() {
                return Err(Failure::Usage(format!(
                    "not every shape is known: give values with -i, or sizes with --shape; open are {}",
                    open_inputs(&model).join(", ")
                )));
            }
            let given = inputs::read(&model, &args.inputs, &limits)?;
            let given = inputs::random_where_missing(&model, given, 0, &limits)?;
            let mut lifetimes = Lifetimes::new(&model);
            let mut progress = Progress::of_layers([&model]);
            let mut observers: Vec<&mut dyn Observer> = vec![&mut lifetimes];
            observers.extend(progress.observers());
            model
                .infer_request()
                .infer_with(given, &limits, &mut observers)?;
            drop(observers);
            lifetimes.finish()
        }
    };
    let view = View {
        model: &model,
        memory: &memory,
        measured,
        constants: constants(&model),
    };
    if args.json {
        return print_json(out, "memory/1", view.to_json());
    }
    writeln!(out, "{}", shown(&args.model.model))?;
    view.print(args.top, out)
}

/// The inputs whose shapes are open, as they are told.
fn open_inputs(model: &Model) -> Vec<String> {
    let inputs = model.inputs().iter().enumerate();
    let told = inputs.filter_map(|(index, input)| {
        let ty = model.input_type(index)?;
        (!ty.is_static()).then(|| format!("{} {ty}", crate::error::quoted(input.name())))
    });
    told.collect()
}

/// Bytes of the constants.
fn constants(model: &Model) -> u64 {
    let graphs = model.graphs().iter().enumerate();
    let sizes = graphs.flat_map(|(graph, nodes)| {
        let constants = nodes
            .nodes()
            .filter(|(_, n)| n.op().is_some_and(|op| op.is_constant()));
        constants.filter_map(move |(id, _)| {
            let output = model.inferred_in(graph, id).first()?;
            let elements = output.shape.to_shape()?.elements()?;
            output.element_type.storage_bytes(elements)
        })
    });
    sizes.fold(0, |all, size| all.saturating_add(size as u64))
}

struct View<'v> {
    model: &'v Model,
    memory: &'v Memory,
    /// Whether tensors were measured, not shapes counted.
    measured: bool,
    constants: u64,
}

impl View<'_> {
    fn name(&self, graph: usize, node: NodeId) -> String {
        self.model.graphs()[graph].node(node).name().to_owned()
    }

    fn print(&self, most: usize, out: &mut dyn Write) -> Outcome {
        let Memory { steps, alive, peak } = self.memory;
        let how = match self.measured {
            true => "measured while the model was evaluated",
            false => "counted from the shapes",
        };
        let at = match steps.get(*peak) {
            Some(step) => format!(
                ", at \"{}\", layer {} of {}",
                crate::error::plain(&self.name(0, step.node)),
                grouped(*peak as u64 + 1),
                grouped(steps.len() as u64)
            ),
            None => String::new(),
        };
        let top = self.memory.peak_bytes();
        writeln!(out, "peak       {}{at}; {how}", bytes(top))?;
        let constants = bytes(self.constants);
        writeln!(
            out,
            "constants  {constants}, which stay in the model's file until they are used"
        )?;
        let most = if most == 0 { alive.len() } else { most };
        let mut table = Table::new(0, &[false, false, false, true, true, false]);
        let header = ["tensor", "operation", "shape", "bytes", "share", "until"];
        table.row(header.map(str::to_owned));
        for tensor in alive.iter().take(most) {
            table.row(self.row(tensor, top));
        }
        writeln!(out, "\nalive at the peak: {}", alive.len())?;
        table.print(out)?;
        if let Some(more) = alive.len().checked_sub(most).filter(|&more| more > 0) {
            let rest = alive.iter().skip(most).map(|tensor| tensor.bytes);
            let rest = rest.fold(0, u64::saturating_add);
            writeln!(out, "… and {} more, {}", grouped(more as u64), bytes(rest))?;
        }
        self.chart(out)
    }

    fn row(&self, tensor: &Alive, top: u64) -> [String; 6] {
        let node = self.model.graphs()[tensor.graph].node(tensor.node);
        let name = match tensor.output {
            0 => node.name().to_owned(),
            output => format!("{}.{output}", node.name()),
        };
        let until = match tensor.until {
            Some(last) => self.name(tensor.graph, last),
            None => "the end".to_owned(),
        };
        [
            name,
            node.type_name().to_owned(),
            format!("{}{}", tensor.element_type, tensor.shape),
            bytes(tensor.bytes),
            format!("{:.1} %", 100.0 * share(tensor.bytes, top)),
            until,
        ]
    }

    /// The bytes alive over the evaluation: of some layers in a row, the most.
    fn chart(&self, out: &mut dyn Write) -> Outcome {
        let steps = &self.memory.steps;
        let top = self.memory.peak_bytes();
        let size = steps.len().div_ceil(MOST_BINS).max(1);
        let mut table = Table::new(0, &[true, true, false, false]);
        table.row(["layers", "bytes", "", "most at"].map(str::to_owned));
        for (index, bin) in steps.chunks(size).enumerate() {
            let first = index * size + 1;
            let range = match bin.len() {
                1 => first.to_string(),
                n => format!("{first}–{}", first + n - 1),
            };
            // The first of several.
            let most = bin.iter().rev().max_by_key(|step| step.bytes);
            let Some(most) = most else { continue };
            let bar = bar(share(most.bytes, top));
            table.row([range, bytes(most.bytes), bar, self.name(0, most.node)]);
        }
        writeln!(out)?;
        table.print(out)?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let model = self.model;
        let layer = |graph: usize, node: NodeId| {
            let found = model.graphs()[graph].node(node);
            json!({ "graph": graph, "id": found.id(), "name": found.name(), "type": found.type_name() })
        };
        let Memory { steps, alive, peak } = self.memory;
        json!({
            "measured": self.measured,
            "peak_bytes": self.memory.peak_bytes(),
            "peak_step": steps.get(*peak).map(|_| peak),
            "constant_bytes": self.constants,
            "alive": alive.iter().map(|tensor| json!({
                "layer": layer(tensor.graph, tensor.node),
                "output": tensor.output,
                "element_type": tensor.element_type.name(),
                "shape": &tensor.shape[..],
                "bytes": tensor.bytes,
                "until": tensor.until.map(|last| layer(tensor.graph, last)),
            })).collect::<Vec<_>>(),
            "steps": steps.iter().map(|step| json!({
                "layer": layer(0, step.node),
                "bytes": step.bytes,
            })).collect::<Vec<_>>(),
        })
    }
}

#[allow(clippy::cast_precision_loss)] // shown with three digits
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / (whole as f64).max(1.0)
}
