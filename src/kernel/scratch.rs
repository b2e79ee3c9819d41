//! Memory that a thread keeps between calls: fresh memory costs more than what is done in it.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

use crate::limits;
use crate::op::OpError;
use crate::tensor::convert::{Compute, widen};
use crate::tensor::{Buffer, Tensor};

fn refused<T>(len: usize) -> OpError {
    let bytes = len.saturating_mul(size_of::<T>());
    OpError::limit(format!("cannot allocate {bytes} bytes"))
}

/// An empty list with room for `len`, for what is as long as a tensor may be.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn try_room<T>(len: usize) -> Result<Vec<T>, OpError> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
    Ok(all)
}

/// `len` times a value.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_vec<T: Clone>(value: T, len: usize) -> Result<Vec<T>, OpError> {
    let mut all = try_room(len)?;
    all.resize(len, value);
    Ok(all)
}

/// `len` zeros: memory fresh of the system is zero already, and not touched.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>, OpError> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| refused::<T>(len))
}

/// A copy.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_copy<T: Clone>(elements: &[T]) -> Result<Vec<T>, OpError> {
    let mut all = try_room(elements.len())?;
    all.extend_from_slice(elements);
    Ok(all)
}

/// What an iterator gives.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_collect<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, OpError> {
    let mut all = Vec::new();
    try_extend(&mut all, items)?;
    Ok(all)
}

/// What an iterator gives, up to its first error.
///
/// # Errors
/// That error, or as [`try_room`].
pub(crate) fn try_collect_ok<T, E: Into<OpError>>(
    items: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, OpError> {
    let mut failed = None;
    let items = items.into_iter();
    // As `collect` does, but for the size that iterators with errors hide.
    let room = items.size_hint().0;
    let mut all = try_room(room)?;
    let good = items.map_while(|item| item.map_err(|e| failed = Some(e)).ok());
    try_extend(&mut all, good)?;
    failed.map_or(Ok(all), |error| Err(error.into()))
}

/// Appends what an iterator gives.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_extend<T>(
    all: &mut Vec<T>,
    items: impl IntoIterator<Item = T>,
) -> Result<(), OpError> {
    let mut items = items.into_iter();
    loop {
        reserve(all, items.size_hint().0)?;
        // No more than there is room for, so that the loop inside is the usual one.
        let room = all.capacity() - all.len();
        all.extend(items.by_ref().take(room));
        match items.next() {
            Some(item) => try_push(all, item)?,
            None => return Ok(()),
        }
    }
}

/// Appends copies of elements.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_append<T: Copy>(all: &mut Vec<T>, more: &[T]) -> Result<(), OpError> {
    reserve(all, more.len())?;
    all.extend_from_slice(more);
    Ok(())
}

/// Appends one element.
///
/// # Errors
/// As [`try_room`].
#[inline]
pub(crate) fn try_push<T>(all: &mut Vec<T>, item: T) -> Result<(), OpError> {
    if all.len() == all.capacity() {
        reserve(all, 1)?;
    }
    all.push(item);
    Ok(())
}

/// Room for so many more.
fn reserve<T>(all: &mut Vec<T>, more: usize) -> Result<(), OpError> {
    let len = all.len();
    all.try_reserve(more)
        .map_err(|_| refused::<T>(len.saturating_add(more)))
}

/// `len` elements in memory that is used again, the new ones of this value.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn try_resize<T: Clone>(all: &mut Vec<T>, len: usize, value: T) -> Result<(), OpError> {
    reserve(all, len.saturating_sub(all.len()))?;
    all.resize(len, value);
    Ok(())
}

/// All elements of a tensor, widened, in memory that is used again.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused_wide<T: Compute>(tensor: &Tensor) -> Result<Reused<T>, OpError> {
    let mut all = reused_any(T::default(), tensor.len())?;
    widen(tensor, 0, &mut all);
    Ok(all)
}

/// What there was memory for. Nothing otherwise, and [`limits::watch`] tells why: for kernels that no
/// `Result` leaves, which then return early.
pub(crate) fn or_refuse<T>(made: Result<T, OpError>) -> Option<T> {
    if made.is_err() {
        limits::refuse();
    }
    made.ok()
}

