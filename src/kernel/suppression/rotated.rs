//! Boxes turned around their centers, and how much they overlap.

type Point = [f64; 2];

/// A box turned around its center.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotated {
    center: Point,
    corners: [Point; 4],
    area: f64,
    /// The distance from the center to the corners.
    reach: f64,
}

/// Corners of the intersection of two boxes: each of four cuts adds at most one.
#[derive(Clone, Copy, Default)]
struct Polygon {
    points: [Point; 8],
    len: usize,
}

impl Polygon {
    fn push(&mut self, point: Point) {
        // Rounding cannot make a convex polygon longer than its room.
        if let Some(place) = self.points.get_mut(self.len) {
            *place = point;
            self.len += 1;
        }
    }

    fn points(&self) -> &[Point] {
        &self.points[..self.len]
    }

    /// The part of the polygon on the left of the line from `a` to `b`.
    fn cut(&self, a: Point, b: Point) -> Self {
        let mut part = Self::default();
        let points = self.points();
        let Some(&last) = points.last() else {
            return part;
        };
        let (mut before, mut side_before) = (last, side(a, b, last));
        for &point in points {
            let side = side(a, b, point);
            if (side < 0.0) != (side_before < 0.0) {
                let t = side_before / (side_before - side);
                part.push([
                    before[0] + t * (point[0] - before[0]),
                    before[1] + t * (point[1] - before[1]),
                ]);
            }
            if side >= 0.0 {
                part.push(point);
            }
            (before, side_before) = (point, side);
        }
        part
    }

    fn area(&self) -> f64 {
        let Some((&origin, rest)) = self.points().split_first() else {
            return 0.0;
        };
        let triangles = rest.windows(2).map(|edge| side(origin, edge[0], edge[1]));
        triangles.sum::<f64>() / 2.0
    }
}

/// Positive if `point` is on the left of the line from `a` to `b`: twice the area between them.
fn side(a: Point, b: Point, point: Point) -> f64 {
    (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])
}

impl Rotated {
    /// A box by center, sides and angle. A positive angle turns the first axis towards the second.
    pub(crate) fn new([x, y, width, height, angle]: [f64; 5]) -> Self {
        let (sin, cos) = libm::sincos(angle);
        let corner = |w: f64, h: f64| [x + w * cos - h * sin, y + w * sin + h * cos];
        let (w, h) = (width / 2.0, height / 2.0);
        Self {
            center: [x, y],
            corners: [corner(-w, -h), corner(w, -h), corner(w, h), corner(-w, h)],
            area: width * height,
            reach: libm::hypot(w, h),
        }
    }

    /// The intersection over the union; boxes without area have none.
    pub(crate) fn iou(&self, other: &Self) -> f64 {
        let [dx, dy] = [
            self.center[0] - other.center[0],
            self.center[1] - other.center[1],
        ];
        let reach = self.reach + other.reach;
        let near = dx * dx + dy * dy < reach * reach;
        if !near || self.area <= 0.0 || other.area <= 0.0 {
            return 0.0;
        }
        let mut shared = Polygon::default();
        self.corners.iter().for_each(|&corner| shared.push(corner));
        for i in 0..4 {
            shared = shared.cut(other.corners[i], other.corners[(i + 1) % 4]);
        }
        let intersection = shared.area();
        intersection / (self.area + other.area - intersection)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    use proptest::prelude::*;

    use super::*;

    fn iou(a: [f64; 5], b: [f64; 5]) -> f64 {
        Rotated::new(a).iou(&Rotated::new(b))
    }

    #[test]
    fn known_areas() {
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        let unit = [0.0, 0.0, 2.0, 2.0, 0.0];
        close(iou(unit, unit), 1.0);
        close(iou(unit, [0.0, 0.0, 2.0, 2.0, FRAC_PI_2]), 1.0);
        // A square and the same turned by 45 degrees share an octagon.
        let octagon = 8.0 * (2f64.sqrt() - 1.0);
        close(
            iou(unit, [0.0, 0.0, 2.0, 2.0, FRAC_PI_4]),
            octagon / (8.0 - octagon),
        );
        close(
            iou([0.0, 0.0, 4.0, 2.0, 0.0], [0.0, 0.0, 4.0, 2.0, FRAC_PI_2]),
            4.0 / 12.0,
        );
        close(iou(unit, [0.0, 0.0, 1.0, 1.0, 0.3]), 0.25);
        close(iou(unit, [9.0, 0.0, 2.0, 2.0, 0.3]), 0.0);
        close(iou(unit, [2.0, 0.0, 2.0, 2.0, 0.0]), 0.0);
        close(iou(unit, [0.0, 0.0, 0.0, 2.0, 0.0]), 0.0);
        close(iou(unit, [f64::NAN; 5]), 0.0);
    }

    proptest! {
        /// As the share of points that lie in both boxes.
        #[test]
        fn like_counted_points(
            a in [-2.0f64..2.0, -2.0..2.0, 0.5..4.0, 0.5..4.0, -7.0..7.0],
            b in [-2.0f64..2.0, -2.0..2.0, 0.5..4.0, 0.5..4.0, -7.0..7.0],
        ) {
            let inside = |[x, y, w, h, angle]: [f64; 5], [px, py]: Point| {
                let (sin, cos) = angle.sin_cos();
                let (dx, dy) = (px - x, py - y);
                (dx * cos + dy * sin).abs() <= w / 2.0 && (dy * cos - dx * sin).abs() <= h / 2.0
            };
            let (mut both, mut either) = (0.0, 0.0);
            for i in 0..100 {
                for j in 0..100 {
                    let point = [f64::from(i) / 10.0 - 5.0, f64::from(j) / 10.0 - 5.0];
                    let (a, b) = (inside(a, point), inside(b, point));
                    both += f64::from(u8::from(a && b));
                    either += f64::from(u8::from(a || b));
                }
            }
            prop_assert!((iou(a, b) - both / f64::max(either, 1.0)).abs() < 0.15);
            prop_assert!((iou(a, b) - iou(b, a)).abs() < 1e-9);
        }
    }
}
