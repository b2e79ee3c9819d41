//! A run: named tensors, wherever they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::names::file_name;
use super::{Names, by_id};
use crate::error::{Error, Kind, Result, plain, quoted};
use crate::exec::{Control, Observer, joined};
use crate::graph::{Body, Node};
use crate::io::{self, npy, npz};
use crate::limits::Limits;
use crate::model::{Model, Outputs};
use crate::op::Role;
use crate::tensor::{ElementType, Tensor};

/// Named tensors: the outputs of a model, and those of inner layers where they are known, under the
/// names that `ovir eval --dump` writes.
///
/// Tensors of files are read when they are asked for, so that a run may be larger than memory.
#[derive(Debug, Default)]
pub struct Run {
    /// Where it comes from, for people.
    pub title: String,
    outputs: Vec<Named>,
    layers: Vec<Named>,
    /// Positions in `layers` by name.
    by_name: HashMap<String, usize>,
    saved: bool,
}

/// A tensor of a run.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name, the main one first; the others find it too.
    pub names: Vec<String>,
    place: Stored,
    /// What the elements mean, where the file has codes only.
    element_type: Option<ElementType>,
}

#[derive(Debug, Clone)]
enum Stored {
    Memory(Tensor),
    Npy(PathBuf),
    Npz(Arc<Mutex<npz::Archive>>, String),
}

impl Named {
    /// A tensor in memory.
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Self {
        Self {
            names: vec![name.into()],
            place: Stored::Memory(tensor),
            element_type: None,
        }
    }

    /// The name to show.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// What the elements mean, where a file has codes of them.
    #[must_use]
    #[cfg(feature = "cli")]
    pub(super) fn meant(mut self, element_type: Option<ElementType>) -> Self {
        self.element_type = element_type;
        self
    }

    /// The tensor.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn load(&self, limits: &Limits) -> Result<Tensor> {
        let tensor = match &self.place {
            Stored::Memory(tensor) => Ok(tensor.clone()),
            Stored::Npy(path) => npy::read(path, limits),
            Stored::Npz(archive, entry) => {
                let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                archive.read(entry)
            }
        };
        let tensor = match (tensor, self.element_type) {
            (Ok(tensor), Some(ty)) => io::adapt(&tensor, ty),
            (tensor, _) => tensor,
        };
        tensor.map_err(|e| {
            let message = format!("tensor {}: {e}", quoted(self.name()));
            Error::new(e.kind_for(Kind::Input), message)
        })
    }
}

impl Run {
    /// A run of these outputs and inner tensors.
    pub fn new(title: impl Into<String>, outputs: Vec<Named>, layers: Vec<Named>) -> Self {
        let mut by_name = HashMap::new();
        for (index, layer) in layers.iter().enumerate() {
            for name in &layer.names {
                by_name.entry(name.clone()).or_insert(index);
            }
        }
        Self {
            title: title.into(),
            outputs,
            layers,
            by_name,
            saved: false,
        }
    }

    /// Whether it comes from a file, which may hold more than outputs.
    pub fn is_saved(&self) -> bool {
        self.saved
    }

