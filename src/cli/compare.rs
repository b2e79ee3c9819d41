//! `ovir compare`

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::limits::LimitArgs;
use super::progress::Progress;
use super::sides::{self, COLUMNS, IN_MEMORY, Inputs, SideArgs};
use super::table::Table;
use super::{Failure, Outcome, print_json, shown};
use crate::compare::{
    About, Answer, Compared, Comparison, Keep, Run, Source, ask, compare, compare_layers,
    inputs_for, named_inputs,
};
use crate::error::{Error, Kind, plain, quoted};
use crate::limits::Limits;
use crate::metrics::{Tolerance, Tolerances};
use crate::model::Model;
use crate::tensor::Tensor;

/// Rows of the table of layers, unless `--all` asks for all.
const MOST_ROWS: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A model (.xml, .onnx), a saved run (.npz, .safetensors, a folder of .npy files), or a model in
    /// an installed runtime: `openvino:CPU:model.xml`, `onnxruntime:model.onnx`. A runtime without a
    /// model takes that of the other side
    #[arg(value_name = "A")]
    a: String,
    /// What it is compared with, and what is expected
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    side: SideArgs,
    /// Compare every tensor that both sides have, not only outputs. Of a runtime that fuses layers,
    /// those that survive it: reading others would change the results
    #[arg(long)]
    per_layer: bool,
    /// With --per-layer, show every row, not only the worst
    #[arg(long, requires = "per_layer")]
    all: bool,
    /// Write the inputs to an .npz file, random ones too
    #[arg(long, value_name = "FILE")]
    save_inputs: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// A side that was evaluated or read.
struct Side {
    run: Run,
    about: Option<About>,
    title: String,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.limits.begin()?;
    let tolerances = args.side.tolerances(&limits)?;
    let (a, b) = (sides::source(&args.a)?, sides::source(&args.b)?);
    let paths = paths(&a, &b)?;
    let read = |path: &Option<PathBuf>| match path {
        Some(path) => Model::read_with(path, &limits).map(Some),
        None => Ok(None),
    };
    let models = [
        read(&paths[0])?,
        if paths[0] == paths[1] {
            None
        } else {
            read(&paths[1])?
        },
    ];
    let saved = |source: &Source| match source {
        Source::Saved(path) => Run::read(path, &limits).map(Some),
        _ => Ok(None),
    };
    let runs = [saved(&a)?, saved(&b)?];
    let main = models[0].as_ref().or(models[1].as_ref());
    let inputs = match main {
        Some(model) => {
            let saved = runs[0].as_ref().or(runs[1].as_ref());
            Some(args.side.inputs(model, saved, &limits)?)
        }
        None if !args.side.inputs.is_empty() || args.save_inputs.is_some() => {
            let message = "two saved runs take no inputs".to_owned();
            return Err(Failure::Usage(message));
        }
        None => None,
    };
    if let (Some(path), Some(inputs)) = (&args.save_inputs, &inputs) {
        inputs.write(path)?;
    }
    let folder = sides::folder()?;
    let own = |(index, source): (usize, &Source)| match source {
        Source::Model(_) => models[index].as_ref().or(main),
        _ => None,
    };
    let mut progress = Progress::of_layers([&a, &b].into_iter().enumerate().filter_map(own));
    let mut done = Vec::new();
    for (index, ((source, saved), path)) in [&a, &b].into_iter().zip(runs).zip(&paths).enumerate() {
        let work = Work {
            args,
            limits: &limits,
            folder: folder.path().join(index.to_string()),
        };
        let model = models[index].as_ref().or(main);
        let given = match (model, main, &inputs) {
            (Some(model), Some(main), Some(inputs)) if !std::ptr::eq(model, main) => {
                inputs_for(main, model, &inputs.tensors)?
            }
            (_, _, Some(inputs)) => inputs.tensors.clone(),
            _ => Vec::new(),
        };
        done.push(work.side(source, saved, (path.as_ref(), model), &given, &mut progress)?);
    }
    drop(progress);
    let [a, b] = done.as_slice() else {
        return Ok(());
    };
    let allow = |name: &str, x, y| tolerances.of(name, x, y);
    let outputs = compare(&a.run, &b.run, &allow, &limits)?;
    let layers = match args.per_layer {
        true => Some(compare_layers(&a.run, &b.run, &allow, &limits)?),
        false => None,
    };
    unused(&tolerances)?;
    if let Some(layers) = layers.as_ref().filter(|layers| layers.pairs.is_empty()) {
        let (a, b) = (a.run.layers().len(), b.run.layers().len());
        let pairs = layers.pairs.len();
        let message = format!("no inner tensor has a partner: {a} beside {b}, {pairs} pairs");
        return Err(Failure::Usage(message));
    }
    let report = Report {
        a,
        b,
        inputs: inputs.as_ref(),
        outputs,
        layers,
    };
    if args.json {
        print_json(out, "compare/1", report.to_json())?;
    } else {
        report.print(args, out)?;
    }
    if report.is_equal() {
        Ok(())
    } else {
        Err(Failure::Different)
    }
}

