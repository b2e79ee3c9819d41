//! Which layers of two graphs are the same.
//!
//! Hashes of everything that a layer follows from, or that follows from it, find those that a change
//! elsewhere leaves as they are: whatever stands before the change by the former, whatever stands
//! behind it by the latter. Names find more, neighbours of what was found the rest. Each step asks
//! for less to be equal than the one before, and takes only what is unique on both sides; so the
//! work grows with the number of layers and edges.

use std::collections::HashMap;

use super::side::{Level, Side, given_name, hash, is_end};
use crate::graph::{Graph, Terminal};

/// The layers that are the same.
pub(super) struct Pairs {
    /// For each node of the first graph, the node of the second.
    pub(super) second: Vec<Option<usize>>,
    /// For each node of the second graph, the node of the first.
    pub(super) first: Vec<Option<usize>>,
}

/// How often neighbourhoods are compared anew.
const MOST_ROUNDS: usize = 16;

/// How far around a layer its neighbourhood goes.
const RADIUS: usize = 3;

/// Consumers that are looked at to see whether two layers may be the same.
const MOST_CONSUMERS: usize = 32;

/// The steps of an alignment, as a product of lengths, that are still quick.
const MOST_ALIGNED: usize = 1 << 32;

impl Pairs {
    pub(super) fn find(a: &Side<'_>, b: &Side<'_>) -> Self {
        let mut search = Search {
            a,
            b,
            pairs: Self {
                second: vec![None; a.len()],
                first: vec![None; b.len()],
            },
            found: Vec::new(),
        };
        search.run();
        search.pairs
    }
}

struct Search<'s, 'm> {
    a: &'s Side<'m>,
    b: &'s Side<'m>,
    pairs: Pairs,
    /// Pairs whose neighbours were not looked at yet.
    found: Vec<(usize, usize)>,
}

