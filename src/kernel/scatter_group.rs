//! Places of updates that were found together.

use std::ops::Range;

/// How many places are found before updates go there: in a loop without anything else, so that a processor waits
/// for as many places at a time as it can.
const SOME: usize = 64;
/// How many where only a part of the updates is for a thread.
pub(super) const TOGETHER: usize = 256;

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
    pub(super) fn span<'u, U>(&self, updates: &'u [U]) -> &'u [U] {
        &updates[self.updates.0..self.updates.1]
    }

    /// Rows of places, and the updates that go there.
    #[inline(always)]
    pub(super) fn rows<'u, U>(&self, updates: &'u [U]) -> Rows<'p, 'u, U> {
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
pub(super) struct Rows<'p, 'u, U> {
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
