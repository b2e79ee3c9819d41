//! What one thread does of a scatter.

use std::ops::Range;
use std::slice;

use super::scatter::{LAST, Places};
use super::scatter_own::Own;
use super::simd::{is_amd, prefetch, prefetch_after};

/// Pieces of fewer bytes stay in a near cache: nothing is asked for ahead.
pub(super) const NEAR: usize = 512 << 10;
/// How many updates are looked up before they are applied, where those of several threads are mixed and their
/// places are far.
const AHEAD: usize = 128;
/// How many places are found before updates go there: in a loop without anything else, so that a processor waits
/// for as many places at a time as it can.
const SOME: usize = 64;
/// How many where only a part of the updates is for a thread.
pub(super) const TOGETHER: usize = 256;
/// So many bytes ahead indices and updates are asked for: a processor that waits for places foresees too little.
pub(super) const READ: usize = 1024;

/// Which updates of a slab one thread applies.
#[derive(Clone)]
pub(crate) enum Whose {
    All,
    /// Those that stay in these columns.
    Columns(Range<usize>),
    /// Some, which it finds among all.
    Own,
}

impl Whose {
    /// How many places are found together.
    pub(super) fn together(&self) -> usize {
        match self {
            Self::All => SOME,
            Self::Columns(_) | Self::Own => TOGETHER,
        }
    }
}

/// Places of some updates, which were found together: rows of places, each for updates that follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Group<'p> {
    pub(super) places: &'p [u32],
    /// The positions of all updates, also of those between the rows.
    pub(super) updates: (usize, usize),
    /// How many places are a row.
    pub(super) row: usize,
    /// How far from the first place, and the first update, of a row those of the next are.
    pub(super) pitches: [usize; 2],
}

impl<'p> Group<'p> {
    /// Places for updates that all follow each other.
    #[inline(always)]
    pub(super) fn line(places: &'p [u32], first: usize) -> Self {
        Self {
            places,
            updates: (first, first + places.len()),
            row: places.len(),
            pitches: [places.len(); 2],
        }
    }

    /// All updates from the first to the last, also those between the rows.
    #[inline(always)]
    fn span<'u, U>(&self, updates: &'u [U]) -> &'u [U] {
        &updates[self.updates.0..self.updates.1]
    }

    /// Rows of places, and the updates that go there.
    #[inline(always)]
    fn rows<'u, U>(&self, updates: &'u [U]) -> Rows<'p, 'u, U> {
        Rows {
            places: self.places,
            updates: self.span(updates),
            row: self.row,
            pitches: self.pitches,
        }
    }

    /// Places, and the updates that go there.
    #[inline(always)]
    pub(super) fn meetings<'u, U>(
        &self,
        updates: &'u [U],
    ) -> impl Iterator<Item = (usize, &'u U)> + use<'p, 'u, U> {
        let rows = self.rows(updates);
        rows.flat_map(|(places, updates)| places.iter().map(|&at| at as usize).zip(updates))
    }
}

/// Rows of places, and their updates. Chunks of the standard library would divide, for each group.
struct Rows<'p, 'u, U> {
    places: &'p [u32],
    updates: &'u [U],
    row: usize,
    pitches: [usize; 2],
}

impl<'p, 'u, U> Iterator for Rows<'p, 'u, U> {
    type Item = (&'p [u32], &'u [U]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let places = self.places.get(..self.row)?;
        let updates = self.updates.get(..self.row).filter(|all| !all.is_empty())?;
        self.places = self.places.get(self.pitches[0]..).unwrap_or_default();
        self.updates = self.updates.get(self.pitches[1]..).unwrap_or_default();
        Some((places, updates))
    }
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
                        prefetch_after(updates, READ);
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
            // Places are of 31 bits then.
            let (first, end) = (start as u32, (start + len) as u32);
            let mut own = Own::none();
            self.places.visit_together(
                slab,
                Whose::Own,
                #[inline(always)]
                |group| {
                    // Without columns, all follow each other.
                    let updates = group.span(updates);
                    prefetch_after(updates, READ);
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
