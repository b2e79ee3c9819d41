//! The inputs of a run: `-i NAME=VALUE`, or `-i FILE` for all of them.

use std::path::Path;

use super::select::nearest;
use super::{Failure, shown};
use crate::error::{Error, Kind, quoted};
use crate::io::{self, IoError, Value, Wanted, json};
use crate::limits::Limits;
use crate::model::{Model, PortKey};
use crate::tensor::Tensor;

/// Where an input comes from.
enum Given {
    Value(Value),
    Tensor(Tensor),
}

/// Reads the values of the inputs. A later option wins over an earlier one.
pub(super) fn read(
    model: &Model,
    options: &[String],
    limits: &Limits,
) -> Result<Vec<(usize, Tensor)>, Failure> {
    let mut given: Vec<Option<Given>> = Vec::new();
    given.resize_with(model.inputs().len(), || None);
    for option in options {
        match split(model, option)? {
            Some((index, value)) => {
                let name = || quoted(model.inputs()[index].name());
                let value = Value::parse(value).map_err(|e| input_error(&name(), &e))?;
                given[index] = Some(Given::Value(value.for_input(index)));
            }
            None => read_file(model, Path::new(option), limits, &mut given)?,
        }
    }
    let mut inputs = Vec::new();
    for (index, given) in given.into_iter().enumerate() {
        let Some(given) = given else {
            continue;
        };
        inputs.push((index, load(model, index, given, limits)?));
    }
    Ok(inputs)
}

/// The text of the values that need no file, with the inputs they are for: what makes them again.
pub(super) fn sources(model: &Model, options: &[String]) -> Vec<(usize, String)> {
    /// Longer ones are not repeated.
    const LONGEST: usize = 80;
    let source = |option: &String| {
        let (index, text) = split(model, option).ok()??;
        let value = Value::parse(text).ok()?.for_input(index);
        let text = value.random_text().unwrap_or_else(|| text.to_owned());
        let short = value.file().is_none() && text.len() <= LONGEST;
        Some((index, if short { text } else { "given".to_owned() }))
    };
    options.iter().filter_map(source).collect()
}

/// Random values for the inputs that have none, as `random:seed=SEED` makes them.
pub(super) fn random_where_missing(
    model: &Model,
    mut given: Vec<(usize, Tensor)>,
    seed: usize,
    limits: &Limits,
) -> Result<Vec<(usize, Tensor)>, Failure> {
    for index in 0..model.inputs().len() {
        if given.iter().any(|(known, _)| *known == index) {
            continue;
        }
        let random = [format!("{index}=random:seed={seed}")];
        given.extend(read(model, &random, limits)?);
    }
    Ok(given)
}

fn load(model: &Model, index: usize, given: Given, limits: &Limits) -> Result<Tensor, Failure> {
    let wanted = Wanted::by(model, index);
    let tensor = match given {
        Given::Value(value) => value.load(&wanted, limits),
        Given::Tensor(tensor) => io::adapt(&tensor, wanted.element_type),
    };
    tensor.map_err(|e| input_error(&quoted(model.inputs()[index].name()), &e))
}

fn input_error(name: &str, error: &IoError) -> Failure {
    let kind = error.kind_for(Kind::Input);
    Failure::Error(Error::new(kind, format!("input {name}: {error}")))
}

/// Splits `NAME=VALUE`. A file alone has no name before a `=`.
fn split<'o>(model: &Model, option: &'o str) -> Result<Option<(usize, &'o str)>, Failure> {
    if !option.contains('=') {
        return Ok(None);
    }
    // Tensor names may hold `=` themselves.
    for (at, _) in option.match_indices('=') {
        if let Some(index) = find(model, &option[..at]) {
            return Ok(Some((index, &option[at + 1..])));
        }
    }
    if Path::new(option).exists() {
        return Ok(None);
    }
    let name = option.split('=').next().unwrap_or(option);
    Err(unknown(model, name))
}

fn find(model: &Model, name: &str) -> Option<usize> {
    let index = || name.parse().ok().filter(|&i| i < model.inputs().len());
    model.find_input(name).or_else(index)
}

/// The input that a name or an index means.
pub(super) fn key(model: &Model, name: &str) -> Result<PortKey<'static>, Failure> {
    match find(model, name) {
        Some(index) => Ok(PortKey::Index(index)),
        None => Err(unknown(model, name)),
    }
}

fn unknown(model: &Model, name: &str) -> Failure {
    let names: Vec<&str> = model.inputs().iter().map(|t| t.name()).collect();
    let hint = nearest(name, names.iter().copied());
    let hint = hint.map(|n| format!("did you mean {}? ", quoted(n)));
    let have: Vec<_> = names.iter().map(|n| quoted(n)).collect();
    let message = format!(
        "there is no input {}; {}the model has {}",
        quoted(name),
        hint.unwrap_or_default(),
        if have.is_empty() {
            "none".to_owned()
        } else {
            have.join(", ")
        }
    );
    Failure::Error(Error::new(Kind::Input, message))
}

/// Fills the inputs from the entries of a file, by name or by index.
fn read_file(
    model: &Model,
    path: &Path,
    limits: &Limits,
    given: &mut [Option<Given>],
) -> Result<(), Failure> {
    let failed = |e: IoError| {
        let message = format!("{e}; inputs are given as NAME=VALUE, or all by one file");
        Failure::Error(Error::new(e.kind_for(Kind::Input), message))
    };
    let is_json = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let entries: Vec<(String, Given)> = if is_json {
        let values = json::read(path, limits).map_err(failed)?;
        values
            .into_iter()
            .map(|(n, v)| (n, Given::Value(v)))
            .collect()
    } else {
        let tensors = io::read_all(path, limits).map_err(failed)?;
        tensors
            .into_iter()
            .map(|(n, t)| (n, Given::Tensor(t)))
            .collect()
    };
    let names: Vec<String> = entries.iter().map(|(n, _)| n.clone()).collect();
    let mut matched = false;
    for (name, entry) in entries {
        if let Some(index) = find(model, &name) {
            given[index] = Some(entry);
            matched = true;
        }
    }
    if !matched && !given.is_empty() {
        let entries: Vec<_> = names.iter().map(|n| quoted(n)).collect();
        let inputs: Vec<_> = model.inputs().iter().map(|t| quoted(t.name())).collect();
        let message = format!(
            "no entry of {} is an input: it has {}, the model takes {}",
            shown(path),
            entries.join(", "),
            inputs.join(", ")
        );
        return Err(Failure::Error(Error::new(Kind::Input, message)));
    }
    Ok(())
}
