//! ISTFT-16: a real signal from the Fourier transforms of its overlapping frames.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/signals/istft-16.html>
//!
//! Frames are weighted by the window once more, added up, and divided by the sum of the squares of
//! the window there; where that is 0, and beyond the last frame, the signal is 0. With `center`
//! half a frame is left out at the beginning.

use rustfft::FftNum;
use rustfft::num_complex::Complex;
use serde::{Deserialize, Serialize};

use super::axes::expect_floats;
use super::frames::{Frames, frames, known};
use super::rdft::map;
use crate::kernel::fourier::{Lines, bins, complex, exchange};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_vec};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::{Dimension, PartialShape};

/// The signal from its frames.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Istft {
    pub(super) center: bool,
    pub(super) normalized: bool,
}

impl Istft {
    /// The length of the signal if none is asked for.
    fn default_length(&self, count: usize, size: usize, step: usize) -> usize {
        match count.checked_sub(1) {
            None => 0,
            Some(steps) => {
                let length = steps.saturating_mul(step);
                length.saturating_add(if self.center { 0 } else { size })
            }
        }
    }

    fn length(
        &self,
        count: Dimension,
        frames: &Frames,
        given: Option<&Input<'_>>,
    ) -> Result<Dimension, OpError> {
        match (given, frames.size, frames.step) {
            (Some(given), ..) => given.size_scalar("signal_length"),
            (None, Some(size), Some(step)) => {
                Ok(map(count, |count| self.default_length(count, size, step)))
            }
            _ => Ok(Dimension::dynamic()),
        }
    }
}

impl Op for Istft {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, window, size, step, given) = match inputs {
            [data, window, size, step] => (data, window, size, step, None),
            [data, window, size, step, given] => (data, window, size, step, Some(given)),
            _ => bail!(
                "expected 4 or 5 inputs (data, window, frame_size, frame_step, signal_length), got {}",
                inputs.len()
            ),
        };
        let ty = merge_types(&inputs[..2])?;
        expect_floats("data and window", ty)?;
        let frames = frames(window, size, step)?;
        let Some(dims) = data.shape.dims() else {
            self.length(Dimension::dynamic(), &frames, given)?;
            return Ok(Output::single(ty, PartialShape::dynamic()));
        };
        let (batch, rows, count) = match dims {
            [rows, count, two] if two.contains(2) => (None, *rows, *count),
            [batch, rows, count, two] if two.contains(2) => (Some(*batch), *rows, *count),
            _ => bail!(
                "data has shape {}, expected 3 or 4 dimensions, the last of size 2",
                data.shape
            ),
        };
        if let Some(size) = frames.size {
            let expected = bins(size);
            ensure!(
                rows.contains(expected),
                "data has {rows} results for each frame, expected {expected}, as frame_size is {size}"
            );
        }
        let length = self.length(count, &frames, given)?;
        let shape: PartialShape = batch.into_iter().chain([length]).collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => self.run::<T>(io))
    }
}

impl Istft {
    fn run<T: Real + FftNum>(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, window, size, step, ..] = io.inputs else {
            bail!("expected 4 or 5 inputs, got {}", io.inputs.len());
        };
        let [.., rows, count, _] = data.shape()[..] else {
            bail!("data must have 3 or 4 dimensions");
        };
        let out = &mut io.outputs[0];
        let length = out.shape().last().copied().unwrap_or(0);
        if data.is_empty() {
            return fill::<T, _>(out, |out| {
                out.fill(T::zero());
                Ok(())
            });
        }
        if out.is_empty() {
            return Ok(());
        }
        let (size, step, window) = known::<T>(window, size, step)?;
        let data = real::<T>(data)?;
        let numbers = complex(data.as_slice::<T>()?)?;
        let zero = Complex {
            re: T::zero(),
            im: T::zero(),
        };
        let mut by_frame = try_vec(zero, numbers.len())?;
        exchange(&numbers, rows, count, &mut by_frame);
        let mut frames = try_vec(T::zero(), numbers.len() / rows.max(1) * size)?;
        Lines::new(size, true)?.back(&by_frame, rows, &mut frames);

        let mut scale = (size as f64).recip();
        if self.normalized {
            scale *= (size as f64).sqrt();
        }
        let margin = if self.center { size / 2 } else { 0 };
        let squares = try_collect(window.iter().map(|&x| x * x))?;
        let mut factors = overlap(count, step, margin, length, |_| &squares[..])?;
        for factor in &mut factors {
            *factor = match *factor == T::zero() {
                true => T::zero(),
                false => T::of(scale) / *factor,
            };
        }
        for frame in frames.chunks_exact_mut(size) {
            for (x, &weight) in frame.iter_mut().zip(&window) {
                *x *= weight;
            }
        }
        fill::<T, _>(out, |out| {
            for (batch, out) in out.chunks_exact_mut(length).enumerate() {
                let frames = &frames[batch * count * size..];
                let frame = |i: usize| &frames[i * size..][..size];
                let sums = overlap(count, step, margin, length, frame)?;
                for ((out, sum), &factor) in out.iter_mut().zip(sums).zip(&factors) {
                    *out = sum * factor;
                }
            }
            Ok(())
        })
    }
}

/// The sum of frames, each beginning a step after the one before, without the first `margin`.
fn overlap<'a, T: Real>(
    count: usize,
    step: usize,
    margin: usize,
    length: usize,
    frame: impl Fn(usize) -> &'a [T],
) -> Result<Vec<T>, OpError> {
    let mut sums = try_vec(T::zero(), length)?;
    for i in 0..count {
        let (start, frame) = (i.saturating_mul(step), frame(i));
        let hidden = margin.saturating_sub(start).min(frame.len());
        let begin = start.saturating_add(hidden).saturating_sub(margin);
        for (sum, &x) in sums[begin.min(length)..].iter_mut().zip(&frame[hidden..]) {
            *sum += x;
        }
    }
    Ok(sums)
}
