//! Memory that a thread keeps between calls: fresh memory costs more than what is done in it.

use std::cell::Cell;

use bytemuck::Pod;

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
