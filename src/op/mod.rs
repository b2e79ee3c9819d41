//! The contract of an operation: what it is given, what it must answer.
//!
//! An operation knows nothing of files, graphs or its own name. [`Op::infer`] is the only code
//! that computes element types and shapes; [`Op::eval`] fills outputs that are already allocated
//! as inferred. The loader and the executor, the only two callers, add the place to errors.

pub mod attrs;
mod axis;
pub mod broadcast;
mod def;
mod fuse;
mod input;
pub(crate) mod size;
mod stored;

use std::any::Any;
use std::fmt::{self, Debug};

use smallvec::SmallVec;

pub(crate) use axis::{
    allowed_axes, allowed_indices, any_axis, axis_of, normalize_axes, normalize_axis, permutation,
};
#[cfg(feature = "onnx")]
pub(crate) use def::made;
pub use def::{AttributeList, LayerData, OpDef, Version, Weights};
pub(crate) use def::{NoWeights, ReadError, ReadResult, def, def_with, fixed};
pub(crate) use fuse::Shifted;
pub use fuse::{Added, AddedToPieces, Elementwise, Finish, Finishing, Prepared, Repeated, Terms};
pub use input::Input;
pub(crate) use input::{expect_index_type, expect_indices_fit, merge_types, same_dimension};
pub use stored::Stored;

use crate::tensor::{ElementType, PartialShape, Tensor, TensorError, ValueRange};

/// An operation with its attributes.
pub trait Op: Any + Debug + Send + Sync {
    /// The types and shapes of the outputs.
    ///
    /// Called with intervals when a model is loaded, and with exact shapes (and values, for
    /// inputs that decide a shape) before [`Op::eval`] for what stayed unknown.
    ///
    /// # Errors
    /// When the inputs cannot belong to this operation.
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError>;

    /// Fills the outputs. An operation that only reshapes needs no evaluation of its own.
    ///
    /// # Errors
    /// When the values of the inputs are not allowed.
    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        match (io.inputs, io.outputs) {
            ([input, ..], [output, ..]) if self.reshapes() => {
                *output = input.with_shape(output.shape().clone())?;
                Ok(())
            }
            _ => Err(OpError::unsupported("it cannot be evaluated")),
        }
    }

    /// Whether output 0 has the elements of input 0, in order, under the inferred shape. The
    /// executor then shares them and never calls [`Op::eval`].
    fn reshapes(&self) -> bool {
        false
    }

    /// The first element in input 0 of each output, if each is a piece of it: the executor then shares
    /// them and does not call [`Op::eval`]. `outputs` are inferred from these inputs.
    fn pieces(&self, _inputs: &[&Tensor], _outputs: &[Output]) -> Option<SmallVec<[usize; 4]>> {
        None
    }

    /// Whether [`Op::infer`] looks at the elements of input `index`, should it be a small tensor of
    /// integers. Where it does not, shapes alone decide, and nothing is inferred again.
    fn infers_from(&self, index: usize) -> bool {
        let _ = index;
        true
    }

    /// The inputs whose elements the operation moves to its outputs without changing them; any
    /// other element of an output is zero. What is known of shape computations flows through.
    fn moves(&self) -> Moves {
        Moves::None
    }

    /// What is known of the elements of output 0, given what is known of the inputs' elements,
    /// for operations on integers that compute (those that only move elements need no answer).
    fn infer_value(&self, _inputs: &[Input<'_>], _output: &Output) -> Option<Vec<ValueRange>> {
        None
    }

    /// The numbers that the elements of input `index` may be, both ends included, for inputs that
    /// are indices or axes: random inputs are drawn from them.
    fn allowed(&self, _inputs: &[Input<'_>], _index: usize) -> Option<(i64, i64)> {
        None
    }

    /// Whether equal inputs give equal outputs, without any other effect. Only such operations are
    /// evaluated ahead of a run.
    fn is_pure(&self) -> bool {
        true
    }

    /// Whether output 0 has the numbers of input 0, in another form.
    fn keeps_numbers(&self) -> bool {
        false
    }

    /// The value of output 0, for an operation that is a constant.
    ///
    /// # Errors
    /// When the constant cannot be read.
    fn constant(&self) -> Option<Result<&Tensor, OpError>> {
        None
    }

    /// Whether the operation is a constant, see [`Op::constant`].
    fn is_constant(&self) -> bool {
        false
    }

    /// The role in the graph's signature.
    fn role(&self) -> Role {
        Role::Inner
    }

    /// The operation as a function of elements, if it is one of `f32` under NumPy's broadcasting: a
    /// compiled model joins such operations to those before them.
    fn elementwise(&self) -> Option<&dyn Elementwise> {
        None
    }

    /// The operation with constant inputs taken in, weights in the order that suits the machine for
    /// example. What takes long is left to the first evaluation. Inputs are of exact types; shapes
    /// may be open.
    fn prepare(&self, _inputs: &[Input<'_>]) -> Option<Prepared> {
        None
    }

    /// The operation with its first `count` outputs alone, if the others take work. A compiled model
    /// asks for it where nobody reads these.
    fn first_outputs(&self, _count: usize) -> Option<Box<dyn Op>> {
        None
    }

    /// Whether [`Op::eval_finishing`] calls `finish` where it pays. Asked of operations whose output
    /// 0 is `f32`.
    fn finishes(&self) -> bool {
        false
    }

    /// As [`Op::eval`], and calls `finish` for all elements of output 0, each once, in parts of any
    /// size and in any order, maybe from several threads.
    ///
    /// # Errors
    /// As [`Op::eval`].
    fn eval_finishing(&self, mut io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        self.eval(io.reborrow())?;
        finish.part(0, io.outputs[0].as_mut_slice()?);
        Ok(())
    }

    /// The id of the variable that is read or written.
    fn variable(&self) -> Option<&str> {
        None
    }
}

/// What an operation is to the graph around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A layer like any other.
    Inner,
    /// An input of the graph.
    Parameter,
    /// An output of the graph.
    Result,
    /// One of two bodies is evaluated.
    If,
    /// A body is evaluated as often as it says.
    Loop,
    /// A body is evaluated for each part of its inputs.
    TensorIterator,
    /// Reads a variable, see [`Op::variable`].
    ReadValue,
    /// Writes a variable, see [`Op::variable`].
    Assign,
}

/// Which inputs an operation only moves (see [`Op::moves`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// None: the operation computes.
    None,
    /// These inputs.
    Inputs(&'static [usize]),
    /// All of them.
    All,
}

impl Moves {
    /// Whether input `index` is moved.
    pub fn includes(self, index: usize) -> bool {
        match self {
            Moves::None => false,
            Moves::Inputs(inputs) => inputs.contains(&index),
            Moves::All => true,
        }
    }
}

/// The inferred outputs of an operation.
pub type Outputs = SmallVec<[Output; 1]>;

/// The inferred type and shape of one output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The element type; dynamic if an input's is.
    pub element_type: ElementType,
    /// The shape, as far as it is known.
    pub shape: PartialShape,
}

