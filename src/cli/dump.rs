//! The outputs of inner layers, kept while a model is evaluated.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Failure;
use super::eval::file_error;
use super::select::Selector;
use crate::error::{Error, Kind};
use crate::exec::{Control, Observer};
use crate::graph::Node;
use crate::io::{self, IoError};
use crate::model::Model;
use crate::tensor::Tensor;

/// Keeps what the selectors mean: each tensor at once in a directory, or all in one file.
pub(super) struct Dump {
    path: PathBuf,
    wanted: HashSet<u64>,
    /// For an .npz file, which is written whole.
    kept: Option<Vec<(String, Tensor)>>,
    names: HashSet<String>,
    failed: Option<IoError>,
}

impl Dump {
    pub(super) fn new(model: &Model, selectors: &[String], path: &Path) -> Result<Self, Failure> {
        let mut selectors: Vec<Selector> = selectors
            .iter()
            .map(|text| Selector::parse(text))
            .collect::<Result<_, _>>()?;
        let mut wanted = HashSet::new();
        for (_, node) in model.graph().nodes() {
            for selector in &mut selectors {
                if selector.matches(node) {
                    wanted.insert(node.id());
                }
            }
        }
        for selector in &selectors {
            selector.expect_match(model.graph().nodes().map(|(_, n)| n.name()))?;
        }
        let is_file = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        if !is_file {
            std::fs::create_dir_all(path).map_err(|e| {
                let message = format!("{}: {e}", path.display());
                Failure::Error(Error::new(Kind::Io, message))
            })?;
        }
        Ok(Self {
            path: path.to_owned(),
            wanted,
            kept: is_file.then(Vec::new),
            names: HashSet::new(),
            failed: None,
        })
    }

    /// Writes what is left to write, and gives the number of tensors.
    pub(super) fn finish(self, evaluated: bool) -> Result<usize, Failure> {
        if let Some(error) = self.failed {
            return Err(file_error(error));
        }
        match self.kept {
            // What was met before an evaluation failed is what its reader needs most.
            Some(kept) if evaluated || !kept.is_empty() => {
                let entries = kept.iter().map(|(name, tensor)| (name.as_str(), tensor));
                io::npz::write(&self.path, entries).map_err(file_error)?;
                Ok(kept.len())
            }
            _ => Ok(self.names.len()),
        }
    }

    /// A name for the tensor that no other has: the layer's, with the number of the output if
    /// there are several.
    fn name(&mut self, node: &Node, output: usize, outputs: usize) -> String {
        let mut name: String = if self.kept.is_some() {
            node.name().to_owned()
        } else {
            // A layer's name may hold what a file's cannot.
            let safe = |c: char| c.is_alphanumeric() || "._-".contains(c);
            let name = node.name().chars().take(150);
            name.map(|c| if safe(c) { c } else { '_' }).collect()
        };
        if outputs > 1 {
            name = format!("{name}.{output}");
        }
        if name.is_empty() || name.starts_with('.') || self.names.contains(&name) {
            name = format!("{}_{name}.{}", node.id(), output);
        }
        self.names.insert(name.clone());
        name
    }
}

impl Observer for Dump {
    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if !self.wanted.contains(&node.id()) {
            return Control::Continue;
        }
        for (index, tensor) in outputs.iter().enumerate() {
            let name = self.name(node, index, outputs.len());
            match &mut self.kept {
                Some(kept) => kept.push((name, tensor.clone())),
                None => {
                    let path = self.path.join(format!("{name}.npy"));
                    if let Err(error) = io::npy::write(&path, tensor) {
                        self.failed = Some(error);
                        return Control::Stop;
                    }
                }
            }
        }
        Control::Continue
    }
}
