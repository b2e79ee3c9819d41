//! What stands in the ranks: boxes, and the places where wires pass.

use super::Diagram;

/// No more places for passing wires than this: a diagram that would need more has wires that are
/// cut, the longest first.
const MOST_PASSES: usize = 400_000;

/// Boxes come first, with the numbers they have in the diagram; then places of passing wires.
#[derive(Debug)]
pub(super) struct Slots {
    /// The slots of each rank, from left to right.
    pub(super) ranks: Vec<Vec<usize>>,
    /// The rank of each slot.
    pub(super) rank: Vec<usize>,
    /// The place of each slot in its rank.
    pub(super) place: Vec<usize>,
    /// Slots of the rank above that a slot is connected with.
    pub(super) above: Vec<Vec<usize>>,
    /// Slots of the rank below.
    pub(super) below: Vec<Vec<usize>>,
    /// Width of each slot.
    pub(super) width: Vec<f64>,
    /// Number of boxes.
    pub(super) boxes: usize,
    /// For each wire the slots it passes, from above.
    pub(super) passes: Vec<Vec<usize>>,
    /// Rank differences above this are not drawn.
    pub(super) longest: usize,
}

impl Slots {
    pub(super) fn new(diagram: &Diagram, ranks: &[usize]) -> Self {
        let boxes = diagram.boxes.len();
        let depth = ranks.iter().map(|rank| rank + 1).max().unwrap_or(0);
        let mut slots = Self {
            ranks: vec![Vec::new(); depth],
            rank: ranks.to_vec(),
            place: vec![0; boxes],
            above: vec![Vec::new(); boxes],
            below: vec![Vec::new(); boxes],
            width: diagram.boxes.iter().map(|size| size.0).collect(),
            boxes,
            passes: Vec::with_capacity(diagram.wires.len()),
            longest: longest(diagram, ranks),
        };
        for wire in &diagram.wires {
            let passes = slots.thread(wire.from, &wire.to);
            slots.passes.push(passes);
        }
        // Boxes stand in the order of the model, passing wires where they begin: a good start.
        let mut begin: Vec<(usize, usize)> = (0..boxes).map(|index| (index, index)).collect();
        for (wire, passes) in diagram.wires.iter().zip(&slots.passes) {
            begin.extend(passes.iter().map(|&slot| (wire.from, slot)));
        }
        begin.sort_unstable();
        for (_, slot) in begin {
            let rank = &mut slots.ranks[slots.rank[slot]];
            slots.place[slot] = rank.len();
            rank.push(slot);
        }
        slots
    }

    /// Whether an end of a wire is drawn.
    pub(super) fn drawn(&self, from: usize, to: usize) -> bool {
        to > from
            && to < self.boxes
            && self.rank[to] > self.rank[from]
            && self.rank[to] - self.rank[from] <= self.longest
    }

    /// Whether a slot is a place where a wire passes.
    pub(super) fn is_pass(&self, slot: usize) -> bool {
        slot >= self.boxes
    }

    /// Connects the slots of one rank with those of the next, for a wire.
    fn thread(&mut self, from: usize, to: &[usize]) -> Vec<usize> {
        let start = self.rank[from];
        let drawn = to.iter().filter(|&&end| self.drawn(from, end));
        let Some(last) = drawn.map(|&end| self.rank[end]).max() else {
            return Vec::new();
        };
        let mut passes = Vec::new();
        let mut above = from;
        for rank in start + 1..last {
            let slot = self.rank.len();
            self.rank.push(rank);
            self.place.push(0);
            self.above.push(vec![above]);
            self.below.push(Vec::new());
            self.width.push(0.0);
            self.below[above].push(slot);
            passes.push(slot);
            above = slot;
        }
        for &end in to {
            if !self.drawn(from, end) {
                continue;
            }
            // A box that takes a value twice is connected once.
            let above = before(from, &passes, self.rank[end] - start);
            if !self.below[above].contains(&end) {
                self.below[above].push(end);
                self.above[end].push(above);
            }
        }
        passes
    }
}

/// The slot of a wire in the rank above its end, which lies `ranks` below its start.
pub(super) fn before(from: usize, passes: &[usize], ranks: usize) -> usize {
    match ranks.checked_sub(2) {
        Some(index) => passes[index],
        None => from,
    }
}

/// The largest rank difference for which the passing wires are few enough.
fn longest(diagram: &Diagram, ranks: &[usize]) -> usize {
    let count = diagram.boxes.len();
    let mut lengths: Vec<usize> = Vec::new();
    for wire in &diagram.wires {
        let ends = wire.to.iter().filter(|&&to| to > wire.from && to < count);
        let last = ends.map(|&to| ranks[to]).max().unwrap_or(0);
        lengths.push(last.saturating_sub(ranks[wire.from]));
    }
    lengths.sort_unstable();
    let mut total = 0usize;
    for length in lengths {
        total = total.saturating_add(length);
        if total > MOST_PASSES {
            return length.saturating_sub(1).max(1);
        }
    }
    usize::MAX
}
