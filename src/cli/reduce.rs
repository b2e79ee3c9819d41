//! `ovir reduce`

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::limits::duration;
use super::progress::Progress;
use super::table::grouped;
use super::{Failure, ModelArg, Outcome, inputs, print_json, shown};
use crate::edit::{self, Check, Reduction, Reproduction, Stage, Stripped, Verdict};
use crate::error::{Error, Kind, Result, plain};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, by name or by index; or one file for all inputs (see `ovir help eval`)
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// The command that fails while the fault is there: it ends with another exit code than 0, or
    /// crashes
    ///
    /// The system's shell runs it for each candidate. In it `{}` stands for the candidate's .xml
    /// file, `{inputs}` for an .npz file of the values of its inputs, and `{outputs}` for one of the
    /// outputs that ovir evaluates; entries have the names of the inputs and outputs. Exit code 0
    /// says that the fault is gone. It should tell the fault from other errors, or the result may
    /// show another fault.
    #[arg(long, value_name = "COMMAND")]
    check: String,
    /// How long one check may take; one that takes longer counts as passed
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    check_timeout: Duration,
    /// Put noise of the same mean and deviation in the place of weights, where it fails still
    #[arg(long)]
    strip_weights: bool,
    /// The folder to write the result to: model.xml, model.bin, inputs.npz, outputs.npz, README.md
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was asked so far.
#[derive(Debug, Default)]
struct Asked {
    checks: usize,
    failed: usize,
    timed_out: usize,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let begun = Instant::now();
    if !args.check.contains("{}") {
        let message = "--check names no `{}`, which stands for the model in the command";
        return Err(Failure::Usage(message.to_owned()));
    }
    let (limits, model) = args.model.read()?;
    let given = inputs::read(&model, &args.inputs, &limits)?;
    std::fs::create_dir_all(&args.output).map_err(|error| {
        let message = format!("{}: {error}", shown(&args.output));
        Failure::Error(Error::new(Kind::Io, message))
    })?;
    let check = Check::new(&args.check, args.check_timeout, &limits)?;
    let mut asked = Asked::default();
    let progress = Progress::new("checks", 0);
    let mut smallest = edit::layers(&model);
    let mut fails = |candidate: &Reproduction, stage: Stage| -> Result<bool> {
        let layers = candidate.layers();
        progress.tell(&format!(
            "{layers} layers ({}), smallest so far {smallest}",
            stage.name()
        ));
        let verdict = check.ask(candidate)?;
        progress.step();
        asked.checks += 1;
        match verdict {
            Verdict::Fails => {
                asked.failed += 1;
                smallest = smallest.min(candidate.layers());
            }
            Verdict::TimedOut if stage == Stage::Whole => {
                let message = "the check takes longer on the whole model than it may; \
                               --check-timeout gives it more";
                return Err(Error::new(Kind::Input, message));
            }
            Verdict::TimedOut => asked.timed_out += 1,
            Verdict::Passes => {}
        }
        Ok(verdict == Verdict::Fails)
    };
    let mut reduction = Reduction::begin(&model, given, &limits, &mut fails)?;
    let mut ended = reduction.run(&mut fails);
    let mut stripped = None;
    if args.strip_weights && ended.is_ok() {
        match edit::strip(&mut reduction.best, &limits, &mut fails) {
            Ok(found) => stripped = Some(found),
            Err(error) => ended = Err(error),
        }
    }
    drop(progress);
    // What was found before an interruption is worth keeping.
    let found = Found {
        args,
        before: edit::layers(&model),
        best: &reduction.best,
        asked,
        stripped,
        seconds: begun.elapsed().as_secs_f64(),
    };
    found.best.write(&args.output)?;
    edit::write_text(&args.output.join("README.md"), &found.readme())?;
    ended?;
    match args.json {
        true => print_json(out, "reduce/1", found.to_json()),
        false => found.print(out),
    }
}

/// What is left of the model.
struct Found<'a> {
    args: &'a Args,
    before: usize,
    best: &'a Reproduction,
    asked: Asked,
    stripped: Option<Stripped>,
    seconds: f64,
}

