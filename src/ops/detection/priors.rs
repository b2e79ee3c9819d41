//! What PriorBox and PriorBoxClustered have in common: the grid and the output.

use rayon::prelude::*;

use crate::limits::Share;
use crate::op::{Input, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, ElementType, Tensor, ValueRange};

/// Rows of the grid from which several threads help, by elements.
const PART: usize = 1 << 16;

/// Checks that there are variances for all coordinates, for each, or none.
pub(super) fn check_variance(variance: &[f32]) -> Result<(), OpError> {
    ensure!(
        matches!(variance.len(), 0 | 1 | 4),
        "variance has {} numbers, expected 0, 1 or 4",
        variance.len()
    );
    Ok(())
}

/// The output `[2, 4 * height * width * each]` for the sizes of the grid and the image.
pub(super) fn infer_priors(inputs: &[Input<'_>], each: usize) -> Result<Outputs, OpError> {
    let [output_size, image_size] = inputs else {
        bail!(
            "expected 2 inputs (output_size, image_size), got {}",
            inputs.len()
        );
    };
    for (input, what) in [(output_size, "output_size"), (image_size, "image_size")] {
        input.expect_integer(what)?;
        let [count] = input.dims(what)?;
        ensure!(
            count.contains(2),
            "{what} must have 2 elements, got shape {}",
            input.shape
        );
    }
    let size = |range: ValueRange| {
        ensure!(range.max >= 0, "output_size holds {}", range.max);
        Ok(range.to_dimension())
    };
    let cells = match output_size.ranges().as_deref() {
        Some(&[height, width]) => size(height)? * size(width)?,
        _ => Dimension::dynamic(),
    };
    let length = Dimension::fixed(4) * cells * Dimension::fixed(each);
    let shape = [Dimension::fixed(2), length];
    Ok(Output::single(ElementType::F32, shape.as_slice()))
}

/// A grid over an image; widths come first here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priors {
    grid: [usize; 2],
    pub(super) image: [f32; 2],
}

impl Priors {
    /// Of the inputs `[height, width]` of the grid and of the image.
    #[allow(clippy::cast_precision_loss)] // no image is that large
    pub(super) fn of(inputs: &[&Tensor]) -> Result<Self, OpError> {
        let pair = |index: usize| -> Result<[i64; 2], OpError> {
            match Input::of(inputs[index]).ints().as_deref() {
                Some(&[height, width]) => Ok([width, height]),
                _ => bail!("input {index} must have 2 integers"),
            }
        };
        let size = |size: i64| usize::try_from(size).unwrap_or_default();
        Ok(Self {
            grid: pair(0)?.map(size),
            image: pair(1)?.map(|size| size as f32),
        })
    }

    /// The width and height of a cell in the image.
    #[allow(clippy::cast_precision_loss)] // no grid is that large
    pub(super) fn cell(&self) -> [f32; 2] {
        let [width, height] = self.grid.map(|size| size as f32);
        [self.image[0] / width, self.image[1] / height]
    }

    /// Writes the boxes of each cell by `f`, which is given its column and row, and the variances.
    #[allow(clippy::cast_precision_loss)] // no grid is that large
    pub(super) fn fill(
        &self,
        output: &mut Tensor,
        variance: &[f32],
        f: impl Fn([f32; 2], &mut [f32]) + Sync,
    ) -> Result<(), OpError> {
        let &[_, length] = &output.shape()[..] else {
            return Err(OpError::limit("the grid has too many boxes"));
        };
        let (boxes, variances) = output.as_mut_slice::<f32>()?.split_at_mut(length);
        let [width, height] = self.grid;
        if boxes.is_empty() {
            return Ok(());
        }
        let each = length / width / height;
        let row = |(y, row): (usize, &mut [f32])| {
            for (x, out) in row.chunks_exact_mut(each).enumerate() {
                f([x as f32, y as f32], out);
            }
        };
        if length >= PART {
            let rows = boxes.par_chunks_exact_mut(each * width);
            rows.enumerate().share(row);
        } else {
            boxes
                .chunks_exact_mut(each * width)
                .enumerate()
                .for_each(row);
        }
        match *variance {
            [] => variances.fill(0.1),
            [one] => variances.fill(one),
            _ => {
                for four in variances.chunks_exact_mut(4) {
                    four.copy_from_slice(variance);
                }
            }
        }
        Ok(())
    }
}
