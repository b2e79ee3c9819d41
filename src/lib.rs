//! A pure-Rust interpreter and workbench for OpenVINO IR.

mod kernel;
pub mod op;
pub mod ops;
pub mod tensor;
