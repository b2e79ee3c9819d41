//! Squeeze-1, -15: the data without some dimensions of 1.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/shape/squeeze-15.html>
//!
//! Axes whose dimension is not 1 are left as they are. Squeeze-15 can be told by
//! `allow_axis_skip` to expect that of a dynamic dimension; otherwise it is taken to be 1.

use serde::{Deserialize, Serialize};

use crate::op::{Input, Moves, Op, OpError, Output, Outputs, allowed_axes, bail, normalize_axes};
use crate::tensor::{Few, PartialShape};

/// The data without some dimensions of 1: those of the axes given, or all.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Squeeze {
    allow_axis_skip: bool,
}

impl Squeeze {
    fn shape(&self, data: &PartialShape, axes: Option<&[i64]>) -> Result<PartialShape, OpError> {
        let Some(dims) = data.dims() else {
            return Ok(PartialShape::dynamic());
        };
        let Some(axes) = axes else {
            let same = dims.iter().all(|dim| !dim.contains(1));
            return Ok(if same {
                data.clone()
            } else {
                PartialShape::dynamic()
            });
        };
        let axes = normalize_axes(axes, dims.len())?;
        let all = axes.is_empty();
        let mut kept = Vec::with_capacity(dims.len());
        for (i, dim) in dims.iter().enumerate() {
            if !dim.contains(1) || !(all || axes.contains(&i)) {
                kept.push(*dim);
            } else if !dim.is_static() && (all || self.allow_axis_skip) {
                return Ok(PartialShape::dynamic());
            }
        }
        Ok(kept.into_iter().collect())
    }
}

impl Op for Squeeze {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, axes) = match inputs {
            [data] => (data, Some(Few::new())),
            [data, axes] => {
                axes.expect_integer("axes")?;
                axes.expect_at_most_1d("axes")?;
                let none = axes.shape.elements().value() == Some(0);
                (data, axes.ints().or(none.then(Few::new)))
            }
            _ => bail!("expected 1 or 2 inputs (data, axes), got {}", inputs.len()),
        };
        let shape = self.shape(&data.shape, axes.as_deref())?;
        Ok(Output::single(data.element_type, shape))
    }

    fn reshapes(&self) -> bool {
        true
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{counted, infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    fn dims(data: &[usize], axes: Option<&[i64]>) -> Result<String, OpError> {
        let mut inputs = vec![counted(ElementType::F32, data)];
        inputs.extend(axes.map(Tensor::vector));
        run(&Squeeze::default(), &inputs).map(|out| out.shape().to_string())
    }

    #[test]
    fn axes_and_none() {
        for (axes, expected) in [
            (Some(&[0i64, 2][..]), "[3,2]"),
            (Some(&[1]), "[1,3,1,2]"),
            (Some(&[0, 0]), "[3,1,2]"),
            (Some(&[-4, 0]), "[3,1,2]"),
            (Some(&[]), "[3,2]"),
            (None, "[3,2]"),
        ] {
            assert_eq!(
                dims(&[1, 3, 1, 2], axes).as_deref(),
                Ok(expected),
                "{axes:?}"
            );
        }
        assert_eq!(dims(&[1], Some(&[0])).as_deref(), Ok("[]"));
        assert_eq!(dims(&[0, 1], None).as_deref(), Ok("[0]"));
        assert!(dims(&[1, 3], Some(&[2])).is_err());
    }

    #[test]
    fn dynamic_dimensions() {
        let infer = |op: &Squeeze, data: &str, axes: Option<&Tensor>| {
            let data = shape(data);
            let mut inputs = vec![Input::new(ElementType::F32, &data)];
            inputs.extend(axes.map(Input::of));
            infer_dims(op, &inputs)
        };
        let axis = Tensor::scalar(0i32);
        let old = Squeeze::default();
        let skip = Squeeze {
            allow_axis_skip: true,
        };
        assert_eq!(infer(&old, "?,1,2", Some(&axis)), "[1,2]");
        assert_eq!(infer(&skip, "?,1,2", Some(&axis)), "[...]");
        assert_eq!(infer(&skip, "2..,1,2", Some(&axis)), "[2..,1,2]");
        assert_eq!(infer(&old, "?,1,2", None), "[...]");
        assert_eq!(infer(&old, "2..,1,0", None), "[2..,0]");
        assert_eq!(infer(&old, "...", Some(&axis)), "[...]");
        let one = shape("1");
        let data = shape("?,2");
        let unknown = [
            Input::new(ElementType::F32, &data),
            Input::new(ElementType::I64, &one),
        ];
        assert_eq!(infer_dims(&old, &unknown), "[...]");
    }
}
