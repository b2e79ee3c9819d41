//! ShuffleChannels-1: groups of channels interleaved.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/shuffle-channels-1.html>

use serde::{Deserialize, Serialize};

use super::blocks::{Span, cut};
use crate::kernel::moving::move_elements;
use crate::kernel::transpose::Transpose;
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ShuffleChannels {
    axis: i64,
    group: i64,
}

impl Default for ShuffleChannels {
    fn default() -> Self {
        Self { axis: 1, group: 1 }
    }
}

impl Op for ShuffleChannels {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        ensure!(
            self.group >= 1,
            "group is {}, expected at least 1",
            self.group
        );
        let mut shape = data.shape.clone().into_owned();
        if let Some(dims) = shape.dims_mut() {
            let axis = normalize_axis(self.axis, dims.len())?;
            let groups = Span {
                min: self.group.into(),
                max: self.group.into(),
            };
            cut(axis, dims[axis], groups)?;
        }
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        if data.is_empty() {
            return Ok(());
        }
        let axis = normalize_axis(self.axis, data.shape().rank())?;
        let Ok(group) = usize::try_from(self.group) else {
            bail!("group is {}, expected at least 1", self.group);
        };
        let (outer, inner) = data.shape().split_at(axis);
        let split = [
            outer.iter().product(),
            group,
            inner[0] / group,
            inner[1..].iter().product(),
        ];
        let transpose = Transpose::new(&split, &[0, 2, 1, 3]);
        move_elements(&transpose, &[data], io.outputs)
    }

    fn moves(&self) -> Moves {
        Moves::All
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_picked, counted, infer_dims, run, shape};
    use crate::tensor::ElementType;

    #[test]
    fn groups_are_interleaved() {
        for ty in ElementType::ALL {
            let data = counted(ty, &[2, 6, 2]);
            for axis in [1, -2] {
                let op = ShuffleChannels { axis, group: 3 };
                let out = run(&op, std::slice::from_ref(&data)).expect("divides");
                let order = [0, 2, 4, 1, 3, 5];
                let source: Vec<usize> = (0..2)
                    .flat_map(|n| order.map(move |c| [0, 1].map(|x| n * 12 + c * 2 + x)))
                    .flatten()
                    .collect();
                assert_picked(&data, &source, &out);
            }
        }
    }

    #[test]
    fn limits() {
        let data = counted(ElementType::F32, &[2, 6]);
        let op = |axis, group| ShuffleChannels { axis, group };
        for bad in [op(1, 4), op(2, 1), op(1, 0), op(-3, 1)] {
            assert!(run(&bad, std::slice::from_ref(&data)).is_err(), "{bad:?}");
        }
        let empty = counted(ElementType::F32, &[0, 6]);
        assert!(run(&op(1, 2), &[empty]).is_ok());
        let some = shape("?,7..9");
        let input = Input::new(ElementType::F32, &some);
        assert_eq!(
            infer_dims(&op(1, 4), std::slice::from_ref(&input)),
            "[?,7..9]"
        );
        assert!(op(1, 5).infer(&[input]).is_err());
    }
}