/// Memory for what is read again and again, such as packed sides of products. It begins with a line of
/// the cache if there are several, and has large pages if there is much of it.
pub(crate) struct Kept(Buffer);

impl Kept {
    /// Zeros.
    ///
    /// # Errors
    /// As [`try_room`].
    pub(crate) fn zeroed<T: Pod>(elements: usize) -> Result<Self, OpError> {
        let bytes = elements.checked_mul(size_of::<T>());
        let buffer = bytes.and_then(|bytes| Buffer::zeroed(bytes).ok());
        buffer.map(Self).ok_or_else(|| refused::<T>(elements))
    }

    /// How many bytes there are.
    fn len(&self) -> usize {
        self.0.bytes().len()
    }

    /// What it holds.
    pub(crate) fn elements<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.0.bytes())
    }

    /// What it holds.
    pub(crate) fn elements_mut<T: Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.0.bytes_mut())
    }
}

/// Bytes of a piece of memory that is kept for the next call; more are given back.
const MOST_KEPT: usize = 8 << 20;

/// Bytes of all pieces, and how many these are: as many as there are calls inside one another, and a thread that
/// waits for others is given more of their work meanwhile.
const ALL_KEPT: usize = 2 * MOST_KEPT;
const PIECES_KEPT: usize = 8;

/// Takes the piece with the least room that has so much, or the one with the most. The smallest comes first.
fn take<T>(kept: &mut Vec<T>, least: usize, room: impl Fn(&T) -> usize) -> Option<T> {
    let last = kept.len().checked_sub(1)?;
    let at = kept.partition_point(|piece| room(piece) < least);
    Some(kept.remove(at.min(last)))
}

/// Keeps a piece of so many bytes as [`MOST_KEPT`]. Of too many the smallest go: they cost the least to have again.
fn keep<T>(kept: &mut Vec<T>, piece: T, bytes: impl Fn(&T) -> usize) {
    let at = kept.partition_point(|other| bytes(other) < bytes(&piece));
    kept.insert(at, piece);
    let mut all: usize = kept.iter().map(&bytes).sum();
    let mut spare = 0;
    while kept.len() - spare > PIECES_KEPT || all > ALL_KEPT {
        all -= bytes(&kept[spare]);
        spare += 1;
    }
    kept.drain(..spare);
}

thread_local! {
    /// The shortest comes first.
    static MEMORY: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
    /// The same of lists, by the type of their elements: each is a `Vec<Vec<T>>`, the shortest first. Types are
    /// so few that looking at all is faster than hashing.
    static LISTS: RefCell<Vec<(TypeId, Box<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

/// The lists of a type.
fn lists_of<T: 'static>(all: &mut [(TypeId, Box<dyn Any>)]) -> Option<&mut Vec<Vec<T>>> {
    let (_, lists) = all.iter_mut().find(|(ty, _)| *ty == TypeId::of::<T>())?;
    lists.downcast_mut()
}

/// A list in memory that the thread keeps for the next one of its type.
#[derive(Debug)]
pub(crate) struct Reused<T: 'static>(Vec<T>);

impl<T> Reused<T> {
    /// The shortest list there is with room for `len`, or the one with most. It holds what it did when it was
    /// used last, if that need not be dropped.
    fn with_room(len: usize) -> Self {
        let suitable =
            |all: &mut Vec<(TypeId, Box<dyn Any>)>| take(lists_of::<T>(all)?, len, Vec::capacity);
        Self(LISTS.with_borrow_mut(suitable).unwrap_or_default())
    }
}

impl<T> Default for Reused<T> {
    /// An empty list.
    fn default() -> Self {
        let mut all = Self::with_room(usize::MAX);
        all.clear();
        all
    }
}

impl<T> Drop for Reused<T> {
    fn drop(&mut self) {
        let mut list = std::mem::take(&mut self.0);
        if std::mem::needs_drop::<T>() {
            list.clear();
        }
        let bytes_of = |list: &Vec<T>| list.capacity().saturating_mul(size_of::<T>());
        if !(1..=MOST_KEPT).contains(&bytes_of(&list)) {
            return;
        }
        // A thread that ends keeps nothing.
        let _ = LISTS.try_with(|all| {
            let mut all = all.borrow_mut();
            if lists_of::<T>(&mut all).is_none() {
                let none = Vec::<Vec<T>>::with_capacity(PIECES_KEPT + 1);
                all.push((TypeId::of::<T>(), Box::new(none)));
            }
            if let Some(lists) = lists_of::<T>(&mut all) {
                keep(lists, list, bytes_of);
            }
        });
    }
}

impl<T> Deref for Reused<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Reused<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

/// As [`try_room`], in memory that is used again.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused_room<T>(len: usize) -> Result<Reused<T>, OpError> {
    let mut all = Reused::with_room(len);
    all.clear();
    all.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
    Ok(all)
}

