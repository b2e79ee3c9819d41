//! `ovir shapes`

use std::io::Write;

use serde_json::json;

use super::table::Table;
use super::{Failure, ModelArg, Outcome, print_json};
use crate::graph::infer::disagrees;
use crate::graph::{Node, NodeId};
use crate::limits::{Limits, under};
use crate::model::{Model, PortKey};
use crate::tensor::PartialShape;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// Infer with this shape of an input, such as `x=1,3,224,224`; `?` is any size, `1..8` a range
    #[arg(long = "shape", value_name = "NAME=DIMS")]
    shapes: Vec<String>,
    /// Show only layers whose inferred shape is not fully known, or is not the declared one
    #[arg(long)]
    odd: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let (limits, model) = args.model.read()?;
    let model = reshaped(model, &args.shapes, &limits)?;
    let rows: Vec<Row<'_>> = model
        .graph()
        .nodes()
        .flat_map(|(id, node)| rows(&model, id, node))
        .filter(|row| !args.odd || row.odd)
        .collect();
    if args.json {
        let list: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "layer": row.node.name(),
                    "type": row.node.type_name(),
                    "version": row.node.opset(),
                    "output": row.output,
                    "inferred": row.inferred,
                    "declared": row.declared,
                    "disagrees": row.disagrees,
                })
            })
            .collect();
        return print_json(out, "shapes/1", json!({ "shapes": list }));
    }
    let mut table = Table::new(0, &[false, false, false, false]);
    table.row(["layer", "type", "inferred", "declared"].map(str::to_owned));
    for row in &rows {
        let name = match row.output {
            0 => row.node.name().to_owned(),
            index => format!("{}.{index}", row.node.name()),
        };
        let note = if row.disagrees { " (disagrees)" } else { "" };
        let declared = row.declared.as_deref().unwrap_or("-");
        table.row([
            name,
            row.node.type_name().to_owned(),
            row.inferred.clone(),
            format!("{declared}{note}"),
        ]);
    }
    table.print(out)?;
    Ok(())
}

/// The model for input shapes of `--shape NAME=DIMS`.
pub(super) fn reshaped(model: Model, shapes: &[String], limits: &Limits) -> Result<Model, Failure> {
    if shapes.is_empty() {
        return Ok(model);
    }
    let shapes: Vec<(PortKey<'_>, PartialShape)> = shapes
        .iter()
        .map(|text| parse_shape(&model, "--shape", text))
        .collect::<Result<_, _>>()?;
    Ok(under(limits, || model.reshape(shapes))?)
}

/// One output of a layer.
struct Row<'m> {
    node: &'m Node,
    output: usize,
    inferred: String,
    declared: Option<String>,
    disagrees: bool,
    odd: bool,
}

fn rows<'m>(model: &'m Model, id: NodeId, node: &'m Node) -> impl Iterator<Item = Row<'m>> {
    let inferred = model.inferred(id).iter().enumerate();
    inferred.map(move |(output, inferred)| {
        let declared = node.outputs().get(output).and_then(|p| p.declared.as_ref());
        let disagrees = declared.is_some_and(|d| disagrees(d, inferred));
        let text = declared.map(|(ty, shape)| format!("{ty}{shape}"));
        Row {
            node,
            output,
            inferred: inferred.to_string(),
            odd: disagrees || !inferred.is_static(),
            declared: text,
            disagrees,
        }
    })
}

/// The shape that an option says for an input.
pub(super) fn parse_shape(
    model: &Model,
    option: &str,
    text: &str,
) -> Result<(PortKey<'static>, PartialShape), Failure> {
    let Some((name, dims)) = text.rsplit_once('=') else {
        let message = format!("`{option} {text}`: expected NAME=DIMS, such as x=1,3,224,224");
        return Err(Failure::Usage(message));
    };
    let shape = dims
        .parse()
        .map_err(|e| Failure::Usage(format!("`{option} {text}`: {e}")))?;
    Ok((super::inputs::key(model, name)?, shape))
}
