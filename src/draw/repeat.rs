//! Blocks that repeat: stretches of a row of units that follow each other, do the same, and are
//! connected in the same way within.
//!
//! A stretch of a row in which producers come first can always be drawn as one: no way leads out of
//! it and back.

use std::ops::Range;

use super::unit::Units;

/// Comparisons of units, in all.
const WORK: usize = 60_000_000;
/// No block has more units.
const LONGEST: usize = 4000;
/// Blocks in blocks in blocks.
const DEEPEST: usize = 4;
/// Fewer units are not worth a fold.
const FEWEST_SAVED: usize = 6;
/// How many of the stretches that look alike are looked at closely.
const CANDIDATES: usize = 24;

/// A block and its copies, side by side in the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Repeat {
    /// Where the first copy begins.
    pub(crate) start: usize,
    /// Units of a copy.
    pub(crate) length: usize,
    /// How many copies there are.
    pub(crate) copies: usize,
}

impl Repeat {
    pub(crate) fn end(&self) -> usize {
        self.start + self.length * self.copies
    }
}

/// Part of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The unit at a place of the row.
    Unit(usize),
    /// A block; its parts are those of the first copy.
    Block(Repeat, Vec<Item>),
}

impl Item {
    /// The places it stands for, all copies included.
    pub(crate) fn places(&self) -> Range<usize> {
        match self {
            Self::Unit(place) => *place..place + 1,
            Self::Block(repeat, _) => repeat.start..repeat.end(),
        }
    }
}

/// Finds blocks that repeat. The row is put into another valid order where that makes blocks whole.
pub(crate) fn fold(units: &Units, labels: &[u64], sequence: &mut Vec<usize>) -> Vec<Item> {
    let mut row = Row::new(units, labels, std::mem::take(sequence));
    let mut found: Vec<Repeat> = Vec::new();
    let mut stretches = vec![(0..row.sequence.len(), 0)];
    while let Some((stretch, depth)) = stretches.pop() {
        let Some(repeat) = row.best(stretch.clone()) else {
            continue;
        };
        found.push(repeat);
        stretches.push((stretch.start..repeat.start, depth));
        stretches.push((repeat.end()..stretch.end, depth));
        if depth < DEEPEST {
            stretches.push((repeat.start..repeat.start + repeat.length, depth + 1));
        }
    }
    found.sort_unstable_by_key(|r| (r.start, std::cmp::Reverse(r.end())));
    *sequence = row.sequence;
    let mut found = found.into_iter().peekable();
    nest(0..sequence.len(), &mut found)
}

/// The parts of a stretch; blocks in blocks are at most [`DEEPEST`] deep.
fn nest(
    stretch: Range<usize>,
    found: &mut std::iter::Peekable<impl Iterator<Item = Repeat>>,
) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = stretch.start;
    while at < stretch.end {
        match found.next_if(|repeat| repeat.start == at && repeat.end() <= stretch.end) {
            Some(repeat) => {
                let inner = nest(repeat.start..repeat.start + repeat.length, found);
                items.push(Item::Block(repeat, inner));
                at = repeat.end();
            }
            None => {
                items.push(Item::Unit(at));
                at += 1;
            }
        }
    }
    items
}

struct Row<'u> {
    units: &'u Units,
    labels: &'u [u64],
    /// The units.
    sequence: Vec<usize>,
    /// Where each unit stands.
    place: Vec<usize>,
    /// How many values pass between the unit before a place and the one at it.
    passing: Vec<usize>,
    work: usize,
}

impl<'u> Row<'u> {
    fn new(units: &'u Units, labels: &'u [u64], sequence: Vec<usize>) -> Self {
        let mut row = Self {
            units,
            labels,
            place: vec![0; sequence.len()],
            passing: Vec::new(),
            sequence,
            work: WORK,
        };
        row.count();
        row
    }

    /// Counts anew what depends on the order.
    fn count(&mut self) {
        for (place, &unit) in self.sequence.iter().enumerate() {
            self.place[unit] = place;
        }
        let count = self.sequence.len();
        let mut last = vec![0usize; count];
        for (place, &unit) in self.sequence.iter().enumerate() {
            for entry in &self.units.units[unit].inputs {
                let from = self.place[entry.from];
                last[from] = last[from].max(place);
            }
        }
        let mut change = vec![0isize; count + 2];
        for (place, &last) in last.iter().enumerate() {
            if last > place {
                change[place + 1] += 1;
                change[last + 1] -= 1;
            }
        }
        let mut passing = 0isize;
        self.passing.clear();
        for change in change {
            passing += change;
            self.passing.push(passing.unsigned_abs());
        }
    }

    fn label(&self, place: usize) -> u64 {
        self.labels[self.sequence[place]]
    }

