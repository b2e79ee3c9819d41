//! Unsqueeze-1: the data with dimensions of 1 put in.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/shape/unsqueeze-1.html>

use serde::{Deserialize, Serialize};

use crate::op::{Input, Moves, Op, OpError, Output, Outputs, bail, normalize_axes};
use crate::tensor::{Dimension, PartialShape};

/// The data with dimensions of 1 at the axes of the output given.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Unsqueeze {}

fn insert(data: &[Dimension], axes: &[i64]) -> Result<PartialShape, OpError> {
    // An axis named twice adds one dimension; named with both signs, it still counts twice in the
    // rank that negative axes count from, as in the real runtime.
    let mut distinct = axes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let rank = data.len() + distinct.len();
    let places = normalize_axes(&distinct, rank)?;
    let mut rest = data.iter().copied();
    let dims = (0..rank).map(|i| {
        if places.contains(&i) {
            Some(Dimension::fixed(1))
        } else {
            rest.next()
        }
    });
    Ok(dims.flatten().collect())
}

/// What holds for one axis, whichever it is.
fn any_axis(data: &[Dimension]) -> PartialShape {
    let one = Dimension::fixed(1);
    (0..=data.len())
        .map(|i| {
            let before = i.checked_sub(1).map(|i| data[i]);
            let around = before.into_iter().chain(data.get(i).copied());
            around.fold(one, Dimension::union)
        })
        .collect()
}

impl Op for Unsqueeze {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axes] = inputs else {
            bail!("expected 2 inputs (data, axes), got {}", inputs.len());
        };
        axes.expect_integer("axes")?;
        axes.expect_at_most_1d("axes")?;
        let shape = match (data.shape.dims(), axes.ints()) {
            (None, _) => PartialShape::dynamic(),
            (Some(dims), Some(axes)) => insert(dims, &axes)?,
            (Some(dims), None) => match axes.shape.elements().value() {
                Some(0) => dims.into(),
                Some(1) => any_axis(dims),
                _ => PartialShape::dynamic(),
            },
        };
        Ok(Output::single(data.element_type, shape))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{counted, dynamic, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    #[test]
    fn axes() {
        for (data, axes, expected) in [
            (&[2usize, 3][..], &[0i64, 3][..], "[1,2,3,1]"),
            (&[], &[0], "[1]"),
            (&[2, 3], &[0, 0], "[1,2,3]"),
            (&[2, 3], &[0, -1], "[1,2,3,1]"),
            (&[2, 3], &[1, -3], "[2,1,3]"),
            (&[2, 3, 4], &[4, -1], "[2,3,4,1]"),
            (&[2, 3], &[3], ""),
            (&[2, 3], &[-4], ""),
            (&[2, 0], &[2, 1], "[2,1,1,0]"),
            (&[2, 3], &[], "[2,3]"),
        ] {
            let inputs = [counted(ElementType::U4, data), Tensor::vector(axes)];
            let out = run(&Unsqueeze {}, &inputs).map(|out| out.shape().to_string());
            assert_eq!(out.unwrap_or_default(), expected, "{data:?} {axes:?}");
            for mask in (0..if expected.is_empty() { 0 } else { 64 }).map(|i: u32| i * 0x0311_5A71)
            {
                let known = run(&Unsqueeze {}, &inputs).expect("fits");
                assert!(dynamic(&Unsqueeze {}, &inputs, mask).contains(known.shape()));
            }
        }
    }

    #[test]
    fn an_unknown_axis() {
        let (data, one) = (shape("4,?"), shape("1"));
        let inputs = [
            Input::new(ElementType::F32, &data),
            Input::new(ElementType::I64, &one),
        ];
        assert_eq!(infer_dims(&Unsqueeze {}, &inputs), "[1..4,?,?]");
    }
}
