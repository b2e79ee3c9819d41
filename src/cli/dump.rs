//! The outputs of inner layers, kept while a model is evaluated.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Failure;
use super::eval::file_error;
use super::select::Selector;
use crate::error::{Error, Kind, plain};
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
                let message = format!("{}: {e}", plain(&path.to_string_lossy()));
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
            name = file_name(&name);
        }
        if outputs > 1 {
            name = format!("{name}.{output}");
        }
        let odd = name.is_empty() || self.kept.is_none() && !is_file_name(&name);
        if odd || !self.names.insert(name.to_lowercase()) {
            let other = format!("{}_{name}.{output}", node.id());
            let mut others = (1u64..).map(|count| match count {
                1 => other.clone(),
                count => format!("{other}.{count}"),
            });
            let free = others.find(|other| self.names.insert(other.to_lowercase()));
            name = free.unwrap_or(other);
        }
        name
    }
}

/// What a layer's name may give to a file's: no separators, nothing hidden, not too long.
fn file_name(name: &str) -> String {
    /// In bytes; most systems allow 255.
    const LONGEST: usize = 150;
    let safe = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let safe = |c: char| if safe(c) { c } else { '_' };
    let name = &name[..name.floor_char_boundary(LONGEST)];
    name.chars().map(safe).collect()
}

/// Whether a name may stand alone: it is no hidden file, and no device to Windows.
fn is_file_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = |device: &str| {
        let number = stem.strip_prefix(device);
        number.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
    };
    let device = ["con", "prn", "aux", "nul"].contains(&stem.as_str());
    !(stem.is_empty() || device || numbered("com") || numbered("lpt"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_folder() {
        for (name, expected) in [
            ("a/b", "a_b"),
            ("../../etc/x", ".._.._etc_x"),
            ("a\\b:c\0d\u{202e}\u{1b}", "a_b_c_d__"),
            ("模型.1-2_3", "模型.1-2_3"),
        ] {
            assert_eq!(file_name(name), expected);
        }
        assert_eq!(file_name(&"模".repeat(100)).len(), 150);
        assert_eq!(file_name(&"é".repeat(100)).len(), 150);
        for odd in [
            "", ".", "..", ".._x", ".hidden", "con", "NUL", "aux.1", "Com1", "lpt9.x",
        ] {
            assert!(!is_file_name(odd), "{odd}");
        }
        for fine in ["a", "a.b", "cont", "com", "com10", "console.0", "模"] {
            assert!(is_file_name(fine), "{fine}");
        }
    }
}
