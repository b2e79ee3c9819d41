//! The attributes of a node, each asked for by name and type.

use std::cell::Cell;

use crate::onnx::problem::Refusal;
use crate::onnx::proto::{ATTRIBUTE_TYPES, AttributeProto, SparseTensorProto, TensorProto};

type Result<T> = std::result::Result<T, Refusal>;

/// The attributes of a node. Those that nobody asks for do not belong to its operator.
#[derive(Debug)]
pub(in crate::onnx) struct Attributes<'m> {
    list: &'m [AttributeProto],
    read: Vec<Cell<bool>>,
}

/// The numbers of [`ATTRIBUTE_TYPES`].
const FLOAT: i32 = 1;
const INT: i32 = 2;
const STRING: i32 = 3;
const TENSOR: i32 = 4;
const FLOATS: i32 = 6;
const INTS: i32 = 7;
const STRINGS: i32 = 8;
const SPARSE_TENSOR: i32 = 11;

impl<'m> Attributes<'m> {
    pub(in crate::onnx) fn new(list: &'m [AttributeProto]) -> Self {
        Self {
            list,
            read: vec![Cell::new(false); list.len()],
        }
    }

    /// The name of the first attribute that nobody asked for.
    pub(in crate::onnx) fn unknown(&self) -> Option<&'m str> {
        let unread = self.read.iter().position(|read| !read.get())?;
        Some(&self.list[unread].name)
    }

    fn find(&self, name: &str, kind: i32) -> Result<Option<&'m AttributeProto>> {
        let Some(at) = self.list.iter().position(|a| a.name == name) else {
            return Ok(None);
        };
        self.read[at].set(true);
        let attribute = &self.list[at];
        if !attribute.ref_attr_name.is_empty() {
            let message = format!("attribute `{name}` refers to one of a function");
            return Err(Refusal::attribute(message));
        }
        // The first models did not write the type.
        if attribute.r#type != 0 && attribute.r#type != kind {
            let of = |number: i32| {
                let known = usize::try_from(number)
                    .ok()
                    .and_then(|n| ATTRIBUTE_TYPES.get(n));
                known.copied().unwrap_or("of an unknown type")
            };
            let (found, expected) = (of(attribute.r#type), of(kind));
            return Err(Refusal::attribute(format!(
                "attribute `{name}` is {found}, expected {expected}"
            )));
        }
        Ok(Some(attribute))
    }

    pub(in crate::onnx) fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.find(name, INT)?.map(|a| a.i))
    }

    /// An integer that means yes or no.
    pub(in crate::onnx) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.int(name)? {
            None => Ok(default),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(other) => Err(Refusal::attribute(format!(
                "attribute `{name}` is {other}, expected 0 or 1"
            ))),
        }
    }

    pub(in crate::onnx) fn ints(&self, name: &str) -> Result<Option<&'m [i64]>> {
        Ok(self.find(name, INTS)?.map(|a| a.ints.as_slice()))
    }

    pub(in crate::onnx) fn float(&self, name: &str) -> Result<Option<f32>> {
        Ok(self.find(name, FLOAT)?.map(|a| a.f))
    }

    pub(in crate::onnx) fn floats(&self, name: &str) -> Result<Option<&'m [f32]>> {
        Ok(self.find(name, FLOATS)?.map(|a| a.floats.as_slice()))
    }

    pub(in crate::onnx) fn bytes(&self, name: &str) -> Result<Option<&'m [u8]>> {
        Ok(self.find(name, STRING)?.map(|a| &*a.s))
    }

    pub(in crate::onnx) fn text(&self, name: &str) -> Result<Option<&'m str>> {
        let Some(bytes) = self.bytes(name)? else {
            return Ok(None);
        };
        let text = std::str::from_utf8(bytes);
        text.map(Some)
            .map_err(|_| Refusal::attribute(format!("attribute `{name}` is not UTF-8")))
    }

    pub(in crate::onnx) fn texts(
        &self,
        name: &str,
    ) -> Result<Option<impl Iterator<Item = &'m [u8]>>> {
        let found = self.find(name, STRINGS)?;
        Ok(found.map(|a| a.strings.iter().map(|s| &**s)))
    }

    pub(in crate::onnx) fn tensor(&self, name: &str) -> Result<Option<&'m TensorProto>> {
        let found = self.find(name, TENSOR)?;
        Ok(found.and_then(|a| a.t.as_deref()))
    }

    pub(in crate::onnx) fn sparse_tensor(
        &self,
        name: &str,
    ) -> Result<Option<&'m SparseTensorProto>> {
        let found = self.find(name, SPARSE_TENSOR)?;
        Ok(found.and_then(|a| a.sparse_tensor.as_deref()))
    }
}

/// The attributes of a node nobody knows, as text.
pub(in crate::onnx) fn texts(list: &[AttributeProto]) -> Vec<(String, String)> {
    let text = |a: &AttributeProto| (a.name.clone(), describe(a));
    list.iter().map(text).collect()
}

/// More of a list is not shown.
const LONGEST: usize = 64;

fn describe(attribute: &AttributeProto) -> String {
    fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
        let mut shown: Vec<String> = items.iter().take(LONGEST).map(text).collect();
        if items.len() > LONGEST {
            shown.push("…".to_owned());
        }
        shown.join(",")
    }
    let string = |bytes: &prost::bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
    match attribute.r#type {
        FLOAT => attribute.f.to_string(),
        INT => attribute.i.to_string(),
        STRING => string(&attribute.s),
        FLOATS => list(&attribute.floats, f32::to_string),
        INTS => list(&attribute.ints, i64::to_string),
        STRINGS => list(&attribute.strings, string),
        kind => {
            let graphs = attribute.g.as_deref().into_iter().chain(&attribute.graphs);
            let graphs: Vec<String> = graphs
                .map(|g| format!("graph {} of {} nodes", g.name, g.node.len()))
                .collect();
            if !graphs.is_empty() {
                return graphs.join(", ");
            }
            let kind = usize::try_from(kind)
                .ok()
                .and_then(|n| ATTRIBUTE_TYPES.get(n));
            kind.map_or_else(|| "?".to_owned(), |kind| kind.to_ascii_lowercase())
        }
    }
}
