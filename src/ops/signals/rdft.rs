//! RDFT-9, IRDFT-9: the discrete Fourier transform of real numbers along some axes, and back.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/rdft-9.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/irdft-9.html>
//!
//! Along the last axis only the half is kept that is no mirror of the other. The page of IRDFT
//! contradicts itself where a signal size is given: the data is cut or filled up to that half, as
//! the inverse of RDFT asks, then mirrored.

use rustfft::FftNum;
use rustfft::num_complex::Complex;
use serde::{Deserialize, Serialize};

use super::axes::{complex_dims, expect_floats, inputs};
use crate::kernel::fourier::{Lines, bins, complex, copy_common, exchange, parts, transform};
use crate::kernel::real::Real;
use crate::kernel::scratch::try_vec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// The transform of real numbers.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Rdft {}

/// The transform back to real numbers.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Irdft {}

/// A dimension under a function that does not fall.
pub(super) fn map(dim: Dimension, f: impl Fn(usize) -> usize) -> Dimension {
    Dimension::range(f(dim.min()), dim.max().map(f))
}

impl Op for Rdft {
    fn infer(&self, all: &[Input<'_>]) -> Result<Outputs, OpError> {
        let all = inputs(all)?;
        let ty = all.data.element_type;
        expect_floats("data", ty)?;
        not_empty(all.check_shapes()?)?;
        let Some(dims) = all.data.shape.dims() else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let mut dims = all.infer(dims, |dim, _| dim, |length| map(length, bins))?;
        dims.push(Dimension::fixed(2));
        let shape: PartialShape = dims.into_iter().collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => forward::<T>(io))
    }
}

impl Op for Irdft {
    fn infer(&self, all: &[Input<'_>]) -> Result<Outputs, OpError> {
        let all = inputs(all)?;
        let ty = all.data.element_type;
        expect_floats("data", ty)?;
        not_empty(all.check_shapes()?)?;
        let Some(dims) = complex_dims(all.data)? else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let default = |dim: Dimension, last: bool| match last {
            true => map(dim, |n| n.saturating_sub(1).saturating_mul(2)),
            false => dim,
        };
        let dims = all.infer(dims, default, |length| length)?;
        let shape: PartialShape = dims.into_iter().collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => back::<T>(io))
    }
}

fn not_empty(axes: Option<usize>) -> Result<(), OpError> {
    if axes == Some(0) {
        bail!("axes must not be empty: one of them is halved");
    }
    Ok(())
}

fn product(dims: &[usize]) -> usize {
    dims.iter().product()
}

fn zeros<T: Real>(count: usize) -> Result<Vec<Complex<T>>, OpError> {
    let zero = Complex {
        re: T::zero(),
        im: T::zero(),
    };
    try_vec(zero, count)
}

fn forward<T: Real + FftNum>(io: Io<'_>) -> Result<(), OpError> {
    let all = inputs(io.inputs)?;
    let data = real::<T>(all.data)?;
    let from = data.shape().clone();
    let axes = all.known(from.rank())?;
    let out = &mut io.outputs[0];
    let dims: Vec<usize> = out.shape().iter().copied().take(from.rank()).collect();
    let Some((&(last, size), others)) = axes.split_last() else {
        bail!("axes must not be empty");
    };
    let length = size.unwrap_or(from[last]);
    if out.is_empty() {
        return Ok(());
    }
    let mut numbers = zeros::<T>(product(&dims))?;
    if length > 0 {
        let mut real_dims = dims.clone();
        real_dims[last] = length;
        let mut cut = Tensor::zeros(T::TYPE, real_dims.clone())?;
        let signals = if real_dims[..] == from[..] {
            data.as_slice::<T>()?
        } else {
            copy_common(
                data.as_slice()?,
                &from,
                cut.as_mut_slice()?,
                &real_dims,
                |x: T| x,
            );
            cut.as_slice::<T>()?
        };
        let (inner, bins) = (product(&dims[last + 1..]), dims[last]);
        let lines = Lines::new(length, false)?;
        if inner == 1 {
            let fill =
                |i: usize, line: &mut [T]| line.copy_from_slice(&signals[i * length..][..length]);
            lines.forward(fill, &mut numbers);
        } else {
            let mut gathered = try_vec(T::zero(), signals.len())?;
            exchange(signals, length, inner, &mut gathered);
            let fill =
                |i: usize, line: &mut [T]| line.copy_from_slice(&gathered[i * length..][..length]);
            let mut halves = zeros::<T>(numbers.len())?;
            lines.forward(fill, &mut halves);
            exchange(&halves, inner, bins, &mut numbers);
        }
        for &(axis, _) in others {
            transform(
                &mut numbers,
                [dims[axis], product(&dims[axis + 1..])],
                false,
            )?;
        }
    }
    fill::<T, _>(out, |out| {
        parts(&numbers, out);
        Ok(())
    })
}

fn back<T: Real + FftNum>(io: Io<'_>) -> Result<(), OpError> {
    let all = inputs(io.inputs)?;
    let data = real::<T>(all.data)?;
    let out = &mut io.outputs[0];
    let to = out.shape().clone();
    let axes = all.known(to.rank())?;
    let (Some((_, from)), Some((&(last, _), others))) =
        (data.shape().split_last(), axes.split_last())
    else {
        bail!("axes must not be empty");
    };
    if out.is_empty() {
        return Ok(());
    }
    let given = from[last];
    let mut dims = to.to_vec();
    dims[last] = given;
    let mut numbers = complex(data.as_slice::<T>()?)?;
    if dims != from {
        let cut = numbers;
        numbers = zeros(product(&dims))?;
        copy_common(&cut, from, &mut numbers, &dims, |x| x);
    }
    let mut scale = to[last] as f64;
    for &(axis, _) in others {
        scale *= to[axis] as f64;
        transform(&mut numbers, [dims[axis], product(&dims[axis + 1..])], true)?;
    }
    let inner = product(&to[last + 1..]);
    if inner > 1 {
        let strided = numbers;
        numbers = zeros(strided.len())?;
        exchange(&strided, given, inner, &mut numbers);
    }
    let lines = Lines::new(to[last], true)?;
    let scale = T::of(scale.recip());
    fill::<T, _>(out, |out| {
        if inner == 1 {
            lines.back(&numbers, given, out);
        } else {
            let mut signals = try_vec(T::zero(), out.len())?;
            lines.back(&numbers, given, &mut signals);
            exchange(&signals, inner, to[last], out);
        }
        out.iter_mut().for_each(|x| *x *= scale);
        Ok(())
    })
}
