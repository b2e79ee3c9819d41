//! The outputs of inner layers, kept while a model is evaluated.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Failure;
use super::eval::file_error;
use super::select::select;
use crate::compare::Names;
use crate::error::{Error, Kind, plain};
use crate::exec::{Control, Observer};
use crate::graph::{Body, Node, NodeId};
use crate::io::{self, IoError};
use crate::model::Model;
use crate::tensor::Tensor;

/// Keeps what the selectors mean: each tensor at once in a directory, or in one file. None stays in
/// memory.
pub(super) struct Dump {
    path: PathBuf,
    /// The graph and the id of each layer.
    wanted: HashSet<(usize, u64)>,
    /// An .npz file, and no directory.
    archive: Option<io::npz::Writer>,
    names: Names,
    failed: Option<IoError>,
}

impl Dump {
    pub(super) fn new(model: &Model, selectors: &[String], path: &Path) -> Result<Self, Failure> {
        let graphs = model.graphs();
        let layers = select(graphs, selectors)?;
        let key = |(graph, id): (usize, NodeId)| (graph, graphs[graph].node(id).id());
        let wanted = layers.into_iter().map(key).collect();
        let is_file = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        let mut archive = None;
        if is_file {
            archive = Some(io::npz::Writer::create(path).map_err(file_error)?);
        } else {
            std::fs::create_dir_all(path).map_err(|e| {
                let message = format!("{}: {e}", plain(&path.to_string_lossy()));
                Failure::Error(Error::new(Kind::Io, message))
            })?;
        }
        Ok(Self {
            path: path.to_owned(),
            wanted,
            archive,
            names: if is_file {
                Names::new()
            } else {
                Names::of_files()
            },
            failed: None,
        })
    }

    /// Writes what is left to write, and gives the number of tensors.
    pub(super) fn finish(self, evaluated: bool) -> Result<usize, Failure> {
        if let Some(error) = self.failed {
            return Err(file_error(error));
        }
        match self.archive {
            // What was met before an evaluation failed is what its reader needs most.
            Some(archive) if evaluated || !archive.is_empty() => {
                let count = archive.len();
                archive.finish().map_err(file_error)?;
                Ok(count)
            }
            _ => Ok(self.names.len()),
        }
    }
}

impl Observer for Dump {
    fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        self.names.enter(node, body, iteration);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.names.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        if !self.wanted.contains(&(self.names.graph(), node.id())) {
            return Control::Continue;
        }
        for (index, tensor) in outputs.iter().enumerate() {
            let name = self.names.name(node, index, outputs.len());
            let written = match &mut self.archive {
                Some(archive) => archive.add(&name, tensor),
                None => io::npy::write(&self.path.join(format!("{name}.npy")), tensor),
            };
            if let Err(error) = written {
                self.failed = Some(error);
                return Control::Stop;
            }
        }
        Control::Continue
    }
}
