//! The one test binary: every further one would link the whole crate again.

mod api;
mod compiled;
mod constants;
mod control;
mod deadlines;
mod diff;
mod huge;
// The example `conformance` uses all of it.
#[allow(dead_code)]
mod irs;
mod lifetimes;
mod memory;
mod mutations;
mod nesting;
mod onnx;
mod operations;
mod reader;
mod refusals;
mod regressions;
mod samples;
mod sizes;
mod snapshots;
mod support;
mod tidy;
mod trust;
mod vectors;
mod written;

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_graph;
#[cfg(feature = "cli")]
mod cli_limits;
#[cfg(feature = "cli")]
mod cli_measure;
#[cfg(feature = "cli")]
mod compare;
#[cfg(feature = "cli")]
mod edit;
#[cfg(all(feature = "cli", unix))]
mod files;
#[cfg(feature = "cli")]
mod guide;
#[cfg(feature = "cli")]
mod program;
#[cfg(feature = "cli")]
mod schema;
#[cfg(feature = "cli")]
mod schemas;
#[cfg(feature = "cli")]
mod snapshots_cli;
