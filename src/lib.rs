//! A pure-Rust interpreter and workbench for OpenVINO IR.

#[cfg(feature = "cli")]
pub mod cli;
mod error;
mod exec;
pub mod graph;
pub mod io;
pub mod ir;
mod kernel;
mod limits;
mod model;
pub mod op;
pub mod ops;
pub mod tensor;

pub use error::{Error, Kind, LayerRef, Place, Result};
pub use exec::{Control, Observer};
pub use limits::Limits;
pub use model::{Depth, Inspection, Model, Outputs, PortKey};
