//! Places along an axis that indices mean.

use std::ops::Range;

use super::elements::Index;
use super::scatter_group::{Group, TOGETHER, Whose};
use super::scatter_piece::ask_for_next;
use super::scratch::Reused;
use super::simd::vectorize_mut;

/// Of rows that are this many times as wide as the columns that are meant, all places are found.
const BETWEEN: usize = 8;

/// How places follow from indices.
#[derive(Debug)]
pub(super) struct Walk {
    /// The size of the axis, and the number of elements below one index of it.
    pub(super) axis: usize,
    pub(super) inner: usize,
    /// Below one index of the axis, updates come in runs of `run` neighbouring elements, which
    /// begin at these offsets in the data.
    pub(super) runs: Reused<usize>,
    pub(super) run: usize,
    /// Whether negative indices count from the end of the axis.
    pub(super) from_end: bool,
}

impl Walk {
    /// How many columns there are, where updates stay in theirs.
    pub(super) fn columns(&self) -> Option<usize> {
        (self.inner > 1 && self.run == self.inner).then_some(self.inner)
    }

    /// Calls `f(place in the slab, position of the update)` for all updates of a slab, of which `first` is the
    /// first. Whether all indices were in range: places mean nothing otherwise.
    #[inline(always)]
    pub(super) fn each<I: Copy + Into<i64>>(
        &self,
        indices: &[I],
        first: usize,
        mut f: impl FnMut(usize, usize),
    ) -> bool {
        let wrap = if self.from_end { self.axis } else { 0 };
        let mut last = 0;
        let mut position = |index: I| {
            let index: i64 = index.into();
            // An index below zero is far above every size once its bits are taken as unsigned.
            let position = index.cast_unsigned() as usize;
            let position = position.wrapping_add(if index < 0 { wrap } else { 0 });
            last = last.max(position);
            position
        };
        if self.inner == 1 {
            for (k, &index) in indices.iter().enumerate() {
                f(position(index), first + k);
            }
        } else if self.run > 0 {
            let mut k = first;
            let runs = indices.chunks_exact(self.run);
            for (run, &offset) in runs.zip(self.runs.iter().cycle()) {
                for (j, &index) in run.iter().enumerate() {
                    let above = position(index).wrapping_mul(self.inner);
                    f(above.wrapping_add(offset + j), k);
                    k += 1;
                }
            }
        }
        last < self.axis
    }

