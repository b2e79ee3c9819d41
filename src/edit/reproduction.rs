//! A small model with its inputs and outputs, as files that somebody else can run.

use std::fmt::Write;
use std::path::Path;

use crate::error::{Error, Kind, Place, Result, plain};
use crate::graph::Terminal;
use crate::io;
use crate::limits::Limits;
use crate::model::Model;
use crate::op::Role;
use crate::tensor::Tensor;

/// A model with tensors for its inputs, and what this crate makes of them.
#[derive(Debug, Clone)]
pub(crate) struct Reproduction {
    pub(crate) model: Model,
    /// One for each input, in order.
    pub(crate) inputs: Vec<Tensor>,
    /// One for each output, in order.
    pub(crate) outputs: Vec<Tensor>,
}

impl Reproduction {
    /// Evaluates a model for its outputs.
    ///
    /// # Errors
    /// As [`Model::evaluate_with`].
    pub(crate) fn of(model: Model, inputs: Vec<Tensor>, limits: &Limits) -> Result<Self> {
        let given = inputs.iter().cloned().enumerate();
        let outputs = model.evaluate_with(given, limits, &mut [])?;
        Ok(Self {
            outputs: outputs.into_tensors(),
            model,
            inputs,
        })
    }

    /// The layers that are neither constants nor the ends of the graph.
    pub(crate) fn layers(&self) -> usize {
        layers(&self.model)
    }

    /// Writes `model.xml`, `model.bin`, `inputs.npz` and `outputs.npz` to a folder. The entries of the
    /// archives have the names of the inputs and outputs.
    ///
    /// # Errors
    /// When a file cannot be written, or the model has no spelling in IR.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        self.model.write(folder.join("model.xml"))?;
        let ends = [
            ("inputs.npz", self.model.inputs(), &self.inputs),
            ("outputs.npz", self.model.outputs(), &self.outputs),
        ];
        for (name, terminals, tensors) in ends {
            let path = folder.join(name);
            write_named(&path, terminals, tensors)?;
        }
        Ok(())
    }

    /// The layers and the ends of the graph as a table of Markdown.
    pub(crate) fn table(&self) -> String {
        let graph = self.model.graph();
        let mut text =
            String::from("| layer | operation | attributes | outputs |\n|---|---|---|---|\n");
        for (id, node) in graph.nodes() {
            if node.role() == Role::Result {
                continue;
            }
            let attributes: Vec<_> = node
                .attributes()
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let attributes = match node.op().is_some_and(|op| op.is_constant()) {
                true => String::new(),
                false => attributes.join(" "),
            };
            let outputs = self.model.inferred(id).iter().map(ToString::to_string);
            let cells = [
                node.name().to_owned(),
                node.type_name().to_owned(),
                attributes,
                outputs.collect::<Vec<_>>().join(", "),
            ];
            let cells = cells.map(|cell| plain(&cell).replace('|', "\\|"));
            writeln!(text, "| {} |", cells.join(" | ")).expect("a string grows");
        }
        text
    }
}

/// The layers of a model's graph that are neither constants nor the ends of the graph.
pub(crate) fn layers(model: &Model) -> usize {
    let inner = model.graph().nodes().filter(|(_, node)| {
        let ends = matches!(node.role(), Role::Parameter | Role::Result);
        !ends && !node.op().is_some_and(|op| op.is_constant())
    });
    inner.count()
}

/// Writes tensors to an .npz file, under the names of the inputs or outputs they are for.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_named(path: &Path, terminals: &[Terminal], tensors: &[Tensor]) -> Result<()> {
    let names = io::entry_names(terminals.iter().map(Terminal::name));
    let entries = names.iter().map(String::as_str).zip(tensors);
    io::npz::write(path, entries).map_err(|error| Error::new(Kind::Io, error.to_string()))
}

/// Writes a text to a file.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let failed = |error: std::io::Error| {
        let place = Place {
            file: Some(path.to_string_lossy().into()),
            ..Place::default()
        };
        Error::at(place, Kind::Io, format!("cannot write: {error}"))
    };
    let (mut file, temporary) = crate::files::Temporary::beside(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    drop(file);
    temporary.rename(path).map_err(failed)
}
