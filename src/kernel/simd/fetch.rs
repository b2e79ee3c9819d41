//! Single elements at many positions.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Indices that are looked at together.
const LANES: usize = 16;

/// A type of indices.
pub(crate) trait Index: Copy {
    /// The same index; what is above all others is below zero.
    fn signed(self) -> i64;

    /// Many of them.
    fn vector(indices: &[Self; LANES]) -> Vector;
}

/// Indices, the way they lie in memory.
pub(crate) enum Vector {
    Short([i32; LANES]),
    Long([i64; LANES]),
}

impl Index for i32 {
    #[inline(always)]
    fn signed(self) -> i64 {
        self.into()
    }

    #[inline(always)]
    fn vector(indices: &[Self; LANES]) -> Vector {
        Vector::Short(*indices)
    }
}

impl Index for i64 {
    #[inline(always)]
    fn signed(self) -> i64 {
        self
    }

    #[inline(always)]
    fn vector(indices: &[Self; LANES]) -> Vector {
        Vector::Long(*indices)
    }
}

impl Index for usize {
    #[inline(always)]
    fn signed(self) -> i64 {
        self as i64
    }

    #[inline(always)]
    fn vector(indices: &[Self; LANES]) -> Vector {
        Vector::Long(indices.map(Self::signed))
    }
}

/// Writes the elements of `block` at indices to which `wrap` is added if they are negative; zeros for
/// those out of range. Answers how many of the first it has written: none, where reading them
/// [`one_by_one`] is faster.
pub(crate) fn together<I: Index>(
    block: &[u32],
    indices: &[I],
    wrap: u64,
    out: &mut [u32],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if out.len() >= LANES && *x86::FASTER {
        return x86::together(block, indices, wrap, out);
    }
    let _ = (block, indices, wrap, out);
    0
}

/// Writes the elements of `block` at indices to which `wrap` is added if they are negative; zeros for
/// those out of range. In one loop the processor waits for indices and elements at the same time, for
/// the more of them the less there is to do for each.
pub(crate) fn one_by_one<T: Clone + Default, I: Index>(
    block: &[T],
    indices: &[I],
    wrap: u64,
    out: &mut [T],
) {
    let element = |position: u64| {
        let element = usize::try_from(position).ok().and_then(|at| block.get(at));
        element.cloned().unwrap_or_default()
    };
    for (out, indices) in out.chunks_mut(TOGETHER).zip(indices.chunks(TOGETHER)) {
        // The sign of all is that of their common bits.
        let bits = indices.iter().fold(0, |bits: i64, &i| bits | i.signed());
        if bits >= 0 {
            for (out, &index) in out.iter_mut().zip(indices) {
                *out = element(index.signed().cast_unsigned());
            }
            continue;
        }
        for (out, &index) in out.iter_mut().zip(indices) {
            let index = index.signed();
            let back = if index < 0 { wrap } else { 0 };
            *out = element(index.cast_unsigned().wrapping_add(back));
        }
    }
}

/// How many indices are looked at together for negative ones.
const TOGETHER: usize = 32;

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
        one_by_one(block, indices, wrap as u64, &mut out);
        assert_eq!(out, expected);
        #[cfg(target_arch = "x86_64")]
        {
            let mut out = vec![9; indices.len()];
            let done = x86::together(block, indices, wrap as u64, &mut out);
            assert_eq!(out[..done], expected[..done]);
            assert!(out[done..].iter().all(|&x| x == 9));
        }
    }

    #[test]
    fn inside_and_outside() {
        let block: Vec<u32> = (0..100).map(|x| x * 3 + 1).collect();
        for block in [&block[..], &block[..1], &[]] {
            for count in [0, 1, 15, 16, 31, 32, 33, 100] {
                for step in [1i64, 7, -7, 13, 1 << 27, -1 << 27, 1 << 57, i64::MAX] {
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
