//! The one test binary: every further one would link the whole crate again.

mod api;
mod compiled;
mod constants;
mod control;
mod huge;
// The example `conformance` uses all of it.
#[allow(dead_code)]
mod irs;
mod mutations;
mod onnx;
mod operations;
mod reader;
mod samples;
mod support;
mod tidy;
mod trust;
mod vectors;

#[cfg(feature = "cli")]
mod cli;
