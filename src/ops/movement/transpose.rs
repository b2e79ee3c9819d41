//! Transpose-1: the axes in another order.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/transpose-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::{self, moving::move_elements};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, permutation};
use crate::tensor::{Dimension, Few, PartialShape};

/// The axes in another order; an empty order reverses them.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Transpose {}

fn axes(order: &[i64], rank: usize) -> Result<Few<usize>, OpError> {
    if order.is_empty() {
        return Ok((0..rank).rev().collect());
    }
    ensure!(
        order.len() == rank,
        "the order has {} axes, the data {rank}",
        order.len()
    );
    permutation(order)
}

impl Op for Transpose {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, order] = inputs else {
            bail!("expected 2 inputs (arg, input_order), got {}", inputs.len());
        };
        let count = order.rank_given("the order")?;
        let known = match (order.ints(), count) {
            (None, Some(0)) => Some(Few::new()),
            (known, _) => known,
        };
        let shape = match (data.shape.dims(), known) {
            (Some(dims), Some(order)) => axes(&order, dims.len())?
                .into_iter()
                .map(|axis| dims[axis])
                .collect(),
            (Some(dims), None) => {
                if let Some(count) = count {
                    ensure!(
                        count == dims.len(),
                        "the order has {count} axes, the data {}",
                        dims.len()
                    );
                }
                let any = dims.iter().copied().reduce(Dimension::union);
                dims.iter().filter_map(|_| any).collect()
            }
            (None, known) => {
                if let Some(order) = &known {
                    permutation(order)?;
                }
                match count.or(known.map(|order| order.len())) {
                    Some(rank) if rank > 0 => PartialShape::of_rank(rank),
                    _ => PartialShape::dynamic(),
                }
            }
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn infers_from(&self, index: usize) -> bool {
        index == 1
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, order] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        if data.is_empty() {
            return Ok(());
        }
        let order = Input::of(order).ints().unwrap_or_default();
        let order = axes(&order, data.shape().rank())?;
        let transpose = kernel::transpose::Transpose::new(data.shape(), &order);
        move_elements(&transpose, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, dynamic, index, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    #[test]
    fn document_examples() {
        let data = counted(ElementType::F32, &[2, 3, 4]);
        for (order, expected) in [(&[2i64, 0, 1][..], "[4,2,3]"), (&[], "[4,3,2]")] {
            let out = run(&Transpose {}, &[data.clone(), Tensor::vector(order)]).expect("fits");
            assert_eq!(out.shape().to_string(), expected);
        }
    }

    /// Rows and columns of few elements, and there and back.
    #[test]
    fn interleaved() {
        for (few, many) in [(2, 1), (2, 1023), (3, 1025), (4, 2500), (5, 70)] {
            for ty in [ElementType::U8, ElementType::F32] {
                let data = counted(ty, &[2, many, few]);
                let order = Tensor::vector(&[0i64, 2, 1]);
                let apart = run(&Transpose {}, &[data.clone(), order.clone()]).expect("fits");
                let (from, to) = (data.bytes(), apart.bytes());
                let size = from.len() / (2 * many * few);
                for (image, i, j) in [(0, 0, 0), (0, many - 1, few - 1), (1, many / 2, 1)] {
                    let place = ((image * many + i) * few + j) * size;
                    let moved = ((image * few + j) * many + i) * size;
                    assert_eq!(
                        from[place..place + size],
                        to[moved..moved + size],
                        "{few} {many}"
                    );
                }
                let together = run(&Transpose {}, &[apart, order]).expect("fits");
                assert_eq!(together, data, "{few} {many}");
            }
        }
    }

    #[test]
    fn what_is_known_without_the_order() {
        let data = shape("2..3,5,?");
        let order = shape("3");
        let f32 = ElementType::F32;
        let inputs = [Input::new(f32, &data), Input::new(ElementType::I64, &order)];
        assert_eq!(infer_dims(&Transpose {}, &inputs), "[?,?,?]");
        let two = shape("2");
        let inputs = [Input::new(f32, &data), Input::new(ElementType::I64, &two)];
        assert!(Transpose {}.infer(&inputs).is_err());
        let unknown = shape("...");
        let inputs = [
            Input::new(f32, &unknown),
            Input::new(ElementType::I32, &two),
        ];
        assert_eq!(infer_dims(&Transpose {}, &inputs), "[?,?]");
        let long = shape("1099511627776");
        let inputs = [
            Input::new(f32, &unknown),
            Input::new(ElementType::I32, &long),
        ];
        assert!(Transpose {}.infer(&inputs).is_err());
        for wrong in [&[0i64, 0][..], &[-1, 0], &[0, 2], &[0]] {
            let order = Tensor::vector(wrong);
            let data = counted(f32, &[2, 2]);
            assert!(run(&Transpose {}, &[data, order]).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn like_its_definition(
            (dims, order) in prop::collection::vec(0usize..5, 0..9).prop_flat_map(|dims| {
                let order: Vec<i64> = (0..dims.len() as i64).collect();
                (Just(dims), Just(order).prop_shuffle())
            }),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            mask in any::<u32>(),
        ) {
            prop_assume!(dims.iter().product::<usize>() < 5000);
            let data = counted(ty, &dims);
            let inputs = [data, Tensor::vector(&order)];
            let out = run(&Transpose {}, &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|at| at.iter().zip(&order).map(|(i, &axis)| i * strides[axis as usize]).sum())
                .collect();
            crate::ops::testing::assert_picked(&inputs[0], &source, &out);
            let known = dynamic(&Transpose {}, &inputs, mask).contains(out.shape());
            prop_assert!(known);
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Large enough to be cut into squares and pieces.
        #[test]
        fn large(
            dims in prop::sample::select(vec![
                vec![70usize, 90], vec![3, 65, 5, 40], vec![400, 500], vec![2, 300, 2, 300], vec![200, 3, 300],
            ]),
            seed in any::<u64>(),
        ) {
            let mut order: Vec<i64> = (0..dims.len() as i64).collect();
            for i in 1..order.len() {
                order.swap(i, (seed >> (8 * i)) as usize % (i + 1));
            }
            let len: usize = dims.iter().product();
            let data: Vec<u32> = (0..len as u32).collect();
            let data = Tensor::new(dims.as_slice(), &data).expect("its length");
            let strides = data.shape().strides();
            let out = run(&Transpose {}, &[data, Tensor::vector(&order)]).expect("fits");
            let expected = index(out.shape())
                .map(|at| at.iter().zip(&order).map(|(i, &axis)| i * strides[axis as usize]).sum::<usize>());
            let got = out.as_slice::<u32>().expect("u32");
            prop_assert!(got.iter().map(|&x| x as usize).eq(expected));
        }
    }
}
