//! Runs of models, saved or of an installed runtime, what they differ in, and the first layer that
//! is to blame.
//!
//! ```
//! use ovir::compare::{Run, compare};
//! use ovir::metrics::Tolerance;
//! use ovir::tensor::Tensor;
//! use ovir::{Limits, Model};
//!
//! let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
//! let inputs = [
//!     (0, Tensor::vector(&[1i32, 2, 3, 4, 5])),
//!     (1, Tensor::vector(&[3i64, 10, -20])),
//! ];
//! let limits = Limits::default();
//! let run = Run::of_model(&model, &inputs, None, &limits, &mut [])?;
//! let again = Run::of_model(&model, &inputs, None, &limits, &mut [])?;
//! let comparison = compare(&run, &again, &|_, a, b| Tolerance::suited(a, b), &limits)?;
//! assert!(comparison.is_equal());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "cli")]
mod backend;
mod blame;
mod explain;
mod names;
mod pairs;
mod reference;
mod reproduce;
mod run;
mod runs;
mod search;
mod source;
mod walk;

#[cfg(feature = "cli")]
pub use backend::Python;
pub use explain::Explanation;
pub use names::Names;
pub use reference::{Answer, Backend, Executed, Tap, ask};
pub use reproduce::{Story, Written, reproduce, write_readme};
pub use run::{Keep, Named, Run};
pub use runs::{Allow, Compared, Comparison, compare, compare_layers, inputs_for};
pub use search::{About, Blamed, Finding, Reference, Search, Slot, Verdict, named_inputs, search};
pub use source::{Runtime, RuntimeKind, Source};

use names::by_id;
