//! What is wrong with a model, told by file and node; the format has no lines.

use std::sync::Arc;

use crate::error::{Error, Kind, LayerRef, Place};
use crate::ir::{Problem, Severity};
use crate::op::OpError;
use crate::tensor::TensorError;

/// Why a part of a model is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: Kind,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// An operator, version or element type that is not supported.
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, message)
    }

    /// Missing or wrong data of a constant.
    pub(super) fn weights(message: impl Into<String>) -> Self {
        Self::new(Kind::Weights, message)
    }

    /// A missing or wrong attribute.
    pub(super) fn attribute(message: impl Into<String>) -> Self {
        Self::new(Kind::Attribute, message)
    }

    /// Inputs or outputs that do not make a node.
    pub(super) fn structure(message: impl Into<String>) -> Self {
        Self::new(Kind::Structure, message)
    }
}

/// Errors while a constant is read.
impl From<OpError> for Refusal {
    fn from(error: OpError) -> Self {
        Self::new(Kind::of_op(error.kind, Kind::Weights), error.message)
    }
}

impl From<TensorError> for Refusal {
    fn from(error: TensorError) -> Self {
        OpError::from(error).into()
    }
}

/// The findings of one model, in the order they were met.
#[derive(Debug)]
pub(super) struct Problems {
    file: Arc<str>,
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(file: Arc<str>) -> Self {
        Self {
            file,
            found: Vec::new(),
        }
    }

    pub(super) fn error(
        &mut self,
        kind: Kind,
        layer: Option<LayerRef>,
        message: impl Into<String>,
    ) {
        self.push(Severity::Error, kind, layer, message.into());
    }

    pub(super) fn warn(&mut self, kind: Kind, layer: Option<LayerRef>, message: impl Into<String>) {
        self.push(Severity::Warning, kind, layer, message.into());
    }

    pub(super) fn refuse(&mut self, layer: Option<LayerRef>, refusal: Refusal) {
        self.error(refusal.kind, layer, refusal.message);
    }

    fn push(&mut self, severity: Severity, kind: Kind, layer: Option<LayerRef>, message: String) {
        let place = Place {
            file: Some(Arc::clone(&self.file)),
            layers: layer.into_iter().collect(),
            ..Place::default()
        };
        let error = Error::at(place, kind, message);
        self.found.push(Problem { severity, error });
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.found
    }
}
