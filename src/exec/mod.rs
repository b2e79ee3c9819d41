//! Evaluation of a graph, layer by layer, and the observers that watch it.

mod awake;
mod control;
mod evaluate;
pub mod lifetimes;
mod observer;
mod plan;
mod pool;
mod run;
mod state;
mod workspace;

pub(crate) use awake::Pace;
pub use observer::{Control, Observer};
pub(crate) use observer::{Whereabouts, joined};
pub(crate) use plan::Plan;
pub(crate) use run::{Results, Run};
pub(crate) use state::State;
pub(crate) use workspace::Workspace;
