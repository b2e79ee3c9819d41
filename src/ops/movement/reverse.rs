//! Reverse-1: the elements in reverse order along axes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/reverse-1.html>

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use crate::kernel::moving::move_elements;
use crate::kernel::remap::{Remap, Source, identity};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, bail, ensure, normalize_axes,
};
use crate::tensor::{ElementType, Few, PartialShape, Tensor, convert};

/// How the second input names axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// By their indices.
    #[default]
    Index,
    /// By a boolean for each axis.
    Mask,
}

/// The elements in reverse order along axes.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Reverse {
    mode: Mode,
}

impl Reverse {
    fn check_axes(&self, axes: &Input<'_>, rank: Option<usize>) -> Result<(), OpError> {
        axes.expect_1d("axis")?;
        let count = axes.shape.dims().map(|dims| dims[0]);
        if self.mode == Mode::Mask {
            ensure!(
                matches!(
                    axes.element_type,
                    ElementType::Boolean | ElementType::Dynamic
                ),
                "axis must be boolean in mode mask, got {}",
                axes.element_type
            );
            if let (Some(count), Some(rank)) = (count, rank) {
                ensure!(
                    count.contains(rank),
                    "axis has {count} elements in mode mask, the data {rank} axes"
                );
            }
            return Ok(());
        }
        axes.expect_integer("axis")?;
        if let (Some(count), Some(rank)) = (count, rank) {
            ensure!(
                count.min() <= rank,
                "axis has {count} elements, the data only {rank} axes"
            );
        }
        if let (Some(axes), Some(rank)) = (axes.ints(), rank) {
            normalize_axes(&axes, rank)?;
        }
        Ok(())
    }

    /// Whether each axis is reversed.
    fn mask(&self, axes: &Tensor, rank: usize) -> Result<Few<bool>, OpError> {
        if self.mode == Mode::Mask {
            return Ok(Few::from_slice(axes.as_slice()?));
        }
        let mut mask = Few::from_elem(false, rank);
        for axis in normalize_axes(&convert::try_i64(axes)?, rank)? {
            mask[axis] = true;
        }
        Ok(mask)
    }
}

impl Op for Reverse {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axes] = inputs else {
            bail!("expected 2 inputs (data, axis), got {}", inputs.len());
        };
        self.check_axes(axes, data.rank())?;
        let mut shape = data.shape.clone().into_owned();
        if let (Mode::Mask, None, Some(dims)) = (self.mode, data.rank(), axes.shape.dims()) {
            shape = dims[0]
                .value()
                .map_or(PartialShape::dynamic(), PartialShape::of_rank);
        }
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, axes] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let mask = self.mask(axes, data.shape().rank())?;
        let runs = data.shape().iter().zip(mask).map(|(&size, reversed)| {
            if reversed {
                smallvec![(Source::Backward(size.saturating_sub(1)), size)]
            } else {
                identity(size)
            }
        });
        move_elements(
            &Remap::new(data.shape(), runs.collect())?,
            &[data],
            io.outputs,
        )
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1 && self.mode == Mode::Index).then(|| allowed_axes(inputs.first()?.rank()))?
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

    #[test]
    fn modes() {
        let data = counted(ElementType::U8, &[2, 3]);
        let index_mode = Reverse::default();
        let reverse = |axes: &[i32]| {
            let out = run(&index_mode, &[data.clone(), Tensor::vector(axes)])?;
            Ok::<_, OpError>(out.as_slice::<u8>()?.to_vec())
        };
        assert_eq!(reverse(&[]), Ok(vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(reverse(&[0]), Ok(vec![4, 5, 6, 1, 2, 3]));
        assert_eq!(reverse(&[-1]), Ok(vec![3, 2, 1, 6, 5, 4]));
        assert_eq!(reverse(&[1, 1]), Ok(vec![3, 2, 1, 6, 5, 4]));
        assert!(reverse(&[2]).is_err());
        assert!(reverse(&[0, 1, 0]).is_err());
        let mask = Reverse { mode: Mode::Mask };
        let out = run(&mask, &[data.clone(), Tensor::vector(&[true, true])]).expect("fits");
        assert_eq!(out.as_slice::<u8>().expect("u8"), [6, 5, 4, 3, 2, 1]);
        assert!(run(&mask, &[data.clone(), Tensor::vector(&[true])]).is_err());
        assert!(run(&mask, &[data.clone(), Tensor::vector(&[1i64, 0])]).is_err());
        assert!(run(&index_mode, &[data, Tensor::vector(&[true])]).is_err());
        let (unknown, three) = (shape("..."), shape("3"));
        let inputs = [
            Input::new(ElementType::F32, &unknown),
            Input::new(ElementType::Boolean, &three),
        ];
        assert_eq!(infer_dims(&mask, &inputs), "[?,?,?]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn like_its_definition(
            dims in prop::collection::vec((0usize..4, any::<bool>()), 0..9),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            negative in any::<bool>(),
            by_mask in any::<bool>(),
            unknown in any::<u32>(),
        ) {
            let (shape, mask): (Vec<usize>, Vec<bool>) = dims.into_iter().unzip();
            prop_assume!(shape.iter().product::<usize>() < 3000);
            let axes: Vec<i64> = (0..shape.len())
                .filter(|&axis| mask[axis])
                .map(|axis| axis as i64 - if negative { shape.len() as i64 } else { 0 })
                .collect();
            let op = Reverse { mode: if by_mask { Mode::Mask } else { Mode::Index } };
            let axes = if by_mask { Tensor::vector(&mask) } else { Tensor::vector(&axes) };
            let inputs = [counted(ty, &shape), axes];
            let out = run(&op, &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|at| (0..shape.len()).map(|axis| {
                    strides[axis] * if mask[axis] { shape[axis] - 1 - at[axis] } else { at[axis] }
                }).sum())
                .collect();
            assert_picked(&inputs[0], &source, &out);
            prop_assert!(dynamic(&op, &inputs, unknown).contains(out.shape()));
        }
    }
}
