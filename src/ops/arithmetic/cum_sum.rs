//! CumSum-3: running sums along an axis.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/cumsum-3.html>
//!
//! Sums of floats are accumulated as those of ReduceSum, each rounded once; sums of integers wrap.

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::reduce::{Accumulator, Mapped, Number, Pair, Scalar, Sum};
use crate::kernel::scan::Scan;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, allowed_axes, bail, ensure, normalize_axis,
};
use crate::ops::interval;
use crate::tensor::convert::{convert, convert_into};
use crate::tensor::{Tensor, ValueRange};

/// Running sums along an axis.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CumSum {
    exclusive: bool,
    reverse: bool,
}

impl CumSum {
    fn scan(&self, shape: &[usize], axis: usize) -> Scan {
        Scan {
            axis: shape[axis],
            inner: shape[axis + 1..].iter().product(),
            exclusive: self.exclusive,
            reverse: self.reverse,
        }
    }
}

/// The axis; the first if there is no such input.
fn axis(input: Option<&Input<'_>>) -> Result<Option<i64>, OpError> {
    input.map_or(Ok(Some(0)), |axis| axis.int_scalar("axis"))
}

impl Op for CumSum {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, second) = match inputs {
            [data] => (data, None),
            [data, axis] => (data, Some(axis)),
            _ => bail!("expected 1 or 2 inputs (data, axis), got {}", inputs.len()),
        };
        let ty = data.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "data must be numbers, got {ty}"
        );
        ensure!(
            data.rank() != Some(0),
            "data must have at least one dimension, got a scalar"
        );
        if let (Some(axis), Some(rank)) = (axis(second)?, data.rank()) {
            normalize_axis(axis, rank)?;
        }
        Ok(Output::single(ty, data.shape.clone().into_owned()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = io.inputs[0];
        let axis = axis(io.inputs.get(1).map(|axis| Input::of(axis)).as_ref())?;
        let axis = normalize_axis(axis.unwrap_or(0), data.shape().rank())?;
        let scan = self.scan(data.shape(), axis);
        let out = &mut io.outputs[0];
        match lane(data.element_type()) {
            _ if data.is_empty() => Ok(()),
            Some(Lane::F32) => run::<f32, f64, Mapped<Sum>>(scan, data, out),
            Some(Lane::F64) => run::<f64, Pair, Mapped<Sum>>(scan, data, out),
            Some(Lane::I32) => run::<i32, i32, Sum>(scan, data, out),
            Some(Lane::I64) => run::<i64, i64, Sum>(scan, data, out),
            Some(Lane::U64) => run::<u64, u64, Sum>(scan, data, out),
            None => bail!("{} cannot be added", data.element_type()),
        }
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let (data, ty) = (inputs.first()?, output.element_type);
        let shape = data.shape.to_shape().filter(|_| ty.is_integer())?;
        let axis = normalize_axis(axis(inputs.get(1)).ok()??, shape.rank()).ok()?;
        let Scan { axis, inner, .. } = self.scan(&shape, axis);
        let mut results = data.ranges()?.into_owned();
        for line in results.chunks_exact_mut((axis * inner).max(1)) {
            for column in 0..inner {
                let mut sum = ValueRange::exact(0);
                for i in 0..axis {
                    let i = if self.reverse { axis - 1 - i } else { i };
                    let result = &mut line[i * inner + column];
                    let next = interval::add(sum, interval::of_type(*result, ty));
                    let next = interval::fit(next, ty);
                    *result = if self.exclusive { sum } else { next };
                    sum = next;
                }
            }
        }
        Some(results)
    }
}

fn run<T: Number, A: Accumulator<T>, S: Scalar<T, A>>(
    scan: Scan,
    data: &Tensor,
    out: &mut Tensor,
) -> Result<(), OpError> {
    let wide = convert(data, T::TYPE)?;
    let wide = wide.as_slice()?;
    if let Some(out) = T::native_mut(out.element_type(), out.bytes_mut()) {
        scan.run::<T, A, S>(wide, out, A::round);
        return Ok(());
    }
    let mut sums = Tensor::zeros(T::TYPE, data.shape().clone())?;
    scan.run::<T, A, S>(wide, sums.as_mut_slice()?, A::round_again);
    Ok(convert_into(&sums, out)?)
}

#[cfg(test)]
#[path = "cum_sum_tests.rs"]
mod tests;
