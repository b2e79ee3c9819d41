//! Select-1: elements of one input where a condition holds, elsewhere of another.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/select-1.html>
//!
//! Under the rule `numpy` the condition may also be larger than the two inputs, which are then
//! broadcast to it, as models do that choose between constants.

use serde::{Deserialize, Serialize};

use crate::kernel::{self, moving::move_elements};
use crate::op::attrs::{AutoBroadcast, AutoBroadcastSpec};
use crate::op::broadcast::{alignment, broadcast};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::ElementType;

/// Elements of one input where a condition holds, elsewhere of another.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Select {
    broadcast: AutoBroadcastSpec,
}

impl Select {
    /// The axes of the output where the dimensions of the three inputs begin.
    fn starts(&self, ranks: [usize; 3], rank: usize) -> [usize; 3] {
        match self.broadcast.auto_broadcast {
            AutoBroadcast::None => [0; 3],
            AutoBroadcast::Numpy => ranks.map(|own| rank - own),
            AutoBroadcast::Pdpd => {
                let [cond, then, other] = ranks;
                let at = |own| alignment(then, own, self.broadcast)[1];
                [at(cond), 0, at(other)]
            }
        }
    }
}

impl Op for Select {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [cond, then, other] = inputs else {
            bail!("expected 3 inputs (cond, then, else), got {}", inputs.len());
        };
        ensure!(
            matches!(
                cond.element_type,
                ElementType::Boolean | ElementType::Dynamic
            ),
            "cond must be boolean, got {}",
            cond.element_type
        );
        let ty = merge_types(&[then.clone(), other.clone()])?;
        let shape = broadcast(&then.shape, &other.shape, self.broadcast)?;
        let shape = broadcast(&shape, &cond.shape, self.broadcast)?;
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [cond, then, other] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let output = io.outputs[0].shape();
        let shapes = [cond, then, other].map(|tensor| tensor.shape());
        let starts = self.starts(shapes.map(|shape| shape.rank()), output.rank());
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let operands = std::array::from_fn(|i| (shapes[i], starts[i]));
        let select = kernel::select::Select::new(cond.as_slice()?, operands, output);
        move_elements(&select, &[then, other], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[1, 2])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, dynamic, elements, index, infer_dims, part, run, shape};
    use crate::tensor::Tensor;

    fn op(auto_broadcast: AutoBroadcast, axis: i64) -> Select {
        Select {
            broadcast: AutoBroadcastSpec {
                auto_broadcast,
                axis,
            },
        }
    }

    fn dims(op: &Select, shapes: [&str; 3]) -> Option<String> {
        let shapes = shapes.map(shape);
        let inputs = [
            Input::new(ElementType::Boolean, &shapes[0]),
            Input::new(ElementType::F32, &shapes[1]),
            Input::new(ElementType::F32, &shapes[2]),
        ];
        op.infer(&inputs).ok()?;
        Some(infer_dims(op, &inputs))
    }

    #[test]
    fn rules() {
        let numpy = op(AutoBroadcast::Numpy, 0);
        let numpy = |shapes| dims(&numpy, shapes);
        assert_eq!(numpy(["2,1,4", "3,4", "2,3,1"]).as_deref(), Some("[2,3,4]"));
        assert_eq!(numpy(["2,3", "", "1"]).as_deref(), Some("[2,3]"));
        assert_eq!(numpy(["...", "2", "2"]).as_deref(), Some("[...]"));
        assert_eq!(numpy(["2", "3", "3"]), None);
        let none = op(AutoBroadcast::None, 0);
        assert_eq!(dims(&none, ["2,?", "?,3", "?,?"]).as_deref(), Some("[2,3]"));
        assert_eq!(dims(&none, ["2", "2", "1"]), None);
        let pdpd = |shapes, axis| dims(&op(AutoBroadcast::Pdpd, axis), shapes);
        assert_eq!(pdpd(["3", "2,3,4", "3,4"], 1).as_deref(), Some("[2,3,4]"));
        assert_eq!(pdpd(["4", "2,3,4", "3,4"], -1).as_deref(), Some("[2,3,4]"));
        assert_eq!(pdpd(["2,3", "3", "3"], 0), None);
        assert_eq!(pdpd(["3", "3", "2,3"], 0), None);
    }

    #[test]
    fn types() {
        let one = Tensor::vector(&[1i32]);
        let op = Select::default();
        assert!(run(&op, &[one.clone(), one.clone(), one.clone()]).is_err());
        let yes = Tensor::vector(&[true]);
        assert!(run(&op, &[yes.clone(), one.clone(), Tensor::scalar(1f32)]).is_err());
        assert!(run(&op, &[yes, one.clone(), one]).is_ok());
    }

    fn parts() -> impl Strategy<Value = Vec<(usize, [bool; 3])>> {
        prop::collection::vec((0usize..4, any::<[bool; 3]>()), 0..7)
    }

    fn check(op: &Select, out: &[usize], starts: [usize; 3], inputs: &[Tensor], mask: u32) {
        let result = run(op, inputs).expect("fits");
        assert_eq!(&result.shape()[..], out);
        let place = |i: usize, at: &[usize]| {
            let shape = inputs[i].shape();
            let strides = shape.strides();
            (0..shape.rank().min(out.len() - starts[i]))
                .filter(|&axis| shape[axis] > 1)
                .map(|axis| at[starts[i] + axis] * strides[axis])
                .sum::<usize>()
        };
        let cond = inputs[0].as_slice::<bool>().expect("bool");
        let (then, other) = (elements(&inputs[1]), elements(&inputs[2]));
        let expected: Vec<String> = index(result.shape())
            .map(|at| {
                if cond[place(0, &at)] {
                    then[place(1, &at)].clone()
                } else {
                    other[place(2, &at)].clone()
                }
            })
            .collect();
        assert_eq!(elements(&result), expected);
        assert!(dynamic(op, inputs, mask).contains(result.shape()));
    }

    /// Elements that do not equal those of `counted`, as far as the type allows.
    fn others(ty: ElementType, dims: &[usize]) -> Tensor {
        part(&counted(ty, &[&[2], dims].concat()), 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn like_numpy(
            parts in parts(),
            drop in any::<[prop::sample::Index; 3]>(),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            prop_assume!(parts.iter().map(|p| p.0).product::<usize>() < 2000);
            // Each input has every axis of the output from one on, or 1 there.
            let starts = drop.map(|d| d.index(parts.len() + 1));
            let shapes: Vec<Vec<usize>> = (0..3)
                .map(|i| parts[starts[i]..].iter().map(|p| if p.1[i] { p.0 } else { 1 }).collect())
                .collect();
            let rank = shapes.iter().map(Vec::len).max().expect("three");
            let out: Vec<usize> = (0..rank)
                .map(|axis| {
                    let sizes = shapes.iter().filter_map(|s| s.get(axis.checked_sub(rank - s.len())?));
                    sizes.copied().find(|&size| size != 1).unwrap_or(1)
                })
                .collect();
            let starts: Vec<usize> = shapes.iter().map(|s| rank - s.len()).collect();
            let inputs = [
                counted(ElementType::Boolean, &shapes[0]),
                counted(ty, &shapes[1]),
                others(ty, &shapes[2]),
            ];
            check(&op(AutoBroadcast::Numpy, 0), &out, [starts[0], starts[1], starts[2]], &inputs, mask);
        }

        #[test]
        fn like_pdpd(
            parts in parts(),
            axis in any::<prop::sample::Index>(),
            mask in any::<u32>(),
        ) {
            prop_assume!(parts.iter().map(|p| p.0).product::<usize>() < 2000);
            let out: Vec<usize> = parts.iter().map(|p| p.0).collect();
            let axis = axis.index(parts.len() + 1);
            let sizes = |i: usize| -> Vec<usize> {
                parts[axis..].iter().map(|p| if p.1[i] { p.0 } else { 1 }).collect()
            };
            let inputs = [
                counted(ElementType::Boolean, &sizes(0)),
                counted(ElementType::U16, &out),
                others(ElementType::U16, &sizes(2)),
            ];
            check(&op(AutoBroadcast::Pdpd, axis as i64), &out, [axis, 0, axis], &inputs, mask);
        }
    }

    /// Large enough to be written in pieces.
    #[test]
    fn large() {
        let (rows, columns) = (900, 400);
        let cond: Vec<bool> = (0..rows * columns).map(|i| i * i % 7 < 3).collect();
        let then: Vec<i32> = (0..columns as i32).collect();
        let inputs = [
            Tensor::new([rows, columns], &cond).expect("its length"),
            Tensor::vector(&then),
            Tensor::scalar(-1i32),
        ];
        let out = run(&Select::default(), &inputs).expect("fits");
        let expected = cond
            .iter()
            .enumerate()
            .map(|(i, &c)| if c { (i % columns) as i32 } else { -1 });
        assert!(
            out.as_slice::<i32>()
                .expect("i32")
                .iter()
                .copied()
                .eq(expected)
        );
    }
}
