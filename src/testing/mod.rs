//! Snapshots of models: small text files that tell what a model is and what it gives, fit for review,
//! and a test that says which layer moved.
//!
//! A [`Snapshot`] has the structure first: every layer with its operation, attributes and shapes, in an
//! order that follows from the graph alone, without ids and without names that converters number. Then,
//! for every output and if asked for every layer, its statistics, a few samples, and a
//! [`Sketch`](crate::metrics::Sketch): random projections that estimate how far the tensor is from
//! another without storing it. The bounds of what is still the same stand in the file.
//!
//! ```
//! use ovir::Model;
//! use ovir::tensor::Tensor;
//! use ovir::testing::{GivenInput, Options, Snapshot};
//!
//! let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
//! let given = |index, tensor| GivenInput { index, tensor, source: "given".to_owned() };
//! let inputs = [
//!     given(0, Tensor::vector(&[1i32, 2, 3, 4, 5])),
//!     given(1, Tensor::vector(&[3i64, 10, -20])),
//! ];
//! let snapshot = Snapshot::record(&model, &inputs, &Options::default())?;
//! let read: Snapshot = snapshot.to_string().parse()?;
//! assert!(read.changes(&snapshot).is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In tests of Rust, `assert_model_snapshot!` (feature `testing`) keeps snapshots where insta
//! does, so that `cargo insta review` works; `ovir snapshot` keeps them beside models.

#[cfg(feature = "testing")]
mod assert;
mod bounds;
mod check;
mod files;
mod parse;
mod record;
mod snapshot;
mod structure;
mod text;
mod words;

#[cfg(feature = "testing")]
pub use crate::assert_model_snapshot;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use assert::{Near, text_of};
pub use bounds::{Bound, Bounds};
pub use check::{Changes, Inputs, Moved};
pub use files::EXTENSION;
pub use record::{GivenInput, Options, RANDOM};
pub use snapshot::{InputRecord, Snapshot};

#[cfg(test)]
mod tests;