    /// Calls `f(places)` for the same updates, or those of some columns, some at a
    /// time. Places must fit an `i32`; those of columns are counted as if rows had no others. Called by address, so
    /// that all this is compiled for each type of indices and not for each reduction.
    pub(super) fn together<I: Narrow>(
        &self,
        indices: &[I],
        first: usize,
        whose: Whose,
        f: &mut dyn FnMut(Group<'_>),
    ) -> bool {
        let together = whose.together();
        let columns = match whose {
            Whose::Columns(columns) => Some(columns),
            Whose::All | Whose::Own => None,
        };
        // Of rows of `pitch` indices, those in `columns`.
        let (pitch, width) = (self.run, columns.as_ref().map_or(self.inner, Range::len));
        let columns = columns.unwrap_or(0..pitch);
        if columns.is_empty() {
            return true;
        }
        let axis = self.axis as u32;
        let mut found = Found {
            wrap: if self.from_end { axis } else { 0 },
            width: width as u32,
            last: 0,
            beyond: 0,
        };
        let (mut offsets, mut places) = ([0; TOGETHER], [0; TOGETHER]);
        if columns.len() < pitch
            && self.runs.len() == 1
            && pitch <= together
            && pitch <= columns.len() * BETWEEN
        {
            // Vectors find the places of whole rows sooner than those of parts of them.
            let some = together / pitch * pitch;
            for (k, offset) in offsets.iter_mut().enumerate() {
                *offset = ((k % pitch) as u32).wrapping_sub(columns.start as u32);
            }
            let mut update = first + columns.start;
            for rows in indices.chunks(some) {
                let places = &mut places[..rows.len()];
                found.find(rows, [rows.len(); 2], &offsets, places);
                f(Group {
                    places: &places[columns.start..],
                    updates: (update, update + rows.len() - pitch + columns.len()),
                    row: columns.len(),
                    pitches: [pitch; 2],
                });
                update += rows.len();
            }
            return found.last < axis && found.beyond == 0;
        }
        let some = (together / columns.len()).max(1);
        let fixed = self.runs.len() == 1 && columns.len() <= together;
        let mut runs = self.runs.iter().cycle();
        let mut update = first;
        for rows in indices.chunks(some * pitch) {
            for start in columns.clone().step_by(together) {
                let part = start..columns.end.min(start + together);
                if !fixed || update == first {
                    let before = runs.clone();
                    for offsets in offsets.chunks_exact_mut(part.len()).take(some) {
                        let run = runs.next().copied().unwrap_or_default();
                        for (offset, j) in offsets.iter_mut().zip(start - columns.start..) {
                            *offset = (run + j) as u32;
                        }
                    }
                    if part.end < columns.end {
                        runs = before;
                    }
                }
                // Where all columns are meant, rows are one.
                let one = part.len() == pitch;
                let (pitch, part) = if one {
                    (rows.len(), 0..rows.len())
                } else {
                    (pitch, part)
                };
                let lines = if one { 1 } else { rows.len() / pitch };
                let count = part.len() * lines;
                let places = &mut places[..count];
                found.find(&rows[part.start..], [pitch, part.len()], &offsets, places);
                let from = update + part.start;
                f(Group {
                    places,
                    updates: (from, from + (lines - 1) * pitch + part.len()),
                    row: part.len(),
                    pitches: [part.len(), pitch],
                });
            }
            update += rows.len();
        }
        found.last < axis && found.beyond == 0
    }
}

/// An index in two parts: the low 32 bits, and those of the others that do not repeat their sign.
pub(super) trait Narrow: Index {
    fn narrow(self) -> (i32, i32);
}

impl Narrow for i32 {
    #[inline(always)]
    fn narrow(self) -> (i32, i32) {
        (self, 0)
    }
}

impl Narrow for i64 {
    #[inline(always)]
    fn narrow(self) -> (i32, i32) {
        let low = self as i32;
        (low, (self >> 32) as i32 ^ low >> 31)
    }
}

/// What is known of places, and how they are found.
struct Found {
    /// What is added to negative indices.
    wrap: u32,
    /// Places of an index.
    width: u32,
    /// The greatest index, and bits of those that have too many.
    last: u32,
    beyond: i32,
}

impl Found {
    /// Finds as many places, of the first `len` indices of each `pitch`, with these offsets.
    #[inline(always)]
    fn find<I: Narrow>(
        &mut self,
        indices: &[I],
        [pitch, len]: [usize; 2],
        offsets: &[u32; TOGETHER],
        places: &mut [u32],
    ) {
        let Self {
            wrap,
            width,
            mut last,
            mut beyond,
        } = *self;
        // With numbers of its own: nothing that is written can be these.
        (self.last, self.beyond) = vectorize_mut(
            #[inline(always)]
            move || {
                let (mut from, mut to) = (0, 0);
                // No iterator over rows: that would divide.
                while to < places.len() {
                    let row = &indices[from..][..len];
                    ask_for_next(row);
                    let all = places[to..][..len].iter_mut().zip(&offsets[to..][..len]);
                    for ((place, offset), index) in all.zip(row) {
                        let (low, high) = index.narrow();
                        // Without a choice, which would become a read that depends on it.
                        let back = wrap & (low >> 31).cast_unsigned();
                        let position = low.cast_unsigned().wrapping_add(back);
                        last = last.max(position);
                        beyond |= high;
                        *place = position.wrapping_mul(width).wrapping_add(*offset);
                    }
                    (from, to) = (from + pitch, to + len);
                }
                (last, beyond)
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scratch::reused;

    /// All places and updates, one by one and some at a time, and whether all indices were in range.
    fn visited<I: Narrow + Into<i64>>(
        walk: &Walk,
        indices: &[I],
        columns: Option<Range<usize>>,
    ) -> [(Vec<(usize, usize)>, bool); 2] {
        let (mut each, mut together) = (Vec::new(), Vec::new());
        let all_inside = walk.each(indices, 1000, |place, update| {
            let (row, column) = (place / walk.inner, place % walk.inner);
            match &columns {
                Some(columns) if !columns.contains(&column) => {}
                Some(columns) => {
                    each.push((row * columns.len() + column - columns.start, update));
                }
                None => each.push((place, update)),
            }
        });
        let positions: Vec<usize> = (0..1000 + indices.len()).collect();
        let mut some = |group: Group<'_>| {
            assert!(group.places.len() <= TOGETHER);
            let meetings = group.meetings(&positions);
            together.extend(meetings.map(|(place, &update)| (place, update)));
        };
        let whose = columns.clone().map_or(Whose::All, Whose::Columns);
        let inside = walk.together(indices, 1000, whose, &mut some);
        [(each, all_inside), (together, inside)]
    }

    fn walk(axis: usize, inner: usize, runs: &[usize], run: usize) -> Walk {
        let mut all = reused(0, runs.len()).expect("memory");
        all.copy_from_slice(runs);
        Walk {
            axis,
            inner,
            runs: all,
            run,
            from_end: true,
        }
    }

    #[test]
    fn some_at_a_time_are_the_same_in_the_same_order() {
        let rows = 133;
        let all: [(Walk, &[Range<usize>]); 8] = [
            (walk(1009, 1, &[0], 1), &[]),
            (walk(1009, 3, &[0], 3), &[0..1, 1..3]),
            (walk(19, 16, &[0], 16), &[0..8, 8..16, 3..5]),
            (walk(19, 40, &[0], 40), &[5..9, 9..40]),
            (walk(19, 64, &[0], 64), &[]),
            (walk(19, 150, &[0], 150), &[0..65, 65..150]),
            (walk(19, 49, &[0, 7, 14, 28], 6), &[]),
            (walk(19, 300, &[0, 100, 200], 70), &[]),
        ];
        for (walk, columns) in all {
            let axis = walk.axis as i64;
            let index = |i: usize| (i as i64 * 7919) % (2 * axis) - axis;
            let wide: Vec<i64> = (0..rows * walk.runs.len() * walk.run).map(index).collect();
            let narrow: Vec<i32> = wide.iter().map(|&index| index as i32).collect();
            for columns in columns.iter().cloned().map(Some).chain([None]) {
                let [each, together] = visited(&walk, &wide, columns.clone());
                assert!(each.1, "{walk:?}");
                assert!(each.0.len() >= rows, "{walk:?}");
                assert_eq!(each, together, "{walk:?} {columns:?}");
                let [each, together] = visited(&walk, &narrow, columns.clone());
                assert_eq!(each, together, "{walk:?} {columns:?}");
            }
        }
    }

    #[test]
    fn indices_out_of_range_are_met() {
        let walk = walk(1009, 1, &[0], 1);
        let tests = [
            (1009, false),
            (1008, true),
            (-1009, true),
            (-1010, false),
            (1 << 31, false),
            ((1 << 32) + 5, false),
            (-(1 << 32) + 5, false),
            (i64::MIN, false),
            (i64::MAX, false),
        ];
        for (index, expected) in tests {
            for at in [0, TOGETHER - 1, TOGETHER, 2 * TOGETHER + 2] {
                let mut indices = vec![3; 2 * TOGETHER + 3];
                indices[at] = index;
                let [each, together] = visited(&walk, &indices, None);
                assert_eq!((each.1, together.1), (expected, expected), "{index}");
                if let Ok(index) = i32::try_from(index) {
                    let mut indices = vec![3; 2 * TOGETHER + 3];
                    indices[at] = index;
                    let [each, together] = visited(&walk, &indices, None);
                    assert_eq!((each.1, together.1), (expected, expected), "{index}");
                }
            }
        }
    }
}
