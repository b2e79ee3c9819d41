//! The layer that a search ends at as a small model with its inputs, for somebody else to run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::runs::Allow;
use super::search::{Blamed, Slot};
use super::{Compared, Named};
use crate::edit::{Reproduction, write_named, write_text};
use crate::error::{Error, Kind, Place, Result, plain};
use crate::graph::Port;
use crate::limits::Limits;
use crate::model::Model;
use crate::tensor::{Tensor, convert};

/// A reproduction that was written.
#[derive(Debug)]
pub struct Written {
    /// The small model.
    pub model: PathBuf,
    /// The same part of the reference's model, if that is another one.
    pub reference: Option<PathBuf>,
    /// The inputs of both, in order, by name.
    pub inputs: Vec<(String, Tensor)>,
    /// What the small model makes of them, beside what the reference has.
    pub outputs: Vec<Compared>,
}

impl Written {
    /// Whether the small model shows the difference.
    pub fn shows(&self) -> bool {
        self.outputs.iter().any(|output| !output.passes())
    }

    /// The model that the reference's side runs.
    pub fn theirs(&self) -> &Path {
        self.reference.as_deref().unwrap_or(&self.model)
    }
}

/// Writes the blamed layers as `model.xml` and `model.bin`, and the same part of the reference's
/// model, if that is another one, as `reference.xml` and `reference.bin`; `inputs.npz` with what the
/// reference has there, `outputs.npz` with what comes of it, and `expected.npz` with what the
/// reference has for that.
///
/// # Errors
/// When the layer stands in a body or takes a variable, so that it cannot be cut out; when a file
/// cannot be written.
pub fn reproduce(
    model: &Model,
    other: Option<&Model>,
    blamed: &Blamed,
    folder: &Path,
    allow: &Allow<'_>,
    limits: &Limits,
) -> Result<Written> {
    if blamed.expected.is_empty() {
        let message = "the layer cannot be cut out: it stands in a body";
        return Err(Error::new(Kind::Unsupported, message));
    }
    let port = |slot: &Slot| Port::new(slot.0, slot.1);
    let ports = |list: &[(Slot, Named)]| list.iter().map(|(slot, _)| port(slot)).collect();
    let (from, to): (Vec<Port>, Vec<Port>) = (ports(&blamed.feeds), ports(&blamed.expected));
    let part = model.extract(&from, &to)?;
    if part.inputs().len() != from.len() {
        let message = "the layer cannot be cut out: not all of its inputs are known";
        return Err(Error::new(Kind::Unsupported, message));
    }
    let mut tensors = Vec::new();
    for (index, (_, named)) in blamed.feeds.iter().enumerate() {
        let tensor = named.load(limits)?;
        let ty = part.input_type(index).map(|input| input.element_type);
        let ty = ty
            .filter(|ty| ty.is_static())
            .unwrap_or(tensor.element_type());
        let tensor =
            convert::convert(&tensor, ty).map_err(|e| Error::new(Kind::Input, e.to_string()))?;
        tensors.push(tensor);
    }
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
    let names = part.inputs().iter().map(|input| input.name().to_owned());
    let inputs: Vec<(String, Tensor)> = names.zip(tensors.iter().cloned()).collect();
    let reproduction = Reproduction::of(part, tensors, limits)?;
    reproduction.write(folder)?;
    let mut expected = Vec::new();
    let mut outputs = Vec::new();
    for ((_, named), found) in blamed.expected.iter().zip(&reproduction.outputs) {
        let tensor = named.load(limits)?;
        outputs.push(Compared::new(
            named.name(),
            named.name(),
            (found, &tensor),
            allow,
        ));
        expected.push(tensor);
    }
    let path = folder.join("expected.npz");
    write_named(&path, reproduction.model.outputs(), &expected)?;
    let reference = other.map(|other| theirs(other, blamed, (&from, &to), folder));
    Ok(Written {
        model: folder.join("model.xml"),
        reference: reference.transpose()?.flatten(),
        inputs,
        outputs,
    })
}

