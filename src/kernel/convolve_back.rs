//! Transposed convolutions: every element spreads the filters over a window of the output.

use rayon::prelude::*;

use super::convolve::{Sizes, Term};
use super::gemm::Matrix;
use super::window::Window;

/// Multiplications below which work stays on the calling thread.
const SMALL: usize = 1 << 18;

/// Elements of what a tile of the data spreads.
const TILE: usize = 1 << 18;

/// Elements of the data to a tile, at least, unless that takes [`LARGEST_TILE`] elements.
const NARROWEST: usize = 32;

/// As [`TILE`], for tiles that are not too narrow.
const LARGEST_TILE: usize = 1 << 21;

/// From as many groups of images on, each is computed by one thread.
const MANY: usize = 8;

/// Spreads `data` with `filters` over `out`. The window is that of the convolution this is the
/// transpose of: it slides over the output, and each element of the data stands for a window.
/// `filters` are by group, channel of the data, channel of the output.
pub(crate) fn convolve_back<T: Term>(
    sizes: Sizes,
    window: &Window,
    data: &[T],
    filters: &[T],
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let plane = window.inputs();
    let work = data.len().saturating_mul(sizes.filters * window.taps());
    if sizes.images() < MANY || work <= SMALL {
        let mut tile = Vec::new();
        let images = out.chunks_mut(sizes.filters * plane).enumerate();
        images.for_each(|(image, out)| {
            spread(
                sizes,
                window,
                image,
                data,
                filters,
                out,
                &mut tile,
                work > SMALL,
            );
        });
    } else {
        let images = out.par_chunks_mut(sizes.filters * plane).enumerate();
        images.for_each_init(Vec::new, |tile, (image, out)| {
            spread(sizes, window, image, data, filters, out, tile, false);
        });
    }
}

/// One group of an image.
#[allow(clippy::too_many_arguments)]
fn spread<T: Term>(
    sizes: Sizes,
    window: &Window,
    image: usize,
    data: &[T],
    filters: &[T],
    out: &mut [T],
    tile: &mut Vec<T>,
    all_threads: bool,
) {
    out.fill(T::default());
    let (k, elements) = (sizes.channels, window.outputs());
    let (taps, plane) = (window.taps(), window.inputs());
    let m = sizes.filters * taps;
    if m == 0 || k == 0 || elements == 0 {
        return;
    }
    let group = image % sizes.groups;
    let filters = Matrix::new(&filters[group * k * m..][..k * m], k, m).transposed();
    let data = &data[image * k * elements..][..k * elements];
    let [.., x] = window.axes();
    // Whole rows of the data, if a row is not too much.
    let width = (TILE / m).max(NARROWEST).min(LARGEST_TILE / m).max(1);
    let width = if width > x.output {
        width / x.output * x.output
    } else {
        width
    };
    for at in (0..elements).step_by(width) {
        let len = width.min(elements - at);
        tile.resize(m * len, T::default());
        let part = Matrix::with_strides(&data[at..], k, len, [elements, 1]);
        T::product(filters, part, tile, all_threads);
        let planes = (&mut *out, &*tile);
        if all_threads {
            let planes = planes
                .0
                .par_chunks_mut(plane)
                .zip(planes.1.par_chunks(taps * len));
            planes.for_each(|(out, tile)| add(window, at, len, tile, out));
        } else {
            let planes = planes.0.chunks_mut(plane).zip(planes.1.chunks(taps * len));
            planes.for_each(|(out, tile)| add(window, at, len, tile, out));
        }
    }
}

/// Adds what `len` elements from `at` on spread to one plane of the output.
fn add<T: Term>(window: &Window, at: usize, len: usize, tile: &[T], out: &mut [T]) {
    let [z, y, x] = window.axes();
    let mut rows = tile.chunks_exact(len);
    for tz in 0..z.kernel {
        for ty in 0..y.kernel {
            for (tx, row) in (0..x.kernel).zip(&mut rows) {
                let inside = x.outputs(tx);
                let mut done = 0;
                while done < len {
                    let (line, from) = ((at + done) / x.output, (at + done) % x.output);
                    let to = x.output.min(from + len - done);
                    let part = &row[done..done + to - from];
                    done += to - from;
                    let (iz, iy) = (line / y.output, line % y.output);
                    let (Some(oz), Some(oy)) = (z.element(iz, tz), y.element(iy, ty)) else {
                        continue;
                    };
                    let (first, last) = (from.max(inside.start), to.min(inside.end));
                    let Some(ox) = x.element(first, tx).filter(|_| first < last) else {
                        continue;
                    };
                    let out = &mut out[(oz * y.input + oy) * x.input..][..x.input][ox..];
                    let part = &part[first - from..last - from];
                    if x.stride == 1 {
                        sum(out.iter_mut(), part);
                    } else {
                        sum(out.iter_mut().step_by(x.stride), part);
                    }
                }
            }
        }
    }
}

fn sum<'a, T: Term>(out: impl Iterator<Item = &'a mut T>, part: &[T]) {
    for (out, &x) in out.zip(part) {
        *out = out.plus(x);
    }
}
