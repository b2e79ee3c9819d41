//! What the operations on anchors of a grid have in common: the shapes of their inputs.

use crate::op::{OpError, ensure, same_dimension};
use crate::tensor::Dimension;

/// By what a side of an anchor grows at most.
pub(super) const LARGEST_GROWTH: f64 = 1000.0 / 16.0;

/// Dimensions of inputs that belong together.
#[derive(Debug)]
pub(super) struct Anchors {
    /// Anchors in a cell.
    pub(super) channels: Dimension,
    /// Channels, height and width of the deltas.
    pub(super) deltas: [Dimension; 3],
    /// Height and width of the scores.
    pub(super) scores: [Dimension; 2],
    /// All anchors.
    pub(super) count: Dimension,
    /// Numbers of an anchor.
    pub(super) numbers: Dimension,
}

impl Anchors {
    /// # Errors
    /// When they do not belong together.
    pub(super) fn check(&self) -> Result<(), OpError> {
        let [delta_channels, delta_height, delta_width] = self.deltas;
        ensure!(
            self.numbers.contains(4),
            "an anchor must have 4 numbers, got {}",
            self.numbers
        );
        let four = Dimension::fixed(4);
        same_dimension(
            delta_channels,
            self.channels * four,
            "channels of deltas and four times those of scores",
        )?;
        let height = same_dimension(delta_height, self.scores[0], "heights of deltas and scores")?;
        let width = same_dimension(delta_width, self.scores[1], "widths of deltas and scores")?;
        let expected = height * width * self.channels;
        same_dimension(self.count, expected, "numbers of anchors and scores")?;
        Ok(())
    }
}