/// An error if a section of the tolerances means no tensor.
pub(super) fn unused(tolerances: &Tolerances) -> Outcome {
    let unused: Vec<String> = tolerances.unused().map(quoted).collect();
    match unused.is_empty() {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "no tensor that was compared matches {} of the tolerances",
            unused.join(", ")
        ))),
    }
}

/// The models of both sides: that of the other, where a runtime names none.
fn paths(a: &Source, b: &Source) -> Result<[Option<PathBuf>; 2], Failure> {
    let path = |own: &Source, other: &Source| match own {
        Source::Saved(_) => Ok(None),
        _ => match own.model().or(other.model()) {
            Some(path) => Ok(Some(path.to_owned())),
            None => Err(Failure::Usage(
                "a runtime needs a model, such as openvino:CPU:model.xml".to_owned(),
            )),
        },
    };
    Ok([path(a, b)?, path(b, a)?])
}

/// What one side needs to be evaluated.
struct Work<'w> {
    args: &'w Args,
    limits: &'w Limits,
    folder: PathBuf,
}

impl Work<'_> {
    fn side(
        &self,
        source: &Source,
        saved: Option<Run>,
        (path, model): (Option<&PathBuf>, Option<&Model>),
        inputs: &[(usize, Tensor)],
        progress: &mut Progress,
    ) -> Result<Side, Failure> {
        match (source, saved, path, model) {
            (Source::Saved(path), Some(run), ..) => Ok(Side {
                run,
                about: None,
                title: shown(path),
            }),
            (Source::Runtime(runtime, _), _, Some(path), Some(model)) => {
                let mut backend = self.args.side.python(runtime, path, self.limits)?;
                let title = sides::backend_title(&backend);
                progress.tell(&plain(&title));
                let named = named_inputs(model, inputs);
                let answer = ask(&mut backend, model, &named, self.args.per_layer)?;
                let Answer {
                    run,
                    versions,
                    device,
                    ..
                } = answer;
                let about = Some(About { versions, device });
                Ok(Side { run, about, title })
            }
            (Source::Model(path), _, _, Some(model)) => {
                std::fs::create_dir(&self.folder)
                    .map_err(|e| Error::new(Kind::Io, e.to_string()))?;
                let keep = Keep {
                    in_memory: IN_MEMORY,
                    folder: Some(&self.folder),
                };
                let keep = self.args.per_layer.then_some(&keep);
                let observers = &mut progress.observers();
                let run = Run::of_model(model, inputs, keep, self.limits, observers)?;
                Ok(Side {
                    run,
                    about: None,
                    title: shown(path),
                })
            }
            _ => Err(Failure::Usage("there is nothing to evaluate".to_owned())),
        }
    }
}

/// What is told.
struct Report<'r> {
    a: &'r Side,
    b: &'r Side,
    inputs: Option<&'r Inputs>,
    outputs: Comparison,
    layers: Option<Comparison>,
}

