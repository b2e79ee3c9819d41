//! Tensors: element types, shapes, storage, packed and narrow formats, conversion.

mod buffer;
mod complex;
pub mod convert;
mod dimension;
mod element;
pub mod float;
pub mod pack;
mod partial;
mod shape;
pub(crate) mod simd;
mod string;
mod tensor;

pub use buffer::SharedBytes;
pub(crate) use buffer::{Buffer, LINE, Mapped};
pub use dimension::{Dimension, Symbol, ValueRange};
pub use element::{Class, Element, ElementType};
pub use partial::{PartialShape, ShapeSyntaxError};
pub use shape::Shape;
pub use string::Text;
pub(crate) use tensor::Spare;
pub use tensor::{Tensor, TensorError};

/// A list of what there are few of, such as axes: up to eight need no memory of their own.
pub(crate) type Few<T> = smallvec::SmallVec<[T; 8]>;