impl Output {
    /// An output of this type and shape.
    pub fn new(element_type: ElementType, shape: impl Into<PartialShape>) -> Self {
        Self {
            element_type,
            shape: shape.into(),
        }
    }

    /// The only output of an operation.
    pub fn single(element_type: ElementType, shape: impl Into<PartialShape>) -> Outputs {
        smallvec::smallvec![Self::new(element_type, shape)]
    }

    /// Whether type and shape are fully known.
    pub fn is_static(&self) -> bool {
        self.element_type.is_static() && self.shape.is_static()
    }

    /// The bytes of its elements, if they are known: more than there are where the shape overflows.
    pub(crate) fn known_bytes(&self) -> Option<u64> {
        let bytes = match self.shape.to_shape()?.elements() {
            Some(elements) => self.element_type.storage_bytes(elements)? as u64,
            None => u64::MAX,
        };
        Some(bytes)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.element_type, self.shape)
    }
}

/// What an evaluation reads and writes.
#[derive(Debug)]
pub struct Io<'a> {
    /// The inputs, as many as are connected.
    pub inputs: &'a [&'a Tensor],
    /// The outputs, allocated as inferred with unspecified elements: every element must be
    /// written. An output whose size depends on data is empty; the operation puts a tensor there.
    pub outputs: &'a mut [Tensor],
}

impl Io<'_> {
    /// The same inputs and outputs for a part of the time.
    pub fn reborrow(&mut self) -> Io<'_> {
        Io {
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }
}

/// Why an operation refuses its inputs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    /// Found and expected, lower case, without a full stop.
    pub message: String,
    /// What kind of problem it is.
    pub kind: OpErrorKind,
}

/// The kind of an [`OpError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpErrorKind {
    /// The inputs are not allowed.
    Invalid,
    /// The inputs are allowed, but not supported here.
    Unsupported,
    /// A limit was reached, or memory ran out.
    Limit,
    /// The time limit is over.
    Deadline,
    /// It was cancelled from outside.
    Cancelled,
}

impl OpError {
    /// The inputs are not allowed.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: OpErrorKind::Invalid,
        }
    }

    /// The inputs are allowed, but not supported here.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: OpErrorKind::Unsupported,
        }
    }

    /// A limit was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: OpErrorKind::Limit,
        }
    }
}

impl From<TensorError> for OpError {
    fn from(error: TensorError) -> Self {
        match error {
            TensorError::OutOfMemory(_) | TensorError::TooLarge(..) => {
                Self::limit(error.to_string())
            }
            _ => Self::new(error.to_string()),
        }
    }
}

/// Returns an [`OpError`] with a formatted message.
macro_rules! bail {
    ($($arg:tt)*) => {
        return Err($crate::op::OpError::new(format!($($arg)*)))
    };
}

/// Returns an [`OpError`] with a formatted message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($arg:tt)*) => {
        // A name of its own: a condition on floats must not be negated, and need not be.
        let holds: bool = $condition;
        if !holds {
            return Err($crate::op::OpError::new(format!($($arg)*)));
        }
    };
}

pub(crate) use {bail, ensure};
