//! ONNX models: the second way in, to the same typed graph.
//!
//! The operators of the domain `ai.onnx` become operations of the registry where both mean the
//! same, and operations of this module where the document of the operator is stricter or says
//! more. What is not known stays in the graph as an opaque node.
//!
//! Problems name the file and the node. An initialiser that is also an input of the graph is a
//! constant. External data is read only inside the model's own folder.

mod build;
mod external;
mod load;
mod map;
mod ops;
mod problem;
mod proto;
mod scan;
mod tensor;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use load::load;

/// Whether bytes that nobody calls an ONNX model are one: they do not begin as a document does,
/// and are messages of a model with a graph.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    // A document begins with a tag or a byte order mark, in UTF-8 or UTF-16.
    let document = [&b"<"[..], b"\0<", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    !document.iter().any(|start| text.starts_with(start))
        && scan::scan(bytes, &crate::Limits::default()).is_ok_and(|contents| contents.graph)
}

/// The operators supported, with their family and the versions of `ai.onnx` that introduced the
/// ones there are.
pub fn supported() -> impl Iterator<Item = (&'static str, &'static str, &'static [u8])> {
    let rows = |&(family, rows): &(&'static str, &'static [map::Operator])| {
        rows.iter().map(move |row| (family, row.name, row.versions))
    };
    map::FAMILIES.iter().flat_map(rows)
}