impl Report<'_> {
    fn is_equal(&self) -> bool {
        self.outputs.is_equal() && self.layers.as_ref().is_none_or(Comparison::is_equal)
    }

    fn print(&self, args: &Args, out: &mut dyn Write) -> Outcome {
        for (letter, side) in [("A", self.a), ("B", self.b)] {
            writeln!(
                out,
                "{letter}  {}",
                sides::describe(&side.title, side.about.as_ref())
            )?;
        }
        if let Some(line) = self.inputs.and_then(Inputs::to_line) {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        table("output", &self.outputs, usize::MAX, out)?;
        for (names, side) in [
            (&self.outputs.only_first, "A"),
            (&self.outputs.only_second, "B"),
        ] {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| plain(name)).collect();
                writeln!(out, "only in {side}: {}", names.join(", "))?;
            }
        }
        if let Some(layers) = &self.layers {
            writeln!(out)?;
            table(
                "tensor",
                layers,
                if args.all { usize::MAX } else { MOST_ROWS },
                out,
            )?;
            if let Some(first) = layers.pairs.iter().find(|pair| !pair.passes()) {
                writeln!(
                    out,
                    "the first to differ, in order of evaluation: {}",
                    plain(&first.name)
                )?;
            }
        }
        writeln!(out)?;
        self.summary(out)
    }

    fn summary(&self, out: &mut dyn Write) -> Outcome {
        let all = self.outputs.pairs.iter();
        let all: Vec<&Compared> = all
            .chain(self.layers.iter().flat_map(|layers| &layers.pairs))
            .collect();
        let differing: Vec<_> = all.iter().filter(|pair| !pair.passes()).collect();
        if self.is_equal() {
            let same = all.iter().all(|pair| pair.difference.is_none());
            let how = if same {
                "equal"
            } else {
                "equal within tolerance"
            };
            let are = if all.len() == 1 { "is" } else { "are" };
            writeln!(out, "{} {are} {how}", counted(all.len()))?;
        } else {
            let differ = if differing.len() == 1 {
                "differs"
            } else {
                "differ"
            };
            writeln!(
                out,
                "{} of {} {differ}",
                differing.len(),
                counted(all.len())
            )?;
            if let Some(worst) = self.worst() {
                writeln!(out, "worst: {worst}")?;
            }
            for pair in differing.iter().take(3) {
                let name = plain(&pair.name);
                writeln!(out, "  {name}: {}", pair.violations.join("; "))?;
            }
        }
        match tightest(&all) {
            Some(tolerance) if tolerance != Tolerance::EXACT => {
                writeln!(out, "the tightest that passes: --tol {tolerance}")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn worst(&self) -> Option<String> {
        let found = self.outputs.worst_first().into_iter().next()?;
        sides::worst(&found.name, &found.difference)
    }

    fn to_json(&self) -> Value {
        let mut object = json!({
            "equal": self.is_equal(),
            "a": sides::about_json(&self.a.title, self.a.about.as_ref()),
            "b": sides::about_json(&self.b.title, self.b.about.as_ref()),
            "inputs": self.inputs.map_or_else(|| json!([]), Inputs::to_json),
            "outputs": pairs_json(&self.outputs.pairs),
            "only_a": self.outputs.only_first,
            "only_b": self.outputs.only_second,
        });
        if let Some(layers) = &self.layers {
            object["layers"] = pairs_json(&layers.pairs);
        }
        object
    }
}

fn counted(tensors: usize) -> String {
    match tensors {
        1 => "1 tensor".to_owned(),
        more => format!("{more} tensors"),
    }
}

/// The tightest tolerance of all pairs.
fn tightest(pairs: &[&Compared]) -> Option<Tolerance> {
    let each = pairs
        .iter()
        .map(|pair| Tolerance::tightest(&pair.difference));
    let each: Option<Vec<Tolerance>> = each.collect();
    let most = |bound: fn(&Tolerance) -> Option<f64>| {
        let bounds = each.iter().flatten().filter_map(bound);
        bounds.reduce(f64::max)
    };
    let (abs, rel_l2) = (most(|t| t.abs), most(|t| t.rel_l2));
    each.as_ref().map(|_| Tolerance {
        abs,
        rel_l2,
        ..Tolerance::default()
    })
}

/// The pairs, the worst first.
fn table(what: &str, comparison: &Comparison, rows: usize, out: &mut dyn Write) -> Outcome {
    let mut table = Table::new(0, &[false, true, true, true, true, true, true, false]);
    let header = [what].into_iter().chain(COLUMNS).chain([""]);
    table.row(header.map(str::to_owned));
    let sorted = comparison.worst_first();
    for pair in sorted.iter().take(rows) {
        let name = match pair.name == pair.other {
            true => pair.name.clone(),
            false => format!("{} / {}", pair.name, pair.other),
        };
        let verdict = if pair.passes() { "" } else { "DIFFERS" };
        let cells = [name].into_iter().chain(sides::columns(&pair.difference));
        table.row(cells.chain([verdict.to_owned()]));
    }
    table.print(out)?;
    if let Some(more) = sorted.len().checked_sub(rows).filter(|more| *more > 0) {
        let failing = sorted[rows..].iter().filter(|pair| !pair.passes()).count();
        writeln!(
            out,
            "… {more} more, {failing} of them differ; --all shows them"
        )?;
    }
    Ok(())
}

pub(super) fn pairs_json(pairs: &[Compared]) -> Value {
    pairs.iter().map(pair_json).collect()
}

fn pair_json(pair: &Compared) -> Value {
    let tightest = Tolerance::tightest(&pair.difference);
    json!({
        "name": pair.name,
        "other": pair.other,
        "passes": pair.passes(),
        "violations": pair.violations,
        "tolerance": pair.tolerance.to_string(),
        "tightest": tightest.map(|t| t.to_string()),
        "difference": sides::difference_json(&pair.difference),
    })
}