    /// The block of a stretch that saves most.
    fn best(&mut self, stretch: Range<usize>) -> Option<Repeat> {
        let mut alike = self.alike(stretch.clone());
        alike.sort_by_key(|r| (std::cmp::Reverse(r.length * (r.copies - 1)), r.length));
        alike.truncate(CANDIDATES);
        let mut best: Vec<Repeat> = Vec::new();
        for run in alike {
            let most = best.first().map_or(0, saved);
            if most >= run.length * (run.copies - 1) {
                break;
            }
            let found = self.align(&run, &stretch);
            if found.first().is_some_and(|f| worth(f) && saved(f) > most) {
                best = found;
            }
        }
        // Of beginnings that are equally good, the one that more copies can be added to.
        let before = self.sequence.clone();
        let mut grown: Option<(Repeat, Vec<usize>)> = None;
        for repeat in best {
            let repeat = self.grow(repeat, &stretch);
            if grown.as_ref().is_none_or(|g| repeat.copies > g.0.copies) {
                grown = Some((repeat, self.sequence.clone()));
            }
            if self.sequence != before {
                self.sequence.clone_from(&before);
                self.count();
            }
        }
        let (repeat, sequence) = grown?;
        if sequence != self.sequence {
            self.sequence = sequence;
            self.count();
        }
        Some(repeat)
    }

    /// Stretches in which each label comes again after some number of places: the longest for each
    /// number. `copies` of such a run may be too many by one, and it may have places besides.
    fn alike(&mut self, stretch: Range<usize>) -> Vec<Run> {
        let mut found = Vec::new();
        let labels: Vec<u64> = stretch.clone().map(|place| self.label(place)).collect();
        for length in 1..=(labels.len() / 2).min(LONGEST) {
            let pairs = labels.len() - length;
            let Some(rest) = self.work.checked_sub(pairs) else {
                break;
            };
            self.work = rest;
            let mut begin = 0;
            for at in 0..=pairs {
                if at < pairs && labels[at] == labels[at + length] {
                    continue;
                }
                if at - begin >= length {
                    found.push(Run {
                        start: stretch.start + begin,
                        length,
                        same: at - begin,
                        copies: (at - begin) / length + 1,
                    });
                }
                begin = at + 1;
            }
        }
        found
    }

    /// Where the copies of a run begin: where the fewest values pass from one to the next, and the
    /// most are connected in the same way. Beginnings that are equally good are all given.
    fn align(&mut self, run: &Run, stretch: &Range<usize>) -> Vec<Repeat> {
        /// Beginnings that are tried.
        const TRIED: usize = 12;
        let Run { start, length, .. } = *run;
        let end = start + run.same + length;
        let mut offsets: Vec<usize> = (0..length.min(run.same + 1)).collect();
        offsets.sort_by_key(|&o| (self.passing[start + o + length], o));
        let mut best: Vec<Repeat> = Vec::new();
        let mut fewest = usize::MAX;
        for offset in offsets.into_iter().take(TRIED) {
            let start = start + offset;
            let copies = (end.min(stretch.end) - start) / length;
            let passing = self.passing[start + length];
            let most = best.first().map_or(1, |b| b.copies);
            if copies < most || copies == most && passing > fewest {
                continue;
            }
            // The most copies in a row that are connected alike.
            let mut first = 0;
            let mut found: Option<Repeat> = None;
            for copy in 1..=copies {
                let same = copy < copies
                    && self.parallel(start + (copy - 1) * length, start + copy * length, length);
                if same {
                    continue;
                }
                if found.is_none_or(|f| copy - first > f.copies) {
                    found = Some(Repeat {
                        start: start + first * length,
                        length,
                        copies: copy - first,
                    });
                }
                first = copy;
            }
            let Some(found) = found.filter(|f| f.copies > 1 && f.copies >= most) else {
                continue;
            };
            if found.copies > most || best.is_empty() {
                best.clear();
                fewest = passing;
            }
            if passing <= fewest {
                best.push(found);
            }
        }
        best
    }

    /// Whether the units from two places on do the same and are connected in the same way.
    fn parallel(&mut self, a: usize, b: usize, length: usize) -> bool {
        self.work = self.work.saturating_sub(length);
        (0..length).all(|at| {
            let (x, y) = (self.sequence[a + at], self.sequence[b + at]);
            let (inputs, others) = (&self.units.units[x].inputs, &self.units.units[y].inputs);
            self.labels[x] == self.labels[y]
                && inputs.len() == others.len()
                && inputs.iter().zip(others).all(|(i, o)| {
                    let within = |place: usize, start: usize| {
                        place.checked_sub(start).filter(|&p| p < length)
                    };
                    let i_at = within(self.place[i.from], a);
                    let o_at = within(self.place[o.from], b);
                    i_at == o_at && (i_at.is_none() || i.port.index == o.port.index)
                })
        })
    }

