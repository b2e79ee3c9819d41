//! `ovir snapshot review`

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::snapshot::to_json;
use super::{Failure, Outcome, print_json, shown};
use crate::error::{Error, Kind};
use crate::limits::Limits;
use crate::testing::Snapshot;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Models, snapshots, or folders whose snapshots are looked for
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Where snapshots are kept, if not beside the models
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Accept all: the new snapshots take the place of the old ones
    #[arg(long, conflicts_with = "reject")]
    accept: bool,
    /// Reject all: the new snapshots are removed
    #[arg(long)]
    reject: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is done with a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Skip,
    Quit,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = Limits::default();
    let pending = pending(args)?;
    let asks = !args.json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut entries = Vec::new();
    let mut waiting = 0;
    for (index, new_path) in pending.iter().enumerate() {
        let Some(path) = Snapshot::of_pending(new_path) else {
            continue;
        };
        let new = Snapshot::read(new_path, &limits)?;
        let old = match path.exists() {
            true => Some(Snapshot::read(&path, &limits)?),
            false => None,
        };
        let changes = old.as_ref().map(|old| old.changes(&new));
        if !args.json {
            writeln!(out, "{} ({} of {})", shown(&path), index + 1, pending.len())?;
            match &changes {
                Some(changes) if changes.is_empty() => writeln!(out, "nothing moved too far")?,
                Some(changes) => write!(out, "{changes}")?,
                None => writeln!(out, "the first snapshot of this model")?,
            }
        }
        let answer = match (args.accept, args.reject) {
            (true, _) => Answer::Accept,
            (_, true) => Answer::Reject,
            _ if asks => ask(out)?,
            _ => Answer::Skip,
        };
        let what = match answer {
            Answer::Accept => {
                std::fs::rename(new_path, &path).map_err(|e| failed(new_path, &e))?;
                "accepted"
            }
            Answer::Reject => {
                std::fs::remove_file(new_path).map_err(|e| failed(new_path, &e))?;
                "rejected"
            }
            Answer::Skip | Answer::Quit => {
                waiting += 1;
                "waiting"
            }
        };
        if args.json {
            entries.push(json!({
                "snapshot": path.to_string_lossy(),
                "status": what,
                "changes": changes.as_ref().map(to_json),
            }));
        } else {
            writeln!(out, "{what}")?;
        }
        if answer == Answer::Quit {
            waiting += pending.len() - index - 1;
            break;
        }
    }
    if args.json {
        print_json(
            out,
            "snapshot/1",
            json!({ "action": "review", "models": entries }),
        )?;
    } else if pending.is_empty() {
        writeln!(out, "no snapshot waits for review")?;
    } else if waiting > 0 && !asks {
        writeln!(
            out,
            "{waiting} wait: --accept or --reject decides about all that are named"
        )?;
    }
    if waiting > 0 {
        Err(Failure::Different)
    } else {
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Error(Error::new(Kind::Io, format!("{}: {error}", shown(path))))
}

/// The new snapshots that the arguments mean, in order.
fn pending(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut folders = Vec::new();
    for path in &args.paths {
        if path.is_dir() {
            folders.push(path.clone());
            continue;
        }
        if Snapshot::of_pending(path).is_some() && path.exists() {
            found.push(path.clone());
            continue;
        }
        let pending = Snapshot::pending_of(&Snapshot::path_of(path, args.to.as_deref()));
        if pending.exists() {
            found.push(pending);
        } else if !path.exists() {
            let message = format!("{}: there is no such file", shown(path));
            return Err(Failure::Error(Error::new(Kind::Io, message)));
        }
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| failed(&folder, &e))? {
            let entry = entry.map_err(|e| failed(&folder, &e))?;
            let kind = entry.file_type().map_err(|e| failed(&folder, &e))?;
            let path = entry.path();
            // Links are not followed: they may lead round in circles.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && Snapshot::of_pending(&path).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn ask(out: &mut dyn Write) -> Result<Answer, Failure> {
    loop {
        write!(out, "accept (a), reject (r), skip (s) or quit (q)? ")?;
        out.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Answer::Quit);
        }
        return Ok(match line.trim() {
            "a" | "accept" => Answer::Accept,
            "r" | "reject" => Answer::Reject,
            "s" | "skip" => Answer::Skip,
            "q" | "quit" => Answer::Quit,
            _ => continue,
        });
    }
}
