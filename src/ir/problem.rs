//! What is wrong with a document: errors that keep it from loading, and warnings.

use super::source::Source;
use crate::error::{Error, Kind, LayerRef};

/// Whether a problem keeps the model from loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The model does not load.
    Error,
    /// The model loads, but the file says something odd.
    Warning,
}

/// One finding in a document.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Whether it keeps the model from loading.
    pub severity: Severity,
    /// Where, and what.
    pub error: Error,
}

/// The findings of one document, in the order they were met.
#[derive(Debug)]
pub(crate) struct Problems<'s> {
    source: &'s Source,
    found: Vec<Problem>,
    /// How many errors and how many warnings there were.
    counts: [usize; 2],
}

/// No more errors, nor warnings, are told: a file may have one in every ten bytes.
const MOST: usize = 10_000;

impl<'s> Problems<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self {
            source,
            found: Vec::new(),
            counts: [0; 2],
        }
    }

    /// Notes an error at a byte offset.
    pub(crate) fn error(&mut self, kind: Kind, offset: usize, message: impl Into<String>) {
        self.error_in(kind, offset, Vec::new(), message);
    }

    /// Notes an error at a byte offset, in a layer.
    pub(crate) fn error_in(
        &mut self,
        kind: Kind,
        offset: usize,
        layers: Vec<LayerRef>,
        message: impl Into<String>,
    ) {
        self.note(Severity::Error, kind, offset, layers, message.into());
    }

    /// Notes a warning at a byte offset, in a layer.
    pub(crate) fn warn_in(
        &mut self,
        kind: Kind,
        offset: usize,
        layers: Vec<LayerRef>,
        message: impl Into<String>,
    ) {
        self.note(Severity::Warning, kind, offset, layers, message.into());
    }

    fn note(
        &mut self,
        severity: Severity,
        kind: Kind,
        offset: usize,
        layers: Vec<LayerRef>,
        message: String,
    ) {
        let found = &mut self.counts[severity as usize];
        *found += 1;
        if *found > MOST {
            return;
        }
        let message = if *found == MOST {
            "there are more problems of this kind, which are not told".to_owned()
        } else {
            message
        };
        let mut place = self.source.place(offset);
        place.layers = layers;
        let error = Error::at(place, kind, message);
        self.found.push(Problem { severity, error });
    }

    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.found
    }
}