impl Search<'_, '_> {
    fn run(&mut self) {
        let (a, b) = (self.a, self.b);
        let (seeds_a, seeds_b) = seeds(a.graph, b.graph);
        let full = |side: &Side<'_>, seeds: &HashMap<usize, u64>| {
            let up = side.upward(Level::Full, seeds);
            let down = side.downward(&up, seeds);
            let both = up.iter().zip(&down).map(hash_pair).collect::<Vec<_>>();
            (up, both)
        };
        let ((up_a, both_a), (up_b, both_b)) = (full(a, &seeds_a), full(b, &seeds_b));
        self.unique(&both_a, &both_b);
        self.spread(Level::Full);
        // Layers that nothing tells apart are paired in order.
        self.any(&both_a, &both_b);
        self.unique(&up_a, &up_b);
        self.spread(Level::Full);
        let down = |side: &Side<'_>, seeds: &_, level| side.downward(side.level(level), seeds);
        let ways = [Level::Full, Level::Label, Level::Kind];
        for level in ways {
            self.unique(&down(a, &seeds_a, level), &down(b, &seeds_b, level));
            self.spread(Level::Full);
            if level == Level::Full {
                self.named(Level::Label);
                self.spread(Level::Label);
                continue;
            }
            let (up_a, up_b) = (a.upward(level, &seeds_a), b.upward(level, &seeds_b));
            self.unique(&up_a, &up_b);
            self.spread(Level::Label);
        }
        self.named(Level::Kind);
        for level in ways {
            self.spread_all(level);
            self.neighbourhoods(level);
        }
        self.aligned();
        self.spread_all(Level::Kind);
    }

    fn pair(&mut self, x: usize, y: usize) {
        self.pairs.second[x] = Some(y);
        self.pairs.first[y] = Some(x);
        self.found.push((x, y));
    }

    fn open(&self, x: usize, y: usize) -> bool {
        self.pairs.second[x].is_none() && self.pairs.first[y].is_none()
    }

    /// Pairs those whose key no other open layer of their graph has.
    fn unique(&mut self, keys_a: &[u64], keys_b: &[u64]) {
        let once = |keys: &[u64], done: &[Option<usize>]| {
            let mut seen: HashMap<u64, Option<usize>> = HashMap::new();
            let open = keys
                .iter()
                .enumerate()
                .filter(|(at, _)| done[*at].is_none());
            for (at, key) in open {
                seen.entry(*key)
                    .and_modify(|at| *at = None)
                    .or_insert(Some(at));
            }
            seen
        };
        let (of_a, of_b) = (
            once(keys_a, &self.pairs.second),
            once(keys_b, &self.pairs.first),
        );
        let both = of_a
            .iter()
            .filter_map(|(key, x)| Some(((*x)?, (*of_b.get(key)?)?)));
        let mut both: Vec<_> = both
            .filter(|&(x, y)| self.alike(x, y, Level::Kind))
            .collect();
        both.sort_unstable();
        for (x, y) in both {
            self.pair(x, y);
        }
    }

    /// Pairs those of one key in order, and after each what is around it.
    fn any(&mut self, keys_a: &[u64], keys_b: &[u64]) {
        let mut of_b: HashMap<u64, Vec<usize>> = HashMap::new();
        for y in (0..keys_b.len()).rev() {
            if self.pairs.first[y].is_none() {
                of_b.entry(keys_b[y]).or_default().push(y);
            }
        }
        for (x, key) in keys_a.iter().enumerate() {
            while self.pairs.second[x].is_none() {
                let Some(y) = of_b.get_mut(key).and_then(Vec::pop) else {
                    break;
                };
                if self.open(x, y) {
                    self.pair(x, y);
                    self.spread(Level::Full);
                }
            }
        }
    }

    /// Pairs by names that were given, not made, where they are unique.
    fn named(&mut self, level: Level) {
        let keys = |side: &Side<'_>| -> Vec<u64> {
            let labels = side.level(level);
            let key = |at: usize| match given_name(side.node(at)) {
                Some(name) => hash(&(name, labels[at])),
                None => 0,
            };
            (0..side.len()).map(key).collect()
        };
        let (a, b) = (keys(self.a), keys(self.b));
        // Those without a name have one key together.
        self.unique(&a, &b);
    }

    fn alike(&self, x: usize, y: usize, level: Level) -> bool {
        self.a.level(level)[x] == self.b.level(level)[y]
    }

    /// Goes on from what was found last to its neighbours.
    fn spread(&mut self, level: Level) {
        while let Some((x, y)) = self.found.pop() {
            self.producers(x, y, level);
            self.consumers(x, y, level);
        }
    }

    /// Goes on from all pairs.
    fn spread_all(&mut self, level: Level) {
        let pairs = self.pairs.second.iter().enumerate();
        self.found = pairs.filter_map(|(x, y)| Some((x, (*y)?))).collect();
        self.spread(level);
    }

    fn producers(&mut self, x: usize, y: usize, level: Level) {
        let inputs = self.a.node(x).inputs().iter().zip(self.b.node(y).inputs());
        for (p, q) in inputs {
            let (from, to) = (p.node.index(), q.node.index());
            if p.index == q.index && self.open(from, to) && self.alike(from, to, level) {
                self.pair(from, to);
            }
        }
    }

    fn consumers(&mut self, x: usize, y: usize, level: Level) {
        let (a, b) = (self.a, self.b);
        if a.consumers[x].is_empty() || b.consumers[y].is_empty() {
            return;
        }
        let once = |side: &Side<'_>, at: usize, done: &[Option<usize>]| {
            let mut seen: HashMap<(u64, usize, u32), Option<usize>> = HashMap::new();
            for &(consumer, input, port) in &side.consumers[at] {
                if done[consumer].is_none() {
                    let key = (side.level(level)[consumer], input, port);
                    let other = |found: &mut Option<usize>| *found = None;
                    seen.entry(key).and_modify(other).or_insert(Some(consumer));
                }
            }
            seen
        };
        let of_a = once(a, x, &self.pairs.second);
        let of_b = once(b, y, &self.pairs.first);
        let both = of_a
            .iter()
            .filter_map(|(key, x)| Some(((*x)?, (*of_b.get(key)?)?)));
        let mut both: Vec<_> = both.collect();
        both.sort_unstable();
        for (x, y) in both {
            // One consumer may take several inputs.
            if self.open(x, y) {
                self.pair(x, y);
            }
        }
    }

    /// Pairs those whose neighbourhood is alike and unique, where those that are paired are known by
    /// their pair and others by their label.
    fn neighbourhoods(&mut self, level: Level) {
        for _ in 0..MOST_ROUNDS {
            let before = self.pairs.second.iter().flatten().count();
            let (mut of_a, mut of_b) = (self.colours(level, true), self.colours(level, false));
            for _ in 0..RADIUS {
                of_a = around(self.a, &of_a);
                of_b = around(self.b, &of_b);
                self.unique(&of_a, &of_b);
            }
            self.spread(level);
            if self.pairs.second.iter().flatten().count() == before {
                return;
            }
        }
    }

    fn colours(&self, level: Level, first: bool) -> Vec<u64> {
        let (side, done) = if first {
            (self.a, &self.pairs.second)
        } else {
            (self.b, &self.pairs.first)
        };
        let labels = side.level(level).iter().zip(done).enumerate();
        let colour = |(at, (label, done)): (usize, (&u64, &Option<usize>))| match done {
            // Both of a pair are known by the second.
            Some(other) => hash(&("pair", if first { *other } else { at })),
            None => *label,
        };
        labels.map(colour).collect()
    }

    /// Pairs what is left by its order, a walk from the outputs that the order of a file does not
    /// change.
    fn aligned(&mut self) {
        let left = |side: &Side<'_>, done: &[Option<usize>]| -> Vec<usize> {
            let all = walk(side.graph).into_iter();
            all.filter(|&at| done[at].is_none()).collect()
        };
        let a = left(self.a, &self.pairs.second);
        let b = left(self.b, &self.pairs.first);
        if a.is_empty() || b.is_empty() || a.len().saturating_mul(b.len()) > MOST_ALIGNED {
            return;
        }
        for level in [Level::Label, Level::Kind] {
            let open_a: Vec<usize> = a
                .iter()
                .copied()
                .filter(|&x| self.is_open(x, true))
                .collect();
            let open_b: Vec<usize> = b
                .iter()
                .copied()
                .filter(|&y| self.is_open(y, false))
                .collect();
            let keys = |side: &Side<'_>, open: &[usize]| -> Vec<u64> {
                open.iter().map(|&at| side.level(level)[at]).collect()
            };
            let (of_a, of_b) = (keys(self.a, &open_a), keys(self.b, &open_b));
            let steps = similar::capture_diff_slices(similar::Algorithm::Patience, &of_a, &of_b);
            for step in steps {
                if let similar::DiffOp::Equal {
                    old_index,
                    new_index,
                    len,
                } = step
                {
                    for k in 0..len {
                        self.likely(open_a[old_index + k], open_b[new_index + k]);
                    }
                }
            }
        }
    }

    fn is_open(&self, at: usize, first: bool) -> bool {
        let done = if first {
            &self.pairs.second
        } else {
            &self.pairs.first
        };
        done[at].is_none()
    }

    /// Pairs two layers that may be the same, unless nothing around them is.
    fn likely(&mut self, x: usize, y: usize) {
        let inputs = self.a.node(x).inputs().iter().zip(self.b.node(y).inputs());
        let mut producers =
            inputs.map(|(p, q)| self.pairs.second[p.node.index()] == Some(q.node.index()));
        let few = self.a.consumers[x].iter().take(MOST_CONSUMERS);
        let mut consumers = few.map(|&(consumer, ..)| {
            let other = self.pairs.second[consumer];
            let mut few = self.b.consumers[y].iter().take(MOST_CONSUMERS);
            other.is_some_and(|other| few.any(|c| c.0 == other))
        });
        let end = is_end(self.a.node(x));
        if self.open(x, y) && (end || producers.any(|p| p) || consumers.any(|c| c)) {
            self.pair(x, y);
        }
    }
}

