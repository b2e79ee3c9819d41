//! Tile-1: the data repeated along its axes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/tile-1.html>

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use crate::kernel::broadcast::Broadcast;
use crate::kernel::moving::move_elements;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail};
use crate::tensor::{Dimension, Few, PartialShape, ValueRange};

/// The data repeated.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Tile {}

/// How often each axis is repeated, if it is known for how many.
fn read(repeats: &Input<'_>) -> Result<Option<Vec<Dimension>>, OpError> {
    repeats.expect_integer("repeats")?;
    repeats.expect_at_most_1d("repeats")?;
    let count = match repeats.rank() {
        Some(0) => Some(1),
        _ => repeats.rank_given("repeats")?,
    };
    let ranges = match (repeats.few_ranges(), count) {
        (Some(ranges), _) => ranges,
        (None, Some(count)) => smallvec![ValueRange::UNKNOWN; count],
        (None, None) => return Ok(None),
    };
    let negative = ranges.iter().enumerate().find(|(_, range)| range.max < 0);
    if let Some((i, range)) = negative {
        bail!(
            "element {i} of repeats is {}, expected 0 or more",
            range.max
        );
    }
    Ok(Some(
        ranges.into_iter().map(ValueRange::to_dimension).collect(),
    ))
}

/// The list with ones before it, so that it has a length of `rank`.
fn aligned<T: Clone + From<usize>>(list: &[T], rank: usize) -> Few<T> {
    let mut all: Few<T> = smallvec![T::from(1); rank - list.len()];
    all.extend(list.iter().cloned());
    all
}

fn repeated(dim: Dimension, times: Dimension) -> Result<Dimension, OpError> {
    let size = dim * times;
    if size.is_too_large() {
        return Err(OpError::limit(format!(
            "an axis of size {dim} cannot be repeated {times} times: the size is too large"
        )));
    }
    Ok(size)
}

impl Op for Tile {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, repeats] = inputs else {
            bail!("expected 2 inputs (data, repeats), got {}", inputs.len());
        };
        let shape = match (data.shape.dims(), read(repeats)?) {
            (Some(dims), Some(repeats)) => {
                let rank = dims.len().max(repeats.len());
                let dims = aligned(dims, rank).into_iter();
                dims.zip(aligned(&repeats, rank))
                    .map(|(dim, n)| repeated(dim, n))
                    .collect::<Result<_, _>>()?
            }
            _ => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, _] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let out = io.outputs[0].shape();
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        // Every axis as two: the repetitions, which the data has not, and its own.
        let dims = aligned(data.shape(), out.rank());
        let target: SmallVec<[usize; 16]> = dims
            .iter()
            .zip(out)
            .flat_map(|(&dim, &size)| [size / dim, dim])
            .collect();
        let from: SmallVec<[usize; 16]> = dims.iter().flat_map(|&dim| [1, dim]).collect();
        move_elements(&Broadcast::new(&from, &target), &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    fn tile(dims: &[usize], repeats: &[i64]) -> Result<String, OpError> {
        let inputs = [counted(ElementType::F32, dims), Tensor::vector(repeats)];
        Ok(run(&Tile {}, &inputs)?.shape().to_string())
    }

    #[test]
    fn document_examples() {
        for (dims, repeats, expected) in [
            (&[2usize, 3][..], &[2i64, 2, 2][..], "[2,4,6]"),
            (&[4, 2, 3], &[2, 2], "[4,4,6]"),
            (&[2, 3, 4], &[1, 2, 3], "[2,6,12]"),
            (&[2, 3, 4], &[5, 1, 2, 3], "[5,2,6,12]"),
            (&[5, 2, 3, 4], &[1, 2, 3], "[5,2,6,12]"),
            (&[4], &[0], "[0]"),
            (&[4], &[], "[4]"),
            (&[], &[3], "[3]"),
        ] {
            assert_eq!(tile(dims, repeats).as_deref(), Ok(expected));
        }
        let error = tile(&[4, 4], &[1, -1]).expect_err("negative").message;
        assert_eq!(error, "element 1 of repeats is -1, expected 0 or more");
        assert!(tile(&[1 << 20, 0], &[1 << 62, 1]).is_err());
    }

    #[test]
    fn what_is_known_of_unknown_repeats() {
        let (data, two, four) = (shape("2..3,?"), shape("2"), shape("4"));
        let f32 = Input::new(ElementType::F32, &data);
        let known = |min, max| ValueRange {
            min,
            max,
            symbol: None,
        };
        let ranges = [known(2, 4), known(1, 1)];
        let repeats = Input {
            ranges: Some(&ranges),
            ..Input::new(ElementType::I64, &two)
        };
        assert_eq!(infer_dims(&Tile {}, &[f32.clone(), repeats]), "[4..12,?]");
        let repeats = Input::new(ElementType::I64, &four);
        assert_eq!(infer_dims(&Tile {}, &[f32.clone(), repeats]), "[?,?,?,?]");
        let some = shape("?");
        let repeats = Input::new(ElementType::I64, &some);
        assert_eq!(infer_dims(&Tile {}, &[f32, repeats]), "[...]");
    }

    proptest! {
        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(0usize..4, 0..5),
            repeats in prop::collection::vec(0i64..4, 0..5),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let inputs = [counted(ty, &dims), Tensor::vector(&repeats)];
            let out = run(&Tile {}, &inputs).expect("fits");
            prop_assume!(out.len() < 20_000);
            let strides = inputs[0].shape().strides();
            let more = out.shape().rank() - dims.len();
            let source: Vec<usize> = index(out.shape())
                .map(|at| (0..dims.len()).map(|i| at[more + i] % dims[i] * strides[i]).sum())
                .collect();
            assert_picked(&inputs[0], &source, &out);
            let known = dynamic(&Tile {}, &inputs, mask).contains(out.shape());
            prop_assert!(known);
        }
    }
}
