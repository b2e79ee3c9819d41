//! Attributes: from a layer's text to an operation's struct, and back.
//!
//! An operation declares its attributes once, as the fields of its struct. [`read`] and [`write`]
//! are a small serde format that knows IR's spellings: comma-separated lists, `true` and `1`,
//! enums in any case, `inf` and `nan`. Attributes that no field takes are reported, not refused.

mod de;
mod ser;
mod types;

use std::borrow::Cow;

pub use de::{AttrError, read};
pub(crate) use ser::write;
pub(crate) use types::is_zero;
pub use types::{AutoBroadcast, AutoBroadcastSpec};

/// One attribute as it stands in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attr<'a> {
    /// The name.
    pub name: &'a str,
    /// The value, entities decoded.
    pub value: Cow<'a, str>,
    /// Byte offset of the name in the document.
    pub offset: usize,
}

impl<'a> Attr<'a> {
    /// An attribute that stands in no document.
    pub fn new(name: &'a str, value: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name,
            value: value.into(),
            offset: 0,
        }
    }
}
