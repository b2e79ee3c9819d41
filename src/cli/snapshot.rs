//! `ovir snapshot`

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::progress::Progress;
use super::{Failure, Outcome, inputs, limits, print_json, review, shown};
use crate::error::{Error, Kind, quoted};
use crate::io::{Value, Wanted};
use crate::limits::Limits;
use crate::model::Model;
use crate::testing::{Bounds, Changes, GivenInput, Inputs, Moved, Options, Snapshot};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Evaluate models and write MODEL.ovir-snap beside each
    Record(Record),
    /// Evaluate models again and hold them against their snapshots
    ///
    /// Exits with 1 if one is not as recorded: what it gives now is in MODEL.ovir-snap.new, for `ovir
    /// snapshot review`. Within the tolerances of the file, the file stays as it is.
    Test(Test),
    /// Show the snapshots that wait for review, and accept or reject them
    Review(review::Args),
}

/// What record and test share.
#[derive(Debug, clap::Args)]
struct Common {
    /// The models: .xml or .onnx files
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// The value of an input, as `ovir eval` takes it; others are random, or as recorded
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// Where snapshots are kept, in place of beside the models
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// How far tensors may be: `1e-4` or `relative-l2=1e-4 element=1e-3 absolute=1e-6`, for all or
    /// behind a tensor's name (`*` for any characters); `NAME skip` leaves it out
    #[arg(long, value_name = "[NAME ]BOUND")]
    tol: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: limits::LimitArgs,
}

#[derive(Debug, clap::Args)]
struct Record {
    #[command(flatten)]
    common: Common,
    /// A line for every layer, so that a test tells which one moved first
    #[arg(long)]
    trace: bool,
    /// The seed of random inputs, samples and sketches
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Replace a snapshot that is another one
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Test {
    #[command(flatten)]
    common: Common,
    /// Evaluate the compiled model, and compare its outputs only
    #[arg(long)]
    compiled: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    match &args.action {
        Action::Record(args) => after_bars(out, |out| record(args, out)),
        Action::Test(args) => after_bars(out, |out| test(args, out)),
        Action::Review(args) => review::run(args, out),
    }
}

/// Prints what is told of all models when no bar is in the way any more.
fn after_bars(out: &mut dyn Write, work: impl FnOnce(&mut dyn Write) -> Outcome) -> Outcome {
    let mut told = Vec::new();
    let outcome = work(&mut told);
    out.write_all(&told)?;
    outcome
}

/// How far the work has come: in models, or in the layers of a single one.
struct Watched {
    models: Option<Progress>,
}

impl Watched {
    fn new(models: usize) -> Self {
        let several = models > 1;
        Self {
            models: several.then(|| Progress::new("models", models as u64)),
        }
    }

    fn record(
        &self,
        path: &Path,
        model: &Model,
        inputs: &[GivenInput],
        options: &Options,
    ) -> Result<Snapshot, Failure> {
        let Some(models) = &self.models else {
            let mut layers = Progress::of_layers([model]);
            let observers = &mut layers.observers();
            return Ok(Snapshot::record_with(model, inputs, options, observers)?);
        };
        models.tell(&shown(path));
        let snapshot = Snapshot::record(model, inputs, options)?;
        models.step();
        Ok(snapshot)
    }
}

impl Common {
    /// The models, each with its snapshot's file.
    fn targets(&self) -> Result<Vec<(&Path, PathBuf)>, Failure> {
        let mut seen = HashSet::new();
        let mut targets = Vec::new();
        for model in &self.models {
            let path = Snapshot::path_of(model, self.to.as_deref());
            if !seen.insert(path.clone()) {
                let message = format!(
                    "two models would have the snapshot {}; record them one by one, with --to",
                    shown(&path)
                );
                return Err(Failure::Usage(message));
            }
            targets.push((model.as_path(), path));
        }
        Ok(targets)
    }

    fn bounds(&self, mut bounds: Bounds) -> Result<Bounds, Failure> {
        for text in &self.tol {
            let read = bounds.read(text);
            read.map_err(|e| Failure::Usage(format!("`--tol {text}`: {}", e.message())))?;
        }
        Ok(bounds)
    }

