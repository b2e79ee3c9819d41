//! GatherTree-1: the beams of a beam search, each followed back along its parents.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-tree-1.html>
//!
//! A batch whose length is 0 or less is all end tokens; a parent that is no beam is an error.

use serde::{Deserialize, Serialize};

use super::indices::{allowed_in, out_of_range};
use crate::kernel::gather_tree::{PickOr, Steps};
use crate::kernel::moving::move_elements;
use crate::kernel::scratch::{try_collect, try_vec};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, PartialShape};

/// Beams followed back.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct GatherTree {}

/// Both shapes at once.
fn both(a: &PartialShape, b: &PartialShape, what: &str) -> Result<PartialShape, OpError> {
    match a.intersect(b) {
        Some(shape) => Ok(shape),
        None => bail!("{what} have shape {b}, expected {a}"),
    }
}

impl Op for GatherTree {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [step_ids, parent_ids, max_seq_len, end_token] = inputs else {
            bail!(
                "expected 4 inputs (step_ids, parent_ids, max_seq_len, end_token), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(inputs)?;
        ensure!(
            ty.is_numeric() || ty == ElementType::Dynamic,
            "the inputs must be numbers, got {ty}"
        );
        ensure!(
            end_token.shape.elements().contains(1),
            "end_token must be one number, got shape {}",
            end_token.shape
        );
        let shape = both(&PartialShape::of_rank(3), &step_ids.shape, "step_ids")?;
        let mut shape = both(&shape, &parent_ids.shape, "parent_ids")?;
        if let Some([_, batch, _]) = shape.dims_mut() {
            let lengths: PartialShape = [*batch].as_slice().into();
            let lengths = both(&lengths, &max_seq_len.shape, "max_seq_len")?;
            if let Some([both]) = lengths.dims() {
                *batch = *both;
            }
        }
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [step_ids, parent_ids, max_seq_len, end_token] = io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let [steps, _, beams] = step_ids.shape()[..] else {
            bail!("step_ids must be 3-D, got shape {}", step_ids.shape());
        };
        // All hold integers, whatever their type.
        let ints =
            [step_ids, parent_ids, max_seq_len, end_token].map(|t| convert(t, ElementType::I64));
        let [ids, parents, lengths, end] = ints;
        let (ids, parents, lengths, end) = (ids?, parents?, lengths?, end?);
        let length = |&n: &i64| usize::try_from(n).unwrap_or(0).min(steps);
        let lengths = try_collect(lengths.as_slice::<i64>()?.iter().map(length))?;
        let trace = Steps {
            ids: ids.as_slice()?,
            parents: parents.as_slice()?,
            lengths: &lengths,
            beams,
            end: end.as_slice::<i64>()?[0],
        };
        let mut places = try_vec(usize::MAX, trace.ids.len())?;
        match trace.trace(&mut places) {
            Ok(()) => move_elements(&PickOr { places }, &[step_ids, end_token], io.outputs),
            Err(position) => Err(out_of_range(&parents, position, 2, beams, false)),
        }
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let dims = inputs.first()?.shape.dims().filter(|_| index == 1)?;
        allowed_in(dims.get(2..)?, false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{dynamic, run, shape};
    use crate::tensor::Tensor;

    fn tree(
        dims: [usize; 3],
        ids: &[i32],
        parents: &[i32],
        lengths: &[i32],
        end: i32,
    ) -> Result<Vec<i32>, OpError> {
        let inputs = [
            Tensor::new(dims, ids).expect("its length"),
            Tensor::new(dims, parents).expect("its length"),
            Tensor::vector(lengths),
            Tensor::scalar(end),
        ];
        Ok(run(&GatherTree {}, &inputs)?.as_slice::<i32>()?.to_vec())
    }

    #[test]
    fn by_hand() {
        let ids: Vec<i32> = (1..13).collect();
        let parents = [0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1];
        let out = tree([3, 2, 2], &ids, &parents, &[3, 3], 10).expect("fits");
        assert_eq!(out, [1, 2, 4, 3, 6, 5, 7, 8, 9, 10, 11, 12]);
        let out = tree([3, 2, 2], &ids, &parents, &[0, 2], 10).expect("fits");
        assert_eq!(out, [10, 10, 4, 3, 10, 10, 7, 8, 10, 10, 10, 10]);
        let out = tree([3, 2, 2], &ids, &parents, &[-1, 9], 3).expect("fits");
        assert_eq!(out, [3, 3, 4, 3, 3, 3, 7, 3, 3, 3, 11, 3]);
        // The parents of the first step lead nowhere.
        let wild = [-7, 9, 9, -7, 1, 0, 1, 0, 1, 0, 0, 1];
        assert!(tree([3, 2, 2], &ids, &wild, &[3, 3], 10).is_ok());
        let wild = [0, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1];
        let error = tree([3, 2, 2], &ids, &wild, &[3, 3], 10).expect_err("no beam");
        assert_eq!(
            error.message,
            "index 2 at [2, 0, 0] is out of range for axis 2 of size 2, expected 0..2"
        );
    }

    #[test]
    fn shapes() {
        let infer = |a: &str, b: &str, c: &str, d: &str| {
            let shapes = [a, b, c, d].map(shape);
            let inputs = shapes.each_ref().map(|s| Input::new(ElementType::F32, s));
            GatherTree {}.infer(&inputs).map(|o| o[0].shape.to_string())
        };
        assert_eq!(infer("?,?,3", "7,?,?", "5", "").as_deref(), Ok("[7,5,3]"));
        assert_eq!(infer("...", "...", "...", "...").as_deref(), Ok("[?,?,?]"));
        assert_eq!(infer("1,2,3", "1,2,3", "2", "1").as_deref(), Ok("[1,2,3]"));
        for [a, b, c, d] in [
            ["1,2", "1,2", "2", ""],
            ["1,2,3", "1,2,4", "2", ""],
            ["1,2,3", "1,2,3", "3", ""],
            ["1,2,3", "1,2,3", "2,1", ""],
            ["1,2,3", "1,2,3", "2", "2"],
        ] {
            assert!(infer(a, b, c, d).is_err(), "{a} {b} {c} {d}");
        }
    }

    proptest! {
        /// The document's pseudocode.
        #[test]
        fn like_its_definition(
            (steps, batches, beams) in (1usize..5, 1usize..4, 1usize..4),
            seed in any::<u64>(),
            lengths in prop::collection::vec(1usize..6, 3),
            end in 0i32..3,
            ty in prop::sample::select(vec![ElementType::F32, ElementType::U4, ElementType::I64, ElementType::U64, ElementType::F16]),
            mask in any::<u32>(),
        ) {
            let dims = [steps, batches, beams];
            let len: usize = dims.iter().product();
            let at = |t: usize, b: usize, k: usize| (t * batches + b) * beams + k;
            let ids: Vec<i32> = (0..len).map(|i| (seed.rotate_left(i as u32 * 5) % 6) as i32).collect();
            let parents: Vec<i32> = (0..len).map(|i| (seed.rotate_right(i as u32 * 3) % beams as u64) as i32).collect();
            let mut expected = vec![end; len];
            for b in 0..batches {
                for k in 0..beams {
                    let most = steps.min(lengths[b]);
                    let mut parent = parents[at(most - 1, b, k)] as usize;
                    expected[at(most - 1, b, k)] = ids[at(most - 1, b, k)];
                    for t in (0..most - 1).rev() {
                        expected[at(t, b, k)] = ids[at(t, b, parent)];
                        parent = parents[at(t, b, parent)] as usize;
                    }
                    let mut finished = false;
                    for t in 0..most {
                        if finished {
                            expected[at(t, b, k)] = end;
                        }
                        finished |= expected[at(t, b, k)] == end;
                    }
                }
            }
            let lengths: Vec<i32> = lengths[..batches].iter().map(|&n| n as i32).collect();
            let inputs = [
                Tensor::new(dims, &ids).expect("its length"),
                Tensor::new(dims, &parents).expect("its length"),
                Tensor::vector(&lengths),
                Tensor::scalar(end),
            ];
            let inputs = inputs.map(|t| convert(&t, ty).expect("numbers"));
            let out = run(&GatherTree {}, &inputs).expect("fits");
            let ints = convert(&out, ElementType::I32).expect("numbers");
            prop_assert_eq!(ints.as_slice::<i32>().expect("i32"), &expected);
            let known = dynamic(&GatherTree {}, &inputs, mask).contains(out.shape());
            prop_assert!(known);
        }
    }
}
