//! Windows that slide over images: cut out side by side, or put back and added up.

use std::ops::Range;

use super::moving::{Mover, Word, copy_run, for_rows};
use crate::op::OpError;

/// How windows lie along an axis of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    /// The size of the image.
    pub(crate) size: usize,
    /// How many windows there are, and how many elements each takes.
    pub(crate) count: usize,
    pub(crate) width: usize,
    /// The distance between windows, and between the elements of one.
    pub(crate) step: usize,
    pub(crate) dilation: usize,
    /// How far before the image the first window begins.
    pub(crate) pad: usize,
}

impl Windows {
    /// Where an element of a window is.
    fn place(self, window: usize, element: usize) -> Option<usize> {
        let place = (window * self.step + element * self.dilation).checked_sub(self.pad)?;
        (place < self.size).then_some(place)
    }

    /// The windows of which an element lies inside the image, and where that of the first does.
    fn inside(self, element: usize) -> (Range<usize>, usize) {
        let shift = element * self.dilation;
        let first = self.pad.saturating_sub(shift).div_ceil(self.step);
        let last = (self.size + self.pad)
            .saturating_sub(shift)
            .div_ceil(self.step);
        let last = last.min(self.count);
        if first >= last {
            return (0..0, 0);
        }
        (first..last, first * self.step + shift - self.pad)
    }
}

/// Cuts windows out of images of shape `[N, C, H, W]`: `[N, height, width, C, rows, columns]`.
/// Outside of the image all is zero.
#[derive(Debug)]
pub(crate) struct CutOut {
    pub(crate) channels: usize,
    pub(crate) rows: Windows,
    pub(crate) columns: Windows,
}

impl Mover for CutOut {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (image, Self { rows, columns, .. }) = (inputs[0], self);
        let line = columns.count;
        for_rows(outputs[0], line, 1, |first, out| {
            for (i, out) in out.chunks_exact_mut(line).enumerate() {
                let (place, window) = ((first + i) / rows.count, (first + i) % rows.count);
                let (place, channel) = (place / self.channels, place % self.channels);
                let (place, x) = (place / columns.width, place % columns.width);
                let (batch, y) = (place / rows.width, place % rows.width);
                let Some(y) = rows.place(window, y) else {
                    out.fill(T::default());
                    continue;
                };
                let (inside, x) = columns.inside(x);
                let image =
                    &image[((batch * self.channels + channel) * rows.size + y) * columns.size..];
                out[..inside.start].fill(T::default());
                out[inside.end..].fill(T::default());
                pick(&image[x..], columns.step, &mut out[inside]);
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
    [rows, columns]: [Windows; 2],
    data: &[T],
    out: &mut [T],
    add: impl Fn(T, T) -> T + Sync,
) {
    let plane = rows.size * columns.size;
    let windows = rows.count * columns.count;
    let block = rows.width * columns.width * windows;
    for_rows(out, plane, 1, |first, out| {
        out.fill(T::default());
        let data = data[first * block..].chunks_exact(block.max(1));
        for (out, data) in out.chunks_exact_mut(plane).zip(data) {
            for (element, data) in data.chunks_exact(windows.max(1)).enumerate() {
                let (inside, x) = columns.inside(element % columns.width);
                if inside.is_empty() {
                    continue;
                }
                for (window, data) in data.chunks_exact(columns.count.max(1)).enumerate() {
                    let Some(y) = rows.place(window, element / columns.width) else {
                        continue;
                    };
                    let out = &mut out[y * columns.size + x..];
                    add_up(&data[inside.clone()], out, columns.step, &add);
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
