//! Layered drawings of graphs without cycles: boxes in ranks, wires that run downwards between them.
//!
//! The method of Sugiyama, Tagawa and Toda ("Methods for Visual Understanding of Hierarchical System
//! Structures", 1981) in its usual four steps: ranks, order within the ranks, coordinates, routes.
//! None recurses, and none takes more than a bounded number of passes over the slots.

mod order;
mod place;
mod rank;
mod route;
mod slots;
#[cfg(test)]
mod tests;

/// What is to be laid out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagram {
    /// Width and height of each box, in pixels.
    pub(crate) boxes: Vec<(f64, f64)>,
    /// What leaves boxes. A value that several boxes take is one wire with several ends.
    pub(crate) wires: Vec<Wire>,
}

/// A value on its way from one box to those that take it.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    /// The box it leaves.
    pub(crate) from: usize,
    /// The boxes it enters: each stands behind `from` in [`Diagram::boxes`].
    pub(crate) to: Vec<usize>,
}

/// Where everything is, in pixels, y downwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// The size of the whole.
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// The boxes, in the order given.
    pub(crate) boxes: Vec<Rect>,
    /// The wires, in the order given.
    pub(crate) routes: Vec<Route>,
}

/// A box that has its place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rect {
    /// Its left edge.
    pub(crate) x: f64,
    /// Its upper edge.
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// The way of a wire: a tree of pieces, each of which runs downwards through one gap between ranks,
/// or straight through a rank.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Route {
    /// From where to where.
    pub(crate) pieces: Vec<(Point, Point)>,
    /// Where it enters boxes, in the order of [`Wire::to`].
    pub(crate) ends: Vec<Point>,
    /// Ends that are so far away that no line is drawn, in a diagram that is too large for all lines.
    pub(crate) cut: Vec<bool>,
    /// Where the wire leaves its box.
    pub(crate) start: Point,
    /// The lower edge of the rank it leaves.
    pub(crate) edge: f64,
    /// How much room there is for text at the right and the left of its beginning, below `edge`.
    pub(crate) room: (f64, f64),
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Lays a diagram out. Ends that do not stand behind the box their wire leaves are not drawn.
pub(crate) fn lay_out(diagram: &Diagram) -> Layout {
    let ranks = rank::ranks(diagram);
    let mut slots = slots::Slots::new(diagram, &ranks);
    order::reduce_crossings(&mut slots);
    let x = place::coordinates(&slots);
    route::routes(diagram, &slots, &x)
}
