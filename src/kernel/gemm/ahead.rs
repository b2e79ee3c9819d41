//! What a tile asks the memory for, before it is read.

use crate::kernel::simd::{prefetch, prefetch_far};
use crate::tensor::LINE;

/// Terms that are multiplied between two times that a tile asks.
pub(super) const TERMS: usize = 4;

/// Places that one of many tiles asks for each time: each asks for little, for what is on its way waits
/// in few places, and the tiles themselves need them.
const PLACES: usize = 2;

/// What is read after a panel of the right side, asked for while the tiles above each other are
/// multiplied with it.
#[derive(Clone, Copy)]
pub(super) struct Ahead<'a, T> {
    data: &'a [T],
    /// Elements from the first place to the one to ask for now.
    next: usize,
    /// Elements from there to the one to ask for next.
    stride: usize,
    /// Elements between places.
    across: usize,
    /// How much of all this tile asks for.
    share: Share,
}

/// How much of what is read next a tile asks for.
#[derive(Clone, Copy)]
enum Share {
    /// Nothing: that was done for all of it.
    None,
    /// A few places each time.
    Some,
    /// All, term by term.
    All,
}

impl<'a, T> Ahead<'a, T> {
    /// The share of tile `i` of so many. `data` has `width` elements for each term, of so many vectors;
    /// from one term to the next it is `stride` elements.
    #[inline(always)]
    pub(super) fn new(
        (data, stride): (&'a [T], usize),
        [i, tiles]: [usize; 2],
        [terms, width, vectors]: [usize; 3],
    ) -> Self {
        let line = width / vectors;
        let packed = stride <= width;
        // Lines of the cache at a time; rows of a matrix, which begin anywhere, are in one more each.
        let lines = if packed {
            (TERMS * stride).div_ceil(line)
        } else {
            TERMS * (vectors + 1)
        };
        let shares = lines.div_ceil(PLACES);
        let all = tiles < shares && (tiles <= vectors || !packed);
        let (shares, from, next, across) = if all {
            (1, 0, stride, line)
        } else if packed {
            let next = PLACES * line;
            (shares, i * (terms / TERMS) * next, next, line)
        } else {
            let parts = TERMS / PLACES;
            let from = i / parts * line + i % parts * PLACES * stride;
            (shares, from, TERMS * stride, stride)
        };
        match data.get(from..) {
            Some(data) if i < shares => Self {
                data,
                next: 0,
                stride: next,
                across,
                share: if all { Share::All } else { Share::Some },
            },
            _ => Self {
                data: &[],
                next: 0,
                stride: 0,
                across: 0,
                share: Share::None,
            },
        }
    }

    /// Asks for what is due before the next [`TERMS`] terms, of `N` vectors each.
    #[inline(always)]
    pub(super) fn ask<const N: usize>(&mut self) {
        match self.share {
            Share::None => {}
            Share::Some => self.places::<PLACES>(),
            Share::All => {
                for _ in 0..TERMS {
                    self.places::<N>();
                }
            }
        }
    }

    /// Asks for so many places.
    #[inline(always)]
    fn places<const N: usize>(&mut self) {
        for v in 0..N {
            prefetch_far(self.data.as_ptr(), self.next.wrapping_add(v * self.across));
        }
        self.next = self.next.wrapping_add(self.stride);
    }
}

/// Terms ahead of which a panel is asked for. Panels lie in the second cache, for both at once are
/// more than the first holds, and what foresees reads is behind where they are read so fast.
const SOON: usize = 16;

/// Asks for what a panel has [`SOON`] terms after some of them.
#[inline(always)]
pub(super) fn soon<E, const N: usize>(terms: &[E; N]) {
    for at in (0..size_of::<[E; N]>()).step_by(LINE) {
        prefetch(terms.as_ptr().cast::<u8>(), SOON * size_of::<E>() + at);
    }
}
