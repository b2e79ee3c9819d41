//! Col2Im-15: blocks of an image put together, and added up where they overlap.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/col2im-15.html>
//!
//! `output_size` and `kernel_size`, attributes in the document, are inputs in files, and what it calls
//! `stride` and `dilation` files call `strides` and `dilations`. Data without a batch has two
//! dimensions, as in the runtime.

use serde::{Deserialize, Serialize};

use super::blocks::{Span, cut};
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::patches::put_back;
use crate::kernel::window::Axis;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::convert::{Compute, convert, narrow};
use crate::tensor::{Dimension, PartialShape, Tensor, ValueRange};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Col2Im {
    #[serde(alias = "stride")]
    strides: Vec<i64>,
    #[serde(alias = "dilation")]
    dilations: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
}

impl Default for Col2Im {
    fn default() -> Self {
        Self {
            strides: vec![1; 2],
            dilations: vec![1; 2],
            pads_begin: vec![0; 2],
            pads_end: vec![0; 2],
        }
    }
}

/// Two numbers, each at least `least`.
fn two(values: &[i64], name: &str, least: i64) -> Result<[usize; 2], OpError> {
    let good = values.iter().filter(|&&x| x >= least);
    let sizes: Vec<usize> = good.filter_map(|&x| usize::try_from(x).ok()).collect();
    match (&sizes[..], values.len()) {
        (&[a, b], 2) => Ok([a, b]),
        _ => bail!("{name} is {values:?}, expected two numbers of at least {least}"),
    }
}

/// What is known of an input of two sizes.
fn sizes(input: &Input<'_>, name: &str, least: i64) -> Result<[Dimension; 2], OpError> {
    if let Some(count) = input.rank_given(name)? {
        ensure!(count == 2, "{name} has {count} elements, expected 2");
    }
    let ranges = input.ranges();
    let ranges = ranges.as_deref().unwrap_or(&[ValueRange::UNKNOWN; 2]);
    let &[a, b] = ranges else {
        bail!("{name} has {} elements, expected 2", ranges.len());
    };
    for range in [a, b] {
        ensure!(
            range.max >= least,
            "{name} has {}, expected at least {least}",
            range.max
        );
    }
    Ok([a, b].map(|range| {
        let min = range.min.max(least);
        ValueRange { min, ..range }.to_dimension()
    }))
}

impl Col2Im {
    /// How blocks of `kernel` elements lie in an image.
    fn windows(&self, image: [usize; 2], kernel: [usize; 2]) -> Result<[Axis; 2], OpError> {
        let strides = two(&self.strides, "strides", 1)?;
        let dilations = two(&self.dilations, "dilations", 1)?;
        let begin = two(&self.pads_begin, "pads_begin", 0)?;
        let end = two(&self.pads_end, "pads_end", 0)?;
        let windows = |axis: usize| -> Option<Axis> {
            let padded = image[axis]
                .checked_add(begin[axis])?
                .checked_add(end[axis])?;
            let reach = dilations[axis]
                .checked_mul(kernel[axis] - 1)?
                .checked_add(1)?;
            let steps = padded
                .checked_sub(reach)
                .map(|rest| rest / strides[axis] + 1);
            Some(Axis {
                input: image[axis],
                output: steps.unwrap_or(0),
                kernel: kernel[axis],
                stride: strides[axis],
                dilation: dilations[axis],
                pad: begin[axis],
            })
        };
        match (windows(0), windows(1)) {
            (Some(rows), Some(columns)) => Ok([rows, columns]),
            _ => bail!("the attributes are too large"),
        }
    }

    fn check_blocks(
        &self,
        blocks: Dimension,
        image: [Dimension; 2],
        kernel: [Dimension; 2],
    ) -> Result<(), OpError> {
        let both = |[a, b]: [Dimension; 2]| Some([a.value()?, b.value()?]);
        let sizes = both(image).zip(both(kernel));
        let windows = match sizes {
            Some((image, kernel)) => self.windows(image, kernel)?,
            None => return self.windows([1, 1], [1, 1]).map(|_| ()),
        };
        let count = windows[0].output.saturating_mul(windows[1].output);
        ensure!(
            blocks.contains(count),
            "data has {blocks} blocks, but {} x {} of them make up the image",
            windows[0].output,
            windows[1].output
        );
        Ok(())
    }
}

impl Op for Col2Im {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, size, kernel] = inputs else {
            bail!(
                "expected 3 inputs (data, output_size, kernel_size), got {}",
                inputs.len()
            );
        };
        let ty = data.element_type;
        ensure!(
            lane(ty).is_some() || !ty.is_static(),
            "elements of {ty} cannot be added"
        );
        let image = sizes(size, "output_size", 0)?;
        let kernel = sizes(kernel, "kernel_size", 1)?;
        let (batch, depth, blocks) = match data.shape.dims() {
            Some(&[batch, depth, blocks]) => (Some(batch), depth, blocks),
            Some(&[depth, blocks]) => (None, depth, blocks),
            Some(_) => bail!("data must have 2 or 3 dimensions, got shape {}", data.shape),
            None => {
                self.windows([1, 1], [1, 1])?;
                return Ok(Output::single(ty, PartialShape::dynamic()));
            }
        };
        self.check_blocks(blocks, image, kernel)?;
        let elements = Span::of(kernel[0]).multiply(Span::of(kernel[1]));
        let channels = cut(data.shape.rank().unwrap_or(2) - 2, depth, elements)?;
        let shape = batch.into_iter().chain([channels]).chain(image);
        Ok(Output::single(ty, shape.collect::<PartialShape>()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let read = |index: usize, name| {
            let values = Input::of(io.inputs[index]).ints().unwrap_or_default();
            two(&values, name, 0)
        };
        let windows = self.windows(read(1, "output_size")?, read(2, "kernel_size")?)?;
        match lane(data.element_type()) {
            Some(Lane::F32) => sum(windows, data, out, |a: f32, b| a + b),
            Some(Lane::F64) => sum(windows, data, out, |a: f64, b| a + b),
            Some(Lane::I32) => sum(windows, data, out, i32::wrapping_add),
            Some(Lane::I64) => sum(windows, data, out, i64::wrapping_add),
            Some(Lane::U64) => sum(windows, data, out, u64::wrapping_add),
            None => Ok(()),
        }
    }
}

/// Adds up in the type that `add` takes.
fn sum<T: Compute>(
    windows: [Axis; 2],
    data: &Tensor,
    out: &mut Tensor,
    add: impl Fn(T, T) -> T + Sync,
) -> Result<(), OpError> {
    let data = convert(data, T::TYPE)?;
    if let Some(out) = T::native_mut(out.element_type(), out.bytes_mut()) {
        put_back(windows, data.as_slice::<T>()?, out, add);
        return Ok(());
    }
    let mut wide = Tensor::zeros(T::TYPE, out.shape().clone())?;
    put_back(windows, data.as_slice::<T>()?, wide.as_mut_slice()?, add);
    narrow(wide.as_slice::<T>()?, out, 0);
    Ok(())
}

#[cfg(test)]
#[path = "col2im_tests.rs"]
mod tests;
