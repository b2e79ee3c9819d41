//! What one thread does of a scatter.

use std::ops::Range;
use std::slice;

use super::scatter::{LAST, Places};
use super::scatter_group::Whose;
use super::scatter_own::Own;
use super::simd::{is_amd, prefetch, prefetch_after};

/// Pieces of fewer bytes stay in a near cache: nothing is asked for ahead.
pub(super) const NEAR: usize = 512 << 10;
/// How many updates are looked up before they are applied, where those of several threads are mixed and their
/// places are far.
const AHEAD: usize = 128;
/// So many bytes ahead indices and updates are asked for, at least.
const READ: usize = 1024;

/// Asks for the indices or updates that come after some: a processor that waits for places foresees too little. What
/// is worked on next is there then, for these are as many as go together.
#[inline(always)]
pub(super) fn ask_for_next<T>(these: &[T]) {
    prefetch_after(these, READ.max(size_of_val(these)));
}

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
    pub(super) fn each<U>(&mut self, updates: &[U], f: impl FnMut(usize, &mut T, &U)) {
        self.each_and(updates, |_| false, |_, _| {}, f);
    }

    /// The same, and `note(position in the piece, update)` before `f` wherever some updates `are_rare`: at least for
    /// those that are, and for any in their neighbourhood.
    #[inline(always)]
    pub(super) fn each_and<U>(
        &mut self,
        updates: &[U],
        are_rare: impl Fn(&[U]) -> bool,
        mut note: impl FnMut(usize, &U),
        mut f: impl FnMut(usize, &mut T, &U),
    ) {
        let (slab, start, len) = (self.slab, self.start, self.out.len());
        let out = &mut *self.out;
        let base = out.as_ptr();
        // What a processor of AMD finds in the last cache it waits for while it goes on by itself.
        let table = match self.columns {
            Some(_) => len,
            None => self.places.slab(),
        };
        let bytes = size_of::<T>().saturating_mul(table);
        let far = bytes >= if is_amd() { LAST } else { NEAR };
        let all = len == self.places.slab() || self.columns.is_some();
        if all {
            let columns = self.columns.clone();
            let done = self.places.visit_together(
                slab,
                columns.map_or(Whose::All, Whose::Columns),
                #[inline(always)]
                |group| {
                    if are_rare(group.span(updates)) {
                        let here = group.meetings(updates).filter(|&(at, _)| at < len);
                        here.for_each(|(at, update)| note(at, update));
                    }
                    let ask = |places: &[u32], updates: &[U]| {
                        ask_for_next(updates);
                        if far {
                            places.iter().for_each(|&at| prefetch(base, at as usize));
                        }
                    };
                    // As they nearly always are.
                    if group.row == group.places.len() {
                        let updates = group.span(updates);
                        ask(group.places, updates);
                        meet(out, group.places, updates, &mut f);
                    } else {
                        let rows = group.rows(updates);
                        rows.for_each(|(places, updates)| ask(places, updates));
                        meet_each(out, group.meetings(updates), &mut f);
                    }
                },
            );
            if done {
                return;
            }
        } else if self.places.is_fast_to_share() {
            // Places are of 32 bits then, at most.
            let (first, end) = (start as u32, (start + len) as u32);
            let mut own = Own::none();
            self.places.visit_together(
                slab,
                Whose::Own,
                #[inline(always)]
                |group| {
                    // Without columns, all follow each other.
                    let updates = group.span(updates);
                    ask_for_next(updates);
                    own.find(group.places, first..end);
                    if far {
                        own.iter().for_each(|(at, _)| prefetch(base, at));
                    }
                    let meetings = || own.iter().map(|(at, update)| (at, &updates[update]));
                    if are_rare(updates) {
                        meetings().for_each(|(at, update)| note(at, update));
                    }
                    meet_each(out, meetings(), &mut f);
                },
            );
            return;
        }
        let mut apply = |at: usize, update: &U| {
            if let Some(element) = out.get_mut(at) {
                if are_rare(slice::from_ref(update)) {
                    note(at, update);
                }
                f(at, element, update);
            }
        };
        if all {
            self.places
                .visit(slab, |at, update| apply(at, &updates[update]));
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

/// Calls `f(position, element there, update)` where updates go, as far as that is in `out`. A function of its own, so
/// that all that the loop needs stays in registers: a processor waits for as many elements at a time as it holds
/// instructions, reads and writes.
#[inline(never)]
fn meet<T, U>(out: &mut [T], places: &[u32], updates: &[U], f: &mut impl FnMut(usize, &mut T, &U)) {
    for (&at, update) in places.iter().zip(updates) {
        let at = at as usize;
        if let Some(element) = out.get_mut(at) {
            f(at, element, update);
        }
    }
}

/// The same for updates that do not follow each other.
#[inline(never)]
fn meet_each<'u, T, U: 'u>(
    out: &mut [T],
    meetings: impl Iterator<Item = (usize, &'u U)>,
    f: &mut impl FnMut(usize, &mut T, &U),
) {
    meetings.for_each(|(at, update)| {
        if let Some(element) = out.get_mut(at) {
            f(at, element, update);
        }
    });
}
