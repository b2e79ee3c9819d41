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
//! | [`metrics`] | numbers about tensors: of one (statistics, sketches), and between two |
//! | [`compare`] | runs, what they differ in, and the first layer to blame |
//! | [`diff`] | what two models differ in as structures |
//! | [`io`] | tensors in and out of files, literals, random values, text |
//! | [`stats`] | what the layers of a model give, and would give in a narrower type |
//! | [`testing`] | snapshots of models |
//! | [`draw`] | pictures of graphs |

#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod diff;
pub mod draw;
// Some of it serves the commands alone.
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
mod edit;
mod error;
mod exec;
mod files;
pub mod graph;
pub mod io;
pub mod ir;
mod kernel;
mod limits;
pub mod metrics;
mod model;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod op;
pub mod ops;
mod opt;
pub mod stats;
pub mod tensor;
pub mod testing;

pub use error::{Error, Kind, LayerRef, Place, Result};
pub use exec::{Control, Observer, lifetimes};
pub use limits::{CancelToken, Limits};
pub use model::{
    CompileOptions, CompiledModel, Depth, Format, InferRequest, Inspection, Model, Outputs,
    PortKey, Variable,
};

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
