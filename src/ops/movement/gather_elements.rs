//! GatherElements-6: for each index, the element there along an axis.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-elements-6.html>
//!
//! Negative indices are out of range, which is an error.

use serde::{Deserialize, Serialize};

use super::indices::{allowed_in, out_of_range};
use crate::kernel::gather_elements;
use crate::kernel::moving::move_elements;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};
use crate::tensor::{Dimension, PartialShape};

/// Elements along an axis.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct GatherElements {
    axis: i64,
}

impl GatherElements {
    /// The output's dimensions: the indices', which are the data's but along the axis.
    fn dims(&self, data: &[Dimension], indices: &[Dimension]) -> Result<Vec<Dimension>, OpError> {
        ensure!(
            data.len() == indices.len(),
            "data has rank {}, indices {}, expected the same",
            data.len(),
            indices.len()
        );
        let axis = normalize_axis(self.axis, data.len())?;
        let mut dims = indices.to_vec();
        for (i, (dim, &size)) in dims.iter_mut().zip(data).enumerate() {
            if i == axis {
                continue;
            }
            match dim.intersect(size) {
                Some(both) => *dim = both,
                None => bail!(
                    "dimension {i} of indices is {dim}, that of data {size}: only along axis {axis} they may differ"
                ),
            }
        }
        Ok(dims)
    }
}

