//! What the poolings with a window of given size share.

use crate::kernel::window;
use crate::op::{Input, OpError, Output, bail, ensure};
use crate::ops::window::{Rounding, Slide, Sliding, numbers, spatial_rank};
use crate::tensor::{Dimension, Few, PartialShape, Shape};

/// Refuses the rounding of PyTorch, which older versions do not have.
pub(super) fn no_torch(rounding: Rounding) -> Result<(), OpError> {
    ensure!(
        rounding != Rounding::CeilTorch,
        "rounding_type is ceil_torch, expected floor or ceil"
    );
    Ok(())
}

/// A pooling with a window of given size.
pub(super) trait Window {
    /// The size of the window.
    fn kernel(&self) -> &[i64];

    /// How it slides.
    fn sliding(&self) -> Sliding<'_>;

    /// The axes it slides along, with its size on each.
    fn slides(&self, rank: usize) -> Result<Few<(Slide, usize)>, OpError> {
        let kernel = numbers("kernel", self.kernel(), rank, 1)?;
        let slides = self.sliding().axes(rank)?.into_iter();
        // None is larger than a size may be.
        let kernel = kernel.into_iter().map(|k| usize::try_from(k).unwrap_or(0));
        Ok(slides.zip(kernel).collect())
    }

    /// Type and shape of the first output.
    fn infer_window(&self, inputs: &[Input<'_>]) -> Result<Output, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "data must be numbers, got {ty}"
        );
        ensure!(!self.kernel().is_empty(), "attribute `kernel` is missing");
        let given = [("kernel", Some(self.kernel().len()))];
        let Some(rank) = spatial_rank(&data.shape, &given)? else {
            return Ok(Output::new(ty, PartialShape::dynamic()));
        };
        let dim = |axis: usize| {
            let dims = data.shape.dims();
            dims.map_or(Dimension::dynamic(), |dims| dims[axis])
        };
        let mut dims = vec![dim(0), dim(1)];
        for (axis, (slide, kernel)) in self.slides(rank)?.into_iter().enumerate() {
            dims.push(slide.infer(dim(2 + axis), Dimension::fixed(kernel))?);
        }
        Ok(Output::new(ty, dims.into_iter().collect::<PartialShape>()))
    }

    /// The windows of a pooling whose output was inferred, and whether anything is padded.
    fn window(&self, data: &Shape, out: &Shape) -> Result<(window::Window, bool), OpError> {
        let mut axes: Few<_> = Few::new();
        let mut padded = false;
        let slides = self.slides(data.rank().saturating_sub(2))?;
        for (axis, (slide, kernel)) in slides.into_iter().enumerate() {
            let size = data[2 + axis];
            axes.push(slide.resolve(size, kernel, out[2 + axis]));
            padded |= slide.is_padded(size, kernel);
        }
        Ok((window::Window::new(&axes), padded))
    }
}
