//! Models as files: IR version 11.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::{Format, Model};
use crate::error::{Error, Kind, LayerRef, Place, Result, plain};
use crate::files::Temporary;
use crate::ir::{self, Unwritten};

impl Model {
    /// Writes the model as IR version 11: the document at `path`, the constants beside it in a file
    /// with the extension `.bin`.
    ///
    /// The files are those of the model as it is: read again, it has the same layers, types,
    /// shapes and names, and gives the same outputs. Layer ids, and the order of layers where it is
    /// free, are the writer's own, so that the same model always gives the same bytes. What version
    /// 10 means without saying it, conversions of inputs and outputs, stands in layers of its own.
    /// Constants of equal bytes are written once.
    ///
    /// Nothing but the document is held in memory. Each file is whole or not there: it is written
    /// beside its target and takes its place at the end, the constants first.
    ///
    /// # Errors
    /// When a file cannot be written, a constant cannot be read, or a layer has no spelling in IR:
    /// the operations that only ONNX models have are listed in an error of kind
    /// [`Kind::Unsupported`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bin = path.with_extension("bin");
        let failed = |path: &Path, error: std::io::Error| {
            let place = Place {
                file: Some(path.to_string_lossy().into()),
                ..Place::default()
            };
            Error::at(place, Kind::Io, format!("cannot write: {error}"))
        };
        if bin == path {
            let error = std::io::Error::other("the constants go to the file with this name");
            return Err(failed(path, error));
        }
        let (constants, constants_file) =
            Temporary::beside(&bin).map_err(|error| failed(&bin, error))?;
        let mut constants = BufWriter::with_capacity(1 << 20, constants);
        let document = self.written(&mut constants, &bin)?;
        constants.flush().map_err(|error| failed(&bin, error))?;
        let (mut out, document_file) =
            Temporary::beside(path).map_err(|error| failed(path, error))?;
        out.write_all(document.as_bytes())
            .map_err(|error| failed(path, error))?;
        drop((constants, out));
        constants_file
            .rename(&bin)
            .map_err(|error| failed(&bin, error))?;
        document_file
            .rename(path)
            .map_err(|error| failed(path, error))
    }

    /// The model as IR version 11 in memory: the document, and the bytes of the constants, as
    /// [`Model::write`] writes them and [`Model::from_bytes`] takes them.
    ///
    /// # Errors
    /// As [`Model::write`].
    pub fn to_ir(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut constants = Vec::new();
        let document = self.written(&mut constants, Path::new("the constants"))?;
        Ok((document.into_bytes(), constants))
    }

    fn written(&self, constants: &mut dyn Write, bin: &Path) -> Result<String> {
        let graphs = ir::Graphs {
            name: &self.0.name,
            graphs: &self.0.graphs,
            facts: &self.0.facts,
            foreign: !matches!(self.0.format, Format::Ir { .. }),
        };
        ir::write(graphs, constants).map_err(|unwritten| match unwritten {
            Unwritten::System(error) => {
                let place = Place {
                    file: Some(bin.to_string_lossy().into()),
                    ..Place::default()
                };
                Error::at(place, Kind::Io, format!("cannot write: {error}"))
            }
            Unwritten::Node {
                graph,
                node,
                kind,
                message,
            } => Error::at(self.place_in(graph, node), kind, message),
            Unwritten::Operations(nodes) => {
                let nodes = nodes.into_iter();
                let layers = nodes.map(|(graph, node)| self.graphs()[graph].node(node).layer_ref());
                self.unsupported_error(&layers.collect::<Vec<_>>(), "cannot be written as IR")
            }
        })
    }

    /// The error of layers of which `verdict` is true, all of them named.
    pub(super) fn unsupported_error(&self, layers: &[LayerRef], verdict: &str) -> Error {
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for layer in layers {
            let kind = format!("{} ({})", plain(&layer.type_name), plain(&layer.opset));
            match kinds.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        let place = Place {
            file: self.0.source.as_ref().map(|s| Arc::clone(s.name())),
            ..Place::default()
        };
        let first = layers.first().map(ToString::to_string).unwrap_or_default();
        let plural = verdict.replacen("is ", "are ", 1);
        let message = match (layers.len(), kinds.len()) {
            (1, _) => format!("{first} {verdict}"),
            (layers, 1) => format!("{layers} layers {plural}, the first is {first}"),
            (layers, kinds) => {
                format!("{layers} layers of {kinds} operations {plural}, the first is {first}")
            }
        };
        let details = kinds
            .into_iter()
            .map(|(kind, count)| format!("{kind}: {count}"));
        Error::at(place, Kind::Unsupported, message).with_details(details.collect())
    }
}
