//! How large boxes are, and where the lines in them stand.

use super::panel::{Vertex, What};
use super::text;

/// The font size of titles.
const TYPE_SIZE: f64 = 12.5;
/// The font size of other lines.
pub(super) const LINE_SIZE: f64 = 10.5;
/// Between the lines of a layer.
const LEADING: f64 = 14.0;
/// How far the sheets of a block stand out behind each other.
pub(super) const SHEET: f64 = 4.0;

/// Width and height of a box.
pub(super) fn size(vertex: &Vertex) -> (f64, f64) {
    let outside = vertex.what == What::Outside;
    let width = vertex.lines.iter().enumerate().map(|(index, line)| {
        let title = index == 0 && !outside;
        text::width(line, if title { TYPE_SIZE } else { LINE_SIZE }, title)
    });
    let width = width.fold(56.0, f64::max);
    #[allow(clippy::cast_precision_loss)]
    let lines = vertex.lines.len() as f64;
    let (pad_x, pad_y) = if outside { (16.0, 8.0) } else { (18.0, 12.0) };
    let sheets = if matches!(vertex.what, What::Block(_)) {
        2.0 * SHEET
    } else {
        0.0
    };
    let width = (width + pad_x).ceil() + sheets;
    (width, (lines * LEADING + pad_y).ceil() + sheets)
}

/// The baselines of the lines of a box whose upper edge is at `top`.
pub(super) fn baselines(top: f64, height: f64, lines: usize) -> impl Iterator<Item = f64> {
    #[allow(clippy::cast_precision_loss)]
    let text = lines as f64 * LEADING;
    let first = top + (height - text) / 2.0 + 10.5;
    #[allow(clippy::cast_precision_loss)]
    (0..lines).map(move |line| first + line as f64 * LEADING)
}
