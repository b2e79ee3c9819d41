//! What a tile asks the memory for, before it is read.

use crate::kernel::simd::{prefetch, prefetch_far};
use crate::tensor::LINE;

/// What is read after a panel of the right side, asked for while the tiles above each other are
/// multiplied with it.
#[derive(Clone, Copy)]
pub(super) struct Ahead<'a, T> {
    data: &'a [T],
    /// Elements from what is asked for at a term to that at the next.
    stride: usize,
    /// Elements between what is asked for at the same term: none if it is one place.
    across: usize,
    /// Elements from the first place to the one to ask for now.
    next: usize,
}

impl<'a, T> Ahead<'a, T> {
    /// The share of tile `i` of so many: each of many asks for little, for what is on its way waits in
    /// few places, and the tiles themselves need them. `data` has `width` elements for each term, of so
    /// many vectors; from one term to the next it is `stride` elements.
    #[inline(always)]
    pub(super) fn new(
        (data, stride): (&'a [T], usize),
        [i, tiles]: [usize; 2],
        [terms, width, vectors]: [usize; 3],
    ) -> Self {
        let (line, last) = (width / vectors, width - 1);
        let shares = tiles.min(SHARES);
        let (from, stride, across) = if tiles <= vectors {
            ([0, last].get(i).copied(), stride, line)
        } else if stride == width {
            let stride = width.div_ceil(shares);
            ((i < shares).then_some(i * terms * stride), stride, 0)
        } else {
            ((i <= vectors).then_some((i * line).min(last)), stride, 0)
        };
        let (data, stride, across) = match from.and_then(|from| data.get(from..)) {
            Some(data) => (data, stride, across),
            None => (&[][..], 0, 0),
        };
        Self {
            data,
            stride,
            across,
            next: 0,
        }
    }

    /// Asks for what is due at the next term: `N` places, or one as often.
    #[inline(always)]
    pub(super) fn ask<const N: usize>(&mut self) {
        for v in 0..N {
            prefetch_far(self.data.as_ptr(), self.next.wrapping_add(v * self.across));
        }
        self.next = self.next.wrapping_add(self.stride);
    }
}

/// Tiles above each other that share what they ask for.
const SHARES: usize = 16;

/// Terms ahead of which a panel is asked for. Panels lie in the second cache, for both at once are
/// more than the first holds, and what foresees reads is behind where they are read so fast.
const SOON: usize = 16;

/// Asks for what a panel of so many elements a term has [`SOON`] terms after some of them.
#[inline(always)]
pub(super) fn soon<E, const N: usize>(some: &[E; N], pitch: usize) {
    for at in (0..size_of::<[E; N]>()).step_by(LINE) {
        prefetch(
            some.as_ptr().cast::<u8>(),
            SOON * pitch * size_of::<E>() + at,
        );
    }
}
