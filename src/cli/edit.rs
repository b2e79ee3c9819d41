//! `ovir edit`

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use super::shapes::parse_shape;
use super::table::{Table, bytes, grouped};
use super::{Failure, ModelArg, Outcome, inputs, print_json, shown};
use crate::edit::{self, OutputProof};
use crate::limits::{Limits, under};
use crate::model::{Model, PortKey};
use crate::tensor::PartialShape;

/// What rounding weights to f16 may change an output by, as a part of its largest element.
const HALF: f64 = 0.02;

/// Constants that are computed ahead may have so many bytes.
const FOLDED: u64 = 1 << 30;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// Where to write the model; the constants go beside it, with the extension .bin
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Give another name to the layers and tensors that have this one
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<String>,
    /// Give an input another shape, such as `x=1,3,224,224`; `?` is any size, `1..8` a range
    #[arg(long, value_name = "NAME=DIMS")]
    reshape: Vec<String>,
    /// Store the constants of f32 and f64 as f16, each with a layer that widens it; or store such
    /// constants widened
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// Compute ahead what follows from constants and shapes alone
    #[arg(long)]
    fold: bool,
    /// Leave out what tools noted for each other (rt_info), but for the marks of f16 constants
    #[arg(long)]
    strip_rt_info: bool,
    /// The value of an input on which both models are run, by name or by index; or one file for all
    /// inputs (see `ovir help eval`); the others are random, and the same every time
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// How far outputs may be off, as a part of the largest element [default: 0, or 0.02 with
    /// --precision f16]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    tolerance: Option<f64>,
    /// Write the model even if its outputs differ by more, or cannot be evaluated
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Precision {
    /// Half floats
    F16,
    /// Single floats
    F32,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share >= 0.0 => Ok(share),
        _ => Err("expected a number, such as 0.01".to_owned()),
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let (limits, original) = args.model.read()?;
    let before = reshaped(args, &original, &limits)?;
    let (after, changes) = changed(args, &before, &limits)?;
    let tolerance = args.tolerance.unwrap_or(match args.precision {
        Some(Precision::F16) => HALF,
        _ => 0.0,
    });
    let proofs = match proven(args, &original, &before, &after, &limits) {
        Ok(proofs) => proofs,
        Err(_) if args.force => Vec::new(),
        Err(failure) => return Err(failure),
    };
    let held = proofs.iter().all(|proof| proof.holds(tolerance));
    let proven = held && proofs.len() == after.outputs().len();
    let write = held || args.force;
    if write {
        after.write(&args.output)?;
    }
    let edit = Edit {
        args,
        changes,
        proofs,
        tolerance,
        proven,
        written: write,
    };
    match args.json {
        true => print_json(out, "edit/1", edit.to_json())?,
        false => edit.print(out)?,
    }
    match held {
        true => Ok(()),
        false => Err(Failure::Different),
    }
}

/// The model for the shapes that were asked for: both sides of the proof have them.
fn reshaped(args: &Args, model: &Model, limits: &Limits) -> Result<Model, Failure> {
    if args.reshape.is_empty() {
        return Ok(model.clone());
    }
    let shapes: Vec<(PortKey<'_>, PartialShape)> = args
        .reshape
        .iter()
        .map(|text| parse_shape(model, "--reshape", text))
        .collect::<Result<_, _>>()?;
    Ok(under(limits, || model.reshape(shapes))?)
}

/// The changed model, and what was changed.
fn changed(args: &Args, model: &Model, limits: &Limits) -> Result<(Model, Vec<String>), Failure> {
    let mut model = model.clone();
    let mut changes: Vec<String> = Vec::new();
    for text in &args.reshape {
        changes.push(format!("reshaped {text}"));
    }
    for text in &args.rename {
        let (old, new) = split(&model, text)?;
        let count;
        (model, count) = model.renamed(old, new)?;
        changes.push(format!("renamed {old} to {new}: {}", places(count)));
    }
    type Change = fn(&Model) -> crate::Result<(Model, usize)>;
    let steps: [(bool, Change, &str); 4] = [
        (
            args.fold,
            |model| model.folded(FOLDED),
            "layers computed ahead",
        ),
        (
            args.precision == Some(Precision::F16),
            Model::compressed,
            "constants stored as f16",
        ),
        (
            args.precision == Some(Precision::F32),
            Model::decompressed,
            "constants stored widened",
        ),
        (
            args.strip_rt_info,
            Model::without_rt_info,
            "entries of rt_info left out",
        ),
    ];
    for (asked, change, what) in steps {
        if asked {
            let count;
            (model, count) = under(limits, || change(&model))?;
            changes.push(format!("{}: {}", what, grouped(count as u64)));
        }
    }
    Ok((model, changes))
}

fn places(count: usize) -> String {
    match count {
        1 => "1 place".to_owned(),
        _ => format!("{} places", grouped(count as u64)),
    }
}

/// Splits `OLD=NEW`; names may hold `=` themselves.
fn split<'t>(model: &Model, text: &'t str) -> Result<(&'t str, &'t str), Failure> {
    let graph = model.graph();
    let mut splits = text.match_indices('=').map(|(at, _)| text.split_at(at));
    let known = splits
        .clone()
        .find(|(old, _)| graph.find(old).is_some() || edit::find_tensor(graph, old).is_some());
    if let Some((old, new)) = known {
        return Ok((old, &new[1..]));
    }
    let Some((old, _)) = splits.next() else {
        let message = format!("`--rename {text}`: expected OLD=NEW");
        return Err(Failure::Usage(message));
    };
    let layers = graph.nodes().map(|(_, node)| node.name());
    let hint = super::select::nearest(old, layers);
    let hint = hint.map(|name| format!("; did you mean `{name}`?"));
    Err(Failure::Usage(format!(
        "there is no layer or tensor `{old}`{}",
        hint.unwrap_or_default()
    )))
}

