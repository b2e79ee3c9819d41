//! A document with every problem found in it.

use std::sync::{Arc, OnceLock};

use super::{Inner, Model};
use crate::error::{Error, Kind, Result};
use crate::graph::infer::Facts;
use crate::ir::{self, BinFile, Loaded, Problem, Source};
use crate::limits::Limits;

/// What a document holds, with every problem found in it: what `ovir check` shows.
#[derive(Debug)]
pub struct Inspection {
    /// The document's text, unless the file could not be read.
    pub source: Arc<Source>,
    /// Errors and warnings in the order they were met.
    pub problems: Vec<Problem>,
    /// The model, if the document is well-formed; with errors among the problems it is only fit
    /// to be looked at.
    pub model: Option<Model>,
    /// Layers of the document, those that nothing needs included.
    pub layers: usize,
    /// Bytes of the `.bin` file, if it is there.
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

/// Reads a document, with every problem in it.
pub(super) fn inspect(
    source: Source,
    weights: &BinFile,
    depth: Depth,
    limits: &Limits,
) -> Inspection {
    let infer = depth == Depth::Inference;
    let (loaded, problems) = ir::load(&source, weights, limits, infer);
    let source = Arc::new(source);
    let layers = loaded.as_ref().map_or(0, |l| l.layers);
    let model = loaded.map(|loaded: Loaded| {
        let facts = loaded
            .facts
            .unwrap_or_else(|| Facts::declared(&loaded.graphs[0]));
        Model(Arc::new(Inner {
            name: loaded.name,
            version: loaded.version,
            graphs: loaded.graphs.into(),
            facts,
            source: Some(Arc::clone(&source)),
            warnings: problems.clone(),
            plan: OnceLock::new(),
        }))
    });
    Inspection {
        source,
        problems,
        model,
        layers,
        weights_bytes: weights.len(),
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
