//! Split-1: the data cut along an axis into parts of one size.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/split-1.html>

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::kernel::moving::move_elements;
use crate::kernel::strided::{Cut, View, Views};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, any_axis, axis_of, bail, ensure,
    normalize_axis,
};
use crate::tensor::{Dimension, Few, PartialShape, Tensor};

/// An output takes memory even where it is empty.
const MOST_PARTS: usize = 1 << 16;

/// The data in parts of one size.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Split {
    num_splits: i64,
}

impl Split {
    fn parts(&self) -> Result<usize, OpError> {
        match usize::try_from(self.num_splits) {
            Ok(parts) if (1..=MOST_PARTS).contains(&parts) => Ok(parts),
            Ok(parts) if parts > MOST_PARTS => Err(OpError::limit(format!(
                "num_splits is {parts}, expected at most {MOST_PARTS}"
            ))),
            _ => bail!("num_splits is {}, expected at least 1", self.num_splits),
        }
    }
}

/// One part of `parts` of an axis.
fn part(data: &[Dimension], axis: usize, parts: usize) -> Result<Vec<Dimension>, OpError> {
    let size = data[axis];
    let (least, most) = (
        size.min().div_ceil(parts),
        size.max().map(|max| max / parts),
    );
    ensure!(
        most.is_none_or(|most| least <= most),
        "axis {axis} of size {size} cannot be split into {parts} equal parts"
    );
    let mut dims = data.to_vec();
    if parts > 1 {
        dims[axis] = Dimension::range(least, most);
    }
    Ok(dims)
}

/// Cuts the data along an axis into the outputs, side by side.
pub(super) fn split_along(
    data: &Tensor,
    axis: usize,
    outputs: &mut [Tensor],
) -> Result<(), OpError> {
    let shape = data.shape();
    let mut first = 0;
    let view = |output: &Tensor| {
        let mut cuts: Few<Cut> = shape.iter().map(|&size| Cut::whole(size)).collect();
        let len = output.shape()[axis];
        cuts[axis] = Cut {
            first,
            len,
            ..cuts[axis]
        };
        first += len;
        View::new(shape, &cuts)
    };
    let views = outputs.iter().map(view).collect();
    move_elements(&Views(views), &[data], outputs)
}

/// Where each output begins in the data, if each is a piece of it.
pub(super) fn pieces_along(
    data: &Tensor,
    axis: &Tensor,
    outputs: &[Output],
) -> Option<SmallVec<[usize; 4]>> {
    let shape = data.shape();
    let axis = axis_of(axis, shape.rank()).ok()?;
    let whole = shape[..axis].iter().all(|&size| size == 1);
    let mut next = 0usize;
    let mut start = |output: &Output| {
        let start = next;
        next = next.checked_add(output.shape.to_shape()?.elements()?)?;
        Some(start)
    };
    whole.then(|| outputs.iter().map(&mut start).collect())?
}

impl Op for Split {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axis] = inputs else {
            bail!("expected 2 inputs (data, axis), got {}", inputs.len());
        };
        let axis = axis.int_scalar("axis")?;
        let parts = self.parts()?;
        let shape = match (data.shape.dims(), axis) {
            (Some(dims), Some(axis)) => {
                let axis = normalize_axis(axis, dims.len())?;
                part(dims, axis, parts)?.into_iter().collect()
            }
            (Some(dims), None) => any_axis(dims, |axis| part(dims, axis, parts))?,
            (None, _) => PartialShape::dynamic(),
        };
        Ok(smallvec::smallvec![Output::new(data.element_type, shape); parts])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, axis] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let axis = axis_of(axis, data.shape().rank())?;
        split_along(data, axis, io.outputs)
    }

    fn pieces(&self, inputs: &[&Tensor], outputs: &[Output]) -> Option<SmallVec<[usize; 4]>> {
        pieces_along(inputs.first()?, inputs.get(1)?, outputs)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, index, infer_dims, run_all, shape};
    use crate::tensor::ElementType;

    fn split(num_splits: i64, dims: &[usize], axis: i64) -> Result<Vec<Tensor>, OpError> {
        let inputs = [counted(ElementType::I32, dims), Tensor::scalar(axis)];
        run_all(&Split { num_splits }, &inputs)
    }

    #[test]
    fn document_example() {
        let parts = split(3, &[6, 12, 10, 24], 1).expect("fits");
        let shapes: Vec<String> = parts.iter().map(|t| t.shape().to_string()).collect();
        assert_eq!(shapes, ["[6,4,10,24]"; 3]);
    }

    #[test]
    fn mistakes() {
        for (num_splits, dims, axis) in [
            (3, &[4usize][..], 0),
            (5, &[4], 0),
            (0, &[4], 0),
            (-1, &[4], 0),
            (2, &[4], 1),
            (1, &[], 0),
        ] {
            assert!(
                split(num_splits, dims, axis).is_err(),
                "{num_splits} of {dims:?}"
            );
        }
        assert_eq!(split(2, &[0, 3], 0).expect("fits").len(), 2);
    }

    #[test]
    fn unknown_sizes_and_axes() {
        let infer = |num_splits, data: &str, axis: Option<i64>| {
            let (data, one) = (shape(data), shape("1"));
            let value = axis.map(Tensor::scalar);
            let axis = value
                .as_ref()
                .map_or(Input::new(ElementType::I64, &one), Input::of);
            infer_dims(
                &Split { num_splits },
                &[Input::new(ElementType::F32, &data), axis],
            )
        };
        assert_eq!(infer(3, "4..10,?", Some(0)), "[2..3,?]");
        assert_eq!(infer(2, "4,?", Some(-1)), "[4,?]");
        assert_eq!(infer(2, "4,7,8..9", None), "[2..4,7,4..9]");
        assert_eq!(infer(2, "...", None), "[...]");
        let (data, axis) = (shape("3..5"), Tensor::scalar(0i64));
        let inputs = [Input::new(ElementType::F32, &data), Input::of(&axis)];
        assert!(Split { num_splits: 7 }.infer(&inputs).is_err());
    }

    proptest! {
        #[test]
        fn like_its_definition(
            mut dims in prop::collection::vec(0usize..4, 1..5),
            axis in 0usize..4,
            parts in 1usize..4,
            ty in prop::sample::select(ElementType::ALL.to_vec()),
        ) {
            let axis = axis % dims.len();
            let size = dims[axis];
            dims[axis] *= parts;
            let inputs = [counted(ty, &dims), Tensor::scalar(axis as i64 - dims.len() as i64)];
            let out = run_all(&Split { num_splits: parts as i64 }, &inputs).expect("fits");
            prop_assert_eq!(out.len(), parts);
            let strides = inputs[0].shape().strides();
            for (i, out) in out.iter().enumerate() {
                let source: Vec<usize> = index(out.shape())
                    .map(|mut at| {
                        at[axis] += i * size;
                        at.iter().zip(&strides).map(|(i, s)| i * s).sum()
                    })
                    .collect();
                assert_picked(&inputs[0], &source, out);
            }
        }
    }
}
