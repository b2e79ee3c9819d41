//! ContribStringJoin and ContribStringSplit: strings joined along an axis, and split at a
//! delimiter, as the operators of `ai.onnx.contrib` do it.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/contrib_string_ops.cpp>

use serde::{Deserialize, Serialize};

use super::pattern::expect_pattern;
use super::ragged::{expect_inputs, limit_elements, line};
use crate::kernel::scratch::{try_append, try_collect, try_extend, try_push};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};
use crate::ops::strings::{Packed, Strings};
use crate::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor};

/// Strings along an axis as one, with a separator between.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct ContribStringJoin {}

impl Op for ContribStringJoin {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[5], "strings, separator, axis")?;
        Strings::expect(inputs, 0, "strings")?;
        expect_pattern(&inputs[3], "the separator")?;
        let axis = inputs[4].int_scalar("the axis")?;
        let shape = match (inputs[0].shape.dims(), axis) {
            (None, _) => PartialShape::dynamic(),
            (Some([] | [_]), None) | (Some([]), _) => PartialShape::scalar(),
            (Some(dims), None) => PartialShape::of_rank(dims.len() - 1),
            (Some(dims), Some(axis)) => {
                let mut dims = dims.to_vec();
                dims.remove(normalize_axis(axis, dims.len())?);
                PartialShape::from_iter(dims)
            }
        };
        Ok(Strings::outputs(&shape).into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let strings = Strings::of(io.inputs, 0)?;
        let separator = io.inputs[3].as_slice::<u8>()?;
        let dims = io.inputs[0].shape();
        let axis = match dims.rank() {
            0 => None,
            rank => {
                let axis = Input::of(io.inputs[4]).int_scalar("the axis")?.unwrap_or(0);
                Some(normalize_axis(axis, rank)?)
            }
        };
        let (outer, count, inner) = match axis {
            None => (1, 1, 1),
            Some(axis) => (
                dims[..axis].iter().product::<usize>(),
                dims[axis],
                dims[axis + 1..].iter().product::<usize>(),
            ),
        };
        let between = strings.len().saturating_mul(separator.len());
        crate::ops::strings::limit_bytes(between, 0)?;
        limit_elements(outer.saturating_mul(inner))?;
        let mut joined = Packed::default();
        for o in 0..outer {
            for i in 0..inner {
                joined.push_with(|out| {
                    for along in 0..count {
                        if along > 0 {
                            try_append(out, separator)?;
                        }
                        try_append(out, strings.get((o * count + along) * inner + i))?;
                    }
                    Ok(())
                })?;
            }
        }
        let mut shape = dims.to_vec();
        axis.map(|axis| shape.remove(axis));
        let tensors = joined.into_tensors(&Shape::from(shape.as_slice()))?;
        io.outputs.clone_from_slice(&tensors);
        Ok(())
    }
}

/// Strings split: which is where, the parts, and how large the whole is.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct ContribStringSplit {}

/// The parts of a string; without a delimiter its bytes.
fn split<'a>(string: &'a [u8], delimiter: &[u8]) -> Result<Vec<&'a [u8]>, OpError> {
    if delimiter.is_empty() {
        return try_collect(string.chunks(1));
    }
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(window) = string.get(at..at + delimiter.len()) {
        if window == delimiter {
            try_push(&mut parts, &string[from..at])?;
            at += delimiter.len();
            from = at;
        } else {
            at += 1;
        }
    }
    try_push(&mut parts, &string[from..])?;
    Ok(parts)
}

/// Whether empty parts are dropped.
fn skips_empty(tensor: &Tensor) -> Result<bool, OpError> {
    ensure!(
        tensor.len() == 1,
        "skip_empty has {} values, expected 1",
        tensor.len()
    );
    Ok(tensor.bytes().first().is_some_and(|&b| b != 0))
}

impl Op for ContribStringSplit {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[5], "strings, delimiter, skip_empty")?;
        Strings::expect(inputs, 0, "strings")?;
        expect_pattern(&inputs[3], "the delimiter")?;
        let ty = inputs[4].element_type;
        if !matches!(
            ty,
            ElementType::Boolean | ElementType::U8 | ElementType::I8 | ElementType::Dynamic
        ) {
            bail!("skip_empty must be boolean, u8 or i8, got {ty}");
        }
        let rank = inputs[0]
            .rank()
            .map_or(Dimension::dynamic(), |r| Dimension::fixed(r + 1));
        let places = PartialShape::from_iter([Dimension::dynamic(), rank]);
        let shape = PartialShape::from_iter([rank]);
        Ok(smallvec::smallvec![
            Output::new(ElementType::I64, places),
            line(ElementType::I32),
            line(ElementType::I32),
            line(ElementType::U8),
            Output::new(ElementType::I64, shape),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let strings = Strings::of(io.inputs, 0)?;
        let delimiter = io.inputs[3].as_slice::<u8>()?;
        let skip_empty = skips_empty(io.inputs[4])?;
        let dims = io.inputs[0].shape();
        let strides = dims.strides();
        let (mut places, mut most, mut count) = (Vec::new(), 0, 0);
        let mut packed = Packed::default();
        for (i, string) in strings.iter().enumerate() {
            let parts = split(string, delimiter)?;
            most = most.max(parts.len());
            for (place, part) in parts.into_iter().enumerate() {
                if skip_empty && part.is_empty() {
                    continue;
                }
                let axes = dims.iter().zip(&strides);
                let axes = axes.map(|(&dim, &stride)| (i / stride % dim) as i64);
                try_extend(&mut places, axes.chain([place as i64]))?;
                packed.push(part)?;
                count += 1;
            }
        }
        let whole = dims.iter().copied().chain([most]).map(|dim| dim as i64);
        let [values @ .., _] = io.outputs else {
            bail!("expected 5 outputs, got none");
        };
        values[0] = Tensor::new([count, dims.rank() + 1], &places)?;
        values[1..4].clone_from_slice(&packed.into_tensors(&Shape::from([count]))?);
        io.outputs[4] = Tensor::vector(&whole.collect::<Vec<_>>());
        Ok(())
    }
}