/// Writes the same part of the reference's model; nothing if a layer has no partner.
fn theirs(
    other: &Model,
    blamed: &Blamed,
    (from, to): (&[Port], &[Port]),
    folder: &Path,
) -> Result<Option<PathBuf>> {
    let paired = |ports: &[Port]| -> Option<Vec<Port>> {
        let pair = |port: &Port| {
            let node = blamed.pairs.get(port.node.index()).copied().flatten()?;
            Some(Port { node, ..*port })
        };
        ports.iter().map(pair).collect()
    };
    let (Some(from), Some(to)) = (paired(from), paired(to)) else {
        return Ok(None);
    };
    let part = other.extract(&from, &to)?;
    let path = folder.join("reference.xml");
    part.write(&path)?;
    Ok(Some(path))
}

/// What a README says of the reproduction.
pub struct Story<'s> {
    /// The model as it was named.
    pub model: &'s str,
    /// The reference as it was named, with its versions.
    pub reference: &'s str,
    /// The runtime to compare with, such as `openvino:CPU`.
    pub runtime: Option<&'s str>,
    /// What is known of the layer, a line each.
    pub lines: &'s [String],
}

/// Writes `README.md`: what was found, and how to see it again.
///
/// # Errors
/// When it cannot be written.
pub fn write_readme(
    folder: &Path,
    blamed: &Blamed,
    written: &Written,
    story: &Story<'_>,
) -> Result<()> {
    let theirs = written
        .theirs()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut text = String::new();
    let mut say = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    say("# One layer that differs\n");
    say(&format!(
        "`ovir bisect` found that {} of `{}` is the first layer that differs from {}.\n",
        blamed.alone.layer,
        plain(story.model),
        plain(story.reference)
    ));
    story
        .lines
        .iter()
        .for_each(|line| say(&format!("* {line}")));
    say("\n| file | what it holds |\n|---|---|");
    say("| model.xml, model.bin | the layer alone |");
    if written.reference.is_some() {
        say("| reference.xml, reference.bin | the same layer of the reference's model |");
    }
    say("| inputs.npz | its inputs, as the reference has them |");
    say("| outputs.npz | what `ovir` makes of them |");
    say("| expected.npz | what the reference has |");
    say("\n## Seeing it again\n\n```sh");
    say("ovir eval model.xml -i inputs.npz");
    say("ovir compare model.xml expected.npz -i inputs.npz");
    if let Some(runtime) = story.runtime {
        say(&format!(
            "ovir compare model.xml {}:{theirs} -i inputs.npz",
            plain(runtime)
        ));
    } else if written.reference.is_some() {
        say("ovir compare model.xml reference.xml -i inputs.npz");
    }
    say("```");
    if story
        .runtime
        .is_some_and(|runtime| runtime.starts_with("openvino"))
    {
        let mut python = String::new();
        let device = story
            .runtime
            .and_then(|r| r.split_once(':'))
            .map_or("CPU", |(_, d)| d);
        let _ = writeln!(python, "\nIn Python:\n\n```python");
        let _ = writeln!(python, "import numpy as np, openvino as ov");
        let _ = writeln!(
            python,
            "inputs, expected = np.load(\"inputs.npz\"), np.load(\"expected.npz\")"
        );
        let _ = writeln!(
            python,
            "model = ov.Core().compile_model(\"{theirs}\", \"{}\", {{\"INFERENCE_PRECISION_HINT\": \"f32\"}})",
            plain(device)
        );
        let _ = writeln!(
            python,
            "found = model([inputs[name] for name in inputs.files])"
        );
        let _ = writeln!(
            python,
            "print([np.abs(found[i] - expected[name]).max() for i, name in enumerate(expected.files)])"
        );
        let _ = write!(python, "```");
        say(&python);
    }
    write_text(&folder.join("README.md"), &text)
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    let place = Place {
        file: Some(path.to_string_lossy().into()),
        ..Place::default()
    };
    Error::at(place, Kind::Io, format!("cannot write: {error}"))
}