    /// The inputs of a run: those given, then as recorded, then random.
    fn inputs(
        &self,
        model: &Model,
        recorded: Option<&Snapshot>,
        seed: u64,
        limits: &Limits,
    ) -> Result<Vec<GivenInput>, Failure> {
        let sources = inputs::sources(model, &self.inputs);
        let given = inputs::read(model, &self.inputs, limits)?;
        let mut all: Vec<GivenInput> = Vec::new();
        for (index, tensor) in given {
            let source = sources.iter().rev().find(|(at, _)| *at == index);
            let source = source.map_or("given", |(_, text)| text).to_owned();
            all.push(GivenInput {
                index,
                tensor,
                source,
            });
        }
        for (index, input) in model.inputs().iter().enumerate() {
            if all.iter().any(|given| given.index == index) {
                continue;
            }
            let found = recorded.map(Snapshot::inputs).unwrap_or_default();
            let found = found.iter().find(|record| record.name == input.name());
            all.push(match found {
                Some(record) if record.source == "given" => {
                    let message = format!(
                        "input {} was given when the snapshot was recorded: give it again with -i",
                        quoted(input.name())
                    );
                    return Err(Failure::Error(Error::new(Kind::Input, message)));
                }
                Some(record) => again(model, index, &record.source, &record.what, limits)?,
                None => GivenInput::random(model, index, seed, limits)?,
            });
        }
        Ok(all)
    }
}

/// The value that a snapshot describes, of the type and shape it had.
fn again(
    model: &Model,
    index: usize,
    source: &str,
    what: &str,
    limits: &Limits,
) -> Result<GivenInput, Failure> {
    let wanted = Wanted::by(model, index);
    let typed = Value::parse(&format!("{what}:{source}"));
    let value = typed.or_else(|_| Value::parse(source));
    let tensor = value
        .and_then(|value| value.load(&wanted, limits))
        .map_err(|e| {
            let name = quoted(model.inputs()[index].name());
            let message = format!("input {name} as recorded, `{source}`: {e}");
            Failure::Error(Error::new(e.kind_for(Kind::Input), message))
        })?;
    Ok(GivenInput {
        index,
        tensor,
        source: source.to_owned(),
    })
}

fn record(args: &Record, out: &mut dyn Write) -> Outcome {
    let common = &args.common;
    let limits = common.limits.begin()?;
    let options = Options {
        trace: args.trace,
        seed: args.seed,
        bounds: common.bounds(Bounds::default())?,
        limits: limits.clone(),
        ..Options::default()
    };
    if let Some(folder) = &common.to {
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::new(Kind::Io, format!("{}: {e}", shown(folder))))?;
    }
    let mut entries = Vec::new();
    let mut refused = false;
    let targets = common.targets()?;
    let watched = Watched::new(targets.len());
    for (path, target) in targets {
        let model = read(path, &limits)?;
        let inputs = common.inputs(&model, None, args.seed, &limits)?;
        let snapshot = watched.record(path, &model, &inputs, &options)?;
        let text = snapshot.to_string();
        let old = match std::fs::exists(&target) {
            Ok(true) if !args.force => Some(Snapshot::read(&target, &limits)?),
            _ => None,
        };
        let same = old.as_ref().map(|old| old.to_string() == text);
        let status = match same {
            None => "recorded",
            Some(true) => "unchanged",
            Some(false) => "different",
        };
        if same.is_none() {
            snapshot.write(&target)?;
            let _ = std::fs::remove_file(Snapshot::pending_of(&target));
        }
        refused |= same == Some(false);
        if common.json {
            entries.push(json!({
                "model": path.to_string_lossy(),
                "snapshot": target.to_string_lossy(),
                "status": status,
                "bytes": text.len(),
                "traced_layers": snapshot.traced(),
            }));
            continue;
        }
        let traced = match snapshot.traced() {
            0 => String::new(),
            layers => format!(", {layers} layers traced"),
        };
        match same {
            None => writeln!(
                out,
                "wrote {} ({} bytes{traced})",
                shown(&target),
                text.len()
            )?,
            Some(true) => writeln!(out, "{} is as it would be recorded", shown(&target))?,
            Some(false) => writeln!(
                out,
                "{} is another snapshot and stays; `ovir snapshot test` compares, --force replaces it",
                shown(&target)
            )?,
        }
    }
    if common.json {
        print_json(
            out,
            "snapshot/1",
            json!({ "action": "record", "models": entries }),
        )?;
    }
    if refused {
        Err(Failure::Different)
    } else {
        Ok(())
    }
}

