//! What a tile asks the memory for, before it is read.

use crate::kernel::simd::{is_recent_amd, prefetch, prefetch_far};
use crate::tensor::LINE;

/// Terms that are multiplied between two times that a tile asks.
pub(super) const TERMS: usize = 4;

/// Places that one of many tiles asks for each time: each asks for little, for what is on its way waits
/// in few places, and the tiles themselves need them.
const PLACES: usize = 2;

/// Tiles that ask for the same places of different terms, where these are far from each other.
const PARTS: usize = TERMS / PLACES;

/// What a tile asks for of what is read after a panel of the right side, while it is multiplied with that.
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
    /// Nothing: that was done for all of it, or nothing follows.
    None,
    /// A few places each time.
    Some,
    /// All, term by term.
    All,
}

/// What is read after a panel, and how it is shared by the tiles that are multiplied with this panel.
#[derive(Clone, Copy)]
pub(super) struct Next<'a, T> {
    data: &'a [T],
    /// The tiles that ask for something.
    shares: usize,
    share: Share,
    /// Elements from the first place of a tile to that of the next one, and to that [`PARTS`] tiles on.
    apart: [usize; 2],
    stride: usize,
    across: usize,
}

impl<'a, T> Next<'a, T> {
    /// What so many `tiles` share. `data` has `width` elements for each term, of so many vectors; from one
    /// term to the next it is `stride` elements. Whether it `follows` in memory what they are multiplied with.
    #[inline(always)]
    pub(super) fn new(
        (data, stride): (&'a [T], usize),
        follows: bool,
        tiles: usize,
        [terms, width, vectors]: [usize; 3],
    ) -> Self {
        let line = width / vectors;
        let packed = stride <= width;
        // What one tile reads in the order in which it lies these processors foresee.
        let (data, stride) = match tiles == 1 && follows && is_recent_amd() {
            true => (&[][..], 0),
            false => (data, stride),
        };
        // Lines of the cache at a time; rows of a matrix, which begin anywhere, are in one more each.
        let lines = if packed {
            (TERMS * stride).div_ceil(line)
        } else {
            TERMS * (vectors + 1)
        };
        let shares = lines.div_ceil(PLACES);
        if tiles < shares && (tiles <= vectors || !packed) {
            Self {
                data,
                shares: 1,
                share: Share::All,
                apart: [0, 0],
                stride,
                across: line,
            }
        } else if packed {
            let next = PLACES * line;
            let apart = terms / TERMS * next;
            Self {
                data,
                shares,
                share: Share::Some,
                apart: [apart, PARTS * apart],
                stride: next,
                across: line,
            }
        } else {
            Self {
                data,
                shares,
                share: Share::Some,
                apart: [PLACES * stride, line],
                stride: TERMS * stride,
                across: stride,
            }
        }
    }

    /// What tile `i` asks for: nothing after the last panel, where there may be no memory to find.
    #[inline(always)]
    pub(super) fn of(&self, i: usize) -> Ahead<'a, T> {
        let from = i % PARTS * self.apart[0] + i / PARTS * self.apart[1];
        match self.data.get(from..) {
            Some(data) if i < self.shares && !data.is_empty() => Ahead {
                data,
                next: 0,
                stride: self.stride,
                across: self.across,
                share: self.share,
            },
            _ => Ahead {
                data: &[],
                next: 0,
                stride: 0,
                across: 0,
                share: Share::None,
            },
        }
    }
}

impl<T> Ahead<'_, T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies at an address that is no memory's takes a processor longer to look for than a line takes to come.
    #[test]
    fn nothing_is_asked_for_after_the_last_panel() {
        let data = [0.0_f32; 64];
        for tiles in [1, 2, 40] {
            for stride in [16, 1000] {
                let asks = |data| {
                    let next = Next::new((data, stride), false, tiles, [64, 16, 2]);
                    !matches!(next.of(0).share, Share::None)
                };
                assert!(asks(&data[..]));
                assert!(!asks(&data[64..]));
            }
        }
    }
}
