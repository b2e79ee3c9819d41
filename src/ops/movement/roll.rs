//! Roll-7: the elements shifted along axes; what leaves at one end comes in at the other.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/roll-7.html>

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use crate::kernel::moving::move_elements;
use crate::kernel::remap::{Remap, Runs, Source};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, bail, ensure, normalize_axis,
};
use crate::tensor::{Few, convert};

/// The elements shifted along axes.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Roll {}

/// How far each axis is shifted, less than its size.
fn shifts(shape: &[usize], shift: &[i64], axes: &[i64]) -> Result<Few<usize>, OpError> {
    let mut total = Few::from_elem(0usize, shape.len());
    for (i, &axis) in axes.iter().enumerate() {
        let axis = normalize_axis(axis, shape.len())?;
        let Some(&shift) = shift.get(if shift.len() == 1 { 0 } else { i }) else {
            bail!("expected one shift, or {}, got {}", axes.len(), shift.len());
        };
        if shape[axis] > 0 {
            let size = shape[axis] as i128;
            let sum = total[axis] as i128 + i128::from(shift);
            total[axis] = usize::try_from(sum.rem_euclid(size)).unwrap_or(0);
        }
    }
    Ok(total)
}

impl Op for Roll {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, shift, axes] = inputs else {
            bail!(
                "expected 3 inputs (data, shift, axes), got {}",
                inputs.len()
            );
        };
        for (input, name) in [(shift, "shift"), (axes, "axes")] {
            input.expect_integer(name)?;
            input.expect_at_most_1d(name)?;
        }
        let (shifts, count) = (shift.shape.elements(), axes.shape.elements());
        ensure!(
            shifts.contains(1) || shifts.compatible(count),
            "shift has {shifts} elements, axes {count}, expected as many or one"
        );
        if let (Some(axes), Some(rank)) = (axes.ints(), data.rank()) {
            for axis in axes {
                normalize_axis(axis, rank)?;
            }
        }
        let shape = data.shape.clone().into_owned();
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, shift, axes] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let (shift, axes) = (convert::try_i64(shift)?, convert::try_i64(axes)?);
        let shifts = shifts(data.shape(), &shift, &axes)?;
        let runs = data
            .shape()
            .iter()
            .zip(shifts)
            .map(|(&size, shift)| -> Runs {
                let kept = size - shift;
                match shift {
                    0 => smallvec![(Source::Forward(0), size)],
                    _ => smallvec![(Source::Forward(kept), shift), (Source::Forward(0), kept)],
                }
            });
        move_elements(
            &Remap::new(data.shape(), runs.collect())?,
            &[data],
            io.outputs,
        )
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 2).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, dynamic, index, run};
    use crate::tensor::{ElementType, Tensor};

    #[test]
    fn shifts_and_axes() {
        let data = counted(ElementType::U8, &[2, 3]);
        let roll = |shift: Tensor, axes: Tensor| {
            let out = run(&Roll {}, &[data.clone(), shift, axes])?;
            Ok::<_, OpError>(out.as_slice::<u8>()?.to_vec())
        };
        let both = Tensor::vector(&[0i64, -1]);
        let moved = Ok(vec![6, 4, 5, 3, 1, 2]);
        assert_eq!(roll(Tensor::scalar(1i32), both.clone()), moved);
        assert_eq!(roll(Tensor::vector(&[1i64]), both.clone()), moved);
        assert_eq!(roll(Tensor::vector(&[1i64, -2]), both.clone()), moved);
        let far = Tensor::vector(&[i64::MAX, i64::MIN]);
        assert_eq!(roll(far, both.clone()), Ok(vec![6, 4, 5, 3, 1, 2]));
        assert_eq!(
            roll(Tensor::scalar(4i64), Tensor::scalar(1i64)),
            Ok(vec![3, 1, 2, 6, 4, 5])
        );
        assert!(roll(Tensor::vector(&[1i64, 1, 1]), both).is_err());
        assert!(roll(Tensor::scalar(1i64), Tensor::scalar(2i64)).is_err());
        assert!(roll(Tensor::vector(&[1i64, 1]), Tensor::scalar(0i64)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(0usize..4, 0..9),
            rolls in prop::collection::vec((-9i64..9, 0usize..8, any::<bool>()), 0..5),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            unknown in any::<u32>(),
        ) {
            prop_assume!(dims.iter().product::<usize>() < 3000);
            let rank = dims.len();
            let rolls: Vec<_> = rolls.into_iter().filter(|&(_, axis, _)| axis < rank).collect();
            let shift: Vec<i64> = rolls.iter().map(|r| r.0).collect();
            let axes: Vec<i64> = rolls
                .iter()
                .map(|&(_, axis, negative)| axis as i64 - if negative { rank as i64 } else { 0 })
                .collect();
            let inputs = [counted(ty, &dims), Tensor::vector(&shift), Tensor::vector(&axes)];
            let out = run(&Roll {}, &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|mut at| {
                    for &(shift, axis, _) in &rolls {
                        let size = dims[axis] as i64;
                        at[axis] = (at[axis] as i64 - shift).rem_euclid(size) as usize;
                    }
                    at.iter().zip(&strides).map(|(i, stride)| i * stride).sum()
                })
                .collect();
            assert_picked(&inputs[0], &source, &out);
            let known = dynamic(&Roll {}, &inputs, unknown).contains(out.shape());
            prop_assert!(known);
        }
    }
}
