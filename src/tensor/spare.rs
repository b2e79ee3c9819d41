//! Memory of tensors that are no longer needed.

use std::sync::Arc;

use super::super::buffer::Buffer;
use super::{ElementType, Shape, Storage, Tensor, storage_bytes};

/// A buffer without a tensor. Nobody else looks at it; it keeps its counter, so that it is used again
/// without an allocation.
pub(crate) struct Spare(Arc<Buffer>);

impl Spare {
    /// How many bytes fit.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl Tensor {
    /// How many bytes fit in the buffer of this tensor, if nothing else is or looks at it.
    pub(crate) fn own_capacity(&mut self) -> Option<usize> {
        match &mut self.storage {
            Storage::Owned(buffer) => Arc::get_mut(buffer).map(|buffer| buffer.capacity()),
            Storage::Piece(..) | Storage::Shared(_) | Storage::Strings(_) => None,
        }
    }

    /// Takes the buffer out if no clone shares it, to be used again.
    pub(crate) fn into_spare(self) -> Option<Spare> {
        match self.storage {
            // The last piece of a buffer takes all of it along.
            Storage::Owned(mut buffer) | Storage::Piece(mut buffer, ..) => {
                Arc::get_mut(&mut buffer).is_some().then_some(Spare(buffer))
            }
            Storage::Shared(_) | Storage::Strings(_) => None,
        }
    }

    /// A tensor in a used buffer, with unspecified elements; the buffer comes back if it is too
    /// small.
    pub(crate) fn from_spare(
        ty: ElementType,
        shape: Shape,
        mut spare: Spare,
    ) -> Result<Self, Spare> {
        let bytes = storage_bytes(ty, &shape).ok();
        let bytes = bytes.filter(|&bytes| bytes <= spare.capacity());
        let (Some(bytes), Some(buffer)) = (bytes, Arc::get_mut(&mut spare.0)) else {
            return Err(spare);
        };
        buffer.set_len(bytes);
        if ty == ElementType::Boolean {
            // Unspecified, but every view must find booleans.
            buffer.bytes_mut().fill(0);
        }
        Ok(Self {
            element_type: ty,
            shape,
            storage: Storage::Owned(spare.0),
        })
    }
}
