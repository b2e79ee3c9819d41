//! ScatterUpdate-3: slices of the data along an axis replaced by the updates.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/scatter-update-3.html>
//!
//! Negative indices are out of range, which is an error. Of several updates for one place the
//! last stays.

use serde::{Deserialize, Serialize};

use super::indices::{allowed_in, out_of_range};
use crate::kernel::moving::move_elements;
use crate::kernel::scatter_slices::ScatterSlices;
use crate::kernel::tuples::Tuples;
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, axis_of, bail, ensure,
    merge_types, normalize_axis,
};
use crate::tensor::{Dimension, PartialShape};

/// Slices replaced along an axis.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct ScatterUpdate {}

/// Checks that the updates have the data's shape with that of the indices in place of the axis.
fn check_updates(
    data: &[Dimension],
    indices: &PartialShape,
    updates: &PartialShape,
    axis: Option<i64>,
) -> Result<(), OpError> {
    ensure!(!data.is_empty(), "the data is a scalar, which has no axis");
    let Some(indices) = indices.dims() else {
        return Ok(());
    };
    let expected: PartialShape = match axis {
        None => PartialShape::of_rank(data.len() - 1 + indices.len()),
        Some(axis) => {
            let axis = normalize_axis(axis, data.len())?;
            let dims = [&data[..axis], indices, &data[axis + 1..]].concat();
            dims.into_iter().collect()
        }
    };
    ensure!(
        expected.compatible(updates),
        "updates have shape {updates}, expected {expected}"
    );
    Ok(())
}

impl Op for ScatterUpdate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices, updates, axis] = inputs else {
            bail!(
                "expected 4 inputs (data, indices, updates, axis), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        let axis = axis.int_scalar("axis")?;
        let ty = merge_types(&[data.clone(), updates.clone()])?;
        if let Some(dims) = data.shape.dims() {
            check_updates(dims, &indices.shape, &updates.shape, axis)?;
            return Ok(Output::single(ty, data.shape.clone().into_owned()));
        }
        let shape = match (indices.rank(), updates.rank()) {
            (Some(indices), Some(updates)) => {
                ensure!(
                    updates >= indices,
                    "updates have rank {updates}, expected at least that of indices, {indices}"
                );
                PartialShape::of_rank(updates - indices + 1)
            }
            _ => PartialShape::dynamic(),
        };
        Ok(Output::single(ty, shape))
    }

