//! Names for the tensors of inner layers, that of a dump and of a run.

use std::collections::{HashMap, HashSet};

use crate::graph::{Body, BodyKind, Node};
use crate::model::Model;

/// A name tells no more of the bodies that a layer is in.
const MOST_NAMED: usize = 64;

/// Names the tensors of an evaluation as it goes along, each with a name that no other has: that of
/// the layer, behind those of the layers whose bodies it is in, with the number of the output if
/// there are several.
///
/// The same evaluation gives the same names again.
#[derive(Debug, Default)]
pub struct Names {
    for_files: bool,
    /// The bodies that are being evaluated, outermost first: their graphs, and what each adds before
    /// the names of its layers.
    within: Vec<(usize, String)>,
    taken: HashSet<String>,
}

impl Names {
    /// Names for the entries of an archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names that files may have.
    pub fn of_files() -> Self {
        Self {
            for_files: true,
            ..Self::default()
        }
    }

    /// The names of all outputs of a model's main graph, by node and output, if nothing of it is left
    /// out.
    pub fn of_model(mut self, model: &Model) -> Vec<Vec<String>> {
        let nodes = model.graph().nodes().map(|(id, node)| {
            let outputs = model.inferred(id).len();
            let name = |index| self.name(node, index, outputs);
            (0..outputs).map(name).collect()
        });
        nodes.collect()
    }

    /// A body of a layer begins, as an observer is told.
    pub fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        // A branch is evaluated once, a loop's body again and again.
        let prefix = match body.kind {
            BodyKind::Body => format!("{}/{iteration}/", node.name()),
            BodyKind::Then | BodyKind::Else => format!("{}/", node.name()),
        };
        self.within.push((body.graph, prefix));
    }

    /// A body ends.
    pub fn leave(&mut self) {
        self.within.pop();
    }

    /// The graph that is being evaluated, by its index in [`Model::graphs`].
    pub fn graph(&self) -> usize {
        self.within.last().map_or(0, |(graph, _)| *graph)
    }

    /// How many bodies are being evaluated.
    pub fn depth(&self) -> usize {
        self.within.len()
    }

    /// How many names were given.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether none was given.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// A name for one of the outputs of a layer.
    pub fn name(&mut self, node: &Node, output: usize, outputs: usize) -> String {
        let mut name = String::new();
        let hidden = self.within.len().saturating_sub(MOST_NAMED);
        for (_, prefix) in &self.within[hidden..] {
            name.push_str(prefix);
        }
        name.push_str(node.name());
        if self.for_files {
            name = file_name(&name);
        }
        if outputs > 1 {
            name = format!("{name}.{output}");
        }
        let odd = name.is_empty() || self.for_files && !is_file_name(&name);
        if odd || !self.taken.insert(name.to_lowercase()) {
            let other = format!("{}_{name}.{output}", node.id());
            let mut others = (1u64..).map(|count| match count {
                1 => other.clone(),
                count => format!("{other}.{count}"),
            });
            let free = others.find(|other| self.taken.insert(other.to_lowercase()));
            name = free.unwrap_or(other);
        }
        name
    }
}

/// The nodes of a model's main graph by their ids, which are unique in it.
pub(super) fn by_id(model: &Model) -> HashMap<u64, usize> {
    let nodes = model.graph().nodes();
    nodes.map(|(id, node)| (node.id(), id.index())).collect()
}

/// What a layer's name may give to a file's: no separators, nothing hidden, not too long.
pub(super) fn file_name(name: &str) -> String {
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
