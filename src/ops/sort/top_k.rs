//! TopK-1, -3, -11: the largest or smallest elements along an axis, and their indices.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/top-k-11.html>
//!
//! Only TopK-11 has `stable`. Where the document leaves the order open, equal elements are in the
//! order of their indices, and `sort="none"` is the order by value. NaN is smaller than every
//! number, and both zeros are equal.

use serde::{Deserialize, Serialize};

use crate::kernel::{self, moving::move_elements, top_k::Values};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
    expect_index_type, expect_indices_fit, normalize_axis,
};
use crate::tensor::{Dimension, ElementType};

/// Which elements are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// The largest.
    #[default]
    Max,
    /// The smallest.
    Min,
}

/// The order of the elements picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    /// That of their indices.
    Index,
    /// Any.
    #[default]
    None,
    /// That of their values: the largest first in mode `max`, the smallest in mode `min`.
    Value,
}

/// The largest or smallest elements along an axis.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct TopK {
    axis: i64,
    mode: Mode,
    sort: Sort,
    index_element_type: ElementType,
    /// Whether equal elements keep their order, as they do in any case.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stable: bool,
}

impl Default for TopK {
    fn default() -> Self {
        Self {
            axis: 0,
            mode: Mode::default(),
            sort: Sort::default(),
            index_element_type: ElementType::I32,
            stable: false,
        }
    }
}

/// Reads TopK-1 and -3, for which `stable` is no attribute.
pub(super) fn read_3(layer: &LayerData<'_>) -> ReadResult {
    let (op, mut unknown) = attrs::read::<TopK>(layer.attributes)?;
    let stable = layer.attributes.iter().position(|a| a.name == "stable");
    unknown.extend(stable);
    let stable = false;
    Ok((Box::new(TopK { stable, ..op }), unknown))
}

/// How many elements of an axis are picked.
fn picked(k: &Input<'_>, size: Dimension) -> Result<Dimension, OpError> {
    let possible = Dimension::range(1, size.max());
    // It also checks type and shape.
    let value = k.int_scalar("k")?;
    let range = k.ranges().and_then(|ranges| ranges.first().copied());
    let found = range
        .filter(|range| range.max > 0)
        .map(|r| r.to_dimension());
    let fits = size.max().is_none_or(|size| size > 0);
    match (found, range) {
        (Some(found), _) if fits && found.compatible(possible) => {
            Ok(found.intersect(possible).unwrap_or(possible))
        }
        (None, None) if fits => Ok(possible),
        _ => {
            let k = value.map_or_else(|| "not known".to_owned(), |k| k.to_string());
            bail!("k is {k}, expected 1 to {size}, the size of the axis")
        }
    }
}

impl Op for TopK {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, k] = inputs else {
            bail!("expected 2 inputs (data, k), got {}", inputs.len());
        };
        expect_index_type("index_element_type", self.index_element_type)?;
        let ty = data.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "the data must be numbers, got {ty}"
        );
        let mut shape = data.shape.clone().into_owned();
        match shape.dims_mut() {
            Some(dims) => {
                let axis = normalize_axis(self.axis, dims.len())?;
                dims[axis] = picked(k, dims[axis])?;
            }
            None => {
                picked(k, Dimension::dynamic())?;
            }
        }
        Ok(smallvec::smallvec![
            Output::new(ty, shape.clone()),
            Output::new(self.index_element_type, shape),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, _], [values, indices]) = (io.inputs, &mut *io.outputs) else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let shape = data.shape();
        let axis = normalize_axis(self.axis, shape.rank())?;
        if values.is_empty() {
            return Ok(());
        }
        expect_indices_fit(shape[axis], self.index_element_type)?;
        let kernel = kernel::top_k::TopK {
            axis: shape[axis],
            inner: shape[axis + 1..].iter().product(),
            k: values.shape()[axis],
            largest: self.mode == Mode::Max,
            by_index: self.sort == Sort::Index,
        };
        let picked = kernel.pick(data)?;
        if self.index_element_type == ElementType::I32 {
            kernel.indices::<i32>(&picked, indices.as_mut_slice()?);
        } else {
            kernel.indices::<i64>(&picked, indices.as_mut_slice()?);
        }
        let mover = Values {
            of: kernel,
            picked: &picked,
        };
        move_elements(&mover, &[data], std::slice::from_mut(values))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let dims = inputs.first()?.shape.dims()?;
        let axis = normalize_axis(self.axis, dims.len()).ok()?;
        let most = i64::try_from(dims[axis].min()).ok()?;
        (index == 1).then_some((1, most))
    }
}

#[cfg(test)]
#[path = "top_k_tests.rs"]
mod tests;
