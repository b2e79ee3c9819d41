//! `ovir inspect`

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};

use super::table::{Table, bytes, grouped, scaled};
use super::work::Work;
use super::{ModelArg, Outcome, print_json, unless_ended};
use crate::error::plain;
use crate::graph::{Node, Operation, Terminal};
use crate::ir::{self, Severity};
use crate::model::{Depth, Format, Inspection, Model};
use crate::op::Output;
use crate::ops;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// Show the table of all layers
    #[arg(long)]
    layers: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whether the operation is supported; a layer of it that is opaque has an error of its own.
fn known(model: &Model, type_name: &str, opset: &str) -> bool {
    matches!(model.format(), Format::Ir { .. }) && ops::resolve(type_name, opset).is_some()
}

/// What the command tells, gathered once for both forms.
struct Summary {
    /// Type, opset, and how many layers have them.
    operations: Vec<(String, String, usize)>,
    /// Those of them that cannot be evaluated.
    unsupported: Vec<(String, String, usize)>,
    constants: usize,
    parameters: u64,
    constant_bytes: u64,
    /// Floating-point operations of one evaluation, if the declared shapes tell.
    flops: Option<u64>,
    /// Element types of constants: how many parameters and bytes.
    types: BTreeMap<&'static str, (u64, u64)>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.model.limits.begin()?;
    let inspection = Model::inspect_with(&args.model.model, Depth::Structure, &limits)?;
    unless_ended(&inspection)?;
    let Some(model) = &inspection.model else {
        // Not well-formed: there is nothing to show but why.
        inspection.into_model()?;
        return Ok(());
    };
    let summary = Summary::of(model);
    if args.json {
        return print_json(
            out,
            "inspect/1",
            to_json(&inspection, model, &summary, args.layers),
        );
    }
    print(&inspection, model, &summary, out)?;
    if args.layers {
        writeln!(out)?;
        print_layers(model, out)?;
    }
    Ok(())
}

impl Summary {
    fn of(model: &Model) -> Self {
        let mut operations: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
        let mut summary = Self {
            operations: Vec::new(),
            unsupported: Vec::new(),
            constants: 0,
            parameters: 0,
            constant_bytes: 0,
            flops: Work::new(model.clone()).total(),
            types: BTreeMap::new(),
        };
        let nodes = model.graphs().iter().flat_map(|g| g.nodes());
        for (_, node) in nodes.filter(|(_, node)| !node.is_helper()) {
            let (count, opaque) = operations
                .entry((node.type_name(), node.opset()))
                .or_default();
            *count += 1;
            *opaque |= matches!(node.operation(), Operation::Opaque { .. });
            summary.count_constant(node);
        }
        for ((type_name, opset), (count, opaque)) in operations {
            let row = (type_name.to_owned(), opset.to_owned(), count);
            if opaque && !known(model, type_name, opset) {
                summary.unsupported.push(row.clone());
            }
            summary.operations.push(row);
        }
        summary
            .operations
            .sort_by(|a, b| b.2.cmp(&a.2).then(a.cmp(b)));
        summary
    }

    /// Constants are counted by what the document says of them.
    fn count_constant(&mut self, node: &Node) {
        let constant = match node.operation() {
            Operation::Known { def, .. } => def.name == "Const",
            Operation::Joined { .. } => false,
            Operation::Opaque { type_name, .. } => type_name == "Const",
        };
        if !constant {
            return;
        }
        self.constants += 1;
        let Some((ty, shape)) = node.outputs().first().and_then(|p| p.declared.as_ref()) else {
            return;
        };
        let elements = shape.to_shape().and_then(|s| s.elements());
        let elements = elements.unwrap_or(0);
        let stored = ty.storage_bytes(elements).unwrap_or(0);
        let (count, size) = self.types.entry(ty.name()).or_default();
        *count = count.saturating_add(elements as u64);
        *size = size.saturating_add(stored as u64);
        self.parameters = self.parameters.saturating_add(elements as u64);
        self.constant_bytes = self.constant_bytes.saturating_add(stored as u64);
    }
}

