//! The outputs of inner layers, kept while a model is evaluated.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Failure;
use super::eval::file_error;
use super::select::Selector;
use crate::error::{Error, Kind};
use crate::exec::{Control, Observer};
use crate::graph::{Body, BodyKind, Node};
use crate::io::{self, IoError};
use crate::model::Model;
use crate::tensor::Tensor;

/// A name tells no more of the bodies that a layer is in.
const MOST_NAMED: usize = 64;

/// Keeps what the selectors mean: each tensor at once in a directory, or all in one file.
pub(super) struct Dump {
    path: PathBuf,
    /// The graph and the id of each layer.
    wanted: HashSet<(usize, u64)>,
    /// The bodies that are being evaluated, outermost first: their graphs, and what each adds before
    /// the names of its layers.
    within: Vec<(usize, String)>,
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
        let graphs = model.graphs();
        for (index, graph) in graphs.iter().enumerate() {
            for (_, node) in graph.nodes() {
                for selector in &mut selectors {
                    if selector.matches(node) {
                        wanted.insert((index, node.id()));
                    }
                }
            }
        }
        for selector in &selectors {
            let nodes = graphs.iter().flat_map(|graph| graph.nodes());
            selector.expect_match(nodes.map(|(_, n)| n.name()))?;
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
            within: Vec::new(),
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
        let mut name = String::new();
        let hidden = self.within.len().saturating_sub(MOST_NAMED);
        for (_, prefix) in &self.within[hidden..] {
            name.push_str(prefix);
        }
        name.push_str(node.name());
        if self.kept.is_none() {
            // A layer's name may hold what a file's cannot.
            let safe = |c: char| c.is_alphanumeric() || "._-".contains(c);
            let safe = |c: char| if safe(c) { c } else { '_' };
            name = name.chars().take(150).map(safe).collect();
        }
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
    fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        // A branch is evaluated once, a loop's body again and again.
        let prefix = match body.kind {
            BodyKind::Body => format!("{}/{iteration}/", node.name()),
            BodyKind::Then | BodyKind::Else => format!("{}/", node.name()),
        };
        self.within.push((body.graph, prefix));
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.within.pop();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let graph = self.within.last().map_or(0, |(graph, _)| *graph);
        if !self.wanted.contains(&(graph, node.id())) {
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
