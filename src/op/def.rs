//! How an operation is made from a layer: one row of its folder's table.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attrs::{self, Attr, AttrError};
use super::{Op, OpError, Stored};
use crate::tensor::SharedBytes;

/// Attributes as written: name and value.
pub type AttributeList = Vec<(&'static str, String)>;

/// Where the bytes of constants come from.
pub trait Weights {
    /// The `len` bytes at `offset`.
    ///
    /// # Errors
    /// When they are not there; the message says what is.
    fn slice(&self, offset: u64, len: u64) -> Result<SharedBytes, OpError>;

    /// The same bytes, which need not be read yet.
    ///
    /// # Errors
    /// As [`Weights::slice`].
    fn stored(&self, offset: u64, len: u64) -> Result<Stored, OpError> {
        Ok(self.slice(offset, len)?.into())
    }
}

/// No weights: constants made in code bring their tensor.
pub(crate) struct NoWeights;

impl Weights for NoWeights {
    fn slice(&self, _: u64, _: u64) -> Result<SharedBytes, OpError> {
        Err(OpError::new("a constant made in code brings its tensor"))
    }
}

/// What a layer gives to the operation made from it.
#[derive(Clone, Copy)]
pub struct LayerData<'a> {
    /// The attributes, in document order.
    pub attributes: &'a [Attr<'a>],
    /// Where the bytes of constants come from.
    pub weights: &'a dyn Weights,
}

/// An operation read from a layer, with the positions (in [`LayerData::attributes`]) of the
/// attributes it does not know.
pub(crate) type ReadResult = Result<(Box<dyn Op>, Vec<usize>), ReadError>;

/// Why no operation can be made from a layer.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// An attribute is missing or wrong.
    Attribute(AttrError),
    /// The constant's bytes are not there or not right.
    Weights(OpError),
}

impl From<AttrError> for ReadError {
    fn from(error: AttrError) -> Self {
        Self::Attribute(error)
    }
}

/// A version of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The opset that introduced it.
    Opset(u8),
    /// The only one there is in a list of operations outside the opsets, which a layer names in
    /// place of an opset, such as `extension`.
    Outside(&'static str),
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Opset(number) => number.fmt(f),
            Self::Outside(list) => list.fmt(f),
        }
    }
}

enum Reader {
    Layer(fn(&LayerData<'_>) -> ReadResult),
    Fixed(fn() -> Box<dyn Op>),
    /// No layer stands for it.
    #[cfg(feature = "onnx")]
    Made,
}

/// One row of the registry: an operation's type, and the versions that one Rust type implements.
pub struct OpDef {
    /// The operation's type as the specification writes it, such as `Gather`.
    pub name: &'static str,
    /// The opsets that introduced the versions implemented; none for a row outside the opsets.
    pub opsets: &'static [u8],
    /// The list the row belongs to, if it is outside the opsets.
    pub outside: Option<&'static str>,
    /// The attributes a layer must have, though the operation could do without.
    required: &'static [&'static str],
    reader: Reader,
    writer: fn(&dyn Op) -> AttributeList,
}

impl OpDef {
    /// The versions implemented.
    pub fn versions(&self) -> impl Iterator<Item = Version> + use<> {
        let opsets = self.opsets.iter().copied().map(Version::Opset);
        opsets.chain(self.outside.map(Version::Outside))
    }

    /// Whether a layer of a document may stand for it.
    pub(crate) fn is_read(&self) -> bool {
        !(self.opsets.is_empty() && self.outside.is_none())
    }

    /// The same row in a list outside the opsets, where versions have no numbers.
    pub(crate) const fn outside(self, list: &'static str) -> Self {
        Self {
            opsets: &[],
            outside: Some(list),
            ..self
        }
    }

    /// The same row, which refuses layers without these attributes. Those that `T` has no default
    /// for need not be named.
    pub(crate) const fn requires(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }

    pub(crate) fn read(&self, layer: &LayerData<'_>) -> ReadResult {
        let given = |name: &str| layer.attributes.iter().any(|attr| attr.name == name);
        if let Some(missing) = self.required.iter().find(|name| !given(name)) {
            return Err(<AttrError as serde::de::Error>::missing_field(missing).into());
        }
        match self.reader {
            Reader::Layer(read) => read(layer),
            Reader::Fixed(make) => Ok((make(), (0..layer.attributes.len()).collect())),
            #[cfg(feature = "onnx")]
            Reader::Made => Err(ReadError::Attribute(AttrError {
                message: format!("a {} is made in code, not read", self.name),
                offset: None,
            })),
        }
    }

    /// The attributes of an operation made by this row, as IR spells them.
    pub fn attributes(&self, op: &dyn Op) -> AttributeList {
        (self.writer)(op)
    }
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let versions: Vec<_> = self.versions().map(|v| v.to_string()).collect();
        write!(f, "{}[{}]", self.name, versions.join(", "))
    }
}

/// A row for an operation whose attributes are the fields of `T`.
pub(crate) const fn def<T>(name: &'static str, opsets: &'static [u8]) -> OpDef
where
    T: Op + DeserializeOwned + Serialize,
{
    def_with::<T>(name, opsets, |layer| {
        let (op, unknown) = attrs::read::<T>(layer.attributes)?;
        Ok((Box::new(op), unknown))
    })
}

/// A row for versions without attributes: `make` gives the operation they are.
pub(crate) const fn fixed(
    name: &'static str,
    opsets: &'static [u8],
    make: fn() -> Box<dyn Op>,
) -> OpDef {
    OpDef {
        name,
        opsets,
        outside: None,
        required: &[],
        reader: Reader::Fixed(make),
        writer: |_| Vec::new(),
    }
}

/// A row for an operation that is more than its attributes.
pub(crate) const fn def_with<T: Op + Serialize>(
    name: &'static str,
    opsets: &'static [u8],
    read: fn(&LayerData<'_>) -> ReadResult,
) -> OpDef {
    OpDef {
        name,
        opsets,
        outside: None,
        required: &[],
        reader: Reader::Layer(read),
        writer: write::<T>,
    }
}

/// The row of an operation that stands in no document: a reader of other files makes it.
#[cfg(feature = "onnx")]
pub(crate) const fn made<T: Op + Serialize>(name: &'static str) -> OpDef {
    OpDef {
        name,
        opsets: &[],
        outside: None,
        required: &[],
        reader: Reader::Made,
        writer: write::<T>,
    }
}

fn write<T: Op + Serialize>(op: &dyn Op) -> AttributeList {
    let op: &dyn Any = op;
    op.downcast_ref::<T>().map_or_else(Vec::new, attrs::write)
}
