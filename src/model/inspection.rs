//! A document with every problem found in it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{Format, Inner, Model};
#[cfg(not(feature = "onnx"))]
use crate::error::Place;
use crate::error::{Error, Kind, Result};
use crate::exec::Plan;
use crate::files::Unread;
use crate::graph::Graph;
use crate::graph::infer::Facts;
use crate::ir::{self, BinFile, Loaded, Problem, Source};
use crate::limits::Limits;
#[cfg(feature = "onnx")]
use crate::onnx;
#[cfg(feature = "onnx")]
use crate::tensor::SharedBytes;

/// What a document holds, with every problem found in it: what `ovir check` shows.
#[derive(Debug)]
pub struct Inspection {
    /// The document's text; an ONNX model has none.
    pub source: Arc<Source>,
    /// Errors and warnings in the order they were met.
    pub problems: Vec<Problem>,
    /// The model, if the document is well-formed; with errors among the problems it is only fit
    /// to be looked at.
    pub model: Option<Model>,
    /// Layers of the document (nodes of an ONNX graph), those that nothing needs included.
    pub layers: usize,
    /// Bytes of the `.bin` file, if it is there; of an ONNX model's files of external data.
    pub weights_bytes: Option<u64>,
}

/// How much of a document is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Layers, ports and attributes. The `.bin` file is not read.
    Structure,
    /// Types and shapes as well, which reads small constants.
    Inference,
}

/// Reads a file, with every problem in it.
///
/// # Errors
/// When it cannot be read at all.
pub(super) fn of_file(path: &Path, depth: Depth, limits: &Limits) -> Result<Inspection> {
    let name: Arc<str> = path.to_string_lossy().into();
    if is_onnx(path) {
        return of_onnx_file(name, path, depth, limits);
    }
    let bytes = Source::read_bytes(path, limits)?;
    #[cfg(feature = "onnx")]
    if onnx::is_model(&bytes) {
        let bytes = SharedBytes::new(Arc::new(bytes));
        return Ok(of_onnx(name, Some(path), bytes, depth, limits));
    }
    let weights = BinFile::beside(path, limits);
    Ok(of_ir(Source::new(name, bytes)?, &weights, depth, limits))
}

/// Reads a model from memory, with every problem in it.
///
/// # Errors
/// When it cannot be read at all.
pub(super) fn of_bytes(
    name: Arc<str>,
    document: Vec<u8>,
    weights: Vec<u8>,
    depth: Depth,
    limits: &Limits,
) -> Result<Inspection> {
    let held = |most: u64, what: &str| match document.len() as u64 {
        found if found > most => Err(Unread::TooLarge(found, most).error(Arc::clone(&name), what)),
        _ => Ok(()),
    };
    #[cfg(feature = "onnx")]
    if is_onnx(Path::new(&*name)) || onnx::is_model(&document) {
        held(limits.file_bytes, "the file")?;
        let bytes = SharedBytes::new(Arc::new(document));
        return Ok(of_onnx(name, None, bytes, depth, limits));
    }
    held(limits.document_bytes, "the document")?;
    let weights = BinFile::in_memory(weights);
    Ok(of_ir(Source::new(name, document)?, &weights, depth, limits))
}

impl Model {
    /// The model of a file. What was not inferred is as the file declares it.
    fn loaded(
        name: String,
        format: Format,
        graphs: Vec<Graph>,
        facts: Option<Facts>,
        source: &Arc<Source>,
        problems: &[Problem],
    ) -> Self {
        let facts = facts.unwrap_or_else(|| Facts::declared(&graphs));
        Self(Arc::new(Inner {
            name,
            format,
            supported: OnceLock::new(),
            plans: Plan::slots(graphs.len()),
            graphs: graphs.into(),
            facts,
            source: Some(Arc::clone(source)),
            warnings: problems.to_vec(),
        }))
    }
}

/// Whether a file's name says that it is an ONNX model.
fn is_onnx(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

fn of_ir(source: Source, weights: &BinFile, depth: Depth, limits: &Limits) -> Inspection {
    let infer = depth == Depth::Inference;
    let (loaded, problems) = ir::load(&source, weights, limits, infer);
    let source = Arc::new(source);
    let layers = loaded.as_ref().map_or(0, |l| l.layers);
    let model = loaded.map(|loaded: Loaded| {
        let version = loaded.version;
        let format = Format::Ir { version };
        let facts = loaded.facts;
        Model::loaded(
            loaded.name,
            format,
            loaded.graphs,
            facts,
            &source,
            &problems,
        )
    });
    Inspection {
        source,
        problems,
        model,
        layers,
        weights_bytes: weights.len(),
    }
}

#[cfg(not(feature = "onnx"))]
fn of_onnx_file(name: Arc<str>, _: &Path, _: Depth, _: &Limits) -> Result<Inspection> {
    let place = Place {
        file: Some(name),
        ..Place::default()
    };
    let message = "ONNX models need the feature `onnx`, this build is without it";
    Err(Error::at(place, Kind::Unsupported, message))
}

/// Reads an ONNX model. The file is mapped.
#[cfg(feature = "onnx")]
fn of_onnx_file(name: Arc<str>, path: &Path, depth: Depth, limits: &Limits) -> Result<Inspection> {
    let bytes = ir::whole(path, limits).map_err(|e| e.error(name.clone(), "the file"))?;
    Ok(of_onnx(name, Some(path), bytes, depth, limits))
}

#[cfg(feature = "onnx")]
fn of_onnx(
    name: Arc<str>,
    path: Option<&Path>,
    bytes: SharedBytes,
    depth: Depth,
    limits: &Limits,
) -> Inspection {
    let infer = depth == Depth::Inference;
    let (loaded, problems) = onnx::load(&name, path, bytes, limits, infer);
    let source = Arc::new(Source::without_text(name));
    let layers = loaded.as_ref().map_or(0, |l| l.nodes);
    let weights_bytes = loaded.as_ref().map(|l| l.external_bytes);
    let model = loaded.map(|loaded| {
        let format = Format::Onnx {
            ir_version: loaded.ir_version,
            opsets: loaded.opsets,
        };
        let (graphs, facts) = (vec![loaded.graph], loaded.facts);
        Model::loaded(loaded.name, format, graphs, facts, &source, &problems)
    });
    Inspection {
        source,
        problems,
        model,
        layers,
        weights_bytes: weights_bytes.filter(|&bytes| bytes > 0),
    }
}

impl Inspection {
    /// The model, if nothing keeps it from loading.
    ///
    /// # Errors
    /// The first problem that does.
    pub fn into_model(self) -> Result<Model> {
        if let Some(error) = ir::first_error(&self.problems) {
            return Err(error.clone());
        }
        self.model
            .ok_or_else(|| Error::new(Kind::Xml, "the document holds no model"))
    }
}
