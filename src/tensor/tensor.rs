//! A tensor: element type, shape and elements.

use std::fmt;
use std::sync::Arc;

use super::buffer::{Buffer, SharedBytes};
use super::{Dimension, Element, ElementType, Shape, Text};
pub(crate) use spare::Spare;

#[path = "spare.rs"]
mod spare;

/// Why a tensor cannot be made, or viewed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The view asked for has another element type.
    #[error("the tensor holds {found}, not {expected}")]
    ElementType {
        /// What the tensor holds.
        found: ElementType,
        /// What was asked for.
        expected: ElementType,
    },
    /// The number of elements or bytes does not belong to the shape.
    #[error("shape {shape} of {element_type} needs {expected} {unit}, got {found}")]
    Length {
        /// The tensor's shape.
        shape: Shape,
        /// The tensor's element type.
        element_type: ElementType,
        /// What the shape needs.
        expected: usize,
        /// What was given.
        found: usize,
        /// `bytes` or `elements`.
        unit: &'static str,
    },
    /// The shape has more elements than memory can address, or a dimension above
    /// [`Dimension::LARGEST`].
    #[error("shape {0} of {1} is too large")]
    TooLarge(Shape, ElementType),
    /// The allocator refused.
    #[error("cannot allocate {0} bytes")]
    OutOfMemory(usize),
    /// The last axis does not hold the two parts of complex elements.
    #[error("shape {0} does not end in 2, the parts of a complex element")]
    NoPairs(Shape),
    /// `Dynamic` is not the type of any tensor.
    #[error("a tensor needs an element type, dynamic is none")]
    Dynamic,
}

#[derive(Clone)]
enum Storage {
    Owned(Arc<Buffer>),
    /// Bytes of a buffer, from the first of these to before the second, for reading.
    Piece(Arc<Buffer>, usize, usize),
    Shared(SharedBytes),
    Strings(Arc<Vec<Text>>),
}

/// Elements of one type in row-major order. Cloning is cheap: the elements are shared until one
/// of the clones is written to.
#[derive(Clone)]
pub struct Tensor {
    element_type: ElementType,
    shape: Shape,
    storage: Storage,
}

impl Tensor {
    /// A tensor of zeros (`false`, empty strings).
    ///
    /// # Errors
    /// When the size overflows or memory runs out.
    pub fn zeros(element_type: ElementType, shape: impl Into<Shape>) -> Result<Self, TensorError> {
        let shape = shape.into();
        let storage = match element_type {
            ElementType::Dynamic => return Err(TensorError::Dynamic),
            ElementType::String => {
                let count = elements(element_type, &shape)?;
                let mut strings = Vec::new();
                strings
                    .try_reserve_exact(count)
                    .map_err(|_| TensorError::OutOfMemory(count * size_of::<Text>()))?;
                strings.resize(count, Text::default());
                Storage::Strings(Arc::new(strings))
            }
            _ => {
                let bytes = storage_bytes(element_type, &shape)?;
                let buffer = Buffer::zeroed(bytes).map_err(|_| TensorError::OutOfMemory(bytes))?;
                Storage::Owned(Arc::new(buffer))
            }
        };
        Ok(Self {
            element_type,
            shape,
            storage,
        })
    }

    /// A tensor of the given elements.
    ///
    /// # Errors
    /// When the number of elements is not the shape's.
    pub fn new<T: Element>(shape: impl Into<Shape>, data: &[T]) -> Result<Self, TensorError> {
        let mut tensor = Self::zeros_for(T::TYPE, shape.into(), data.len())?;
        tensor.as_mut_slice::<T>()?.copy_from_slice(data);
        Ok(tensor)
    }

    fn zeros_for(ty: ElementType, shape: Shape, found: usize) -> Result<Self, TensorError> {
        let expected = elements(ty, &shape)?;
        if expected != found {
            return Err(TensorError::Length {
                shape,
                element_type: ty,
                expected,
                found,
                unit: "elements",
            });
        }
        Self::zeros(ty, shape)
    }

