//! The command line: arguments and printing, nothing else.

mod bench;
mod check;
mod dump;
mod eval;
mod inputs;
mod inspect;
mod interrupt;
mod json;
mod limits;
mod operations;
mod ops;
mod outside;
mod profile;
mod select;
mod shapes;
mod state;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::{Error, Kind, one_line, plain};
use crate::model::Inspection;
use json::print_json;

/// Read, check and evaluate OpenVINO IR and ONNX models, without the C++ runtime.
///
/// Exit codes: 0 done and clean; 1 `check` found errors; 2 wrong usage; 3 the model or an input
/// cannot be read or is invalid; 4 an operation, version or element type is not supported; 5 a
/// limit was reached; 124 the time limit is over; 130 interrupted.
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
    /// Measure how long a model takes to load and to evaluate
    Bench(bench::Args),
    /// List the operations and versions that can be evaluated
    Ops(ops::Args),
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

/// Why a command ends without its result.
#[derive(Debug)]
enum Failure {
    /// The library's error.
    Error(Error),
    /// The options do not go together, or match nothing.
    Usage(String),
    /// What was asked for is false: `check` found errors.
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
        Command::Bench(args) => bench::run(args, &mut out),
        Command::Ops(args) => ops::run(args, &mut out),
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
