//! The bytes of a tensor: owned and aligned, or shared with a mapped file.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that someone else keeps alive: a mapped file, a buffer read from disk, a part of either.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// All the bytes of `owner`.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        let range = 0..(*owner).as_ref().len();
        Self { owner, range }
    }

    /// The part from `offset`, `len` bytes long; `None` if it is not inside.
    pub fn slice(&self, offset: usize, len: usize) -> Option<Self> {
        let start = self.range.start.checked_add(offset)?;
        let end = start.checked_add(len)?;
        (end <= self.range.end).then(|| Self {
            owner: Arc::clone(&self.owner),
            range: start..end,
        })
    }

    /// The bytes. Looking at them is what reads a mapped file.
    pub fn as_bytes(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }

    /// How many bytes there are, without reading any.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.len())
    }
}

/// Owned bytes, aligned to 16, which is enough for every element type.
#[derive(Clone)]
pub(super) struct Buffer {
    words: Vec<u128>,
    len: usize,
}

impl Buffer {
    /// Zeroed bytes. Large ones come from the system as untouched zero pages.
    pub(super) fn zeroed(len: usize) -> Result<Self, TryReserveError> {
        // `try_zeroed_vec` does not tell why it failed; ask for a reason worth showing.
        let count = len.div_ceil(16);
        match bytemuck::allocation::try_zeroed_vec(count) {
            Ok(words) => Ok(Self { words, len }),
            Err(()) => {
                let mut words = Vec::new();
                words.try_reserve_exact(count)?;
                words.resize(count, 0);
                Ok(Self { words, len })
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    /// How many bytes the allocation has room for.
    pub(super) fn capacity(&self) -> usize {
        self.words.len() * 16
    }

    /// Sets another length within the capacity. The contents are unspecified.
    pub(super) fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a buffer keeps its allocation");
        self.len = len;
    }
}
