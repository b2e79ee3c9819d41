//! What the fuzz targets do with their bytes. `tests/regressions.rs` takes the same modules in.

pub mod graphs;
pub mod paths;
