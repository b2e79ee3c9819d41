//! Slice-8: a part of the data, cut out along some axes in equal steps.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/slice-8.html>

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use super::slicing::Slices;
use crate::kernel::moving::move_elements;
use crate::kernel::strided::{View, Views};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{PartialShape, Tensor};

/// A part of the data.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Slice {}

impl Op for Slice {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            (4..=5).contains(&inputs.len()),
            "expected 4 or 5 inputs (data, start, stop, step, axes), got {}",
            inputs.len()
        );
        let (data, slices) = (&inputs[0], Slices::read(&inputs[1..])?);
        let shape = match data.shape.dims() {
            Some(dims) => slices.dims(dims)?.into_iter().collect(),
            None => PartialShape::dynamic(),
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, numbers @ ..] = io.inputs else {
            bail!("expected 4 or 5 inputs, got none");
        };
        let numbers: SmallVec<[Input<'_>; 4]> = numbers.iter().map(|t| Input::of(t)).collect();
        let cuts = Slices::read(&numbers)?.cuts(data.shape(), io.outputs[0].shape())?;
        let view = View::new(data.shape(), &cuts);
        move_elements(&Views(smallvec![view]), &[data], io.outputs)
    }

    fn pieces(&self, inputs: &[&Tensor], outputs: &[Output]) -> Option<SmallVec<[usize; 4]>> {
        let [data, numbers @ ..] = inputs else {
            return None;
        };
        let numbers: SmallVec<[Input<'_>; 4]> = numbers.iter().map(|t| Input::of(t)).collect();
        let shape = outputs.first()?.shape.to_shape()?;
        let cuts = Slices::read(&numbers)
            .ok()?
            .cuts(data.shape(), &shape)
            .ok()?;
        let start = View::new(data.shape(), &cuts).piece()?;
        Some(smallvec![start])
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

    fn ints(values: &[i64]) -> Tensor {
        Tensor::vector(values)
    }

    #[test]
    fn document_examples() {
        let ten: Vec<i32> = (0..10).collect();
        for (start, stop, step, expected) in [
            (1i64, 8i64, 1i64, &[1, 2, 3, 4, 5, 6, 7][..]),
            (1, 8, 2, &[1, 3, 5, 7]),
            (-100, 100, 1, &ten),
            (9, -11, -1, &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
            (9, 0, -1, &[9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (9, -10, -1, &[9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (9, -11, -2, &[9, 7, 5, 3, 1]),
            (100, -100, -1, &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
            (-100, -200, -1, &[]),
            (3, 3, 1, &[]),
            (4, i64::MAX, 3, &[4, 7]),
            (i32::MAX.into(), i32::MIN.into(), -4, &[9, 5, 1]),
            (i64::MIN, i64::MAX, i64::MAX, &[0]),
            (-1, i64::MIN, i64::MIN, &[9]),
        ] {
            for axes in [Some(0i64), Some(-1), None] {
                let mut inputs = vec![
                    Tensor::vector(&ten),
                    ints(&[start]),
                    ints(&[stop]),
                    ints(&[step]),
                ];
                inputs.extend(axes.map(|axis| ints(&[axis])));
                let out = run(&Slice {}, &inputs).expect("fits");
                assert_eq!(
                    out.as_slice::<i32>().expect("i32"),
                    expected,
                    "{start}:{stop}:{step}"
                );
            }
        }
        let data = Tensor::new([2, 5], &ten).expect("ten");
        let inputs = [
            data,
            ints(&[0, 1]),
            ints(&[2, 4]),
            ints(&[1, 2]),
            ints(&[0, 1]),
        ];
        let out = run(&Slice {}, &inputs).expect("fits");
        assert_eq!(out.as_slice::<i32>().expect("i32"), [1, 3, 6, 8]);
    }

    #[test]
    fn mistakes() {
        let data = || counted(ElementType::F32, &[4, 3]);
        let one = || ints(&[1]);
        for (inputs, message) in [
            (vec![data(), one(), one()], "expected 4 or 5 inputs"),
            (
                vec![data(), one(), one(), ints(&[0])],
                "element 0 of step is 0",
            ),
            (
                vec![data(), one(), one(), ints(&[1, 1])],
                "start has 1 elements, step 2",
            ),
            (
                vec![data(), one(), one(), one(), ints(&[2])],
                "axis 2 is out of range",
            ),
            (
                vec![
                    data(),
                    ints(&[1, 1]),
                    ints(&[1, 1]),
                    ints(&[1, 1]),
                    ints(&[1, -1]),
                ],
                "axis 1 is twice",
            ),
            (
                vec![data(), ints(&[1; 3]), ints(&[1; 3]), ints(&[1; 3])],
                "axis 2 is out of range",
            ),
            (
                vec![data(), Tensor::scalar(1i64), one(), one()],
                "start must be 1-D",
            ),
            (
                vec![data(), Tensor::vector(&[1f32]), one(), one()],
                "start must be integers",
            ),
            (
                vec![counted(ElementType::F32, &[]), one(), one(), one()],
                "the data is a scalar",
            ),
        ] {
            let error = run(&Slice {}, &inputs).expect_err(message);
            assert!(error.message.starts_with(message), "{}", error.message);
        }
    }

    #[test]
    fn what_is_known_without_the_axes() {
        let (data, two) = (shape("10,3..5,7"), shape("2"));
        let (start, stop, step) = (ints(&[0, 1]), ints(&[4, 2]), ints(&[1, 1]));
        let inputs = [
            Input::new(ElementType::F32, &data),
            Input::of(&start),
            Input::of(&stop),
            Input::of(&step),
            Input::new(ElementType::I64, &two),
        ];
        assert_eq!(infer_dims(&Slice {}, &inputs), "[1..10,1..5,1..7]");
    }

    proptest! {
        #[test]
        fn like_its_definition(
            axes in prop::collection::vec(
                (0usize..5, any::<bool>(), -7i64..7, -7i64..7, prop::sample::select(vec![-3i64, -2, -1, 1, 2, 3])),
                1..5,
            ),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let dims: Vec<usize> = axes.iter().map(|a| a.0).collect();
            let cut: Vec<(usize, _)> = axes.iter().enumerate().filter(|(_, a)| a.1).collect();
            let list = |f: &dyn Fn(usize) -> i64| ints(&cut.iter().map(|c| f(c.0)).collect::<Vec<_>>());
            let inputs = [
                counted(ty, &dims),
                list(&|i| axes[i].2),
                list(&|i| axes[i].3),
                list(&|i| axes[i].4),
                list(&|i| i as i64 - if mask & 1 == 0 { 0 } else { dims.len() as i64 }),
            ];
            let out = run(&Slice {}, &inputs).expect("fits");
            let taken: Vec<Vec<usize>> = axes
                .iter()
                .map(|&(size, sliced, start, stop, step)| {
                    if sliced { super::super::slicing::tests::python(size, start, stop, step) } else { (0..size).collect() }
                })
                .collect();
            let sizes: Vec<usize> = taken.iter().map(Vec::len).collect();
            prop_assert_eq!(&out.shape()[..], &sizes[..]);
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|at| at.iter().zip(&taken).zip(&strides).map(|((&i, t), s)| t[i] * s).sum())
                .collect();
            assert_picked(&inputs[0], &source, &out);
            let known = dynamic(&Slice {}, &inputs, mask);
            prop_assert!(known.contains(out.shape()), "{known}");
        }
    }

    /// Large enough to be written in pieces.
    #[test]
    fn large() {
        for (dims, start, step) in [
            ([700usize, 900], [1i64, -1], [1i64, -1]),
            ([700, 900], [-1, 3], [-2, 1]),
            ([630_000, 1], [0, 0], [2, 1]),
        ] {
            let data: Vec<u32> = (0..(dims[0] * dims[1]) as u32).collect();
            let data = Tensor::new(dims, &data).expect("its length");
            let stop = step.map(|s| if s < 0 { i64::MIN } else { i64::MAX });
            let inputs = [data, ints(&start), ints(&stop), ints(&step)];
            let out = run(&Slice {}, &inputs).expect("fits");
            let taken = [0, 1]
                .map(|i| super::super::slicing::tests::python(dims[i], start[i], stop[i], step[i]));
            let expected = taken[0]
                .iter()
                .flat_map(|y| taken[1].iter().map(move |x| (y * dims[1] + x) as u32));
            assert!(
                out.as_slice::<u32>()
                    .expect("u32")
                    .iter()
                    .copied()
                    .eq(expected)
            );
        }
    }
}
