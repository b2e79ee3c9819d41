//! The one test binary: every further one would link the whole crate again.

mod api;
mod compiled;
mod constants;
mod control;
mod deadlines;
mod huge;
// The example `conformance` uses all of it.
#[allow(dead_code)]
mod irs;
mod memory;
mod mutations;
mod nesting;
mod onnx;
mod operations;
mod reader;
mod regressions;
mod samples;
mod sizes;
mod support;
mod tidy;
mod trust;
mod vectors;

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_limits;
#[cfg(all(feature = "cli", unix))]
mod files;