    fn infers_from(&self, index: usize) -> bool {
        index == 3
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices, updates, axis] = io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        let shape = data.shape();
        let axis = axis_of(axis, shape.rank())?;
        let tuples = Tuples::new(indices, &shape[axis..=axis], false);
        let slice = shape[axis + 1..].iter().product::<usize>();
        let slab = shape[axis] * slice;
        let scatter = ScatterSlices::new(&tuples, indices.len(), slice, slab)?;
        if let Some(bad) = scatter.outside() {
            return Err(out_of_range(indices, bad, axis, shape[axis], false));
        }
        move_elements(&scatter, &[data, updates], io.outputs)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let dims = inputs.first()?.shape.dims()?;
        match index {
            1 => {
                let axis = *inputs.get(3)?.ints()?.first()?;
                let axis = normalize_axis(axis, dims.len()).ok()?;
                allowed_in(&dims[axis..=axis], false)
            }
            3 => allowed_axes(Some(dims.len())),
            _ => None,
        }
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0, 2])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, dynamic, elements, index, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    fn scatter(
        data: &[f32],
        indices: Tensor,
        updates: (&[usize], &[f32]),
    ) -> Result<Vec<f32>, OpError> {
        let inputs = [
            Tensor::new([3, data.len() / 3], data).expect("its length"),
            indices,
            Tensor::new(updates.0, updates.1).expect("its length"),
            Tensor::vector(&[1i32]),
        ];
        Ok(run(&ScatterUpdate {}, &inputs)?.as_slice::<f32>()?.to_vec())
    }

    #[test]
    fn document_examples() {
        let data = [
            -1., 1., -1., 3., 4., -1., 6., -1., 8., 9., -1., 11., 1., 13., 14.,
        ];
        let updates = (&[3usize, 2][..], &[1f32, 1., 1., 1., 1., 2.][..]);
        let out = scatter(&data, Tensor::vector(&[0i64, 2]), updates).expect("fits");
        let expected = [
            1., 1., 1., 3., 4., 1., 6., 1., 8., 9., 1., 11., 2., 13., 14.,
        ];
        assert_eq!(out, expected);
        let out = scatter(&data[..6], Tensor::scalar(1u8), (&[3], &[7., 8., 9.])).expect("fits");
        assert_eq!(out, [-1., 7., -1., 8., 4., 9.]);
    }

    #[test]
    fn mistakes() {
        let updates = (&[3usize, 2][..], &[1f32; 6][..]);
        for (indices, message) in [
            (
                Tensor::vector(&[0i64, -1]),
                "index -1 at [1] is out of range for axis 1 of size 2, expected 0..2",
            ),
            (Tensor::vector(&[2u8, 0]), "index 2 at [0] is out of range"),
            (
                Tensor::vector(&[0i64]),
                "updates have shape [3,2], expected [3,1]",
            ),
            (
                Tensor::vector(&[0f32, 1.]),
                "indices must be integers, got f32",
            ),
        ] {
            let error = scatter(&[0.; 6], indices, updates)
                .expect_err(message)
                .message;
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn shapes() {
        let none = shape("...");
        let (data, indices, updates, one) =
            (shape("?,3"), shape("5,?"), shape("5,2,3"), shape("1"));
        let infer = |data, updates| {
            let inputs = [
                Input::new(ElementType::F32, data),
                Input::new(ElementType::I32, &indices),
                Input::new(ElementType::F32, updates),
                Input::new(ElementType::I32, &one),
            ];
            infer_dims(&ScatterUpdate {}, &inputs)
        };
        assert_eq!(infer(&data, &updates), "[?,3]");
        assert_eq!(infer(&none, &updates), "[?,?]");
        assert_eq!(infer(&none, &none), "[...]");
    }

    proptest! {
        #[test]
        fn like_its_definition(
            outer in prop::collection::vec(0usize..3, 0..3),
            size in 1usize..5,
            inner in prop::collection::vec(0usize..4, 0..3),
            places in prop::collection::vec(0usize..4, 0..3),
            seed in any::<u64>(),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let dims = [&outer[..], &[size], &inner].concat();
            let axis = outer.len();
            let count: usize = places.iter().product();
            let indices: Vec<u32> = (0..count).map(|i| (seed.rotate_left(i as u32 * 7) % size as u64) as u32).collect();
            let updates = counted(ty, &[&outer[..], &places, &inner].concat());
            let inputs = [
                counted(ty, &dims),
                Tensor::new(places.as_slice(), &indices).expect("its length"),
                updates,
                Tensor::scalar(axis as i64 - dims.len() as i64),
            ];
            let out = run(&ScatterUpdate {}, &inputs).expect("fits");
            let mut expected = elements(&inputs[0]);
            let strides = inputs[0].shape().strides();
            let index_strides = inputs[1].shape().strides();
            for (at, update) in index(inputs[2].shape()).zip(elements(&inputs[2])) {
                let (before, rest) = at.split_at(axis);
                let (middle, after) = rest.split_at(places.len());
                let i: usize = middle.iter().zip(&index_strides).map(|(i, s)| i * s).sum();
                let place = [before, &[indices[i] as usize], after].concat();
                let place: usize = place.iter().zip(&strides).map(|(i, s)| i * s).sum();
                expected[place] = update;
            }
            prop_assert_eq!(elements(&out), expected);
            let known = dynamic(&ScatterUpdate {}, &inputs, mask).contains(out.shape());
            prop_assert!(known);
        }
    }

    /// Large enough to be written in pieces, and with places that are met more than once.
    #[test]
    fn large() {
        for (dims, axis, count) in [
            ([3000usize, 100], 0i64, 700),
            ([300_000, 1], 0, 5000),
            ([100, 3000], 1, 70),
        ] {
            let len = dims[0] * dims[1];
            let data = Tensor::new(dims, &vec![0u32; len]).expect("its length");
            let size = dims[axis as usize];
            let indices: Vec<i64> = (0..count).map(|i| (i * 31 % (size / 2)) as i64).collect();
            let mut shape = dims;
            shape[axis as usize] = count;
            let updates: Vec<u32> = (1..=shape.iter().product::<usize>() as u32).collect();
            let mut expected = vec![0; len];
            for (i, &x) in updates.iter().enumerate() {
                let place = match axis {
                    0 => indices[i / dims[1]] as usize * dims[1] + i % dims[1],
                    _ => i / count * dims[1] + indices[i % count] as usize,
                };
                expected[place] = x;
            }
            let updates = Tensor::new(shape, &updates).expect("its length");
            let inputs = [
                data,
                Tensor::vector(&indices),
                updates,
                Tensor::scalar(axis),
            ];
            let out = run(&ScatterUpdate {}, &inputs).expect("fits");
            assert!(out.as_slice::<u32>().expect("u32") == expected);
        }
    }
}
