//! The ways of wires, and the vertical coordinates.

use super::slots::{Slots, before};
use super::{Diagram, Layout, Point, Rect, Route};

/// The gap between two ranks at least: an arrow and a line of text.
const GAP: f64 = 30.0;
/// The gap grows where wires go far to the side, up to this much.
const MOST_SLANT: f64 = 46.0;
/// Between wires that enter or leave a box.
const PORT_GAP: f64 = 14.0;

/// Puts everything in its place.
pub(super) fn routes(diagram: &Diagram, slots: &Slots, x: &[f64]) -> Layout {
    let heights = heights(diagram, slots);
    let tops = tops(slots, x, &heights);
    let boxes: Vec<Rect> = diagram
        .boxes
        .iter()
        .enumerate()
        .map(|(index, &(width, height))| {
            let rank = slots.rank[index];
            Rect {
                x: x[index] - width / 2.0,
                y: tops[rank] + ((heights[rank] - height) / 2.0).floor(),
                width,
                height,
            }
        })
        .collect();
    let sheet = Sheet {
        diagram,
        slots,
        x,
        tops,
        heights,
        boxes,
    };
    let mut routes = sheet.routes();
    sheet.measure_room(&mut routes);
    let width = sheet.boxes.iter().map(Rect::right);
    let width = width.chain(x.iter().copied()).fold(0.0, f64::max);
    let height = sheet.boxes.iter().map(Rect::bottom).fold(0.0, f64::max);
    Layout {
        width,
        height,
        boxes: sheet.boxes,
        routes,
    }
}

/// The height of each rank.
fn heights(diagram: &Diagram, slots: &Slots) -> Vec<f64> {
    let mut heights = vec![0f64; slots.ranks.len()];
    for (&rank, size) in slots.rank.iter().zip(&diagram.boxes) {
        heights[rank] = heights[rank].max(size.1);
    }
    heights
}

/// The upper edge of each rank.
fn tops(slots: &Slots, x: &[f64], heights: &[f64]) -> Vec<f64> {
    let mut tops = Vec::with_capacity(heights.len());
    let mut y = 0.0;
    for (row, height) in slots.ranks.iter().zip(heights) {
        tops.push(y);
        let aside = row
            .iter()
            .flat_map(|&slot| slots.below[slot].iter().map(move |&next| (slot, next)))
            .map(|(slot, next)| (x[slot] - x[next]).abs())
            .fold(0.0, f64::max);
        y += height + GAP + (aside / 10.0).min(MOST_SLANT).round();
    }
    tops
}

/// A diagram whose boxes have their places.
struct Sheet<'d> {
    diagram: &'d Diagram,
    slots: &'d Slots,
    x: &'d [f64],
    tops: Vec<f64>,
    heights: Vec<f64>,
    boxes: Vec<Rect>,
}

