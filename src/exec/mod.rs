//! Evaluation of a graph, layer by layer, and the observers that watch it.

mod observer;
mod plan;
mod pool;
mod run;

pub use observer::{Control, Observer};
pub(crate) use plan::Plan;
pub(crate) use run::Run;