fn read(path: &Path, limits: &Limits) -> Result<Model, Failure> {
    let model = Model::read_with(path, limits)?;
    model.check_supported()?;
    Ok(model)
}

fn test(args: &Test, out: &mut dyn Write) -> Outcome {
    let common = &args.common;
    let limits = common.limits.begin()?;
    let mut entries = Vec::new();
    let mut failed = 0;
    let targets = common.targets()?;
    let watched = Watched::new(targets.len());
    for (path, target) in &targets {
        if !target.exists() {
            let message = format!(
                "{} has no snapshot {}; `ovir snapshot record` makes it",
                shown(path),
                shown(target)
            );
            return Err(Failure::Error(Error::new(Kind::Io, message)));
        }
        let mut old = Snapshot::read(target, &limits)?;
        old.set_bounds(common.bounds(old.bounds().clone())?);
        let model = read(path, &limits)?;
        let inputs = common.inputs(&model, Some(&old), old.seed(), &limits)?;
        let options = Options {
            compiled: args.compiled,
            limits: limits.clone(),
            ..Options::of(&old)
        };
        let new = watched.record(path, &model, &inputs, &options)?;
        let changes = old.changes(&new);
        let pending = Snapshot::pending_of(target);
        if changes.is_empty() {
            let _ = std::fs::remove_file(&pending);
        } else {
            failed += 1;
            // What a compiled model gives has no layers to keep.
            if !args.compiled {
                new.write(&pending)?;
            }
        }
        if common.json {
            let passed = changes.is_empty();
            entries.push(json!({
                "model": path.to_string_lossy(),
                "snapshot": target.to_string_lossy(),
                "status": if passed { "passed" } else { "changed" },
                "pending": (!passed && !args.compiled).then(|| pending.to_string_lossy()),
                "changes": to_json(&changes),
            }));
            continue;
        }
        if changes.is_empty() {
            let layers = match changes.compared {
                0 => String::new(),
                layers => format!("{layers} layers, "),
            };
            let outputs = model.outputs().len();
            writeln!(
                out,
                "{}: as recorded ({layers}{outputs} outputs)",
                shown(path)
            )?;
            continue;
        }
        writeln!(out, "{}: not as recorded in {}", shown(path), shown(target))?;
        write!(out, "{changes}")?;
        if !old.is_traced() && changes.structure.is_empty() && changes.inputs.is_empty() {
            writeln!(
                out,
                "a snapshot recorded with --trace would tell which layer moved first"
            )?;
        }
        if !args.compiled {
            writeln!(
                out,
                "wrote {}; `ovir snapshot review` accepts or rejects it",
                shown(&pending)
            )?;
        }
    }
    if common.json {
        print_json(
            out,
            "snapshot/1",
            json!({ "action": "test", "models": entries }),
        )?;
    } else if targets.len() > 1 {
        writeln!(
            out,
            "{} of {} models as recorded",
            targets.len() - failed,
            targets.len()
        )?;
    }
    if failed > 0 {
        Err(Failure::Different)
    } else {
        Ok(())
    }
}

/// What changed, for programs.
pub(super) fn to_json(changes: &Changes) -> Json {
    let moved = |moved: &Moved| {
        json!({
            "name": moved.name,
            "operation": moved.kind,
            "type": moved.what,
            "reasons": moved.reasons,
            "relative_l2": moved.relative_l2.filter(|x| x.is_finite()),
            "inputs": moved.inputs.map(|inputs| match inputs {
                Inputs::Same => "same",
                Inputs::Within(_) => "within",
                Inputs::Moved => "moved",
            }),
            "weights_changed": moved.weights_changed,
        })
    };
    json!({
        "structure": changes.structure,
        "inputs": changes.inputs,
        "layers": changes.layers.iter().map(moved).collect::<Vec<_>>(),
        "outputs": changes.outputs.iter().map(moved).collect::<Vec<_>>(),
        "compared_layers": changes.compared,
    })
}
