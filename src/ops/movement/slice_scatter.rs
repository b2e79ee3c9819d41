//! SliceScatter-15: the data with a slice of it replaced by the updates.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/slice-scatter-15.html>

use serde::{Deserialize, Serialize};

use super::slicing::Slices;
use crate::kernel::moving::move_elements;
use crate::kernel::strided::Overwrite;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::{Few, PartialShape};

/// The data with a slice replaced.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct SliceScatter {}

impl Op for SliceScatter {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            (5..=6).contains(&inputs.len()),
            "expected 5 or 6 inputs (data, updates, start, stop, step, axes), got {}",
            inputs.len()
        );
        let ty = merge_types(&inputs[..2])?;
        let (data, updates) = (&inputs[0].shape, &inputs[1].shape);
        let slices = Slices::read(&inputs[2..])?;
        let Some(dims) = data.dims() else {
            let shape = updates
                .rank()
                .map_or(PartialShape::dynamic(), PartialShape::of_rank);
            return Ok(Output::single(ty, shape));
        };
        let slice: PartialShape = slices.dims(dims)?.into_iter().collect();
        ensure!(
            updates.compatible(&slice),
            "updates have shape {updates}, the slice of the data has {slice}"
        );
        Ok(Output::single(ty, data.clone().into_owned()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, updates, numbers @ ..] = io.inputs else {
            bail!("expected 5 or 6 inputs, got {}", io.inputs.len());
        };
        let numbers: Few<Input<'_>> = numbers.iter().map(|t| Input::of(t)).collect();
        let cuts = Slices::read(&numbers)?.cuts(data.shape(), updates.shape())?;
        move_elements(
            &Overwrite::new(data.shape(), &cuts),
            &[data, updates],
            io.outputs,
        )
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0, 1])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::movement::slicing::tests::python;
    use crate::ops::testing::{counted, dynamic, elements, index, infer_dims, run, shape};
    use crate::tensor::{ElementType, Shape, Tensor};

    #[test]
    fn document_examples() {
        let ten: Vec<f32> = (0..15u8).map(f32::from).collect();
        let scatter = |rows: usize,
                       updates: (&[usize], &[f32]),
                       start: &[i32],
                       stop: &[i32],
                       step: &[i32],
                       axes: Option<&[i32]>| {
            let mut inputs = vec![
                Tensor::new([rows, 5], &ten[..rows * 5]).expect("rows"),
                Tensor::new(updates.0, updates.1).expect("its length"),
                Tensor::vector(start),
                Tensor::vector(stop),
                Tensor::vector(step),
            ];
            inputs.extend(axes.map(Tensor::vector));
            let out = run(&SliceScatter {}, &inputs).expect("fits");
            out.as_slice::<f32>().expect("f32").to_vec()
        };
        let out = scatter(
            2,
            (&[1, 5], &[10., 20., 30., 40., 50.]),
            &[0],
            &[1],
            &[1],
            Some(&[0]),
        );
        assert_eq!(out, [10., 20., 30., 40., 50., 5., 6., 7., 8., 9.]);
        let out = scatter(
            2,
            (&[2, 3], &[10., 20., 30., 40., 50., 60.]),
            &[-25],
            &[25],
            &[2],
            Some(&[1]),
        );
        assert_eq!(out, [10., 1., 20., 3., 30., 40., 6., 50., 8., 60.]);
        let out = scatter(
            3,
            (&[2, 2], &[50., 60., 70., 80.]),
            &[0, 1],
            &[3, 5],
            &[2, 2],
            None,
        );
        let expected = [
            0., 50., 2., 60., 4., 5., 6., 7., 8., 9., 10., 70., 12., 80., 14.,
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn shapes() {
        let (data, one, unknown) = (shape("4,?"), shape("1"), shape("..."));
        fn f32(shape: &PartialShape) -> Input<'_> {
            Input::new(ElementType::F32, shape)
        }
        let (start, stop) = (Tensor::vector(&[1i64]), Tensor::vector(&[3i64]));
        let infer = |data: &PartialShape, updates: &str| {
            let updates = &shape(updates);
            let step = Input::new(ElementType::I64, &one);
            let step = Input {
                ranges: None,
                value: Some(&start),
                ..step
            };
            let inputs = [
                f32(data),
                f32(updates),
                Input::of(&start),
                Input::of(&stop),
                step,
            ];
            SliceScatter {}
                .infer(&inputs)
                .map(|o| o[0].shape.to_string())
        };
        assert_eq!(infer(&data, "2,7").as_deref(), Ok("[4,?]"));
        assert_eq!(infer(&unknown, "2,7").as_deref(), Ok("[?,?]"));
        assert_eq!(infer(&data, "...").as_deref(), Ok("[4,?]"));
        for wrong in ["3,7", "2", "1,7"] {
            assert!(infer(&data, wrong).is_err(), "{wrong}");
        }
        let i32 = Input::new(ElementType::I32, &unknown);
        let inputs = [
            f32(&data),
            i32,
            Input::of(&start),
            Input::of(&stop),
            Input::of(&start),
        ];
        assert!(SliceScatter {}.infer(&inputs).is_err());
        let inputs = [
            f32(&data),
            f32(&unknown),
            f32(&one),
            Input::of(&stop),
            Input::of(&start),
        ];
        assert!(SliceScatter {}.infer(&inputs).is_err());
        let i64 = || Input::new(ElementType::I64, &unknown);
        let inputs = [f32(&data), f32(&unknown), i64(), i64(), i64(), i64()];
        assert_eq!(infer_dims(&SliceScatter {}, &inputs), "[4,?]");
    }

    proptest! {
        #[test]
        fn like_its_definition(
            axes in prop::collection::vec(
                (0usize..5, -7i64..7, -7i64..7, prop::sample::select(vec![-2i64, -1, 1, 2])),
                1..5,
            ),
            large in any::<bool>(),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            let mut dims: Vec<usize> = axes.iter().map(|a| a.0).collect();
            if large {
                // More slabs than threads.
                dims[0] += 70;
            }
            let taken: Vec<Vec<usize>> = dims.iter().zip(&axes).map(|(&n, a)| python(n, a.1, a.2, a.3)).collect();
            let sizes: Shape = taken.iter().map(Vec::len).collect();
            let list = |f: &dyn Fn(usize) -> i64| Tensor::vector(&(0..dims.len()).map(f).collect::<Vec<_>>());
            let updates = counted(ty, &sizes.iter().map(|n| n * 2).collect::<Vec<_>>());
            let updates = {
                // Other elements than those of the data.
                let cut = [updates, list(&|_| 0), list(&|i| sizes[i] as i64), list(&|_| 1)];
                let reversed = run(&super::super::slice::Slice {}, &cut).expect("fits");
                let back = [reversed, list(&|_| -1), list(&|_| i64::MIN), list(&|_| -1)];
                run(&super::super::slice::Slice {}, &back).expect("fits")
            };
            let inputs = [
                counted(ty, &dims),
                updates,
                list(&|i| axes[i].1),
                list(&|i| axes[i].2),
                list(&|i| axes[i].3),
            ];
            let out = run(&SliceScatter {}, &inputs).expect("fits");
            let mut expected = elements(&inputs[0]);
            let strides = inputs[0].shape().strides();
            for (at, update) in index(&sizes).zip(elements(&inputs[1])) {
                let place: usize = at.iter().zip(&taken).zip(&strides).map(|((&i, t), s)| t[i] * s).sum();
                expected[place] = update;
            }
            prop_assert_eq!(elements(&out), expected);
            let known = dynamic(&SliceScatter {}, &inputs, mask).contains(out.shape());
            prop_assert!(known);
        }
    }
}
