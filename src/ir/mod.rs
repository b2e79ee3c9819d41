//! The document: from the bytes of `model.xml` and `model.bin` to typed graphs.

mod compat;
mod document;
mod fragment;
mod load;
mod names;
mod parse;
mod problem;
mod source;
mod weights;
mod wire;
mod write;
mod xml;

pub(crate) use load::{Loaded, first_error, load};
pub use problem::{Problem, Severity};
pub use source::Source;
pub(crate) use weights::BinFile;
#[cfg(feature = "onnx")]
pub(crate) use weights::whole;
pub(crate) use write::{Graphs, Unwritten, write};
