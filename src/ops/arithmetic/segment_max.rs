//! SegmentMax-16: the largest elements of slices of the data that belong to one segment.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/segment-max-16.html>
//!
//! Files name the attribute `fill_mode`; the specification calls it `empty_segment_value`. Without
//! `num_segments`, no ids make no segments.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::kernel::bags::{Bags, Empty, bounds, fold_bags};
use crate::kernel::reduce::MAX;
use crate::kernel::scratch::try_collect;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::interval;
use crate::tensor::convert::{narrow, try_i64};
use crate::tensor::{
    Class, Dimension, ElementType, PartialShape, Tensor, TensorError, ValueRange, float,
};

/// The largest elements of each segment.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct SegmentMax {
    #[serde(alias = "empty_segment_value")]
    fill_mode: FillMode,
}

/// What a segment without elements gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum FillMode {
    #[default]
    Zero,
    /// The lowest number of the element type.
    Lowest,
}

/// The number of segments.
fn segments(ids: &Input<'_>, given: Option<&Input<'_>>) -> Result<Dimension, OpError> {
    if let Some(ids) = ids.ints() {
        check(&ids)?;
    }
    if let Some(input) = given {
        return input.size_scalar("num_segments");
    }
    if ids.shape.elements().value() == Some(0) {
        return Ok(Dimension::fixed(0));
    }
    let last = ids.ranges().and_then(|ranges| ranges.last().copied());
    let count = last.map(|last| interval::add(last, ValueRange::exact(1)));
    Ok(count.map_or(Dimension::dynamic(), ValueRange::to_dimension))
}

/// Checks that ids are sorted and not negative.
fn check(ids: &[i64]) -> Result<(), OpError> {
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] > pair[1]) {
        bail!(
            "segment_ids must be sorted, got {} before {}",
            pair[0],
            pair[1]
        );
    }
    ensure!(
        ids.first().is_none_or(|&id| id >= 0),
        "segment_ids must not be negative, got {}",
        ids[0]
    );
    Ok(())
}

impl Op for SegmentMax {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, ids, given) = match inputs {
            [data, ids] => (data, ids, None),
            [data, ids, given] => (data, ids, Some(given)),
            _ => bail!(
                "expected 2 or 3 inputs (data, segment_ids, num_segments), got {}",
                inputs.len()
            ),
        };
        let ty = data.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "data must be numbers, got {ty}"
        );
        ids.expect_integer("segment_ids")?;
        ensure!(
            ids.rank().is_none_or(|rank| rank == 1),
            "segment_ids must be 1-D, got shape {}",
            ids.shape
        );
        let count = segments(ids, given)?;
        let Some(dims) = data.shape.dims() else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let Some((first, rest)) = dims.split_first() else {
            bail!("data must have at least one dimension, got a scalar");
        };
        let ids = ids.shape.elements();
        ensure!(
            first.compatible(ids),
            "segment_ids must be as many as the first dimension of data, got {ids} for {first}"
        );
        let shape: PartialShape = [count].into_iter().chain(rest.iter().copied()).collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let ids = try_i64(io.inputs[1])?;
        check(&ids)?;
        let count = out.shape()[0];
        if let Some(last) = ids.last() {
            ensure!(
                usize::try_from(*last).is_ok_and(|last| last < count),
                "segment {last} is out of range for {count} segments"
            );
        }
        let ids = try_collect(ids.iter().flat_map(|&id| usize::try_from(id)))?;
        let rows = try_collect(0..ids.len())?;
        let ty = data.element_type();
        let fill = match self.fill_mode {
            FillMode::Zero => Tensor::zeros(ty, [1])?,
            FillMode::Lowest => lowest(ty)?,
        };
        let bags = Bags {
            rows: &rows,
            bounds: &bounds(&ids, count)?,
            weights: None,
            samples: None,
            empty: Empty::Value(&fill),
        };
        fold_bags(data, &bags, &MAX, out);
        Ok(())
    }

    fn allowed(&self, _: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        match index {
            // Ids drawn at random would not be sorted.
            1 => Some((0, 0)),
            2 => Some((1, 8)),
            _ => None,
        }
    }
}

/// The lowest number of a type; of a float format, the lowest finite one.
fn lowest(ty: ElementType) -> Result<Tensor, TensorError> {
    let mut tensor = Tensor::zeros(ty, [1])?;
    match ty.class() {
        Some(Class::F64) => narrow(&[f64::MIN], &mut tensor, 0),
        Some(Class::F32) => {
            let value = match (ty, float::values(ty)) {
                (ElementType::F16, _) => f16::MIN.to_f32(),
                (ElementType::Bf16, _) => bf16::MIN.to_f32(),
                (_, None) => f32::MIN,
                (_, Some(values)) => {
                    let finite = values.iter().copied().filter(|x| x.is_finite());
                    finite.fold(f32::INFINITY, f32::min)
                }
            };
            narrow(&[value], &mut tensor, 0);
        }
        Some(Class::I64) => narrow(&[interval::bounds(ty).0], &mut tensor, 0),
        Some(Class::U64) | None => {}
    }
    Ok(tensor)
}

#[cfg(test)]
#[path = "segment_max_tests.rs"]
mod tests;