impl Op for GatherElements {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, indices] = inputs else {
            bail!("expected 2 inputs (data, indices), got {}", inputs.len());
        };
        indices.expect_integer("indices")?;
        let unknown = |dims: &[Dimension]| vec![Dimension::dynamic(); dims.len()];
        let dims = match (data.shape.dims(), indices.shape.dims()) {
            (Some(data), Some(indices)) => self.dims(data, indices)?,
            (Some(data), None) => self.dims(data, &unknown(data))?,
            (None, Some(indices)) => self.dims(&unknown(indices), indices)?,
            (None, None) => {
                return Ok(Output::single(data.element_type, PartialShape::dynamic()));
            }
        };
        Ok(Output::single(data.element_type, dims.as_slice()))
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, indices] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let axis = normalize_axis(self.axis, data.shape().rank())?;
        let gather = gather_elements::GatherElements::new(data.shape(), indices, axis);
        move_elements(&gather, &[data], io.outputs)?;
        match gather.outside() {
            Some(position) => Err(out_of_range(
                indices,
                position,
                axis,
                data.shape()[axis],
                false,
            )),
            None => Ok(()),
        }
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let dims = inputs.first()?.shape.dims().filter(|_| index == 1)?;
        let axis = normalize_axis(self.axis, dims.len()).ok()?;
        allowed_in(&dims[axis..=axis], false)
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

    fn gather(
        data: (&[usize], &[i32]),
        indices: (&[usize], &[i64]),
        axis: i64,
    ) -> Result<Vec<i32>, OpError> {
        let data = Tensor::new(data.0, data.1).expect("its length");
        let indices = Tensor::new(indices.0, indices.1).expect("its length");
        let out = run(&GatherElements { axis }, &[data, indices])?;
        Ok(out.as_slice::<i32>()?.to_vec())
    }

    #[test]
    fn document_examples() {
        let out = gather((&[2, 2], &[1, 2, 3, 4]), (&[2, 2], &[0, 1, 0, 0]), 0);
        assert_eq!(out.expect("fits"), [1, 4, 1, 2]);
        let out = gather((&[2, 2], &[1, 7, 4, 3]), (&[2, 3], &[1, 1, 0, 1, 0, 1]), 1);
        assert_eq!(out.expect("fits"), [7, 7, 1, 3, 4, 3]);
        let nine: Vec<i32> = (1..10).collect();
        let out = gather((&[3, 3], &nine), (&[2, 3], &[1, 0, 1, 1, 2, 0]), -2);
        assert_eq!(out.expect("fits"), [4, 2, 6, 4, 8, 3]);
    }

    #[test]
    fn mistakes() {
        let four = (&[2usize, 2][..], &[1, 2, 3, 4][..]);
        for (indices, axis, message) in [
            (
                (&[2usize, 2][..], &[0i64, 1, 2, 3][..]),
                0,
                "index 2 at [1, 0] is out of range for axis 0 of size 2",
            ),
            (
                (&[2, 2], &[0, 1, -1, 3]),
                1,
                "index -1 at [1, 0] is out of range",
            ),
            (
                (&[1, 2], &[0, 1]),
                1,
                "dimension 0 of indices is 1, that of data 2",
            ),
            ((&[2], &[0, 1]), 0, "data has rank 2, indices 1"),
            ((&[2, 2], &[0; 4]), 2, "axis 2 is out of range for rank 2"),
        ] {
            let error = gather(four, indices, axis).expect_err(message).message;
            assert!(error.starts_with(message), "{error}");
        }
        assert!(gather((&[], &[1]), (&[], &[0]), 0).is_err());
        let empty = gather((&[0, 2], &[]), (&[1, 2], &[0, 0]), 0).expect_err("no elements");
        assert!(
            empty.message.ends_with("expected 0..0"),
            "{}",
            empty.message
        );
    }

    #[test]
    fn what_one_shape_says_of_the_other() {
        let (data, indices, none) = (shape("?,3,4"), shape("2,7,?"), shape("..."));
        let infer = |data, indices| {
            let inputs = [
                Input::new(ElementType::F32, data),
                Input::new(ElementType::I32, indices),
            ];
            infer_dims(&GatherElements { axis: 1 }, &inputs)
        };
        assert_eq!(infer(&data, &indices), "[2,7,4]");
        assert_eq!(infer(&data, &none), "[?,?,4]");
        assert_eq!(infer(&none, &indices), "[2,7,?]");
        assert_eq!(infer(&none, &none), "[...]");
    }

    proptest! {
        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(1usize..4, 1..6),
            axis in 0usize..6,
            count in prop::sample::select(vec![0usize, 1, 2, 5, 600]),
            seed in any::<u64>(),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let axis = axis % dims.len();
            let mut shape = dims.clone();
            shape[axis] = count;
            let len: usize = shape.iter().product();
            let indices: Vec<u8> = (0..len)
                .map(|i| (seed.rotate_left(i as u32 * 7) % dims[axis] as u64) as u8)
                .collect();
            let indices_tensor = Tensor::new(shape.as_slice(), &indices).expect("its length");
            let op = GatherElements { axis: axis as i64 - dims.len() as i64 };
            let inputs = [counted(ty, &dims), indices_tensor];
            let out = run(&op, &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .zip(&indices)
                .map(|(mut at, &i)| {
                    at[axis] = i.into();
                    at.iter().zip(&strides).map(|(i, s)| i * s).sum()
                })
                .collect();
            assert_picked(&inputs[0], &source, &out);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }

    /// Large enough to be written in pieces: the first mistake is named, whoever finds it.
    #[test]
    fn large() {
        let data: Vec<u32> = (0..300_000).collect();
        for (dims, axis) in [
            ([300_000usize, 1], 0i64),
            ([100, 3000], 1),
            ([100, 3000], 0),
            ([1, 300_000], 0),
        ] {
            let data = Tensor::new(dims, &data).expect("its length");
            let size = dims[axis as usize];
            let mut indices: Vec<i32> = (0..300_000).map(|i| (i * 7 % size) as i32).collect();
            let given = |indices: &[i32]| Tensor::new(dims, indices).expect("its length");
            let op = GatherElements { axis };
            let out = run(&op, &[data.clone(), given(&indices)]).expect("fits");
            let stride = if axis == 0 { dims[1] } else { 1 };
            let expected = indices.iter().enumerate().map(|(at, &i)| {
                let own = at / stride % size;
                (at - own * stride + i as usize * stride) as u32
            });
            assert!(
                out.as_slice::<u32>()
                    .expect("u32")
                    .iter()
                    .copied()
                    .eq(expected)
            );
            for bad in [100_000, 200_000] {
                indices[bad] = -1;
            }
            let error = run(&op, &[data, given(&indices)]).expect_err("out of range");
            let at = [100_000 / dims[1], 100_000 % dims[1]];
            let message = format!("index -1 at {at:?} is out of range");
            assert!(error.message.starts_with(&message), "{}", error.message);
        }
    }
}
