//! The command line: arguments and printing, nothing else.

mod bench;
mod bisect;
mod bisect_report;
mod cells;
mod check;
mod colour;
mod compare;
mod completions;
mod diff;
mod dump;
mod edit;
mod eval;
mod extract;
mod graph;
mod inputs;
mod inspect;
mod interrupt;
mod json;
mod limits;
mod man;
mod memory;
mod operations;
mod ops;
mod outside;
mod probe;
mod profile;
mod profiler;
mod progress;
mod reduce;
mod review;
mod select;
mod shapes;
mod sides;
mod snapshot;
mod state;
mod stats;
mod subject;
mod table;
mod threads;
mod work;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::{Error, Kind, one_line, plain};
use crate::limits::Limits;
use crate::model::{Inspection, Model};
use json::print_json;

/// Read, check and evaluate OpenVINO IR and ONNX models, without the C++ runtime.
///
/// Exit codes: 0 done, clean, equal; 1 `check` found errors, or what was compared differs; 2 wrong
/// usage; 3 the model or an input cannot be read or is invalid; 4 an operation, version or element
/// type is not supported; 5 a limit was reached; 6 a runtime that was asked for is missing or failed;
/// 124 the time limit is over; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "ovir", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Evaluate a model and print or write its outputs
    Eval(eval::Args),
    /// Show what a model is: inputs, outputs, operations, size; the weights are not read
    Inspect(inspect::Args),
    /// Show every problem of a file at once, with its source line
    Check(check::Args),
    /// Infer the element type and shape of every layer
    Shapes(shapes::Args),
    /// Compare two models, saved runs, or models in installed runtimes
    Compare(compare::Args),
    /// Find the first layer where a model and a reference part
    Bisect(bisect::Args),
    /// Keep what a model is and gives in a small file, and test that it still does
    Snapshot(snapshot::Args),
    /// Show what each layer gives: ranges, NaN, infinities, and what f16 or bf16 would do
    Stats(stats::Args),
    /// Cut a part out of a model, with the values that come into it
    Extract(extract::Args),
    /// Reduce a model to the smallest part for which a command still fails
    Reduce(reduce::Args),
    /// Rename, reshape, compress or fold a model, and prove that its outputs stay what they were
    Edit(edit::Args),
    /// Show what two models differ in as structures, whatever ids, order and automatic names
    Diff(diff::Args),
    /// Measure how long a model takes to load and to evaluate
    Bench(bench::Args),
    /// Show which layers and operations the time of an evaluation goes to
    Profile(profile::Args),
    /// Show how much memory an evaluation takes, and which tensors take it
    Memory(memory::Args),
    /// Draw a model: a picture, or a page with search and details of every layer
    Graph(graph::Args),
    /// List the operations and versions that can be evaluated
    Ops(ops::Args),
    /// Print what a shell needs to complete commands and options
    Completions(completions::Args),
    /// Print the manual page, or write those of all commands
    Man(man::Args),
}

/// The model of a command.
#[derive(Debug, clap::Args)]
struct ModelArg {
    /// The model's .xml file; its .bin file is looked for beside it. A single <layer>, as the
    /// operation documents print it, is a model too, and so is an .onnx file
    model: PathBuf,
    #[command(flatten)]
    limits: limits::LimitArgs,
}

impl ModelArg {
    /// Begins the limits, and reads the model under them.
    fn read(&self) -> Result<(Limits, Model), Failure> {
        let limits = self.limits.begin()?;
        let model = Model::read_with(&self.model, &limits)?;
        Ok((limits, model))
    }
}

/// Why a command ends without its result.
#[derive(Debug)]
enum Failure {
    /// The library's error.
    Error(Error),
    /// The options do not go together, or match nothing.
    Usage(String),
    /// What was asked for is false: `check` found errors, two sides differ, a snapshot does not hold.
    Different,
    /// Standard output was closed.
    Closed,
    /// Standard output cannot be written to.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Output(error)
        }
    }
}

type Outcome = Result<(), Failure>;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let stdout = io::stdout().lock();
    let mut out = io::BufWriter::new(stdout);
    let outcome = match &cli.command {
        Command::Eval(args) => eval::run(args, &mut out),
        Command::Inspect(args) => inspect::run(args, &mut out),
        Command::Check(args) => check::run(args, &mut out),
        Command::Shapes(args) => shapes::run(args, &mut out),
        Command::Compare(args) => compare::run(args, &mut out),
        Command::Bisect(args) => bisect::run(args, &mut out),
        Command::Snapshot(args) => snapshot::run(args, &mut out),
        Command::Stats(args) => stats::run(args, &mut out),
        Command::Extract(args) => extract::run(args, &mut out),
        Command::Reduce(args) => reduce::run(args, &mut out),
        Command::Edit(args) => edit::run(args, &mut out),
        Command::Diff(args) => diff::run(args, &mut out),
        Command::Bench(args) => bench::run(args, &mut out),
        Command::Profile(args) => profile::run(args, &mut out),
        Command::Memory(args) => memory::run(args, &mut out),
        Command::Graph(args) => graph::run(args, &mut out),
        Command::Ops(args) => ops::run(args, &mut out),
        Command::Completions(args) => completions::run(args, &mut out),
        Command::Man(args) => man::run(args, &mut out),
    };
    let outcome = outcome.and_then(|()| Ok(out.flush()?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(failure, &mut out),
    }
}

fn report(failure: Failure, out: &mut dyn Write) -> ExitCode {
    // What was printed so far stands before the error.
    let _ = out.flush();
    let (code, message) = match failure {
        Failure::Closed => return ExitCode::SUCCESS,
        Failure::Different => return ExitCode::from(1),
        Failure::Usage(message) => (2, one_line(&message)),
        Failure::Output(error) => (3, format!("standard output: {error}")),
        Failure::Error(error) => (error.kind().exit_code(), error.to_string()),
    };
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(code)
}

/// A path as it is told on a terminal.
fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

/// An error if not all of a file was looked at: what was not may hold more problems.
fn unless_ended(inspection: &Inspection) -> Outcome {
    let mut errors = inspection.problems.iter().map(|problem| &problem.error);
    let ended = |e: &&Error| matches!(e.kind(), Kind::Deadline | Kind::Cancelled);
    match errors.find(ended) {
        Some(error) => Err(Failure::Error(error.clone())),
        None => Ok(()),
    }
}