fn print(
    inspection: &Inspection,
    model: &Model,
    summary: &Summary,
    out: &mut dyn Write,
) -> Outcome {
    let name = plain(model.name());
    let name = if name.is_empty() {
        "(no name)".to_owned()
    } else {
        name
    };
    let bodies = match model.graphs().len() - 1 {
        0 => String::new(),
        1 => ", 1 body".to_owned(),
        n => format!(", {n} bodies"),
    };
    let onnx = matches!(model.format(), Format::Onnx { .. });
    writeln!(
        out,
        "{name}: {}, {} {}{}{bodies}",
        model.format(),
        grouped(inspection.layers as u64),
        if onnx { "node" } else { "layer" },
        if inspection.layers == 1 { "" } else { "s" }
    )?;
    print_terminals("inputs", model.inputs(), |i| model.input_type(i), out)?;
    print_terminals("outputs", model.outputs(), |i| model.output_type(i), out)?;
    writeln!(
        out,
        "\nconstants: {}, {} parameters, {}",
        grouped(summary.constants as u64),
        grouped(summary.parameters),
        bytes(summary.constant_bytes)
    )?;
    let mut table = Table::new(2, &[false, true, false]);
    for (ty, (count, size)) in &summary.types {
        table.row([(*ty).to_owned(), grouped(*count), bytes(*size)]);
    }
    table.print(out)?;
    match inspection.weights_bytes {
        Some(size) if onnx => writeln!(out, "  the files beside the model have {}", bytes(size))?,
        None if onnx => {}
        Some(size) => writeln!(out, "  the .bin file has {}", bytes(size))?,
        None if summary.constants > 0 => writeln!(out, "  the .bin file is not there")?,
        None => {}
    }
    if let Some(flops) = summary.flops.filter(|&flops| flops > 0) {
        #[allow(clippy::cast_precision_loss)] // shown with three digits
        let flops = scaled(flops as f64);
        writeln!(out, "\nwork: {flops}FLOP an evaluation")?;
    }
    writeln!(out, "\noperations: {}", summary.operations.len())?;
    let mut table = Table::new(2, &[false, false, true, false]);
    for row in &summary.operations {
        let note = if summary.unsupported.contains(row) {
            "not supported"
        } else {
            ""
        };
        let (type_name, opset, count) = row;
        table.row([
            type_name.clone(),
            opset.clone(),
            grouped(*count as u64),
            note.to_owned(),
        ]);
    }
    table.print(out)?;
    if summary.unsupported.is_empty() {
        writeln!(out, "\nevery operation is supported")?;
    } else {
        let layers: usize = summary.unsupported.iter().map(|r| r.2).sum();
        writeln!(
            out,
            "\nnot supported: {} operations, {} layers",
            summary.unsupported.len(),
            grouped(layers as u64)
        )?;
    }
    let errors = inspection
        .problems
        .iter()
        .filter(|p| p.severity == Severity::Error)
        .count();
    if errors > 0 {
        writeln!(out, "errors: {errors}; `ovir check` shows them")?;
    }
    Ok(())
}

fn print_terminals<'m>(
    title: &str,
    terminals: &[Terminal],
    output: impl Fn(usize) -> Option<&'m Output>,
    out: &mut dyn Write,
) -> Outcome {
    writeln!(out, "\n{title}: {}", terminals.len())?;
    let mut table = Table::new(2, &[true, false, false, false]);
    for (index, terminal) in terminals.iter().enumerate() {
        let ty = output(index).map(ToString::to_string).unwrap_or_default();
        let others = terminal.names.iter().skip(1).cloned().collect::<Vec<_>>();
        let others = match others.len() {
            0 => String::new(),
            _ => format!("also {}", others.join(", ")),
        };
        table.row([index.to_string(), terminal.name().to_owned(), ty, others]);
    }
    table.print(out)?;
    Ok(())
}

