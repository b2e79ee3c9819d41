//! Concat-1: tensors put side by side along an axis.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/concat-1.html>

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::kernel::{self, moving::move_elements};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, merge_types, normalize_axis,
};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// Tensors put side by side.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Concat {
    axis: i64,
}

impl Op for Concat {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(!inputs.is_empty(), "expected at least 1 input, got none");
        let ty = merge_types(inputs)?;
        let Some(rank) = inputs.iter().find_map(Input::rank) else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        ensure!(rank > 0, "scalars cannot be concatenated");
        let axis = normalize_axis(self.axis, rank)?;
        let mut dims = vec![Dimension::dynamic(); rank];
        dims[axis] = Dimension::fixed(0);
        for (i, input) in inputs.iter().enumerate() {
            let Some(input) = input.shape.dims() else {
                dims[axis] = dims[axis] + Dimension::dynamic();
                continue;
            };
            ensure!(
                input.len() == rank,
                "input {i} has rank {}, the others have {rank}",
                input.len()
            );
            for (k, (dim, &new)) in dims.iter_mut().zip(input).enumerate() {
                if k == axis {
                    *dim = *dim + new;
                } else if let Some(both) = dim.intersect(new) {
                    *dim = both;
                } else {
                    bail!("dimension {k} of input {i} is {new}, expected {dim}");
                }
            }
        }
        Ok(Output::single(ty, dims.as_slice()))
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let axis = normalize_axis(self.axis, io.outputs[0].shape().rank())?;
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        // Empty inputs may lie at an odd place in the row; they add nothing to it.
        let inputs: SmallVec<[&Tensor; 8]> = io
            .inputs
            .iter()
            .copied()
            .filter(|t| !t.is_empty())
            .collect();
        let lines = inputs
            .iter()
            .map(|t| t.shape()[axis..].iter().product())
            .collect();
        move_elements(&kernel::concat::Concat { lines }, &inputs, io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{dynamic, infer_dims, run, shape};
    use crate::tensor::ElementType;

    /// The tensors side by side.
    pub(in crate::ops) fn beside(tensors: &[Tensor], axis: i64) -> Tensor {
        run(&Concat { axis }, tensors).expect("fits")
    }

    #[test]
    fn symbols_and_unknown_ranks() {
        let op = Concat { axis: -1 };
        let f32 = ElementType::F32;
        let a = shape("?,3,2");
        let b = shape("4,?,1..5");
        let inputs = [Input::new(f32, &a), Input::new(f32, &b)];
        assert_eq!(infer_dims(&op, &inputs), "[4,3,3..7]");
        let unknown = shape("...");
        let inputs = [Input::new(f32, &a), Input::new(f32, &unknown)];
        assert_eq!(infer_dims(&op, &inputs), "[?,3,2..]");
        let scalar = shape("");
        assert!(op.infer(&[Input::new(f32, &scalar)]).is_err());
        let i32 = Input::new(ElementType::I32, &a);
        assert!(op.infer(&[Input::new(f32, &a), i32]).is_err());
        let none = Input::new(ElementType::Dynamic, &a);
        let outputs = op.infer(&[none, Input::new(f32, &a)]).expect("fits");
        assert_eq!(outputs[0].element_type, f32);
    }

    #[test]
    fn document_example() {
        let inputs = [[1, 8, 50, 50], [1, 16, 50, 50], [1, 32, 50, 50]]
            .map(|dims| Tensor::zeros(ElementType::F32, dims).expect("small"));
        for axis in [1, -3] {
            let out = run(&Concat { axis }, &inputs).expect("fits");
            assert_eq!(out.shape().to_string(), "[1,56,50,50]");
        }
    }

    proptest! {
        #[test]
        fn like_its_definition(
            outer in 1usize..4,
            inner in prop::sample::select(vec![0usize, 1, 2, 7]),
            sizes in prop::collection::vec(0usize..4, 1..5),
            back in any::<bool>(),
            mask in any::<u32>(),
        ) {
            let mut next = 0u8;
            let inputs: Vec<Tensor> = sizes
                .iter()
                .map(|&size| {
                    let data: Vec<u8> = (0..outer * size * inner)
                        .map(|_| { next = next.wrapping_add(1); next })
                        .collect();
                    Tensor::new([outer, size, inner], &data).expect("its length")
                })
                .collect();
            let op = Concat { axis: if back { -2 } else { 1 } };
            let out = run(&op, &inputs).expect("fits");
            let mut expected = Vec::new();
            for o in 0..outer {
                for (t, &size) in inputs.iter().zip(&sizes) {
                    let data = t.as_slice::<u8>().expect("u8");
                    expected.extend_from_slice(&data[o * size * inner..(o + 1) * size * inner]);
                }
            }
            prop_assert_eq!(out.as_slice::<u8>().expect("u8"), &expected);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }
}
