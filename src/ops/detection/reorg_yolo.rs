//! ReorgYolo-2: squares of points become channels.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/reorg-yolo-1.html>
//!
//! The document counts it as version 1. It leaves the order to the paper: the data is read as
//! `[N, C / stride², H, stride, W, stride]`, and both strides come first; so the channels must be
//! a multiple of `stride²`.

use serde::{Deserialize, Serialize};

use crate::kernel::{moving::move_elements, transpose::Transpose};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::Dimension;

/// Squares of points become channels.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct ReorgYolo {
    stride: Vec<usize>,
}

impl ReorgYolo {
    fn stride(&self) -> Result<usize, OpError> {
        match *self.stride.as_slice() {
            [stride, ref rest @ ..] if stride > 0 && rest.iter().all(|&other| other == stride) => {
                Ok(stride)
            }
            _ => bail!("stride is {:?}, expected one positive number", self.stride),
        }
    }
}

/// A size divided by a number that must divide it.
fn divided(size: Dimension, by: usize, what: &str) -> Result<Dimension, OpError> {
    if let Some(size) = size.value() {
        ensure!(
            size.is_multiple_of(by),
            "the {what} {size} is not a multiple of {by}"
        );
    }
    Ok(Dimension::range(
        size.min().div_ceil(by),
        size.max().map(|max| max / by),
    ))
}

impl Op for ReorgYolo {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        let stride = self.stride()?;
        let Some(square) = stride.checked_mul(stride) else {
            bail!("stride is {stride}, which is too large");
        };
        let [batch, channels, height, width] = data.dims("the data")?;
        divided(channels, square, "number of channels")?;
        let shape = [
            batch,
            channels * Dimension::fixed(square),
            divided(height, stride, "height")?,
            divided(width, stride, "width")?,
        ];
        Ok(Output::single(data.element_type, shape.as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        let stride = self.stride()?;
        let &[batch, channels, height, width] = &data.shape()[..] else {
            bail!("the data must be 4-D, got shape {}", data.shape());
        };
        if data.is_empty() {
            return Ok(());
        }
        let groups = channels / (stride * stride);
        let shape = [batch, groups, height, stride, width, stride];
        let transpose = Transpose::new(&shape, &[0, 3, 5, 1, 2, 4]);
        move_elements(&transpose, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_picked, counted, infer_dims, run, shape};
    use crate::tensor::ElementType;

    #[test]
    fn order_of_the_runtime() {
        for (dims, stride) in [
            ([2usize, 8, 4, 6], 2),
            ([1, 18, 3, 3], 3),
            ([1, 2, 3, 1], 1),
        ] {
            let data = counted(ElementType::F32, &dims);
            let op = ReorgYolo {
                stride: vec![stride],
            };
            let out = run(&op, std::slice::from_ref(&data)).expect("fits");
            let [n, c, h, w] = dims;
            let groups = c / stride / stride;
            let mut source = Vec::new();
            for (n, c) in (0..n).flat_map(|n| (0..c).map(move |c| (n, c))) {
                let (offset, group) = (c / groups, c % groups);
                for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
                    let (y, x) = (y * stride + offset / stride, x * stride + offset % stride);
                    source.push(((n * groups + group) * h * stride + y) * w * stride + x);
                }
            }
            assert_picked(&data, &source, &out);
        }
    }

    #[test]
    fn shapes() {
        let op = ReorgYolo { stride: vec![2] };
        let dims = |text: &str| infer_dims(&op, &[Input::new(ElementType::F32, &shape(text))]);
        assert_eq!(dims("1,64,26,26"), "[1,256,13,13]");
        assert_eq!(dims("?,?,3..9,..8"), "[?,?,2..4,..4]");
        assert_eq!(dims("..."), "[?,?,?,?]");
        for wrong in ["1,4,3,2", "1,4,2,3", "1,6,2,2", "4,4,4"] {
            let wrong = shape(wrong);
            assert!(op.infer(&[Input::new(ElementType::F32, &wrong)]).is_err());
        }
        for stride in [vec![], vec![0], vec![2, 3], vec![usize::MAX]] {
            let op = ReorgYolo { stride };
            assert!(
                op.infer(&[Input::new(ElementType::F32, &shape("..."))])
                    .is_err()
            );
        }
    }
}
