//! STFT-15: the Fourier transform of each of many overlapping frames of a real signal.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/stft-15.html>
//!
//! A window shorter than the frame stands in its middle.

use rustfft::FftNum;
use rustfft::num_complex::Complex;
use serde::{Deserialize, Serialize};

use super::axes::expect_floats;
use super::frames::{Frames, frames, known};
use super::rdft::map;
use crate::kernel::fourier::{Lines, bins, exchange, parts};
use crate::kernel::real::Real;
use crate::kernel::scratch::try_vec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, PartialShape};

/// The transform of frames.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Stft {
    pub(super) transpose_frames: bool,
}

impl Op for Stft {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [signal, window, size, step] = inputs else {
            bail!(
                "expected 4 inputs (signal, window, frame_size, frame_step), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(&inputs[..2])?;
        expect_floats("signal and window", ty)?;
        let Frames { size, step } = frames(window, size, step)?;
        let Some(dims) = signal.shape.dims() else {
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let (batch, length) = match dims {
            [length] => (None, *length),
            [batch, length] => (Some(*batch), *length),
            _ => bail!("signal must be 1-D or 2-D, got shape {}", signal.shape),
        };
        if let Some(size) = size {
            ensure!(
                length.max().is_none_or(|most| size <= most),
                "frame_size is {size}, expected at most {length}, the length of the signal"
            );
        }
        let count = match (size, step) {
            (Some(size), Some(step)) => map(length, |n| n.saturating_sub(size) / step + 1),
            _ => Dimension::range(1, length.max().map(|n| n.max(1))),
        };
        let bins = size.map_or(Dimension::range(1, None), |size| bins(size).into());
        let [rows, columns] = if self.transpose_frames {
            [bins, count]
        } else {
            [count, bins]
        };
        let dims = batch.into_iter().chain([rows, columns, 2.into()]);
        let shape: PartialShape = dims.collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => self.run::<T>(io))
    }
}

impl Stft {
    fn run<T: Real + FftNum>(&self, io: Io<'_>) -> Result<(), OpError> {
        let [signal, window, size, step] = io.inputs else {
            bail!("expected 4 inputs, got {}", io.inputs.len());
        };
        if io.outputs[0].is_empty() {
            return Ok(());
        }
        let (size, step, window) = known::<T>(window, size, step)?;
        let length = signal.shape().last().copied().unwrap_or(0);
        ensure!(
            size <= length,
            "frame_size is {size}, expected at most {length}, the length of the signal"
        );
        let signal = real::<T>(signal)?;
        let signal = signal.as_slice::<T>()?;
        let (count, bins) = ((length - size) / step + 1, bins(size));
        let out = &mut io.outputs[0];
        let zero = Complex {
            re: T::zero(),
            im: T::zero(),
        };
        let mut numbers = try_vec(zero, out.len() / 2)?;
        let frame = |i: usize, line: &mut [T]| {
            let start = i / count * length + i % count * step;
            let signal = &signal[start..start + size];
            for ((out, &x), &weight) in line.iter_mut().zip(signal).zip(&window) {
                *out = x * weight;
            }
        };
        Lines::new(size, false)?.forward(frame, &mut numbers);
        if self.transpose_frames {
            let rows = numbers;
            numbers = try_vec(zero, rows.len())?;
            exchange(&rows, count, bins, &mut numbers);
        }
        fill::<T, _>(out, |out| {
            parts(&numbers, out);
            Ok(())
        })
    }
}