fn print_layers(model: &Model, out: &mut dyn Write) -> Outcome {
    for (index, graph) in model.graphs().iter().enumerate() {
        if let Some((parent, node)) = graph.parent() {
            let holder = model.graphs()[parent].node(node);
            writeln!(out, "\nbody {index}, of {holder}")?;
        }
        let mut table = Table::new(0, &[true, false, false, false, false, false]);
        let header = ["id", "layer", "type", "version", "outputs", "attributes"];
        table.row(header.map(str::to_owned));
        for (_, node) in graph.nodes() {
            let id = if node.id() == u64::MAX {
                "-".to_owned()
            } else {
                node.id().to_string()
            };
            table.row([
                id,
                node.name().to_owned(),
                node.type_name().to_owned(),
                node.opset().to_owned(),
                declared(node).join(" "),
                attributes(node),
            ]);
        }
        table.print(out)?;
    }
    Ok(())
}

fn declared(node: &Node) -> Vec<String> {
    let ports = node.outputs().iter();
    let text = |port: &crate::graph::OutputPort| match &port.declared {
        Some((ty, shape)) => format!("{ty}{shape}"),
        None => "?".to_owned(),
    };
    ports.map(text).collect()
}

fn attributes(node: &Node) -> String {
    let list = node.attributes().into_iter();
    let pairs: Vec<_> = list
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(" ")
}

fn to_json(inspection: &Inspection, model: &Model, summary: &Summary, layers: bool) -> Value {
    let operation = |(type_name, opset, count): &(String, String, usize)| json!({ "type": type_name, "version": opset, "layers": count });
    let (format, ir_version, opsets) = match model.format() {
        Format::Ir { version } => ("ir", json!(version), Value::Null),
        Format::Onnx { ir_version, opsets } => ("onnx", json!(ir_version), opsets_json(opsets)),
    };
    let mut value = json!({
        "name": model.name(),
        "format": format,
        "ir_version": ir_version,
        "opsets": opsets,
        "layers": inspection.layers,
        "bodies": model.graphs().len() - 1,
        "inputs": terminals_json(model.inputs(), |i| model.input_type(i)),
        "outputs": terminals_json(model.outputs(), |i| model.output_type(i)),
        "constants": {
            "count": summary.constants,
            "parameters": summary.parameters,
            "bytes": summary.constant_bytes,
            "element_types": summary.types.iter().map(|(ty, (count, size))| {
                json!({ "element_type": ty, "parameters": count, "bytes": size })
            }).collect::<Vec<_>>(),
        },
        "weights_bytes": inspection.weights_bytes,
        "flops": summary.flops,
        "operations": summary.operations.iter().map(operation).collect::<Vec<_>>(),
        "unsupported": summary.unsupported.iter().map(operation).collect::<Vec<_>>(),
        "errors": inspection.problems.iter()
            .filter(|p| p.severity == ir::Severity::Error)
            .map(|p| p.error.to_string())
            .collect::<Vec<_>>(),
    });
    if layers {
        let graphs = model.graphs().iter().enumerate();
        let rows = graphs.flat_map(|(index, graph)| {
            graph.nodes().map(move |(_, node)| {
                json!({
                    "graph": index,
                    "id": node.id(),
                    "name": node.name(),
                    "type": node.type_name(),
                    "version": node.opset(),
                    "supported": matches!(node.operation(), Operation::Known { .. }),
                    "outputs": declared(node),
                    "attributes": node.attributes().into_iter()
                        .map(|(name, value)| (name, Value::from(value)))
                        .collect::<serde_json::Map<_, _>>(),
                })
            })
        });
        value["table"] = rows.collect();
    }
    value
}

fn opsets_json(opsets: &[(String, i64)]) -> Value {
    let domain = |(domain, version): &(String, i64)| (domain.clone(), Value::from(*version));
    let domains: serde_json::Map<_, _> = opsets.iter().map(domain).collect();
    domains.into()
}

fn terminals_json<'m>(
    terminals: &[Terminal],
    output: impl Fn(usize) -> Option<&'m Output>,
) -> Vec<Value> {
    let rows = terminals.iter().enumerate().map(|(index, terminal)| {
        let ty = output(index);
        json!({
            "name": terminal.name(),
            "names": terminal.names,
            "element_type": ty.map(|t| t.element_type.name()),
            "shape": ty.map(|t| t.shape.to_string()),
        })
    });
    rows.collect()
}
