//! Evaluates every model of a folder and compares it with the outputs beside it.
//!
//! ```text
//! cargo run --release --example conformance -- [--untrusted] FOLDER [PREFIX…]
//! cargo run --release --example conformance -- --layers FILE.npz CASE
//! ```
//!
//! A case is a folder with `model.xml`, and `inputs.npz` and `outputs.npz` with arrays named by
//! index; prefixes choose cases by the names of their folders. Prints a table: the verdict, the
//! largest difference as a share of what is allowed (1e-4 of an element plus 1e-5 of the tensor's
//! largest), layers, milliseconds to load and to evaluate, and how many outputs are inferred less
//! precisely than the file declares. Fails if a case differs, or uses an operation that is not
//! supported.
//!
//! With `--untrusted`, models are read and evaluated under the limits for files from strangers.
//! With `--layers`, every layer of one case is evaluated on what the real runtime gives its inputs
//! (`tests/vectors/layers.py` writes the file), and what differs is printed.

// An example may print.
#![allow(clippy::print_stdout, clippy::print_stderr, dead_code)]

#[path = "../tests/irs.rs"]
mod irs;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use irs::Verdict;
use ovir::Limits;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let limits = match arguments.next_if(|argument| argument == "--untrusted") {
        Some(_) => Limits::untrusted(),
        None => Limits::default(),
    };
    let Some(folder) = arguments.next() else {
        eprintln!("usage: conformance [--untrusted] FOLDER [PREFIX…]");
        return ExitCode::from(2);
    };
    if folder == "--layers" {
        let (Some(layers), Some(case)) = (arguments.next(), arguments.next()) else {
            eprintln!("usage: conformance --layers FILE.npz CASE");
            return ExitCode::from(2);
        };
        return match irs::check_layers(Path::new(&case), Path::new(&layers)) {
            Ok(lines) => {
                lines.iter().for_each(|line| println!("{line}"));
                ExitCode::from(u8::from(lines.len() > 1))
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        };
    }
    let prefixes: Vec<String> = arguments.collect();
    let (mut agree, mut differ, mut excepted, mut unsupported, mut without) = (0, 0, 0, 0, 0);
    println!(
        "{:<56} {:>7} {:>6} {:>8} {:>8} {:>5}  verdict",
        "case", "worst", "layers", "load ms", "run ms", "vague"
    );
    for case in irs::cases(Path::new(&folder)) {
        let last = case.file_name().unwrap_or_default().to_string_lossy();
        if !prefixes.is_empty() && !prefixes.iter().any(|p| last.starts_with(&**p)) {
            continue;
        }
        let report = irs::check(&case, true, &limits);
        let mut worst = String::new();
        let verdict = match report.verdict {
            Verdict::Agrees(share) => {
                agree += 1;
                worst = format!("{share:.3}");
                "agrees".to_owned()
            }
            Verdict::NoOutputs => {
                without += 1;
                "no outputs to compare with".to_owned()
            }
            Verdict::Unsupported(operation) => {
                unsupported += 1;
                format!("UNSUPPORTED {operation}")
            }
            Verdict::Excepted(share, reason) => {
                excepted += 1;
                worst = format!("{share:.0}");
                format!("excepted: {reason}")
            }
            Verdict::Differs(_, reason) => {
                differ += 1;
                format!("DIFFERS {reason}")
            }
        };
        let name = case
            .strip_prefix(&folder)
            .unwrap_or(&case)
            .display()
            .to_string();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{name:<56} {worst:>7} {:>6} {:>8.1} {:>8.1} {:>5}  {verdict}",
            report.layers,
            ms(report.load),
            ms(report.evaluate),
            report.imprecise.len()
        );
        for line in report.imprecise.iter().take(3) {
            println!("    {line}");
        }
    }
    println!(
        "{agree} agree, {differ} differ, {excepted} are excepted, {unsupported} use operations that \
         are not supported, {without} have no outputs to compare with"
    );
    ExitCode::from(u8::from(differ + unsupported > 0))
}