impl Found<'_> {
    fn print(&self, out: &mut dyn Write) -> Outcome {
        let graph = self.best.model.graph();
        writeln!(
            out,
            "{} of {} still {}, after {} checks in {:.1} s",
            grouped(self.best.layers() as u64),
            counted(self.before),
            match self.best.layers() {
                1 => "fails",
                _ => "fail",
            },
            self.asked.checks,
            self.seconds
        )?;
        for (_, node) in graph.nodes() {
            let constant = node.op().is_some_and(|op| op.is_constant());
            let ends = matches!(node.type_name(), "Parameter" | "Result");
            if !constant && !ends {
                writeln!(out, "  {}  {}", plain(node.type_name()), plain(node.name()))?;
            }
        }
        if let Some(text) = self.weights() {
            writeln!(out, "{text}")?;
        }
        if self.asked.timed_out > 0 {
            let count = self.asked.timed_out;
            writeln!(out, "{count} checks took too long and counted as passed")?;
        }
        writeln!(out, "wrote {}", shown(&self.args.output))?;
        Ok(())
    }

    fn weights(&self) -> Option<String> {
        let Stripped { replaced, kept } = self.stripped?;
        let noise = match replaced {
            1 => "1 constant is noise now".to_owned(),
            _ => format!("{replaced} constants are noise now"),
        };
        Some(match (replaced, kept) {
            (0, 0) => "weights: there are none".to_owned(),
            (_, 0) => format!("weights: {noise}"),
            (0, _) => "weights: all are needed as they are".to_owned(),
            _ => format!("weights: {noise}, {kept} needed as before"),
        })
    }

    fn to_json(&self) -> serde_json::Value {
        let graph = self.best.model.graph();
        let layers: Vec<_> = graph
            .nodes()
            .map(|(id, node)| {
                let inferred = self.best.model.inferred(id).iter();
                let outputs: Vec<_> = inferred.map(ToString::to_string).collect();
                json!({
                    "name": node.name(),
                    "type": node.type_name(),
                    "outputs": outputs,
                })
            })
            .collect();
        json!({
            "folder": self.args.output,
            "layers": self.best.layers(),
            "layers_before": self.before,
            "checks": self.asked.checks,
            "failed": self.asked.failed,
            "timed_out": self.asked.timed_out,
            "seconds": self.seconds,
            "weights_replaced": self.stripped.map(|s| s.replaced),
            "weights_kept": self.stripped.map(|s| s.kept),
            "graph": layers,
        })
    }

    fn readme(&self) -> String {
        let name = self.args.model.model.file_name().unwrap_or_default();
        let weights = self.weights().map(|text| format!("\n{text}.\n"));
        format!(
            "# {layers} of {name}\n\n\
             The smallest part found of a model of {before} layers for which this command fails:\n\n\
             ```sh\n{command}\n```\n\n\
             | file | what it is |\n|---|---|\n\
             | model.xml, model.bin | the part, OpenVINO IR version 11 |\n\
             | inputs.npz | values of its inputs, from an evaluation of the whole model |\n\
             | outputs.npz | its outputs as `ovir` evaluates them |\n\n\
             Entries of the archives have the names of the inputs and outputs.\n{weights}\n\
             ## Layers\n\n{table}\n\
             ## Running it\n\n\
             ```sh\n{check}\novir eval model.xml -i inputs.npz\n```\n\n\
             ```python\n\
             import numpy as np, openvino as ov\n\
             compiled = ov.Core().compile_model(\"model.xml\", \"CPU\")\n\
             inputs, expected = np.load(\"inputs.npz\"), np.load(\"outputs.npz\")\n\
             found = compiled({{name: inputs[name] for name in inputs.files}})\n\
             for name in expected.files:\n    \
                 print(name, np.abs(found[name].astype(float) - expected[name]).max())\n\
             ```\n",
            layers = counted(self.best.layers()),
            name = plain(&name.to_string_lossy()),
            before = self.before,
            command = plain(&self.args.check),
            weights = weights.unwrap_or_default(),
            table = self.best.table(),
            check = plain(&edit::fill(&self.args.check, std::path::Path::new(""))),
        )
    }
}

/// So many layers.
fn counted(layers: usize) -> String {
    match layers {
        1 => "1 layer".to_owned(),
        _ => format!("{} layers", grouped(layers as u64)),
    }
}
