//! One instruction for sixteen elements. No safe function has it: positions are checked here, all of a
//! vector at once, and what is out of range is never read.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytemuck::must_cast;
use pulp::x86::V4;
use pulp::{Arch, NullaryFnOnce};

use super::{Index, LANES, Vector, one_by_one};
use crate::tensor::simd::machine;

/// Whether that takes less time than to read them one by one. It does not on all machines that have the
/// instruction: some of them take it apart, others wait before it so that it betrays nothing.
pub(super) static FASTER: LazyLock<bool> = LazyLock::new(|| {
    let block: Vec<u32> = (0..1024).collect();
    let indices: Vec<i32> = (0..1024).map(|i| i * 389 % 1024).collect();
    let mut out = [0; 1024];
    let mut least = |f: &mut dyn FnMut(&mut [u32])| {
        let time = |_| {
            let start = Instant::now();
            f(&mut out);
            start.elapsed()
        };
        (0..8).map(time).min().unwrap_or(Duration::MAX)
    };
    let each = least(&mut |out| one_by_one(&block, &indices, 0, out));
    let mut done = 0;
    let all = least(&mut |out| done = together(&block, &indices, 0, out));
    done > 0 && all < each
});

/// As [`super::together`], whatever is faster; nothing on machines without the instruction.
pub(super) fn together<I: Index>(
    block: &[u32],
    indices: &[I],
    wrap: u64,
    out: &mut [u32],
) -> usize {
    let size = i32::try_from(block.len());
    let wrap = i32::try_from(wrap);
    let (Arch::V4(simd), Ok(size), Ok(wrap)) = (machine(), size, wrap) else {
        return 0;
    };
    let count = out.len().min(indices.len()) / LANES * LANES;
    simd.vectorize(Together {
        simd,
        block,
        indices: &indices[..count],
        wrap: wrap.cast_unsigned(),
        size: size.cast_unsigned(),
        out: &mut out[..count],
    });
    count
}

struct Together<'a, I> {
    simd: V4,
    block: &'a [u32],
    indices: &'a [I],
    wrap: u32,
    /// The elements of the block, as many as a positive `i32` says.
    size: u32,
    out: &'a mut [u32],
}

impl<I: Index> NullaryFnOnce for Together<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let f = self.simd.avx512f;
        let outs = std::mem::take(&mut self.out).as_chunks_mut::<LANES>().0;
        for (out, indices) in outs.iter_mut().zip(self.indices.as_chunks().0) {
            let (positions, inside) = match I::vector(indices) {
                Vector::Short(indices) => self.short(indices),
                Vector::Long(indices) => self.long(indices),
            };
            let (zeros, positions) = (must_cast([0; LANES]), must_cast(positions));
            let block = self.block.as_ptr().cast::<i32>();
            // SAFETY: of the lanes only those of `inside` are read. Their positions are below `size`, which
            // is the length of the block and as `i32` not negative.
            #[allow(unsafe_code)]
            let elements = unsafe {
                f._mm512_mask_i32gather_epi32::<{ size_of::<u32>() as i32 }>(
                    zeros, inside, positions, block,
                )
            };
            *out = must_cast(elements);
        }
    }
}

impl<I> Together<'_, I> {
    /// The positions that indices mean, and a bit for each of those that are below the size.
    #[inline(always)]
    fn short(&self, indices: [i32; LANES]) -> ([u32; LANES], u16) {
        let f = self.simd.avx512f;
        let indices = must_cast(indices);
        let below = f._mm512_cmplt_epi32_mask(indices, must_cast([0; LANES]));
        let wrap = must_cast([self.wrap; LANES]);
        let wrapped = f._mm512_mask_add_epi32(indices, below, indices, wrap);
        let inside = f._mm512_cmplt_epu32_mask(wrapped, must_cast([self.size; LANES]));
        (must_cast(wrapped), inside)
    }

    /// The same for wider indices: positions below the size are so as 32 bits too.
    #[inline(always)]
    fn long(&self, indices: [i64; LANES]) -> ([u32; LANES], u16) {
        let f = self.simd.avx512f;
        let [wrap, size] = [self.wrap, self.size].map(|x| must_cast([u64::from(x); 8]));
        macro_rules! half {
            ($indices:expr) => {{
                let indices = must_cast::<[i64; 8], _>($indices);
                let below = f._mm512_cmplt_epi64_mask(indices, must_cast([0i64; 8]));
                let wrapped = f._mm512_mask_add_epi64(indices, below, indices, wrap);
                let inside = f._mm512_cmplt_epu64_mask(wrapped, size);
                let low: [u32; 8] = must_cast(f._mm512_cvtepi64_epi32(wrapped));
                (low, inside)
            }};
        }
        let [first, last]: [[i64; 8]; 2] = must_cast(indices);
        let ((first, first_inside), (last, last_inside)) = (half!(first), half!(last));
        let inside = u16::from_le_bytes([first_inside, last_inside]);
        (must_cast([first, last]), inside)
    }
}
