//! Patches of images: cut out side by side, or put back and added up.

use std::ops::Range;

use super::moving::{Mover, Word, copy_run, for_rows};
use super::window::Axis;
use crate::op::OpError;

/// The windows of which a tap lies inside the image, and where that of the first does.
fn inside(axis: &Axis, tap: usize) -> (Range<usize>, usize) {
    let windows = axis.outputs(tap);
    let first = axis.element(windows.start, tap);
    match first {
        Some(first) if !windows.is_empty() => (windows, first),
        _ => (0..0, 0),
    }
}

/// Cuts windows out of images of shape `[N, C, H, W]`: `[N, height, width, C, rows, columns]`.
/// Outside of the image all is zero.
#[derive(Debug)]
pub(crate) struct CutOut {
    pub(crate) channels: usize,
    pub(crate) rows: Axis,
    pub(crate) columns: Axis,
}

impl Mover for CutOut {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (image, Self { rows, columns, .. }) = (inputs[0], self);
        let line = columns.output;
        for_rows(outputs[0], line, 1, |first, out| {
            for (i, out) in out.chunks_exact_mut(line).enumerate() {
                let (place, window) = ((first + i) / rows.output, (first + i) % rows.output);
                let (place, channel) = (place / self.channels, place % self.channels);
                let (place, x) = (place / columns.kernel, place % columns.kernel);
                let (batch, y) = (place / rows.kernel, place % rows.kernel);
                let Some(y) = rows.element(window, y) else {
                    out.fill(T::default());
                    continue;
                };
                let (windows, x) = inside(columns, x);
                let image =
                    &image[((batch * self.channels + channel) * rows.input + y) * columns.input..];
                out[..windows.start].fill(T::default());
                out[windows.end..].fill(T::default());
                pick(&image[x..], columns.stride, &mut out[windows]);
            }
        });
        Ok(())
    }
}

/// Elements in equal steps.
fn pick<T: Word>(from: &[T], step: usize, out: &mut [T]) {
    if step == 1 {
        return copy_run(&from[..out.len()], out);
    }
    for (out, x) in out.iter_mut().zip(from.iter().step_by(step)) {
        *out = x.clone();
    }
}

/// Puts windows, `[planes, height, width, rows, columns]`, back into images, `[planes, H, W]`, and
/// adds up where they overlap.
pub(crate) fn put_back<T: Copy + Default + Send + Sync>(
    [rows, columns]: [Axis; 2],
    data: &[T],
    out: &mut [T],
    add: impl Fn(T, T) -> T + Sync,
) {
    let plane = rows.input * columns.input;
    let windows = rows.output * columns.output;
    let block = rows.kernel * columns.kernel * windows;
    for_rows(out, plane, 1, |first, out| {
        out.fill(T::default());
        let data = data[first * block..].chunks_exact(block.max(1));
        for (out, data) in out.chunks_exact_mut(plane).zip(data) {
            for (element, data) in data.chunks_exact(windows.max(1)).enumerate() {
                let (windows, x) = inside(&columns, element % columns.kernel);
                if windows.is_empty() {
                    continue;
                }
                for (window, data) in data.chunks_exact(columns.output.max(1)).enumerate() {
                    let Some(y) = rows.element(window, element / columns.kernel) else {
                        continue;
                    };
                    let out = &mut out[y * columns.input + x..];
                    add_up(&data[windows.clone()], out, columns.stride, &add);
                }
            }
        }
    });
}

fn add_up<T: Copy>(data: &[T], out: &mut [T], step: usize, add: impl Fn(T, T) -> T) {
    if step == 1 {
        for (out, &x) in out.iter_mut().zip(data) {
            *out = add(*out, x);
        }
        return;
    }
    for (out, &x) in out.iter_mut().step_by(step).zip(data) {
        *out = add(*out, x);
    }
}
