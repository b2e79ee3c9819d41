//! Writes every model of a folder anew: what `tests/vectors/written.py` gives to the real runtime.
//!
//! ```text
//! cargo run --example rewrite -- FOLDER OUT
//! ```
//!
//! For each `model.xml` or `model.onnx` below `FOLDER` there is one of the same path below `OUT`. One
//! line a model: its path, and `written` or why it is not.

// An example may print.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ovir::{Error, Kind, Model};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (Some(folder), Some(out)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: rewrite FOLDER OUT");
        return ExitCode::from(2);
    };
    let mut failed = false;
    for path in models(&folder) {
        let relative = path.strip_prefix(&folder).unwrap_or(&path);
        let verdict = match rewrite(&path, &out.join(relative).with_extension("xml")) {
            Ok(()) => "written".to_owned(),
            Err(error) => {
                failed = true;
                error.to_string().replace('\n', ";")
            }
        };
        println!("{}\t{verdict}", relative.display());
    }
    ExitCode::from(u8::from(failed))
}

fn rewrite(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(folder) = to.parent() {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|e| Error::new(Kind::Io, e.to_string()))?;
    }
    Model::read(from)?.write(to)
}

fn models(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .file_name()
                .is_some_and(|n| n == "model.xml" || n == "model.onnx")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
