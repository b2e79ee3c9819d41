//! Horizontal coordinates: wires run straight where they can.
//!
//! Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment" (2001), with their erratum of
//! 2020: four drawings, each aligned to another corner, and the mean of the middle two. Blocks of
//! aligned slots are placed by longest paths instead of by recursion.

use std::collections::HashSet;

use super::slots::Slots;

/// Between two boxes.
const BOX_GAP: f64 = 26.0;
/// Between a box and a passing wire.
const BOX_WIRE_GAP: f64 = 16.0;
/// Between two passing wires.
const WIRE_GAP: f64 = 11.0;

/// The centre of each slot; the leftmost edge is at 0.
pub(super) fn coordinates(slots: &Slots) -> Vec<f64> {
    let conflicts = conflicts(slots);
    let mut drawings = Vec::with_capacity(4);
    for downwards in [true, false] {
        for leftwards in [true, false] {
            let corner = Corner {
                slots,
                conflicts: &conflicts,
                downwards,
                leftwards,
            };
            drawings.extend(corner.place());
        }
    }
    let mut x = balance(slots, drawings);
    separate(slots, &mut x);
    x
}

/// How far apart the centres of two neighbours are at least.
fn distance(slots: &Slots, left: usize, right: usize) -> f64 {
    let gap = match (slots.is_pass(left), slots.is_pass(right)) {
        (true, true) => WIRE_GAP,
        (false, false) => BOX_GAP,
        _ => BOX_WIRE_GAP,
    };
    gap + (slots.width[left] + slots.width[right]) / 2.0
}

/// Connections that cross one between two passing wires, which shall be straight.
fn conflicts(slots: &Slots) -> HashSet<(usize, usize)> {
    let mut found = HashSet::new();
    for pair in slots.ranks.windows(2) {
        let [upper, lower] = pair else { continue };
        let mut from = 0;
        let mut scanned = 0;
        for (at, &slot) in lower.iter().enumerate() {
            let inner = inner_above(slots, slot);
            let last = at + 1 == lower.len();
            let until = match inner {
                Some(above) => slots.place[above],
                None if last => upper.len().saturating_sub(1),
                None => continue,
            };
            for &other in &lower[scanned..=at] {
                for &above in &slots.above[other] {
                    let place = slots.place[above];
                    let both = slots.is_pass(above) && slots.is_pass(other);
                    if (place < from || place > until) && !both {
                        found.insert((above, other));
                    }
                }
            }
            scanned = at + 1;
            from = until;
        }
    }
    found
}

/// The passing wire above a passing wire.
fn inner_above(slots: &Slots, slot: usize) -> Option<usize> {
    let above = *slots.above[slot].first()?;
    (slots.is_pass(slot) && slots.is_pass(above)).then_some(above)
}

/// One of the four drawings.
struct Corner<'s> {
    slots: &'s Slots,
    conflicts: &'s HashSet<(usize, usize)>,
    /// Slots are aligned with those above them.
    downwards: bool,
    /// Slots stand as far left as they can.
    leftwards: bool,
}

