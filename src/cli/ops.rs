//! `ovir ops`

use std::io::Write;

use serde_json::{Value, json};

use super::table::Table;
use super::{Outcome, print_json};
use crate::op::{OpDef, Version};
use crate::ops;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// List the operators of ONNX models instead; their versions are opsets of ai.onnx
    #[cfg(feature = "onnx")]
    #[arg(long)]
    onnx: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the page of all operations, docs/operations.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

type Row = (&'static str, &'static str, Vec<Version>);

fn rows(args: &Args) -> Vec<Row> {
    #[cfg(feature = "onnx")]
    if args.onnx {
        let numbered = |opsets: &[u8]| opsets.iter().copied().map(Version::Opset).collect();
        let row = |(family, name, opsets): (_, _, &[u8])| (family, name, numbered(opsets));
        return crate::onnx::supported().map(row).collect();
    }
    #[cfg(not(feature = "onnx"))]
    let _ = args;
    let row = |(category, def): (_, &'static OpDef)| (category, def.name, def.versions().collect());
    ops::supported().map(row).collect()
}

fn version_json(version: Version) -> Value {
    match version {
        Version::Opset(number) => number.into(),
        Version::Outside(list) => list.into(),
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    if args.markdown {
        write!(out, "{}", super::operations::page())?;
        return Ok(());
    }
    // One line a type, though several rows of the registry may implement its versions.
    let mut types: Vec<Row> = Vec::new();
    for (category, name, versions) in rows(args) {
        match types.iter_mut().find(|(_, n, _)| *n == name) {
            Some((_, _, all)) => all.extend(versions),
            None => types.push((category, name, versions)),
        }
    }
    for (_, _, versions) in &mut types {
        versions.sort_unstable();
    }
    types.sort_by_key(|&(category, name, _)| (category, name));
    if args.json {
        let list: Vec<_> = types
            .iter()
            .map(|(category, name, versions)| {
                let versions: Vec<_> = versions.iter().copied().map(version_json).collect();
                json!({ "category": category, "type": name, "versions": versions })
            })
            .collect();
        return print_json(out, "ops/1", json!({ "operations": list }));
    }
    let mut table = Table::new(0, &[false, false, false]);
    table.row(["category", "operation", "versions"].map(str::to_owned));
    let mut count = 0;
    for (category, name, versions) in &types {
        count += versions.len();
        let versions: Vec<_> = versions.iter().map(Version::to_string).collect();
        let cells = [*category, *name, &versions.join(" ")];
        table.row(cells.map(str::to_owned));
    }
    table.print(out)?;
    writeln!(
        out,
        "\n{} operations in {count} versions; a version is the opset that introduced it",
        types.len()
    )?;
    Ok(())
}
