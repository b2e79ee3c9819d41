//! The rank of each box: below all that it takes values from, and near them.

use super::Diagram;

/// Passes in which boxes move to shorten wires.
const PASSES: usize = 4;

/// The rank of each box, from 0.
pub(super) fn ranks(diagram: &Diagram) -> Vec<usize> {
    let count = diagram.boxes.len();
    let mut sources = vec![Vec::new(); count];
    let mut ends = vec![Vec::new(); count];
    let mut wires = vec![0usize; count];
    for wire in &diagram.wires {
        let valid = wire.to.iter().filter(|&&to| to > wire.from && to < count);
        let mut any = false;
        for &to in valid {
            sources[to].push(wire.from);
            ends[wire.from].push(to);
            any = true;
        }
        wires[wire.from] += usize::from(any);
    }
    let mut ranks = vec![0usize; count];
    for index in 0..count {
        ranks[index] = lowest(&ranks, &sources[index]);
    }
    for _ in 0..PASSES {
        let mut moved = false;
        for index in (0..count).rev() {
            let Some(limit) = ends[index].iter().map(|&end| ranks[end] - 1).min() else {
                continue;
            };
            // Lower by one: each wire that leaves is shorter, each that comes in may be longer.
            let falls = wires[index] > sources[index].len() || sources[index].is_empty();
            if falls && ranks[index] < limit {
                ranks[index] = limit;
                moved = true;
            }
        }
        for index in 0..count {
            let limit = lowest(&ranks, &sources[index]);
            let rises = wires[index] < sources[index].len();
            if rises && ranks[index] > limit {
                ranks[index] = limit;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let first = ranks.iter().copied().min().unwrap_or(0);
    ranks.iter_mut().for_each(|rank| *rank -= first);
    ranks
}

/// The rank below all these boxes.
fn lowest(ranks: &[usize], sources: &[usize]) -> usize {
    sources.iter().map(|&s| ranks[s] + 1).max().unwrap_or(0)
}