    /// A scalar.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self::new(Shape::scalar(), &[value]).expect("a scalar has one element")
    }

    /// A one-dimensional tensor.
    pub fn vector<T: Element>(data: &[T]) -> Self {
        Self::new([data.len()], data).expect("a slice has its own length")
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// When the number of strings is not the shape's.
    pub fn strings(shape: impl Into<Shape>, strings: Vec<Text>) -> Result<Self, TensorError> {
        let shape = shape.into();
        let expected = elements(ElementType::String, &shape)?;
        if expected != strings.len() {
            return Err(TensorError::Length {
                shape,
                element_type: ElementType::String,
                expected,
                found: strings.len(),
                unit: "elements",
            });
        }
        Ok(Self {
            element_type: ElementType::String,
            shape,
            storage: Storage::Strings(Arc::new(strings)),
        })
    }

    /// A tensor over little-endian bytes as IR stores them (packed types packed).
    ///
    /// The bytes are shared where their alignment allows, and copied where not. Booleans are
    /// copied only if one of them is neither 0 nor 1.
    ///
    /// # Errors
    /// When the number of bytes is not the shape's, or memory runs out.
    pub fn from_bytes(
        element_type: ElementType,
        shape: impl Into<Shape>,
        bytes: SharedBytes,
    ) -> Result<Self, TensorError> {
        let shape = shape.into();
        let expected = storage_bytes(element_type, &shape)?;
        if bytes.len() != expected {
            return Err(TensorError::Length {
                shape,
                element_type,
                expected,
                found: bytes.len(),
                unit: "bytes",
            });
        }
        let data = bytes.as_bytes();
        let align = (element_type.bits() / 8).clamp(1, 16);
        let aligned = data.as_ptr().addr().is_multiple_of(align);
        let normal = element_type != ElementType::Boolean || data.iter().all(|&b| b <= 1);
        if aligned && normal && cfg!(target_endian = "little") {
            return Ok(Self {
                element_type,
                shape,
                storage: Storage::Shared(bytes),
            });
        }
        let mut tensor = Self::zeros(element_type, shape)?;
        let out = tensor.bytes_mut();
        out.copy_from_slice(data);
        if element_type == ElementType::Boolean {
            out.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        let width = element_type.swapped_bytes();
        if cfg!(target_endian = "big") && width > 1 {
            out.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        Ok(tensor)
    }

    /// The element type.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.elements().unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes the elements occupy (for strings: their text).
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Owned(_) | Storage::Piece(..) | Storage::Shared(_) => self.bytes().len(),
            Storage::Strings(strings) => strings.iter().map(|s| s.len()).sum(),
        }
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn with_shape(&self, shape: impl Into<Shape>) -> Result<Self, TensorError> {
        let shape = self.fitting(shape.into())?;
        Ok(Self {
            element_type: self.element_type,
            shape,
            storage: self.storage.clone(),
        })
    }

    /// Gives the elements another shape.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub(crate) fn reshape(&mut self, shape: Shape) -> Result<(), TensorError> {
        self.shape = self.fitting(shape)?;
        Ok(())
    }

    /// A shape of as many elements.
    fn fitting(&self, shape: Shape) -> Result<Shape, TensorError> {
        let (expected, found) = (elements(self.element_type, &shape)?, self.len());
        if expected != found {
            return Err(TensorError::Length {
                shape,
                element_type: self.element_type,
                expected,
                found,
                unit: "elements",
            });
        }
        Ok(shape)
    }

    /// The elements from `start` on under another shape, not copied. `None` if they are not all there
    /// or do not begin at a byte.
    pub(crate) fn piece(&self, start: usize, shape: Shape) -> Option<Self> {
        let bits = self.element_type.bits();
        if !bits.is_multiple_of(8) || self.element_type == ElementType::String {
            return None;
        }
        let start = start.checked_mul(bits / 8)?;
        let len = storage_bytes(self.element_type, &shape).ok()?;
        let end = start.checked_add(len)?;
        if end > self.bytes().len() {
            return None;
        }
        let storage = match &self.storage {
            Storage::Owned(buffer) => Storage::Piece(Arc::clone(buffer), start, end),
            Storage::Piece(buffer, first, _) => {
                Storage::Piece(Arc::clone(buffer), first + start, first + end)
            }
            Storage::Shared(bytes) => Storage::Shared(bytes.slice(start, len)?),
            Storage::Strings(_) => return None,
        };
        Some(Self {
            element_type: self.element_type,
            shape,
            storage,
        })
    }

    /// The same bytes as elements of another type, shared where they are aligned for it. The type
    /// is neither boolean nor string.
    ///
    /// # Errors
    /// When the number of bytes is not the shape's.
    pub(crate) fn reinterpret(
        &self,
        element_type: ElementType,
        shape: Shape,
    ) -> Result<Self, TensorError> {
        let expected = storage_bytes(element_type, &shape)?;
        if expected != self.bytes().len() {
            return Err(TensorError::Length {
                shape,
                element_type,
                expected,
                found: self.bytes().len(),
                unit: "bytes",
            });
        }
        match &self.storage {
            Storage::Shared(bytes) => Self::from_bytes(element_type, shape, bytes.clone()),
            Storage::Piece(..) => {
                // A copy is aligned for any type.
                let mut copy = self.clone();
                copy.try_bytes_mut()?;
                copy.reinterpret(element_type, shape)
            }
            storage => Ok(Self {
                element_type,
                shape,
                storage: storage.clone(),
            }),
        }
    }

    /// The elements.
    ///
    /// # Errors
    /// When the tensor holds another type.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.expect_type(T::TYPE)?;
        // Every tensor is aligned for its type and holds valid booleans by construction.
        Ok(bytemuck::checked::cast_slice(self.bytes()))
    }

    /// The elements for writing. Copies them first if a clone shares them.
    ///
    /// # Errors
    /// When the tensor holds another type, or there is no memory for a copy.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.expect_type(T::TYPE)?;
        Ok(bytemuck::checked::cast_slice_mut(self.try_bytes_mut()?))
    }

    /// The strings.
    ///
    /// # Errors
    /// When the tensor holds another type.
    pub fn as_strings(&self) -> Result<&[Text], TensorError> {
        match &self.storage {
            Storage::Strings(strings) => Ok(strings),
            _ => Err(self.wrong_type(ElementType::String)),
        }
    }

    /// The strings for writing.
    ///
    /// # Errors
    /// When the tensor holds another type, or there is no memory for a copy.
    pub fn as_mut_strings(&mut self) -> Result<&mut [Text], TensorError> {
        let error = self.wrong_type(ElementType::String);
        match &mut self.storage {
            Storage::Strings(strings) => {
                if Arc::get_mut(strings).is_none() {
                    let mut copy = Vec::new();
                    copy.try_reserve_exact(strings.len())
                        .map_err(|_| TensorError::OutOfMemory(strings.len() * size_of::<Text>()))?;
                    copy.extend_from_slice(strings);
                    *strings = Arc::new(copy);
                }
                Ok(Arc::get_mut(strings).map_or(&mut [], Vec::as_mut_slice))
            }
            _ => Err(error),
        }
    }

    /// The elements as bytes in the machine's order, packed types packed; none for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Owned(buffer) => buffer.bytes(),
            Storage::Piece(buffer, start, end) => &buffer.bytes()[*start..*end],
            Storage::Shared(bytes) => bytes.as_bytes(),
            Storage::Strings(_) => &[],
        }
    }

    /// Gives back the memory of elements that are mapped from a file: see [`SharedBytes::release`].
    pub(crate) fn release(&self) {
        if let Storage::Shared(bytes) = &self.storage {
            bytes.release();
        }
    }

    /// The bytes of a tensor that was just made, for writing; none for strings. Nobody shares them:
    /// see [`Tensor::try_bytes_mut`] for those that others may look at.
    ///
    /// The caller keeps booleans 0 or 1: everything outside `tensor` writes them as `bool`.
    ///
    /// # Panics
    /// When others share the bytes and there is no memory for a copy.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.try_bytes_mut().expect("memory for a copy")
    }

    /// The bytes for writing; none for strings. Copies them first if others share them.
    ///
    /// # Errors
    /// When there is no memory for a copy.
    pub(crate) fn try_bytes_mut(&mut self) -> Result<&mut [u8], TensorError> {
        let shared = match &mut self.storage {
            Storage::Owned(buffer) => Arc::get_mut(buffer).is_none(),
            Storage::Piece(..) | Storage::Shared(_) => true,
            Storage::Strings(_) => false,
        };
        if shared {
            let bytes = self.bytes();
            let mut buffer =
                Buffer::zeroed(bytes.len()).map_err(|_| TensorError::OutOfMemory(bytes.len()))?;
            buffer.bytes_mut().copy_from_slice(bytes);
            self.storage = Storage::Owned(Arc::new(buffer));
        }
        Ok(match &mut self.storage {
            Storage::Owned(buffer) => Arc::get_mut(buffer).map_or(&mut [], Buffer::bytes_mut),
            Storage::Piece(..) | Storage::Shared(_) | Storage::Strings(_) => &mut [],
        })
    }

    fn expect_type(&self, expected: ElementType) -> Result<(), TensorError> {
        if self.element_type == expected {
            Ok(())
        } else {
            Err(self.wrong_type(expected))
        }
    }

    fn wrong_type(&self, expected: ElementType) -> TensorError {
        TensorError::ElementType {
            found: self.element_type,
            expected,
        }
    }
}

fn elements(ty: ElementType, shape: &Shape) -> Result<usize, TensorError> {
    shape
        .elements()
        .filter(|_| shape.iter().all(|&dim| dim <= Dimension::LARGEST))
        .ok_or_else(|| TensorError::TooLarge(shape.clone(), ty))
}

fn storage_bytes(ty: ElementType, shape: &Shape) -> Result<usize, TensorError> {
    if ty == ElementType::Dynamic {
        return Err(TensorError::Dynamic);
    }
    ty.storage_bytes(elements(ty, shape)?)
        // No allocation can be larger than `isize::MAX`.
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| TensorError::TooLarge(shape.clone(), ty))
}

impl PartialEq for Tensor {
    /// Equal type, shape and bits (so NaN equals itself).
    fn eq(&self, other: &Self) -> bool {
        self.element_type == other.element_type
            && self.shape == other.shape
            && match (&self.storage, &other.storage) {
                (Storage::Strings(a), Storage::Strings(b)) => a == b,
                _ => self.bytes() == other.bytes(),
            }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.element_type, self.shape)
    }
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
