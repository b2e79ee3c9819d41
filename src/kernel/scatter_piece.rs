//! What one thread does of a scatter.

use std::ops::Range;

use super::scatter::{LAST, Places};
use super::scatter_own::Own;
use super::simd::{is_amd, prefetch, prefetch_after};

/// Pieces of fewer bytes stay in a near cache: nothing is asked for ahead.
const NEAR: usize = 512 << 10;
/// How many updates are looked up before they are applied, where those of several threads are mixed and their
/// places are far.
const AHEAD: usize = 128;
/// How many places are found before updates go there: in a loop without anything else, so that a processor waits
/// for as many places at a time as it can.
pub(super) const TOGETHER: usize = 64;
/// So many bytes ahead indices and updates are asked for: a processor that waits for places foresees too little.
pub(super) const READ: usize = 1024;

/// A part of a slab that one thread owns.
pub(super) struct Piece<'a, P, T> {
    places: &'a P,
    slab: usize,
    /// The place in the slab where the part begins.
    start: usize,
    /// The columns of the slab that are the part, if it has not whole rows.
    columns: Option<Range<usize>>,
    pub(super) out: &'a mut [T],
}

impl<'a, P: Places, T> Piece<'a, P, T> {
    /// All of a slab.
    pub(super) fn whole(places: &'a P, slab: usize, out: &'a mut [T]) -> Self {
        Self {
            places,
            slab,
            start: 0,
            columns: None,
            out,
        }
    }

    /// The places of a slab from `start` on.
    pub(super) fn of_places(places: &'a P, slab: usize, start: usize, out: &'a mut [T]) -> Self {
        Self {
            start,
            ..Self::whole(places, slab, out)
        }
    }

    /// Some columns of a slab, which lie together.
    pub(super) fn of_columns(
        places: &'a P,
        slab: usize,
        columns: Range<usize>,
        out: &'a mut [T],
    ) -> Self {
        Self {
            columns: Some(columns),
            ..Self::whole(places, slab, out)
        }
    }

    /// Calls `f(position in the piece, element there, update)` for the updates that go to this piece, in
    /// order.
    #[inline(always)]
    pub(super) fn each<U>(&mut self, updates: &[U], mut f: impl FnMut(usize, &mut T, &U)) {
        let (slab, start, len) = (self.slab, self.start, self.out.len());
        let out = &mut *self.out;
        let base = out.as_ptr();
        let mut apply = |at: usize, update: &U| {
            if let Some(element) = out.get_mut(at) {
                f(at, element, update);
            }
        };
        // What a processor of AMD finds in the last cache it waits for while it goes on by itself.
        let table = match self.columns {
            Some(_) => len,
            None => self.places.slab(),
        };
        let bytes = size_of::<T>().saturating_mul(table);
        let far = bytes >= if is_amd() { LAST } else { NEAR };
        if len == self.places.slab() || self.columns.is_some() {
            let done = self.places.visit_together(
                slab,
                self.columns.clone(),
                #[inline(always)]
                |places, first| {
                    let updates = &updates[first..][..places.len()];
                    prefetch_after(updates, READ);
                    if far {
                        places.iter().for_each(|&at| prefetch(base, at as usize));
                    }
                    for (&at, update) in places.iter().zip(updates) {
                        apply(at as usize, update);
                    }
                },
            );
            if !done {
                self.places
                    .visit(slab, |at, update| apply(at, &updates[update]));
            }
            return;
        }
        if self.places.is_fast_to_share() {
            // Places are of 31 bits then.
            let (first, end) = (start as u32, (start + len) as u32);
            let mut own = Own::none();
            self.places.visit_together(
                slab,
                None,
                #[inline(always)]
                |places, first_update| {
                    let updates = &updates[first_update..][..places.len()];
                    prefetch_after(updates, READ);
                    own.find(places, first..end);
                    if far {
                        own.iter().for_each(|(at, _)| prefetch(base, at));
                    }
                    for (at, update) in own.iter() {
                        apply(at, &updates[update]);
                    }
                },
            );
            return;
        }
        // Which updates are for this piece cannot be foretold: no branch depends on it.
        let mut found = [(0, 0); AHEAD];
        let mut count = 0;
        self.places.visit(slab, |place, update| {
            let at = place.wrapping_sub(start);
            found[count] = (at, update);
            prefetch(base, if at < len { at } else { 0 });
            count += usize::from(at < len);
            if count == AHEAD {
                let all = found.iter();
                all.for_each(|&(at, update)| apply(at, &updates[update]));
                count = 0;
            }
        });
        for &(at, update) in &found[..count] {
            apply(at, &updates[update]);
        }
    }

    /// The same part of something else that has as many elements.
    pub(super) fn on<'b, U>(&'b self, out: &'b mut [U]) -> Piece<'b, P, U> {
        Piece {
            places: self.places,
            slab: self.slab,
            start: self.start,
            columns: self.columns.clone(),
            out,
        }
    }

    /// Calls `f(position, elements)` for the runs of elements that the piece consists of. A position is
    /// that in the slabs from `first` on.
    pub(super) fn runs(&mut self, first: usize, mut f: impl FnMut(usize, &mut [T])) {
        let slab = (self.slab - first) * self.places.slab();
        match (&self.columns, self.places.columns()) {
            (Some(columns), Some(width)) => {
                let lines = self.out.chunks_exact_mut(columns.len());
                for (line, at) in lines.zip((slab + columns.start..).step_by(width)) {
                    f(at, line);
                }
            }
            _ => f(slab + self.start, self.out),
        }
    }
}