/// As [`try_vec`], in memory that is used again.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused<T: Clone>(value: T, len: usize) -> Result<Reused<T>, OpError> {
    let mut all = reused_room(len)?;
    all.resize(len, value);
    Ok(all)
}

/// `len` elements that will all be written, in memory that is used again: until then each is any there has been,
/// or this. Of work that was cut short some are left: nobody may take them for places.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused_any<T: Clone>(any: T, len: usize) -> Result<Reused<T>, OpError> {
    let mut all = Reused::with_room(len);
    if all.capacity() < len {
        // Nothing of the old is copied.
        all.clear();
        all.try_reserve_exact(len).map_err(|_| refused::<T>(len))?;
    }
    all.resize(len, any);
    Ok(all)
}

/// As [`try_copy`], in memory that is used again.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused_copy<T: Clone>(elements: &[T]) -> Result<Reused<T>, OpError> {
    let mut all = reused_room(elements.len())?;
    all.extend_from_slice(elements);
    Ok(all)
}

/// As [`try_collect`], in memory that is used again.
///
/// # Errors
/// As [`try_room`].
pub(crate) fn reused_all<T>(items: impl IntoIterator<Item = T>) -> Result<Reused<T>, OpError> {
    let items = items.into_iter();
    let mut all = reused_room(items.size_hint().0)?;
    try_extend(&mut all, items)?;
    Ok(all)
}