    /// Adds copies before and behind whose units stand a little apart, by moving what stands between
    /// them out of the way.
    fn grow(&mut self, mut repeat: Repeat, stretch: &Range<usize>) -> Repeat {
        while let Some(order) = self.copy_before(&repeat, stretch) {
            if !self.reorder(order, repeat.start - repeat.length, repeat.start, &repeat) {
                break;
            }
            repeat.start -= repeat.length;
            repeat.copies += 1;
        }
        while let Some(order) = self.copy_behind(&repeat, stretch) {
            if !self.reorder(order, repeat.end(), repeat.start, &repeat) {
                break;
            }
            repeat.copies += 1;
        }
        repeat
    }

    /// Puts a stretch into another order, if the copy at `copy` is then like the one at `like`.
    fn reorder(
        &mut self,
        (start, order): (usize, Vec<usize>),
        copy: usize,
        like: usize,
        repeat: &Repeat,
    ) -> bool {
        let before = self.sequence[start..start + order.len()].to_vec();
        self.sequence[start..start + order.len()].copy_from_slice(&order);
        self.count();
        if self.parallel(copy, like, repeat.length) {
            return true;
        }
        self.sequence[start..start + order.len()].copy_from_slice(&before);
        self.count();
        false
    }

    /// How far away a unit of a further copy may stand.
    fn reach(&self, repeat: &Repeat) -> usize {
        repeat.length * 2 + 64
    }

    /// An order in which a further copy stands right before the first: the units that do not belong
    /// to it, and do not need it, come first.
    fn copy_before(
        &mut self,
        repeat: &Repeat,
        stretch: &Range<usize>,
    ) -> Option<(usize, Vec<usize>)> {
        let from = stretch
            .start
            .max(repeat.start.saturating_sub(self.reach(repeat)));
        let mut wanted = (repeat.start..repeat.start + repeat.length)
            .rev()
            .peekable();
        let mut copy = Vec::new();
        let mut others = Vec::new();
        let mut at = repeat.start;
        while wanted.peek().is_some() {
            at = at.checked_sub(1).filter(|&at| at >= from)?;
            let like = |&place: &usize| self.label(place) == self.label(at);
            match wanted.next_if(like) {
                Some(_) => copy.push(self.sequence[at]),
                None => others.push(self.sequence[at]),
            }
        }
        let mut moved = std::collections::HashSet::new();
        moved.extend(copy.iter().copied());
        let needs = |unit: &usize| {
            let mut inputs = self.units.units[*unit].inputs.iter();
            inputs.any(|entry| moved.contains(&entry.from))
        };
        if others.iter().any(needs) {
            return None;
        }
        others.reverse();
        copy.reverse();
        others.extend(copy);
        Some((at, others))
    }

    /// An order in which a further copy stands right behind the last.
    fn copy_behind(
        &mut self,
        repeat: &Repeat,
        stretch: &Range<usize>,
    ) -> Option<(usize, Vec<usize>)> {
        let until = stretch.end.min(repeat.end() + self.reach(repeat));
        let mut wanted = (repeat.start..repeat.start + repeat.length).peekable();
        let mut copy = Vec::new();
        let mut others = std::collections::HashSet::new();
        let mut rest = Vec::new();
        let mut at = repeat.end();
        while wanted.peek().is_some() {
            if at >= until {
                return None;
            }
            let unit = self.sequence[at];
            let like = |&place: &usize| self.label(place) == self.label(at);
            if wanted.next_if(like).is_some() {
                let mut inputs = self.units.units[unit].inputs.iter();
                if inputs.any(|entry| others.contains(&entry.from)) {
                    return None;
                }
                copy.push(unit);
            } else {
                others.insert(unit);
                rest.push(unit);
            }
            at += 1;
        }
        copy.extend(rest);
        Some((repeat.end(), copy))
    }
}

/// Labels that come again.
#[derive(Debug)]
struct Run {
    start: usize,
    length: usize,
    /// How many places have the label of the one `length` further on.
    same: usize,
    copies: usize,
}

/// How many units are not drawn.
fn saved(repeat: &Repeat) -> usize {
    repeat.length * (repeat.copies - 1)
}

/// Whether a fold helps: short blocks must come often.
fn worth(repeat: &Repeat) -> bool {
    let often = match repeat.length {
        1 => 6,
        2..=3 => 4,
        4..=7 => 3,
        _ => 2,
    };
    repeat.copies >= often && saved(repeat) >= FEWEST_SAVED
}
