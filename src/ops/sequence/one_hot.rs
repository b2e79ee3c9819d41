//! OneHot-1, -16: a new axis along which one element is set.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/one-hot-16.html>
//!
//! OneHot-16 can count negative indices from the end. For OneHot-1 they are undefined: here they
//! set nothing, as in OneHot-16 by default.

use serde::{Deserialize, Serialize};

use crate::kernel::{moving::move_elements, one_hot};
use crate::op::{
    Input, Io, LayerData, Moves, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    merge_types, normalize_axis,
};
use crate::tensor::{Dimension, PartialShape};

/// What negative indices mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum NegativeIndicesMode {
    /// They set nothing.
    #[default]
    #[serde(alias = "ignore-negative")]
    IgnoreNegative,
    /// They count from the end.
    Normalize,
}

/// A new axis along which one element is set.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct OneHot {
    axis: i64,
    #[serde(skip_serializing_if = "is_default")]
    negative_indices_mode: NegativeIndicesMode,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_default(mode: &NegativeIndicesMode) -> bool {
    *mode == NegativeIndicesMode::default()
}

/// OneHot-1, which has one attribute.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct OneHot1 {
    axis: i64,
}

/// Reads OneHot-1.
pub(super) fn read_1(layer: &LayerData<'_>) -> ReadResult {
    let (OneHot1 { axis }, unknown) = attrs::read(layer.attributes)?;
    let op = OneHot {
        axis,
        ..OneHot::default()
    };
    Ok((Box::new(op), unknown))
}

/// The size of the new axis.
fn depth(input: &Input<'_>) -> Result<Dimension, OpError> {
    input.expect_integer("depth")?;
    input.expect_scalar("depth")?;
    let Some(range) = input
        .few_ranges()
        .and_then(|ranges| ranges.first().copied())
    else {
        return Ok(Dimension::range(1, None));
    };
    ensure!(
        range.max > 0,
        "depth is {}, expected a positive number",
        range.max
    );
    let depth = range.to_dimension();
    // What is not positive is refused once it is known.
    Ok(depth.intersect(Dimension::range(1, None)).unwrap_or(depth))
}