/// Calls `f` with `len` unspecified elements of memory as [`Kept`]. A call inside it, or one of other
/// work that the thread is given while `f` waits, gets other memory. Where there is none `f` is not
/// called, and [`limits::watch`] tells it.
pub(crate) fn with_scratch<T: Pod, R: Default>(len: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut memory = match MEMORY.with_borrow_mut(|kept| take(kept, bytes, Kept::len)) {
        Some(memory) if memory.len() >= bytes => memory,
        less => {
            // Nothing of the old is copied.
            drop(less);
            let Some(fresh) = or_refuse(Kept::zeroed::<T>(len)) else {
                return R::default();
            };
            fresh
        }
    };
    let result = f(bytemuck::cast_slice_mut(&mut memory.0.bytes_mut()[..bytes]));
    if memory.len() <= MOST_KEPT {
        MEMORY.with_borrow_mut(|kept| keep(kept, memory, Kept::len));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_long_as_memory_allows() {
        assert_eq!(try_vec(7u16, 3), Ok(vec![7; 3]));
        for len in [usize::MAX, usize::MAX / 8, isize::MAX.unsigned_abs()] {
            let error = try_zeroed::<u64>(len).expect_err("no memory");
            assert_eq!(error.kind, crate::op::OpErrorKind::Limit);
        }
    }

    #[test]
    fn lists_of_iterators() {
        let all = |count: usize| (0..count).filter(|i| i % 2 == 0);
        for count in [0, 1, 2, 3, 1000] {
            assert_eq!(try_collect(0..count), Ok((0..count).collect()));
            assert_eq!(try_collect(all(count)), Ok(all(count).collect()));
            let good = all(count).map(Ok::<_, OpError>);
            assert_eq!(try_collect_ok(good), Ok(all(count).collect()));
        }
        let bad = (0..9).map(|i| {
            if i < 5 {
                Ok(i)
            } else {
                Err(OpError::new("odd"))
            }
        });
        assert_eq!(try_collect_ok(bad), Err(OpError::new("odd")));
        assert!(try_collect(0..usize::MAX).is_err());
        let mut list = vec![1, 2];
        assert_eq!(try_push(&mut list, 3), Ok(()));
        assert_eq!(try_extend(&mut list, [4, 5]), Ok(()));
        assert_eq!(try_resize(&mut list, 6, 9), Ok(()));
        assert_eq!(try_copy(&list), Ok(vec![1, 2, 3, 4, 5, 9]));
        assert_eq!(try_resize(&mut list, 1, 9), Ok(()));
        assert_eq!(list, [1]);
    }

    #[test]
    fn lists_are_used_again() {
        let place = |list: &Reused<u32>| list.as_ptr();
        let outer = reused(7u32, 5).expect("memory");
        let inner = reused_all(0..3u32).expect("memory");
        assert_eq!((&outer[..], &inner[..]), (&[7; 5][..], &[0, 1, 2][..]));
        let (first, second) = (place(&outer), place(&inner));
        assert_ne!(first, second);
        drop(outer);
        drop(inner);
        let inner = reused_copy(&[1u32, 2, 3]).expect("memory");
        let outer = reused_room::<u32>(5).expect("memory");
        assert_eq!((place(&outer), place(&inner)), (first, second));
        assert_eq!((&outer[..], &inner[..]), (&[][..], &[1, 2, 3][..]));
        drop(outer);
        drop(inner);
        let any = reused_any(9u32, 5).expect("memory");
        assert_eq!((place(&any), &any[3..]), (first, &[9, 9][..]));
        drop(any);
        assert_eq!(reused(8u32, 4).expect("memory")[..], [8; 4]);
        assert!(Reused::<u32>::default().is_empty());
        // Those of another type are apart, and what takes too much is given back.
        assert_ne!(reused(0f32, 1).expect("memory").as_ptr().cast(), first);
        drop(reused(0u16, MOST_KEPT).expect("memory"));
        assert_eq!(Reused::<u16>::default().capacity(), 0);
    }

    #[test]
    fn inside_one_another() {
        with_scratch(5, |outer: &mut [f32]| {
            outer.fill(1.0);
            with_scratch(1000, |inner: &mut [u8]| inner.fill(9));
            assert_eq!(outer, [1.0; 5]);
        });
        with_scratch(0, |none: &mut [f64]| assert!(none.is_empty()));
        with_scratch(MOST_KEPT / 4, |all: &mut [f64]| {
            assert_eq!(all.len(), MOST_KEPT / 4);
        });
    }

    #[test]
    fn however_deep_the_longest_is_used_again() {
        fn nested(len: usize, depth: usize) -> Option<usize> {
            with_scratch(len, |memory: &mut [u8]| {
                if depth > 1 {
                    assert!(nested(16, depth - 1).is_some());
                }
                Some(memory.as_ptr().addr())
            })
        }
        let first = nested(1000, 1);
        assert!(first.is_some());
        assert_eq!(nested(1000, 2 * PIECES_KEPT), first);
        assert_eq!(nested(1000, 1), first);
        // What is short takes what is short.
        assert_ne!(nested(16, 1), first);
        assert!(
            MEMORY
                .with_borrow(|kept| kept.len() == PIECES_KEPT && kept.is_sorted_by_key(Kept::len))
        );
    }

    #[test]
    fn the_smallest_go() {
        let mut kept = Vec::new();
        for size in [5, 1, 9, 7, 3, 8, 2, 6, 4] {
            keep(&mut kept, size, |&size| size);
        }
        assert_eq!(kept, [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(take(&mut kept, 6, |&size| size), Some(6));
        assert_eq!(take(&mut kept, 10, |&size| size), Some(9));
        // Sixteen bytes are left for the others, of which 7 and 8 fit.
        keep(&mut kept, MOST_KEPT, |&size| size);
        keep(&mut kept, MOST_KEPT - 16, |&size| size);
        assert_eq!(kept, [7, 8, MOST_KEPT - 16, MOST_KEPT]);
        assert_eq!(take(&mut Vec::new(), 0, |&size: &usize| size), None);
    }
}
