//! Single elements at many positions.

use pulp::NullaryFnOnce;

use super::moving::Word;
use super::simd::{GATHERED, Gathers};

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
pub(crate) fn pick_each<T: Word, I: Index>(block: &[T], indices: &[I], wrap: u64, out: &mut [T]) {
    if out.len() >= FEW && size_of_val(block) <= CACHED {
        let words = T::gathered(block).zip(T::gathered_mut(out));
        if let Some(((block, out), simd)) = words.zip(Gathers::preferred()) {
            return simd.call(Together {
                simd,
                block,
                indices,
                wrap,
                out,
            });
        }
    }
    one_by_one(block, indices, wrap, out);
}

/// Fewer elements are picked before instructions for several are prepared.
const FEW: usize = 2 * GATHERED;

/// Bytes of a table that caches near the core hold, at most. From one that is larger, several elements at a time come as
/// soon as one after another, or a tenth later.
const CACHED: usize = 8 << 20;

/// Elements picked by instructions for several.
struct Together<'a, I> {
    simd: Gathers,
    block: &'a [u32],
    indices: &'a [I],
    wrap: u64,
    out: &'a mut [u32],
}

impl<I: Index> NullaryFnOnce for Together<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (outs, last) = self.out.as_chunks_mut::<GATHERED>();
        let (indices, rest) = self.indices.as_chunks::<GATHERED>();
        for (out, indices) in outs.iter_mut().zip(indices) {
            let mut signed = [0; GATHERED];
            for (signed, &index) in signed.iter_mut().zip(indices) {
                *signed = index.signed();
            }
            *out = self.simd.pick(self.block, signed, self.wrap);
        }
        one_by_one(self.block, rest, self.wrap, last);
    }
}

fn one_by_one<T: Word, I: Index>(block: &[T], indices: &[I], wrap: u64, out: &mut [T]) {
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
/// few for each that most have no faster way ([`Gathers::preferred`]).
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
    use crate::tensor::simd::machines;

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

        // The other ways are tried as well, whichever of them this machine prefers.
        let mut out = vec![9; indices.len()];
        one_by_one(block, indices, wrap as u64, &mut out);
        assert_eq!(out, expected);
        for simd in machines().into_iter().filter_map(Gathers::of) {
            let mut out = vec![9; indices.len()];
            simd.call(Together {
                simd,
                block,
                indices,
                wrap: wrap as u64,
                out: &mut out,
            });
            assert_eq!(out, expected);
        }
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
