//! Upright boxes, and how much they overlap.

use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect_ok, try_room};
use crate::op::OpError;

/// Boxes compared at a time, so that the comparison vectorizes.
const LANES: usize = 16;

/// What the sides of a box are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// The differences of its corners.
    Continuous,
    /// The differences of its corners and one: the last pixel belongs to the box.
    Pixels,
    /// The same, but corners with a gap between them share no pixel.
    SeparatePixels,
}

/// Boxes by coordinate, with their areas.
#[derive(Debug, Clone)]
pub(crate) struct Boxes<T> {
    x0: Vec<T>,
    y0: Vec<T>,
    x1: Vec<T>,
    y1: Vec<T>,
    area: Vec<T>,
    sides: Sides,
}

fn larger<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

fn smaller<T: Real>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// One box, and what the sides of all boxes are.
struct One<T> {
    corners: [T; 4],
    area: T,
    /// What is added to a difference.
    pixel: T,
    /// The difference from which boxes touch.
    touch: T,
}

impl<T: Real> One<T> {
    /// The length that is shared of a side.
    fn shared(&self, low: T, high: T) -> T {
        let length = high - low;
        if length < self.touch {
            T::zero()
        } else {
            larger(length + self.pixel, T::zero())
        }
    }

    /// The intersection over the union; boxes without area have none.
    fn iou(&self, x0: T, y0: T, x1: T, y1: T, area: T) -> T {
        let [a0, b0, a1, b1] = self.corners;
        let width = self.shared(larger(a0, x0), smaller(a1, x1));
        let height = self.shared(larger(b0, y0), smaller(b1, y1));
        let intersection = width * height;
        let iou = intersection / (self.area + area - intersection);
        if self.area > T::zero() && area > T::zero() {
            iou
        } else {
            T::zero()
        }
    }
}

impl<T: Real> Boxes<T> {
    /// No boxes, but room for some.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn new(sides: Sides, capacity: usize) -> Result<Self, OpError> {
        let room = || try_room(capacity);
        Ok(Self {
            x0: room()?,
            y0: room()?,
            x1: room()?,
            y1: room()?,
            area: room()?,
            sides,
        })
    }

    /// Lists of `count` boxes `[x0, y0, x1, y1]` each, not 0.
    ///
    /// # Errors
    /// As [`Boxes::new`].
    pub(crate) fn of_lists(
        sides: Sides,
        corners: &[T],
        count: usize,
    ) -> Result<Vec<Self>, OpError> {
        let (quads, _) = corners.as_chunks::<4>();
        let lists = quads.chunks_exact(count);
        let list = |quads: &[[T; 4]]| {
            let mut boxes = Self::new(sides, count)?;
            quads.iter().for_each(|&quad| boxes.push(quad));
            Ok::<_, OpError>(boxes)
        };
        try_collect_ok(lists.map(list))
    }

    /// No boxes of the same kind, but room for some.
    pub(super) fn none(&self, capacity: usize) -> Result<Self, OpError> {
        Self::new(self.sides, capacity)
    }

    /// Adds a box `[x0, y0, x1, y1]`.
    pub(crate) fn push(&mut self, [x0, y0, x1, y1]: [T; 4]) {
        let pixel = self.pixel();
        self.x0.push(x0);
        self.y0.push(y0);
        self.x1.push(x1);
        self.y1.push(y1);
        self.area.push((x1 - x0 + pixel) * (y1 - y0 + pixel));
    }

    /// Adds a box of others.
    pub(super) fn push_from(&mut self, others: &Self, index: usize) {
        self.x0.push(others.x0[index]);
        self.y0.push(others.y0[index]);
        self.x1.push(others.x1[index]);
        self.y1.push(others.y1[index]);
        self.area.push(others.area[index]);
    }

    fn pixel(&self) -> T {
        match self.sides {
            Sides::Continuous => T::zero(),
            Sides::Pixels | Sides::SeparatePixels => T::one(),
        }
    }

    /// The corners `[x0, y0, x1, y1]` of a box.
    pub(crate) fn corners(&self, index: usize) -> [T; 4] {
        [
            self.x0[index],
            self.y0[index],
            self.x1[index],
            self.y1[index],
        ]
    }

    fn one(&self, index: usize) -> One<T> {
        One {
            corners: self.corners(index),
            area: self.area[index],
            pixel: self.pixel(),
            touch: match self.sides {
                Sides::SeparatePixels => T::zero(),
                Sides::Continuous | Sides::Pixels => T::neg_infinity(),
            },
        }
    }

    /// The intersection over the union of two boxes.
    pub(crate) fn iou(&self, a: usize, b: usize) -> T {
        let [x0, y0, x1, y1] = self.corners(b);
        self.one(a).iou(x0, y0, x1, y1, self.area[b])
    }

    /// Whether one of these boxes overlaps a box of others by more than its own limit.
    pub(super) fn overlap(&self, others: &Self, index: usize, limits: &[T]) -> bool {
        let one = others.one(index);
        let count = limits.len();
        (0..count).step_by(LANES).any(|start| {
            let lanes = start..count.min(start + LANES);
            let (x0, y0) = (&self.x0[lanes.clone()], &self.y0[lanes.clone()]);
            let (x1, y1) = (&self.x1[lanes.clone()], &self.y1[lanes.clone()]);
            let (area, limits) = (&self.area[lanes.clone()], &limits[lanes]);
            let corners = x0.iter().zip(y0).zip(x1.iter().zip(y1));
            let mut over = false;
            for (((&x0, &y0), (&x1, &y1)), (&area, &limit)) in corners.zip(area.iter().zip(limits))
            {
                over |= one.iou(x0, y0, x1, y1, area) > limit;
            }
            over
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iou(sides: Sides, a: [f32; 4], b: [f32; 4]) -> f32 {
        let mut boxes = Boxes::new(sides, 2).expect("memory");
        boxes.push(a);
        boxes.push(b);
        assert_eq!(boxes.iou(0, 1), boxes.iou(1, 0));
        boxes.iou(0, 1)
    }

    #[test]
    fn sides() {
        let (a, b) = ([0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0]);
        assert_eq!(iou(Sides::Continuous, a, b), 2.0 / 6.0);
        assert_eq!(iou(Sides::Pixels, a, b), 6.0 / 12.0);
        assert_eq!(iou(Sides::SeparatePixels, a, b), 6.0 / 12.0);
        let near = [2.5, 0.0, 3.5, 2.0];
        assert_eq!(iou(Sides::Continuous, a, near), 0.0);
        assert_eq!(iou(Sides::Pixels, a, near), 1.5 / 13.5);
        assert_eq!(iou(Sides::SeparatePixels, a, near), 0.0);
    }

    #[test]
    fn without_area() {
        let point = [1.0, 1.0, 1.0, 1.0];
        assert_eq!(iou(Sides::Continuous, point, point), 0.0);
        assert_eq!(iou(Sides::Continuous, point, [0.0, 0.0, 2.0, 2.0]), 0.0);
        assert_eq!(iou(Sides::Pixels, point, point), 1.0);
        let turned = [2.0, 2.0, 0.0, 3.0];
        assert_eq!(iou(Sides::Continuous, turned, turned), 0.0);
    }
}