impl Corner<'_> {
    /// The rows as this corner sees them.
    fn rows(&self) -> Vec<Vec<usize>> {
        let mut rows = self.slots.ranks.clone();
        if !self.downwards {
            rows.reverse();
        }
        if !self.leftwards {
            rows.iter_mut().for_each(|row| row.reverse());
        }
        rows
    }

    fn place(&self) -> Option<Vec<f64>> {
        let rows = self.rows();
        let roots = self.align(&rows);
        let mut x = self.compact(&rows, &roots)?;
        if !self.leftwards {
            x.iter_mut().for_each(|x| *x = -*x);
        }
        Some(x)
    }

    /// The place of a slot in its row as this corner sees it.
    fn place_of(&self, slot: usize) -> usize {
        let place = self.slots.place[slot];
        if self.leftwards {
            return place;
        }
        self.slots.ranks[self.slots.rank[slot]].len() - 1 - place
    }

    /// For each slot the one it is aligned with.
    fn align(&self, rows: &[Vec<usize>]) -> Vec<usize> {
        let count = self.slots.rank.len();
        let mut roots: Vec<usize> = (0..count).collect();
        let mut taken = vec![false; count];
        for row in rows {
            let mut next = 0;
            for &slot in row {
                let near = if self.downwards {
                    &self.slots.above[slot]
                } else {
                    &self.slots.below[slot]
                };
                let mut near: Vec<usize> = near.clone();
                if near.is_empty() {
                    continue;
                }
                near.sort_unstable_by_key(|&n| self.place_of(n));
                let middle = [(near.len() - 1) / 2, near.len() / 2];
                for index in middle {
                    let other = near[index];
                    let pair = if self.downwards {
                        (other, slot)
                    } else {
                        (slot, other)
                    };
                    let free = !taken[other] && self.place_of(other) >= next;
                    if roots[slot] == slot && free && !self.conflicts.contains(&pair) {
                        taken[other] = true;
                        roots[slot] = roots[other];
                        next = self.place_of(other) + 1;
                    }
                }
            }
        }
        roots
    }

    /// Places blocks as far left as they go, then as far right as nothing else moves.
    fn compact(&self, rows: &[Vec<usize>], roots: &[usize]) -> Option<Vec<f64>> {
        let count = roots.len();
        let mut right: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
        let mut waiting = vec![0usize; count];
        for row in rows {
            for pair in row.windows(2) {
                let [a, b] = *pair else { continue };
                right[roots[a]].push((roots[b], distance(self.slots, a, b)));
                waiting[roots[b]] += 1;
            }
        }
        let mut sorted: Vec<usize> = (0..count)
            .filter(|&slot| roots[slot] == slot && waiting[slot] == 0)
            .collect();
        let blocks = (0..count).filter(|&slot| roots[slot] == slot).count();
        let mut x = vec![0f64; count];
        let mut at = 0;
        while let Some(&block) = sorted.get(at) {
            at += 1;
            for &(next, distance) in &right[block] {
                x[next] = x[next].max(x[block] + distance);
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    sorted.push(next);
                }
            }
        }
        if sorted.len() != blocks {
            return None;
        }
        for &block in sorted.iter().rev() {
            let free = right[block].iter().map(|&(next, d)| x[next] - d);
            let free = free.fold(f64::INFINITY, f64::min);
            if free.is_finite() {
                x[block] = x[block].max(free);
            }
        }
        Some((0..count).map(|slot| x[roots[slot]]).collect())
    }
}

/// Moves the drawings to the narrowest one and takes the mean of the middle two of each slot.
fn balance(slots: &Slots, mut drawings: Vec<Vec<f64>>) -> Vec<f64> {
    let count = slots.rank.len();
    let bounds = |x: &[f64]| {
        let edges = x.iter().zip(&slots.width);
        edges.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, w)| {
            (low.min(x - w / 2.0), high.max(x + w / 2.0))
        })
    };
    let narrowest = drawings
        .iter()
        .map(|x| bounds(x))
        .min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some((low, high)) = narrowest else {
        return vec![0.0; count];
    };
    let leftwards = [true, false, true, false];
    for (x, left) in drawings.iter_mut().zip(leftwards) {
        let own = bounds(x);
        let shift = if left { low - own.0 } else { high - own.1 };
        x.iter_mut().for_each(|x| *x += shift);
    }
    let mut middle: Vec<f64> = (0..count)
        .map(|slot| {
            let mut all: Vec<f64> = drawings.iter().map(|x| x[slot]).collect();
            all.sort_by(f64::total_cmp);
            let half = all.len() / 2;
            if all.len() % 2 == 1 {
                return all[half];
            }
            (all[half - 1] + all[half]) / 2.0
        })
        .collect();
    let low = bounds(&middle).0;
    middle.iter_mut().for_each(|x| *x = (*x - low).round());
    middle
}

/// Makes sure that no two neighbours touch, whatever rounding did.
fn separate(slots: &Slots, x: &mut [f64]) {
    for row in &slots.ranks {
        for pair in row.windows(2) {
            let [a, b] = *pair else { continue };
            x[b] = x[b].max(x[a] + distance(slots, a, b));
        }
    }
}
