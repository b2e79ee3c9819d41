//! A pure-Rust interpreter and workbench for OpenVINO IR.
//!
//! It reads `model.xml` and `model.bin`, builds a typed layer graph, infers every element type and
//! shape, evaluates the model layer by layer, and lets you look inside.
//!
//! ```
//! use ovir::Model;
//! use ovir::tensor::Tensor;
//!
//! let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
//! let outputs = model.evaluate([
//!     ("data", Tensor::vector(&[1i32, 2, 3, 4, 5])),
//!     ("indices", Tensor::vector(&[3i64, 10, -20])),
//! ])?;
//! assert_eq!(outputs["output"].as_slice::<i32>()?, [4, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`tensor`] | element types, shapes, tensors, packed and narrow formats, conversion |
//! | [`op`] | the contract of an operation, attributes, inference's view of an input |
//! | [`ops`] | the operations and their registry |
//! | [`graph`] | layers, ports, bodies; graphs made in code |
//! | [`ir`] | documents: problems with their place |
//! | [`io`] | tensors in and out of files, literals, random values, text |

#[cfg(feature = "cli")]
pub mod cli;
mod error;
mod exec;
mod files;
pub mod graph;
pub mod io;
pub mod ir;
mod kernel;
mod limits;
mod model;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod op;
pub mod ops;
mod opt;
pub mod tensor;

pub use error::{Error, Kind, LayerRef, Place, Result};
pub use exec::{Control, Observer};
pub use limits::{CancelToken, Limits};
pub use model::{
    CompileOptions, CompiledModel, Depth, Format, InferRequest, Inspection, Model, Outputs,
    PortKey, Variable,
};

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
