//! DFT-7, IDFT-7: the discrete Fourier transform of complex numbers along some axes, and back.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/dft-7.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/idft-7.html>
//!
//! No axes at all leave the data as it is; so does the division by a length of 0.

use rustfft::FftNum;
use serde::{Deserialize, Serialize};

use super::axes::{complex_dims, expect_floats, inputs};
use crate::kernel::fourier::{complex, copy_common, parts, transform};
use crate::kernel::real::Real;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// The transform of complex numbers.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Dft {}

/// The transform back.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct Idft {}

impl Op for Dft {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => eval::<T>(io, false))
    }
}

impl Op for Idft {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => eval::<T>(io, true))
    }
}

fn infer(all: &[Input<'_>]) -> Result<Outputs, OpError> {
    let all = inputs(all)?;
    let ty = all.data.element_type;
    expect_floats("data", ty)?;
    let Some(dims) = complex_dims(all.data)? else {
        all.check_shapes()?;
        return Ok(Output::single(ty, PartialShape::dynamic()));
    };
    let mut dims = all.infer(dims, |dim, _| dim, |length| length)?;
    dims.push(Dimension::fixed(2));
    let shape: PartialShape = dims.into_iter().collect();
    Ok(Output::single(ty, shape))
}

fn eval<T: Real + FftNum>(io: Io<'_>, inverse: bool) -> Result<(), OpError> {
    let all = inputs(io.inputs)?;
    let data = real::<T>(all.data)?;
    let out = &mut io.outputs[0];
    let shape = out.shape().clone();
    let (Some((_, from)), Some((_, to))) = (data.shape().split_last(), shape.split_last()) else {
        bail!("data must have dimensions");
    };
    if out.is_empty() {
        return Ok(());
    }
    let axes = all.known(to.len())?;
    let mut numbers = complex(data.as_slice::<T>()?)?;
    if from != to {
        let given = numbers;
        numbers = complex(Tensor::zeros(T::TYPE, shape.clone())?.as_slice::<T>()?)?;
        copy_common(&given, from, &mut numbers, to, |x| x);
    }
    let mut scale = 1.0;
    for (axis, _) in axes {
        scale *= to[axis] as f64;
        let inner = to[axis + 1..].iter().product();
        transform(&mut numbers, [to[axis], inner], inverse)?;
    }
    if inverse {
        let scale = T::of(scale.recip());
        numbers.iter_mut().for_each(|x| *x *= scale);
    }
    fill::<T, _>(out, |out| {
        parts(&numbers, out);
        Ok(())
    })
}