impl Sheet<'_> {
    fn routes(&self) -> Vec<Route> {
        let starts = self.starts();
        let ends = self.ends();
        let wires = self.diagram.wires.iter().enumerate();
        wires
            .map(|(index, wire)| {
                let start = starts[index];
                let mut route = Route {
                    start,
                    ends: ends[index].clone(),
                    cut: Vec::new(),
                    ..Route::default()
                };
                let rank = self.slots.rank[wire.from];
                let edge = self.tops[rank] + self.heights[rank];
                route.edge = edge;
                let drawn: Vec<bool> = wire
                    .to
                    .iter()
                    .map(|&to| self.slots.drawn(wire.from, to))
                    .collect();
                let passes = &self.slots.passes[index];
                // To the lower edge of the rank, where it is taller than the box.
                let mut at = start;
                if edge > at.y && drawn.contains(&true) {
                    let down = Point { x: at.x, y: edge };
                    route.pieces.push((at, down));
                    at = down;
                }
                let mut leaving = vec![at];
                for &slot in passes {
                    let rank = self.slots.rank[slot];
                    let upper = Point {
                        x: self.x[slot],
                        y: self.tops[rank],
                    };
                    let lower = Point {
                        x: upper.x,
                        y: upper.y + self.heights[rank],
                    };
                    route.pieces.push((at, upper));
                    route.pieces.push((upper, lower));
                    at = lower;
                    leaving.push(at);
                }
                for (position, &to) in wire.to.iter().enumerate() {
                    if !drawn[position] {
                        continue;
                    }
                    let rank = self.slots.rank[to];
                    let ranks = rank - self.slots.rank[wire.from];
                    let from = leaving[ranks - 1];
                    let end = route.ends[position];
                    let edge = Point {
                        x: end.x,
                        y: self.tops[rank],
                    };
                    route.pieces.push((from, edge));
                    if end.y > edge.y {
                        route.pieces.push((edge, end));
                    }
                }
                route.cut = drawn.iter().map(|drawn| !drawn).collect();
                route
            })
            .collect()
    }

    /// Where wires leave: those of one box side by side, sorted by where they go.
    fn starts(&self) -> Vec<Point> {
        let mut leaving: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.boxes.len()];
        for (index, wire) in self.diagram.wires.iter().enumerate() {
            let first = self.slots.passes[index].first().copied();
            let next = first.or_else(|| wire.to.first().copied());
            let x = next.and_then(|slot| self.x.get(slot).copied());
            leaving[wire.from].push((x.unwrap_or(0.0), index));
        }
        let mut starts = vec![Point::default(); self.diagram.wires.len()];
        for (rect, wires) in self.boxes.iter().zip(&mut leaving) {
            wires.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (x, (_, wire)) in spread(rect, wires.len()).zip(wires.iter()) {
                starts[*wire] = Point {
                    x,
                    y: rect.bottom(),
                };
            }
        }
        starts
    }

    /// Where wires enter: side by side, sorted by where they come from.
    fn ends(&self) -> Vec<Vec<Point>> {
        let mut entering: Vec<Vec<(f64, usize, usize)>> = vec![Vec::new(); self.boxes.len()];
        let mut ends = Vec::with_capacity(self.diagram.wires.len());
        for (index, wire) in self.diagram.wires.iter().enumerate() {
            ends.push(vec![Point::default(); wire.to.len()]);
            for (position, &to) in wire.to.iter().enumerate() {
                let Some(entering) = entering.get_mut(to) else {
                    continue;
                };
                let x = if self.slots.drawn(wire.from, to) {
                    let ranks = self.slots.rank[to] - self.slots.rank[wire.from];
                    self.x[before(wire.from, &self.slots.passes[index], ranks)]
                } else {
                    f64::NEG_INFINITY
                };
                entering.push((x, index, position));
            }
        }
        for (rect, wires) in self.boxes.iter().zip(&mut entering) {
            wires.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            for (x, &(_, wire, position)) in spread(rect, wires.len()).zip(wires.iter()) {
                ends[wire][position] = Point { x, y: rect.y };
            }
        }
        ends
    }

    /// How far text may reach beside the beginning of each wire without touching another.
    fn measure_room(&self, routes: &mut [Route]) {
        /// Looks no further.
        const FAR: f64 = 400.0;
        let mut gaps: Vec<Vec<(f64, f64, usize)>> = vec![Vec::new(); self.tops.len()];
        for (index, route) in routes.iter().enumerate() {
            for (from, to) in &route.pieces {
                // The gap that a piece runs through ends where the piece does.
                let rank = self.tops.partition_point(|&top| top < to.y);
                if let Some(gap) = rank.checked_sub(1).and_then(|rank| gaps.get_mut(rank)) {
                    gap.push((from.x.min(to.x), from.x.max(to.x), index));
                }
            }
        }
        for (index, route) in routes.iter_mut().enumerate() {
            let rank = self.slots.rank[self.diagram.wires[index].from];
            let x = route.start.x;
            let (mut right, mut left) = (FAR, FAR);
            for &(low, high, wire) in &gaps[rank] {
                if wire == index && low == high {
                    continue;
                }
                if high > x + 0.5 {
                    right = right.min((low - x).max(0.0));
                }
                if low < x - 0.5 {
                    left = left.min((x - high).max(0.0));
                }
            }
            route.room = (right, left);
        }
    }
}

/// Places for wires along an edge of a box.
fn spread(rect: &Rect, count: usize) -> impl Iterator<Item = f64> {
    #[allow(clippy::cast_precision_loss)]
    let number = count.max(1) as f64;
    let step = PORT_GAP.min((rect.width - 12.0).max(0.0) / number);
    let first = rect.x + rect.width / 2.0 - step * (number - 1.0) / 2.0;
    #[allow(clippy::cast_precision_loss)]
    (0..count).map(move |index| first + step * index as f64)
}
