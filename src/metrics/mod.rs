//! Numbers about tensors: those of one, and those between two.
//!
//! Everything is counted in `f64`, piece by piece, in an order that neither threads nor machines change,
//! whatever the element type; integers of 64 bits, booleans and strings exactly.

mod difference;
mod histogram;
mod pieces;
mod sketch;
mod statistics;
mod tolerance;
#[cfg(feature = "cli")]
mod tolerance_file;
mod ulp;

pub use difference::{Difference, Scalar, Values, Worst};
pub use histogram::Histogram;
pub use sketch::Sketch;
pub(crate) use sketch::{distance as sketch_distance, signs};
pub use statistics::{Narrowing, Statistics};
pub use tolerance::{Allowed, Tolerance, ToleranceError};
#[cfg(feature = "cli")]
pub use tolerance_file::Tolerances;
pub use ulp::ulp_type;
