//! What the layers of a model give: ranges, numbers that are none, and what another element type would
//! do to them.
//!
//! ```
//! use ovir::Model;
//! use ovir::stats::Survey;
//! use ovir::tensor::Tensor;
//!
//! let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
//! let inputs = [
//!     ("data", Tensor::vector(&[1i32, 2, 3, 4, 5])),
//!     ("indices", Tensor::vector(&[3i64, 10, -20])),
//! ];
//! let mut survey = Survey::new(&model);
//! model.evaluate_with(inputs, &ovir::Limits::default(), &mut [&mut survey])?;
//! let last = survey.layers().last().expect("a layer");
//! assert_eq!(last.statistics.max, Some(4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod distance;
mod emulation;
mod survey;

pub use distance::Distance;
pub use emulation::{Emulation, emulate};
pub use survey::{LayerStatistics, Survey};
