//! Memory that a thread keeps between calls: fresh memory costs more than what is done in it.

use std::cell::Cell;

use bytemuck::Pod;

use crate::op::OpError;

/// `len` times a value, for what is as long as a tensor may be.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn try_vec<T: Clone>(value: T, len: usize) -> Result<Vec<T>, OpError> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| {
        let bytes = len.saturating_mul(size_of::<T>());
        OpError::limit(format!("cannot allocate {bytes} bytes"))
    })?;
    all.resize(len, value);
    Ok(all)
}

/// Kept for the next call, in units of 16 bytes; more is given back.
const KEPT: usize = 1 << 18;

thread_local! {
    static MEMORY: Cell<Vec<u128>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with `len` unspecified elements of at most 16 bytes. A call inside it gets other memory.
pub(crate) fn with_scratch<T: Pod, R>(len: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
    let mut memory = MEMORY.take();
    let units = len
        .saturating_mul(size_of::<T>())
        .div_ceil(size_of::<u128>());
    if memory.len() < units {
        // Nothing of the old is copied.
        memory = vec![0; units];
    }
    let result = f(&mut bytemuck::cast_slice_mut(&mut memory[..units])[..len]);
    if memory.len() <= KEPT {
        MEMORY.set(memory);
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
            let error = try_vec(0u64, len).expect_err("no memory");
            assert_eq!(error.kind, crate::op::OpErrorKind::Limit);
        }
    }

    #[test]
    fn inside_one_another() {
        with_scratch(5, |outer: &mut [f32]| {
            outer.fill(1.0);
            with_scratch(1000, |inner: &mut [u8]| inner.fill(9));
            assert_eq!(outer, [1.0; 5]);
        });
        with_scratch(0, |none: &mut [f64]| assert!(none.is_empty()));
        with_scratch(KEPT * 4, |all: &mut [f64]| assert_eq!(all.len(), KEPT * 4));
    }
}
