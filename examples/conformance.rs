//! Evaluates every model of a folder and compares it with the outputs beside it.
//!
//! ```text
//! cargo run --release --example conformance -- FOLDER [PREFIX…]
//! ```
//!
//! A case is a folder with `model.xml`, and `inputs.npz` and `outputs.npz` with arrays named by
//! index; prefixes choose cases by the names of their folders. Prints one line a case that does not agree, and a summary. Fails if one does not, other
//! than for want of an operation.

// An example may print.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ovir::io;
use ovir::tensor::{ElementType, Tensor, convert};
use ovir::{Kind, Limits, Model};

enum Verdict {
    Agrees,
    Differs(String),
    Unsupported,
    NoOutputs,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: conformance FOLDER [PREFIX…]");
        return ExitCode::from(2);
    };
    let prefixes: Vec<String> = arguments.collect();
    let (mut agree, mut differ, mut unsupported, mut without) = (0, 0, 0, 0);
    for case in cases(Path::new(&folder)) {
        let name = case
            .strip_prefix(&folder)
            .unwrap_or(&case)
            .display()
            .to_string();
        let last = case.file_name().unwrap_or_default().to_string_lossy();
        if !prefixes.is_empty() && !prefixes.iter().any(|p| last.starts_with(&**p)) {
            continue;
        }
        match check(&case) {
            Verdict::Agrees => agree += 1,
            Verdict::NoOutputs => without += 1,
            Verdict::Unsupported => unsupported += 1,
            Verdict::Differs(reason) => {
                differ += 1;
                println!("{name}: {reason}");
            }
        }
    }
    println!(
        "{agree} agree, {differ} differ, {unsupported} use operations that are not supported, \
         {without} have no outputs to compare with"
    );
    ExitCode::from(u8::from(differ > 0))
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.join("model.xml").exists() {
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.map(|e| e.path()).filter(|p| p.is_dir()));
    }
    found.sort();
    found
}

fn check(case: &Path) -> Verdict {
    let model = match Model::read(case.join("model.xml")) {
        Ok(model) => model,
        Err(error) => return Verdict::Differs(format!("does not load: {error}")),
    };
    if !model.unsupported().is_empty() {
        return Verdict::Unsupported;
    }
    if !case.join("outputs.npz").exists() {
        return Verdict::NoOutputs;
    }
    match compare(case, &model) {
        Ok(None) => Verdict::Agrees,
        Ok(Some(difference)) => Verdict::Differs(difference),
        Err(error) => Verdict::Differs(error.to_string()),
    }
}

fn compare(case: &Path, model: &Model) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let types = (0..model.inputs().len()).map(|i| {
        model
            .input_type(i)
            .map_or(ElementType::Dynamic, |t| t.element_type)
    });
    let inputs = read(&case.join("inputs.npz"), types)?;
    let outputs = match model.evaluate(inputs.into_iter().enumerate()) {
        Ok(outputs) => outputs.into_tensors(),
        Err(error) if error.kind() == Kind::Unsupported => return Ok(Some(error.to_string())),
        Err(error) => return Ok(Some(format!("does not evaluate: {error}"))),
    };
    let expected = read(
        &case.join("outputs.npz"),
        outputs.iter().map(Tensor::element_type),
    )?;
    for (index, (found, expected)) in outputs.iter().zip(&expected).enumerate() {
        if let Some(difference) = difference(found, expected)? {
            return Ok(Some(format!("output {index}: {difference}")));
        }
    }
    Ok(None)
}

fn read(
    path: &Path,
    types: impl Iterator<Item = ElementType>,
) -> Result<Vec<Tensor>, Box<dyn std::error::Error>> {
    let entries = io::read_all(path, &Limits::default())?;
    let mut tensors = Vec::new();
    for (index, ty) in types.enumerate() {
        let name = index.to_string();
        let entry = entries.iter().find(|(n, _)| *n == name);
        let (_, tensor) = entry.ok_or_else(|| format!("{}: no entry {name}", path.display()))?;
        tensors.push(io::adapt(tensor, ty)?);
    }
    Ok(tensors)
}

/// The first element that is further off than rounding explains: relative 1e-4, and absolute 1e-5
/// of the largest element.
fn difference(
    found: &Tensor,
    expected: &Tensor,
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    if found.shape() != expected.shape() {
        return Ok(Some(format!(
            "shape {}, expected {}",
            found.shape(),
            expected.shape()
        )));
    }
    if !found.element_type().is_float() {
        return Ok((found != expected).then(|| "the values differ".to_owned()));
    }
    let (found, expected) = (
        convert::convert(found, ElementType::F64)?,
        convert::convert(expected, ElementType::F64)?,
    );
    let (found, expected) = (found.as_slice::<f64>()?, expected.as_slice::<f64>()?);
    let finite = expected.iter().filter(|x| x.is_finite());
    let scale = finite.fold(0f64, |scale, x| scale.max(x.abs()));
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        let same =
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-4 * b.abs() + 1e-5 * scale;
        if !same {
            return Ok(Some(format!("element {at} is {a}, expected {b}")));
        }
    }
    Ok(None)
}