    /// The run of a file: an `.npz` or `.safetensors` file, or a folder of `.npy` files. What of it
    /// are outputs is not known: all tensors are both.
    ///
    /// # Errors
    /// When it cannot be read, or is nothing of the kind.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let input = |e: io::IoError| Error::new(e.kind_for(Kind::Input), e.to_string());
        let is = |extension: &str| {
            let found = path.extension();
            found.is_some_and(|e| e.eq_ignore_ascii_case(extension))
        };
        let named = |name: String, place| Named {
            names: vec![name],
            place,
            element_type: None,
        };
        let tensors = if path.is_dir() {
            let failed = |e: std::io::Error| {
                let message = format!("{}: {e}", plain(&path.to_string_lossy()));
                Error::new(Kind::Io, message)
            };
            let mut found = Vec::new();
            for entry in std::fs::read_dir(path).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.extension().is_some_and(|e| e == "npy") {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    found.push(named(name.into_owned(), Stored::Npy(path.clone())));
                }
            }
            if found.is_empty() {
                let message = format!(
                    "{}: the folder has no .npy files",
                    plain(&path.to_string_lossy())
                );
                return Err(Error::new(Kind::Input, message));
            }
            found.sort_by(|a: &Named, b| a.names.cmp(&b.names));
            found
        } else if is("npz") {
            let archive = npz::Archive::open(path, limits).map_err(input)?;
            let entries: Vec<String> = archive.names().map(str::to_owned).collect();
            let archive = Arc::new(Mutex::new(archive));
            let entry = |name: String| named(name.clone(), Stored::Npz(Arc::clone(&archive), name));
            entries.into_iter().map(entry).collect()
        } else {
            let all = io::read_all(path, limits).map_err(input)?;
            all.into_iter()
                .map(|(name, tensor)| Named::new(name, tensor))
                .collect()
        };
        let run = Self::new(path.to_string_lossy(), tensors.clone(), tensors);
        Ok(Self { saved: true, ..run })
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[Named] {
        &self.outputs
    }

    /// The tensors of inner layers, in order of evaluation where there is one.
    pub fn layers(&self) -> &[Named] {
        &self.layers
    }

    /// The tensor of an inner layer, by the name of a dump, also by that of a file of a dump.
    pub fn layer(&self, name: &str) -> Option<&Named> {
        let found = self.by_name.get(name);
        let found = found.or_else(|| self.by_name.get(&file_name(name)));
        found.map(|&index| &self.layers[index])
    }

    /// The outputs of an evaluation.
    pub fn of_outputs(title: impl Into<String>, outputs: &Outputs) -> Self {
        let terminals = outputs.model.outputs().iter();
        let named = terminals
            .zip(outputs.iter())
            .map(|(terminal, (name, tensor))| {
                let others = terminal.names.iter().chain(&terminal.aliases);
                let mut names = vec![name.to_owned()];
                names.extend(others.filter(|other| *other != name).cloned());
                Named {
                    names,
                    place: Stored::Memory(tensor.clone()),
                    element_type: None,
                }
            });
        Self::new(title, named.collect(), Vec::new())
    }

    /// Evaluates a model, and keeps the tensors of inner layers if asked: in memory up to
    /// `in_memory` bytes, and above that in files of a folder, where there is one. Further observers
    /// see the evaluation.
    ///
    /// # Errors
    /// As [`Model::evaluate_with`], and when a file cannot be written.
    pub fn of_model(
        model: &Model,
        inputs: &[(usize, Tensor)],
        keep: Option<&Keep<'_>>,
        limits: &Limits,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Self> {
        let mut recorder = keep.map(|keep| Recorder::new(model, keep));
        let given = inputs.iter().cloned();
        let own = recorder.as_mut().map(|own| own as &mut dyn Observer);
        let evaluated = model.evaluate_with(given, limits, &mut joined(own, observers));
        let layers = match recorder {
            Some(recorder) => match recorder.failed {
                Some(error) => return Err(error),
                None => recorder.kept,
            },
            None => Vec::new(),
        };
        let run = Self::of_outputs(model.name(), &evaluated?);
        Ok(Self::new(run.title, run.outputs, layers))
    }
}

/// Where the tensors of inner layers are kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep<'p> {
    /// How many bytes may stay in memory.
    pub in_memory: u64,
    /// A folder for what is more.
    pub folder: Option<&'p Path>,
}

/// Keeps what inner layers give.
struct Recorder<'k> {
    keep: &'k Keep<'k>,
    names: Vec<Vec<String>>,
    ids: HashMap<u64, usize>,
    bodies: Names,
    kept: Vec<Named>,
    bytes: u64,
    failed: Option<Error>,
}

impl<'k> Recorder<'k> {
    fn new(model: &Model, keep: &'k Keep<'k>) -> Self {
        Self {
            keep,
            names: Names::new().of_model(model),
            ids: by_id(model),
            bodies: Names::new(),
            kept: Vec::new(),
            bytes: 0,
            failed: None,
        }
    }

    fn keep(&mut self, name: String, tensor: &Tensor) -> Result<()> {
        self.bytes = self.bytes.saturating_add(tensor.byte_len() as u64);
        let place = match self.keep.folder {
            Some(folder) if self.bytes > self.keep.in_memory => {
                let path = folder.join(format!("{}.npy", self.kept.len()));
                npy::write(&path, tensor).map_err(|e| Error::new(Kind::Io, e.to_string()))?;
                Stored::Npy(path)
            }
            _ => Stored::Memory(tensor.clone()),
        };
        self.kept.push(Named {
            names: vec![name],
            place,
            element_type: Some(tensor.element_type()),
        });
        Ok(())
    }
}

impl Observer for Recorder<'_> {
    fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        self.bodies.enter(node, body, iteration);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.bodies.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if matches!(node.role(), Role::Parameter | Role::Result) {
            return Control::Continue;
        }
        for (index, tensor) in outputs.iter().enumerate() {
            let at = self
                .ids
                .get(&node.id())
                .filter(|_| self.bodies.depth() == 0);
            let known = at.and_then(|&at| self.names.get(at)?.get(index));
            let name = match known {
                Some(name) => name.clone(),
                None => self.bodies.name(node, index, outputs.len()),
            };
            if let Err(error) = self.keep(name, tensor) {
                self.failed = Some(error);
                return Control::Stop;
            }
        }
        Control::Continue
    }
}
