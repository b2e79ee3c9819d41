//! Inputs and outputs by name or by position.

use std::borrow::Cow;

use super::Model;
use crate::error::{Error, Kind, Result, quoted};
use crate::exec::Results;
use crate::graph::{Terminal, find_terminal};
use crate::tensor::Tensor;

/// Names an input or output: by name, or by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortKey<'k> {
    /// A tensor name or layer name.
    Name(Cow<'k, str>),
    /// A position, counted from 0.
    Index(usize),
}

impl PortKey<'_> {
    pub(super) fn find(&self, terminals: &[Terminal], what: &str) -> Result<usize> {
        let found = match self {
            Self::Name(name) => find_terminal(terminals, name),
            Self::Index(index) => (*index < terminals.len()).then_some(*index),
        };
        found.ok_or_else(|| {
            let have: Vec<_> = terminals.iter().map(|t| quoted(t.name())).collect();
            let have = if have.is_empty() {
                "none".to_owned()
            } else {
                have.join(", ")
            };
            let asked = match self {
                Self::Name(name) => quoted(name),
                Self::Index(index) => index.to_string(),
            };
            Error::new(
                Kind::Input,
                format!("there is no {what} {asked}; the model has {have}"),
            )
        })
    }
}

impl<'k> From<&'k str> for PortKey<'k> {
    fn from(name: &'k str) -> Self {
        Self::Name(Cow::Borrowed(name))
    }
}

impl<'k> From<&'k String> for PortKey<'k> {
    fn from(name: &'k String) -> Self {
        Self::Name(Cow::Borrowed(name))
    }
}

impl From<String> for PortKey<'_> {
    fn from(name: String) -> Self {
        Self::Name(Cow::Owned(name))
    }
}

impl From<usize> for PortKey<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The outputs of an evaluation, in the order of the file; found by name or by position.
#[derive(Debug, Clone)]
pub struct Outputs {
    pub(crate) model: Model,
    pub(super) tensors: Results,
}

impl Outputs {
    /// An output by tensor name, layer name, or name of the layer before it.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(self.model.find_output(name)?)
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether the model has no outputs.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Names and tensors, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        let names = self.model.outputs().iter().map(Terminal::name);
        names.zip(&self.tensors)
    }

    /// The tensors, in order.
    pub fn into_tensors(self) -> Vec<Tensor> {
        self.tensors.into_vec()
    }
}

impl std::ops::Index<usize> for Outputs {
    type Output = Tensor;

    fn index(&self, index: usize) -> &Tensor {
        &self.tensors[index]
    }
}

impl std::ops::Index<&str> for Outputs {
    type Output = Tensor;

    /// # Panics
    /// When there is no such output; [`Outputs::get`] does not.
    fn index(&self, name: &str) -> &Tensor {
        self.get(name)
            .unwrap_or_else(|| panic!("there is no output {name:?}"))
    }
}