/// Inputs that are not given are random; where their shape is open now, they have the one they had.
fn proven(
    args: &Args,
    original: &Model,
    before: &Model,
    after: &Model,
    limits: &Limits,
) -> Result<Vec<OutputProof>, Failure> {
    before.check_supported()?;
    let mut given = inputs::read(before, &args.inputs, limits)?;
    for index in 0..before.inputs().len() {
        let (Some(was), Some(is)) = (original.input_type(index), before.input_type(index)) else {
            continue;
        };
        let open = !is.shape.is_static() && !given.iter().any(|(known, _)| *known == index);
        if let Some(shape) = was
            .shape
            .to_shape()
            .filter(|s| open && is.shape.contains(s))
        {
            let random = [format!("{index}={shape}:random:seed=1")];
            given.extend(inputs::read(before, &random, limits)?);
        }
    }
    let given = inputs::random_where_missing(before, given, 1, limits)?;
    Ok(edit::prove(before, after, &given, limits)?)
}

/// What was done, and what came out of it.
struct Edit<'a> {
    args: &'a Args,
    changes: Vec<String>,
    proofs: Vec<OutputProof>,
    tolerance: f64,
    proven: bool,
    written: bool,
}

impl Edit<'_> {
    fn print(&self, out: &mut dyn Write) -> Outcome {
        for change in &self.changes {
            writeln!(out, "{}", crate::error::plain(change))?;
        }
        if self.changes.is_empty() {
            writeln!(out, "nothing was to be changed")?;
        }
        let mut table = Table::new(0, &[false, false, true, true, false]);
        table.row(["output", "type", "differ", "largest", ""].map(str::to_owned));
        for proof in &self.proofs {
            table.row(self.row(proof));
        }
        if !self.proofs.is_empty() {
            table.print(out)?;
        }
        let verdict = match (self.proven, self.proofs.is_empty()) {
            (true, _) => "the outputs are what they were",
            (false, true) => "not proven: the models were not evaluated",
            (false, false) => "the outputs are not what they were",
        };
        let tolerance = match self.tolerance {
            0.0 => String::new(),
            share => format!(", up to {share} of the largest element"),
        };
        writeln!(out, "{verdict}{tolerance}")?;
        match self.written {
            true => {
                let size = std::fs::metadata(self.args.output.with_extension("bin"));
                let size = size.map_or(0, |meta| meta.len());
                writeln!(
                    out,
                    "wrote {}, {} of constants",
                    shown(&self.args.output),
                    bytes(size)
                )?;
            }
            false => writeln!(out, "nothing was written; --force writes it all the same")?,
        }
        Ok(())
    }

    fn row(&self, proof: &OutputProof) -> [String; 5] {
        let (before, after) = &proof.types;
        let types = match before == after {
            true => before.clone(),
            false => format!("{before} before, {after} after"),
        };
        let verdict = match (proof.holds(self.tolerance), proof.differing) {
            (true, 0) => "same",
            (true, _) => "close",
            (false, _) => "DIFFERS",
        };
        [
            proof.name.clone(),
            types,
            format!(
                "{} of {}",
                grouped(proof.differing as u64),
                grouped(proof.elements as u64)
            ),
            format!(
                "{:.1e} ({:.1e} of the largest)",
                proof.max_abs,
                proof.relative()
            ),
            verdict.to_owned(),
        ]
    }

    fn to_json(&self) -> serde_json::Value {
        let number = |x: f64| match x.is_finite() {
            true => json!(x),
            false => json!("inf"),
        };
        let outputs: Vec<_> = self
            .proofs
            .iter()
            .map(|proof| {
                json!({
                    "name": proof.name,
                    "type_before": proof.types.0,
                    "type": proof.types.1,
                    "elements": proof.elements,
                    "differing": proof.differing,
                    "max_abs": number(proof.max_abs),
                    "relative": number(proof.relative()),
                    "holds": proof.holds(self.tolerance),
                })
            })
            .collect();
        json!({
            "model": self.args.output,
            "changes": self.changes,
            "tolerance": self.tolerance,
            "outputs": outputs,
            "proven": self.proven,
            "written": self.written,
        })
    }
}