fn hash_pair((up, down): (&u64, &u64)) -> u64 {
    hash(&(up, down))
}

/// The colours with those of all neighbours in them.
fn around(side: &Side<'_>, colours: &[u64]) -> Vec<u64> {
    let colour = |at: usize| {
        let producers = side.node(at).inputs().iter();
        let producers: Vec<_> = producers
            .map(|port| (colours[port.node.index()], port.index))
            .collect();
        let consumers = side.consumers[at].iter();
        let mut consumers: Vec<_> = consumers
            .map(|&(consumer, input, port)| (colours[consumer], input, port))
            .collect();
        consumers.sort_unstable();
        hash(&(colours[at], producers, consumers))
    };
    (0..side.len()).map(colour).collect()
}

/// Labels of inputs and outputs that have a name in common.
fn seeds(a: &Graph, b: &Graph) -> (HashMap<usize, u64>, HashMap<usize, u64>) {
    let (mut of_a, mut of_b) = (HashMap::new(), HashMap::new());
    let ends = [
        ("input", a.inputs(), b.inputs()),
        ("output", a.outputs(), b.outputs()),
    ];
    for (what, a, b) in ends {
        let mut names: HashMap<&str, usize> = HashMap::new();
        for terminal in b {
            for name in &terminal.names {
                names.insert(name, terminal.node.index());
            }
        }
        let mut taken = std::collections::HashSet::new();
        for (index, terminal) in a.iter().enumerate() {
            let same =
                |terminal: &Terminal| terminal.names.iter().find_map(|name| names.get(&**name));
            if let Some(&other) = same(terminal)
                && taken.insert(other)
            {
                let seed = hash(&(what, index));
                of_a.insert(terminal.node.index(), seed);
                of_b.insert(other, seed);
            }
        }
    }
    (of_a, of_b)
}

/// All nodes, producers before consumers, in an order that follows from the graph alone where its
/// outputs are in order.
pub(super) fn walk(graph: &Graph) -> Vec<usize> {
    let outputs = graph.outputs().iter().map(|output| output.node.index());
    let inputs = |at: usize| {
        let node = graph.node(crate::graph::NodeId::new(at));
        node.inputs().iter().map(|port| port.node.index())
    };
    let count = graph.nodes().len();
    // A loaded graph has no cycle.
    crate::graph::order(count, outputs, 0..count, inputs).unwrap_or_default()
}
