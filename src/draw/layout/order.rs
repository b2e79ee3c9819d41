//! The order of slots within their ranks: few wires cross.
//!
//! Slots are sorted by the mean place of their neighbours, downwards and upwards in turn; then
//! neighbours change places where that helps.

use super::slots::Slots;

/// Sweeps over all ranks.
const SWEEPS: usize = 24;
/// Sweeps without improvement before it ends.
const PATIENCE: usize = 6;
/// Connections looked at in all sweeps together.
const WORK: usize = 30_000_000;

/// Reorders the slots.
pub(super) fn reduce_crossings(slots: &mut Slots) {
    let connections: usize = slots.below.iter().map(Vec::len).sum();
    let sweeps = SWEEPS.min(WORK / connections.max(1)).max(2);
    let mut best = slots.ranks.clone();
    let mut fewest = crossings(slots);
    let mut failures = 0;
    for sweep in 0..sweeps {
        if fewest == 0 || failures == PATIENCE {
            break;
        }
        let downwards = sweep % 2 == 0;
        for step in 0..slots.ranks.len() {
            let rank = if downwards {
                step
            } else {
                slots.ranks.len() - 1 - step
            };
            sort(slots, rank, downwards);
        }
        exchange(slots);
        let count = crossings(slots);
        failures += 1;
        if count < fewest {
            fewest = count;
            best.clone_from(&slots.ranks);
            failures = 0;
        }
    }
    slots.ranks = best;
    for rank in 0..slots.ranks.len() {
        renumber(slots, rank);
    }
}

fn renumber(slots: &mut Slots, rank: usize) {
    for (place, &slot) in slots.ranks[rank].iter().enumerate() {
        slots.place[slot] = place;
    }
}

/// Sorts a rank by the mean place of the neighbours above, or below. Slots without any stay where
/// they are.
fn sort(slots: &mut Slots, rank: usize, by_above: bool) {
    let neighbours = if by_above { &slots.above } else { &slots.below };
    let mut row = std::mem::take(&mut slots.ranks[rank]);
    let mut moving: Vec<(f64, usize)> = Vec::with_capacity(row.len());
    for &slot in &row {
        let near = &neighbours[slot];
        if !near.is_empty() {
            moving.push((mean(near.iter().map(|&n| slots.place[n])), slot));
        }
    }
    moving.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moving = moving.into_iter();
    for slot in &mut row {
        if !neighbours[*slot].is_empty() {
            let next = moving.next();
            *slot = next.map_or(*slot, |(_, slot)| slot);
        }
    }
    slots.ranks[rank] = row;
    renumber(slots, rank);
}

#[allow(clippy::cast_precision_loss)]
fn mean(places: impl ExactSizeIterator<Item = usize>) -> f64 {
    let count = places.len();
    places.sum::<usize>() as f64 / count as f64
}

/// Lets neighbours in a rank change places where fewer wires cross then.
fn exchange(slots: &mut Slots) {
    /// Slots with more neighbours than this stay where they are.
    const MOST: usize = 64;
    for rank in 0..slots.ranks.len() {
        for at in 1..slots.ranks[rank].len() {
            let (left, right) = (slots.ranks[rank][at - 1], slots.ranks[rank][at]);
            let mut now = 0;
            let mut then = 0;
            for sides in [&slots.above, &slots.below] {
                let (a, b) = (&sides[left], &sides[right]);
                if a.len() > MOST || b.len() > MOST {
                    continue;
                }
                for &x in a {
                    for &y in b {
                        now += usize::from(slots.place[x] > slots.place[y]);
                        then += usize::from(slots.place[x] < slots.place[y]);
                    }
                }
            }
            if then < now {
                slots.ranks[rank].swap(at - 1, at);
                slots.place[left] = at;
                slots.place[right] = at - 1;
            }
        }
    }
}

/// How many pairs of wires cross.
pub(super) fn crossings(slots: &Slots) -> usize {
    let mut total = 0;
    let mut tree: Vec<usize> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    for pair in slots.ranks.windows(2) {
        let [upper, lower] = pair else { continue };
        ends.clear();
        for &slot in upper {
            let begin = ends.len();
            ends.extend(slots.below[slot].iter().map(|&s| slots.place[s]));
            ends[begin..].sort_unstable();
        }
        if ends.is_sorted() {
            continue;
        }
        // Inversions, counted by a tree of sums (Barth, Jünger and Mutzel, "Simple and Efficient
        // Bilayer Cross Counting", 2002).
        tree.clear();
        tree.resize(lower.len() + 1, 0);
        for (seen, &end) in ends.iter().enumerate() {
            let mut not_greater = 0;
            let mut at = end + 1;
            while at > 0 {
                not_greater += tree[at];
                at &= at - 1;
            }
            total += seen - not_greater;
            at = end + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
    }
    total
}