impl Op for OneHot {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [indices, classes, on, off] = inputs else {
            bail!(
                "expected 4 inputs (indices, depth, on_value, off_value), got {}",
                inputs.len()
            );
        };
        indices.expect_integer("indices")?;
        on.expect_scalar("on_value")?;
        off.expect_scalar("off_value")?;
        let ty = merge_types(&[on.clone(), off.clone()])?;
        let depth = depth(classes)?;
        let shape = match indices.shape.dims() {
            None => PartialShape::dynamic(),
            Some(dims) => {
                let axis = normalize_axis(self.axis, dims.len() + 1)?;
                let (before, after) = dims.split_at(axis);
                before
                    .iter()
                    .chain([&depth])
                    .chain(after)
                    .copied()
                    .collect()
            }
        };
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [indices, _, on, off] = io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        let shape = io.outputs[0].shape();
        let axis = normalize_axis(self.axis, shape.rank())?;
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let kernel = one_hot::OneHot {
            indices,
            depth: shape[axis],
            inner: shape[axis + 1..].iter().product(),
            from_end: self.negative_indices_mode == NegativeIndicesMode::Normalize,
        };
        move_elements(&kernel, &[on, off], io.outputs)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        if index != 0 {
            return None;
        }
        let depth = depth(inputs.get(1)?).ok()?;
        let most = i64::try_from(depth.min()).ok()?;
        Some(match self.negative_indices_mode {
            NegativeIndicesMode::IgnoreNegative => (0, most - 1),
            NegativeIndicesMode::Normalize => (-most, most - 1),
        })
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[2, 3])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::op::attrs::Attr;
    use crate::ops::testing::{counted, dynamic, elements, index, infer_dims, part, run, shape};
    use crate::tensor::{ElementType, Symbol, Tensor, ValueRange};

    fn one_hot(op: &OneHot, indices: &Tensor, depth: i64) -> Result<Vec<u8>, OpError> {
        let (on, off) = (Tensor::scalar(1u8), Tensor::scalar(0u8));
        let out = run(op, &[indices.clone(), Tensor::scalar(depth), on, off])?;
        Ok(out.as_slice::<u8>()?.to_vec())
    }

    #[test]
    fn negative_indices() {
        let indices = Tensor::vector(&[-1i64, -2, -3, 1, 2, i64::MIN, i64::MAX]);
        let ignored = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let counted = [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let mut op = OneHot {
            axis: -1,
            ..OneHot::default()
        };
        assert_eq!(one_hot(&op, &indices, 2), Ok(ignored.to_vec()));
        op.negative_indices_mode = NegativeIndicesMode::Normalize;
        assert_eq!(one_hot(&op, &indices, 2), Ok(counted.to_vec()));
        let unsigned = Tensor::vector(&[u64::MAX, 1, 1 << 63]);
        assert_eq!(one_hot(&op, &unsigned, 2), Ok(vec![0, 0, 0, 1, 0, 0]));
        assert_eq!(one_hot(&op, &Tensor::scalar(1i32), 3), Ok(vec![0, 1, 0]));
    }

    #[test]
    fn spellings() {
        for (text, mode) in [
            ("ignore_negative", NegativeIndicesMode::IgnoreNegative),
            ("ignore-negative", NegativeIndicesMode::IgnoreNegative),
            ("NORMALIZE", NegativeIndicesMode::Normalize),
        ] {
            let attributes = [Attr::new("negative_indices_mode", text)];
            let (op, _) = attrs::read::<OneHot>(&attributes).expect("a mode");
            assert_eq!(op.negative_indices_mode, mode);
        }
    }

    #[test]
    fn mistakes() {
        let op = OneHot::default();
        let indices = Tensor::vector(&[0i64]);
        for depth in [0, -1, i64::MIN] {
            let error = one_hot(&op, &indices, depth).expect_err("not positive");
            assert_eq!(
                error.message,
                format!("depth is {depth}, expected a positive number")
            );
        }
        let far = OneHot {
            axis: 2,
            ..OneHot::default()
        };
        assert!(one_hot(&far, &indices, 2).is_err());
        assert!(one_hot(&op, &Tensor::vector(&[0f32]), 2).is_err());
        let two = Tensor::scalar(2i64);
        let (on, off) = (Tensor::scalar(1u8), Tensor::scalar(0i8));
        assert!(run(&op, &[indices.clone(), two.clone(), on.clone(), off]).is_err());
        let vector = Tensor::vector(&[2i64]);
        assert!(run(&op, &[indices, vector, on.clone(), on]).is_err());
    }

    #[test]
    fn what_is_known_of_the_depth() {
        let (indices, scalar) = (shape("2,3"), shape(""));
        let range = [ValueRange {
            min: -3,
            max: 9,
            symbol: Some(Symbol(5)),
        }];
        let op = OneHot {
            axis: 1,
            ..OneHot::default()
        };
        let number = Input::new(ElementType::F32, &scalar);
        let mut depth = Input::new(ElementType::I64, &scalar);
        let all = |depth: &Input<'_>| {
            let inputs = [
                Input::new(ElementType::I32, &indices),
                depth.clone(),
                number.clone(),
                number.clone(),
            ];
            op.infer(&inputs).expect("fits")[0].shape.clone()
        };
        assert_eq!(all(&depth).to_string(), "[2,1..,3]");
        depth.ranges = Some(&range);
        let known = all(&depth);
        assert_eq!(known.to_string(), "[2,1..9,3]");
        assert_eq!(known.dims().expect("a rank")[1].symbol(), Some(Symbol(5)));
        let unknown = shape("...");
        let inputs = [
            Input::new(ElementType::I32, &unknown),
            depth,
            number.clone(),
            number.clone(),
        ];
        assert_eq!(infer_dims(&op, &inputs), "[...]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(0usize..5, 0..7),
            at in any::<prop::sample::Index>(),
            depth in 1i64..5,
            values in prop::collection::vec(-6i64..6, 200),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            normalize in any::<bool>(),
            negative in any::<bool>(),
            mask in any::<u32>(),
        ) {
            let count: usize = dims.iter().product();
            prop_assume!(count <= values.len());
            let axis = at.index(dims.len() + 1);
            let op = OneHot {
                axis: axis as i64 - if negative { dims.len() as i64 + 1 } else { 0 },
                negative_indices_mode: if normalize {
                    NegativeIndicesMode::Normalize
                } else {
                    NegativeIndicesMode::IgnoreNegative
                },
            };
            let values_of = counted(ty, &[3]);
            let pick = |i: usize| elements(&values_of)[i].clone();
            let scalar = |i: i64| part(&values_of, i);
            let indices = Tensor::new(dims.as_slice(), &values[..count]).expect("its length");
            let inputs = [indices.clone(), Tensor::scalar(depth), scalar(1), scalar(2)];
            let out = run(&op, &inputs).expect("fits");
            let strides = indices.shape().strides();
            let expected: Vec<String> = index(out.shape())
                .map(|mut at| {
                    let class = at.remove(axis) as i64;
                    let place: usize = at.iter().zip(&strides).map(|(i, s)| i * s).sum();
                    let value = values[place];
                    let value = if value < 0 && normalize { value + depth } else { value };
                    pick(if value == class { 1 } else { 2 })
                })
                .collect();
            prop_assert_eq!(elements(&out), expected);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }
}
