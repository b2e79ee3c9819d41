//! The bytes of a tensor: owned and aligned, or shared with a mapped file.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use memmap2::MmapMut;

/// Bytes that someone else keeps alive: a mapped file, a buffer read from disk, a part of either.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Owner,
    range: Range<usize>,
}

/// A file that is mapped to be read.
pub(crate) trait Mapped: AsRef<[u8]> + Send + Sync {
    /// Gives back the memory of some of its bytes. Whoever looks at them has them read once more.
    fn release(&self, range: Range<usize>);
}

#[derive(Clone)]
enum Owner {
    Mapped(Arc<dyn Mapped>),
    Other(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl SharedBytes {
    /// All the bytes of `owner`.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        let range = 0..(*owner).as_ref().len();
        let owner = Owner::Other(owner);
        Self { owner, range }
    }

    /// All the bytes of a mapped file.
    pub(crate) fn mapped(file: Arc<dyn Mapped>) -> Self {
        let range = 0..(*file).as_ref().len();
        let owner = Owner::Mapped(file);
        Self { owner, range }
    }

    /// Gives back the memory of bytes that are mapped from a file, for those who will not soon look at them
    /// again. All others stay.
    pub(crate) fn release(&self) {
        if let Owner::Mapped(file) = &self.owner {
            file.release(self.range.clone());
        }
    }

    /// The part from `offset`, `len` bytes long; `None` if it is not inside.
    pub fn slice(&self, offset: usize, len: usize) -> Option<Self> {
        let start = self.range.start.checked_add(offset)?;
        let end = start.checked_add(len)?;
        (end <= self.range.end).then(|| Self {
            owner: self.owner.clone(),
            range: start..end,
        })
    }

    /// The bytes. Looking at them is what reads a mapped file.
    pub fn as_bytes(&self) -> &[u8] {
        let all = match &self.owner {
            Owner::Mapped(file) => (**file).as_ref(),
            Owner::Other(owner) => (**owner).as_ref(),
        };
        &all[self.range.clone()]
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

/// Owned bytes, aligned to 16, which is enough for every element type; from [`SEVERAL`] bytes on they
/// begin with a line of the cache.
pub(crate) struct Buffer {
    memory: Memory,
    len: usize,
}

enum Memory {
    Words {
        words: Vec<u128>,
        /// Where the bytes begin, and how many words there are from there on at least.
        start: usize,
        count: usize,
    },
    /// Large memory, in pages as large as the system has, and where in it the bytes are.
    Pages(MmapMut, Range<usize>),
}

/// What lies in several lines of the cache begins with one: a vector that begins elsewhere may lie in
/// two.
const SEVERAL: usize = 256;

/// Bytes of a line of the cache: what memory gives at once.
pub(crate) const LINE: usize = 64;

/// Bytes of a word.
const WORD: usize = size_of::<u128>();

/// Bytes of a large page. In these, the first touch of memory costs less, and so does finding where it
/// is: what is read as fast as a product reads its sides is waited for.
const PAGE: usize = 2 << 20;

/// Bytes that are worth a large page.
const LARGE: usize = PAGE / 8 * 5;

impl Buffer {
    /// Zeroed bytes. Large ones come from the system as untouched zero pages.
    pub(crate) fn zeroed(len: usize) -> Result<Self, TryReserveError> {
        if let Some(memory) = large_pages(len) {
            return Ok(Self { memory, len });
        }
        // `try_zeroed_vec` does not tell why it failed; ask for a reason worth showing.
        let count = len.div_ceil(WORD);
        // Zeros that are aligned by the allocator would be written, not taken untouched.
        let more = if len < SEVERAL { 0 } else { LINE / WORD - 1 };
        let words: Vec<u128> = match bytemuck::allocation::try_zeroed_vec(count + more) {
            Ok(words) => words,
            Err(()) => {
                let mut words = Vec::new();
                words.try_reserve_exact(count + more)?;
                words.resize(count + more, 0);
                words
            }
        };
        let address = words.as_ptr().addr();
        let start = more.min((address.next_multiple_of(LINE) - address) / WORD);
        let memory = Memory::Words {
            words,
            start,
            count,
        };
        Ok(Self { memory, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let all = match &self.memory {
            Memory::Words { words, start, .. } => bytemuck::cast_slice(&words[*start..]),
            Memory::Pages(pages, range) => &pages[range.clone()],
        };
        &all[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let all = match &mut self.memory {
            Memory::Words { words, start, .. } => bytemuck::cast_slice_mut(&mut words[*start..]),
            Memory::Pages(pages, range) => &mut pages[range.clone()],
        };
        &mut all[..self.len]
    }

    /// How many bytes the allocation has room for.
    pub(super) fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Words { count, .. } => count * WORD,
            Memory::Pages(_, range) => range.len(),
        }
    }

    /// Sets another length within the capacity. The contents are unspecified.
    pub(super) fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a buffer keeps its allocation");
        self.len = len;
    }
}

/// Zero pages for a large buffer, if there are any to be had.
fn large_pages(len: usize) -> Option<Memory> {
    if len < LARGE || !cfg!(target_os = "linux") {
        return None;
    }
    // The rest is a large page as well if it fills most of one.
    let room = match len % PAGE {
        rest if rest < LARGE => len,
        rest => len.checked_add(PAGE - rest)?,
    };
    // Pages that are not touched are no memory.
    let pages = MmapMut::map_anon(room.checked_add(PAGE)?).ok()?;
    let address = pages.as_ptr().addr();
    let start = address.next_multiple_of(PAGE) - address;
    #[cfg(target_os = "linux")]
    // Without large pages it is memory like any other.
    let _ = pages.advise_range(memmap2::Advice::HugePage, start, room);
    Some(Memory::Pages(pages, start..start + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "maps memory, and looks at millions of bytes")]
    fn buffers_begin_with_a_line_of_the_cache() {
        for len in (0..3000).step_by(7).chain([LARGE - 1, LARGE]) {
            let mut buffer = Buffer::zeroed(len).expect("memory");
            let address = buffer.bytes().as_ptr().addr();
            let aligned = if len < SEVERAL { WORD } else { LINE };
            assert!(address.is_multiple_of(aligned), "{len}");
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
            let capacity = buffer.capacity();
            assert!((len..len + WORD).contains(&capacity), "{len}");
            buffer.set_len(capacity);
            buffer.bytes_mut().fill(1);
        }
    }
}
