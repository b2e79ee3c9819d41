//! Colours of pixels: YUV with one U and V for four pixels, and RGB.

use rayon::prelude::*;

use super::moving::for_rows;
use super::real::Real;
use crate::limits::Share;

/// An element of an image, and what it is computed in.
pub(crate) trait Sample: Copy + Default + Send + Sync {
    type Number: Real;

    fn number(self) -> Self::Number;

    /// The nearest element; the number is between 0 and 255.
    fn of(x: Self::Number) -> Self;
}

impl Sample for u8 {
    type Number = f32;

    fn number(self) -> f32 {
        self.into()
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within its range
    fn of(x: f32) -> Self {
        // As `round` does, which takes a call.
        let whole = x as u8;
        whole + u8::from(x - f32::from(whole) >= 0.5)
    }
}

macro_rules! float_sample {
    ($($T:ty),+) => {
        $(impl Sample for $T {
            type Number = $T;

            fn number(self) -> $T {
                self
            }

            fn of(x: $T) -> Self {
                x
            }
        })+
    };
}

float_sample!(f32, f64);

/// Where the three planes are in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planes<'a, T> {
    /// The Y of all pixels.
    pub(crate) y: Plane<'a, T>,
    /// The U of four pixels each, `step` elements apart.
    pub(crate) u: Plane<'a, T>,
    pub(crate) v: Plane<'a, T>,
    /// The elements from one U to the next.
    pub(crate) step: usize,
}

/// A plane of every image of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane<'a, T> {
    pub(crate) data: &'a [T],
    /// From one image to the next.
    pub(crate) stride: usize,
}

impl<'a, T> Plane<'a, T> {
    /// The elements of an image from `at` on.
    fn from(self, image: usize, at: usize) -> &'a [T] {
        &self.data[image * self.stride + at..]
    }
}

/// Writes images of `height` by `width` pixels, both even, of three channels: red first, or last.
pub(crate) fn to_rgb<T: Sample>(
    planes: Planes<'_, T>,
    [height, width]: [usize; 2],
    red: usize,
    out: &mut [T],
) {
    for_rows(out, width * 3, 1, |first, out| {
        for (i, out) in out.chunks_exact_mut(width * 3).enumerate() {
            let (image, row) = ((first + i) / height, (first + i) % height);
            let chroma = row / 2 * (width / 2) * planes.step;
            let y = planes.y.from(image, row * width).chunks_exact(2);
            let u = planes.u.from(image, chroma).iter().step_by(planes.step);
            let v = planes.v.from(image, chroma).iter().step_by(planes.step);
            for (((out, y), u), v) in out.chunks_exact_mut(6).zip(y).zip(u).zip(v) {
                let (left, right) = out.split_at_mut(3);
                pixel(y[0], *u, *v, red, left);
                pixel(y[1], *u, *v, red, right);
            }
        }
    });
}

fn pixel<T: Sample>(y: T, u: T, v: T, red: usize, out: &mut [T]) {
    let number = T::Number::of;
    let y = number(1.164) * (y.number() - number(16.0));
    let (u, v) = (u.number() - number(128.0), v.number() - number(128.0));
    out[red] = clipped(y + number(1.596) * v);
    out[1] = clipped(y - number(0.391) * u - number(0.813) * v);
    out[2 - red] = clipped(y + number(2.018) * u);
}

/// Between 0 and 255; NaN stays NaN.
fn clipped<T: Sample>(x: T::Number) -> T {
    let (least, most) = (T::Number::of(0.0), T::Number::of(255.0));
    let x = if x < least { least } else { x };
    T::of(if x > most { most } else { x })
}

/// An image of this many pixels or fewer is left to the calling thread.
const FEW: usize = 1 << 16;

/// Writes the Y of every pixel of an image, and the U and V of four pixels each: the mean of theirs.
/// The image is an even number of pixels wide and high; `red` is the channel of red.
pub(crate) fn to_nv12<T: Sample>(image: &[T], width: usize, red: usize, y: &mut [T], uv: &mut [T]) {
    if y.len() <= FEW {
        let rows = image
            .chunks_exact(width * 6)
            .zip(y.chunks_exact_mut(width * 2));
        for ((rows, y), uv) in rows.zip(uv.chunks_exact_mut(width)) {
            two_rows(rows, red, y, uv);
        }
        return;
    }
    let rows = image.par_chunks_exact(width * 6);
    let rows = rows.zip(y.par_chunks_exact_mut(width * 2));
    rows.zip(uv.par_chunks_exact_mut(width))
        .share(|((rows, y), uv)| two_rows(rows, red, y, uv));
}

fn two_rows<T: Sample>(rows: &[T], red: usize, y: &mut [T], uv: &mut [T]) {
    let (upper, lower) = rows.split_at(rows.len() / 2);
    let (y_upper, y_lower) = y.split_at_mut(y.len() / 2);
    let pixels = upper.chunks_exact(6).zip(lower.chunks_exact(6));
    let ys = y_upper.chunks_exact_mut(2).zip(y_lower.chunks_exact_mut(2));
    for (((upper, lower), (y_upper, y_lower)), uv) in pixels.zip(ys).zip(uv.chunks_exact_mut(2)) {
        let mut sums = [T::Number::of(0.0); 2];
        for (pixels, y) in [(upper, y_upper), (lower, y_lower)] {
            for (pixel, y) in pixels.chunks_exact(3).zip(y) {
                let [luma, u, v] = yuv(pixel, red);
                *y = luma;
                sums[0] += u.number();
                sums[1] += v.number();
            }
        }
        for (uv, sum) in uv.iter_mut().zip(sums) {
            *uv = T::of(sum / T::Number::of(4.0));
        }
    }
}

fn yuv<T: Sample>(pixel: &[T], red: usize) -> [T; 3] {
    let number = T::Number::of;
    let [r, g, b] = [red, 1, 2 - red].map(|channel| pixel[channel].number());
    [
        clipped(number(0.257) * r + number(0.504) * g + number(0.098) * b + number(16.0)),
        clipped(-number(0.148) * r - number(0.291) * g + number(0.439) * b + number(128.0)),
        clipped(number(0.439) * r - number(0.368) * g - number(0.071) * b + number(128.0)),
    ]
}
