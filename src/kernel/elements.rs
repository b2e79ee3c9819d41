//! Single elements at many positions.

/// A type of indices.
pub(crate) trait Index: Copy {
    /// The same index; what is above all others is below zero.
    fn signed(self) -> i64;
}

impl Index for i32 {
    #[inline(always)]
    fn signed(self) -> i64 {
        self.into()
    }
}

impl Index for i64 {
    #[inline(always)]
    fn signed(self) -> i64 {
        self
    }
}

impl Index for usize {
    #[inline(always)]
    fn signed(self) -> i64 {
        self as i64
    }
}

/// Writes the elements of `block` at indices to which `wrap` is added if they are negative; zeros for
/// those out of range.
pub(crate) fn pick_each<T: Clone + Default, I: Index>(
    block: &[T],
    indices: &[I],
    wrap: u64,
    out: &mut [T],
) {
    for (out, indices) in out.chunks_mut(TOGETHER).zip(indices.chunks(TOGETHER)) {
        if all_inside(block, indices, out).is_some() {
            continue;
        }
        for (out, &index) in out.iter_mut().zip(indices) {
            let index = index.signed();
            let back = if index < 0 { wrap } else { 0 };
            let element = at(block, index.cast_unsigned().wrapping_add(back));
            *out = element.cloned().unwrap_or_default();
        }
    }
}

/// The same where no index is negative or out of range; none after the first that is, with the
/// elements before it written.
///
/// A processor waits for as many elements at a time as it holds instructions of this loop. There are so
/// few for each that it is faster, from tables in each of the caches and in memory, than one instruction
/// for sixteen elements (AVX-512 on Ice Lake).
#[inline(always)]
fn all_inside<T: Clone, I: Index>(block: &[T], indices: &[I], out: &mut [T]) -> Option<()> {
    for (out, index) in out.iter_mut().zip(indices) {
        out.clone_from(at(block, index.signed().cast_unsigned())?);
    }
    Some(())
}

#[inline(always)]
fn at<T>(block: &[T], position: u64) -> Option<&T> {
    block.get(usize::try_from(position).ok()?)
}

/// Indices after which it is tried anew whether all are in range and none is negative.
const TOGETHER: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn check<I: Index>(block: &[u32], indices: &[I], wrap: usize) {
        let expected: Vec<u32> = indices
            .iter()
            .map(|&i| {
                let at = i.signed();
                let at = i128::from(at) + if at < 0 { wrap as i128 } else { 0 };
                let at = usize::try_from(at).ok();
                at.and_then(|at| block.get(at)).copied().unwrap_or(0)
            })
            .collect();
        let mut out = vec![9; indices.len()];
        pick_each(block, indices, wrap as u64, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn inside_and_outside() {
        let block: Vec<u32> = (0..100).map(|x| x * 3 + 1).collect();
        for block in [&block[..], &block[..1], &[]] {
            for count in [0, 1, 63, 64, 65, 200] {
                for step in [0i64, 1, 7, -7, 13, 1 << 27, -1 << 27, 1 << 57, i64::MAX] {
                    for start in [0, 5, -101, i64::MIN, i64::MAX, 1 << 32, -1 << 32] {
                        let index = |i: i64| start.wrapping_add(i.wrapping_mul(step));
                        let indices: Vec<i64> = (0..count).map(index).collect();
                        let narrow: Vec<i32> = indices.iter().map(|&i| i as i32).collect();
                        let places: Vec<usize> = indices.iter().map(|&i| i as usize).collect();
                        for wrap in [0, block.len()] {
                            check(block, &indices, wrap);
                            check(block, &narrow, wrap);
                        }
                        check(block, &places, 0);
                    }
                }
            }
        }
    }
}
