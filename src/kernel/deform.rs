//! Deformable convolutions: patches sampled at places that are given.

use std::ops::Range;

use super::convolve::{Sizes, Term, products};
use super::scratch::{or_refuse, try_room};
use super::window::Window;

/// What is sampled beside the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Border {
    /// Nothing before the first element; the last one for a pixel behind it.
    Inside,
    /// The first and the last element, for a pixel.
    Nearest,
    /// What the data padded with zeros gives.
    Zeros,
}

/// The places and weights of a deformable convolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Samples<'a, T> {
    /// The image and its channels.
    pub(crate) data: &'a [T],
    /// How far each tap of each window is moved, along y and along x.
    pub(crate) offsets: &'a [T],
    /// What each tap of each window is multiplied with.
    pub(crate) mask: Option<&'a [T]>,
    /// The groups that the channels are divided into, each with offsets of its own.
    pub(crate) offset_groups: usize,
    /// What is sampled beside the data.
    pub(crate) border: Border,
}

/// Convolves samples of the data with `filters`.
pub(crate) fn deform<T: Term>(
    sizes: Sizes,
    window: &Window,
    samples: &Samples<'_, T>,
    filters: &[T],
    out: &mut [T],
) {
    if sizes.channels == 0 || window.inputs() == 0 {
        out.fill(T::default());
    } else if !out.is_empty() {
        let columns = |image, channels, windows, out: &mut [T]| {
            samples.columns(sizes, window, image, channels, &windows, out);
        };
        products(sizes, window, filters, &columns, out);
    }
}

/// Up to four elements of a plane, with their weights.
#[derive(Clone, Copy)]
struct Place<T> {
    at: [usize; 4],
    weights: [T; 4],
}

/// The two elements around a coordinate, with their weights: zero for one that is not there.
fn around(coordinate: f64, size: usize, border: Border) -> Option<[(usize, f64); 2]> {
    let last = size as f64 - 1.0;
    let beyond = match border {
        Border::Inside => coordinate < 0.0,
        Border::Nearest | Border::Zeros => coordinate <= -1.0,
    };
    // Not a number is nowhere.
    if beyond || coordinate.is_nan() || coordinate >= size as f64 {
        return None;
    }
    let low = coordinate.floor();
    let weight = coordinate - low;
    let index = |x: f64| {
        let inside = (0.0..=last).contains(&x);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it is an index
        let nearest = x.clamp(0.0, last) as usize;
        (nearest, inside || border != Border::Zeros)
    };
    Some(
        [(low, 1.0 - weight), (low + 1.0, weight)].map(|(x, weight)| {
            let (index, counts) = index(x);
            (index, if counts { weight } else { 0.0 })
        }),
    )
}

impl<T: Term> Samples<'_, T> {
    fn columns(
        &self,
        sizes: Sizes,
        window: &Window,
        image: usize,
        channels: Range<usize>,
        windows: &Range<usize>,
        out: &mut [T],
    ) {
        let (taps, inputs) = (window.taps(), window.inputs());
        let (batch, group) = (image / sizes.groups, image % sizes.groups);
        let all = sizes.groups * sizes.channels;
        let together = (all / self.offset_groups).max(1);
        let first = group * sizes.channels;
        let Some(mut places) = or_refuse(try_room(windows.len())) else {
            return;
        };
        let mut channel = channels.start;
        while channel < channels.end {
            let offsets = (first + channel) / together;
            let next = ((offsets + 1) * together - first).min(channels.end);
            for tap in 0..taps {
                self.places(
                    window,
                    batch * self.offset_groups + offsets,
                    tap,
                    windows,
                    &mut places,
                );
                for c in channel..next {
                    let plane = &self.data[(batch * all + first + c) * inputs..][..inputs];
                    let row = (c - channels.start) * taps + tap;
                    let row = &mut out[row * windows.len()..][..windows.len()];
                    for (out, place) in row.iter_mut().zip(&places) {
                        let [a, b, c, d] = place.at.map(|at| plane[at]);
                        let [wa, wb, wc, wd] = place.weights;
                        let (low, high) =
                            (a.times(wa).plus(b.times(wb)), c.times(wc).plus(d.times(wd)));
                        *out = low.plus(high);
                    }
                }
            }
            channel = next;
        }
    }

    /// Where one tap of some windows is sampled.
    fn places(
        &self,
        window: &Window,
        offsets: usize,
        tap: usize,
        windows: &Range<usize>,
        places: &mut Vec<Place<T>>,
    ) {
        let [_, y, x] = window.axes();
        let (taps, outputs) = (window.taps(), window.outputs());
        let row = (offsets * taps + tap) * outputs;
        let moved_y = &self.offsets[2 * row..][..outputs];
        let moved_x = &self.offsets[2 * row + outputs..][..outputs];
        let (ty, tx) = (tap / x.kernel, tap % x.kernel);
        places.clear();
        places.extend(windows.clone().map(|index| {
            let (oy, ox) = (index / x.output, index % x.output);
            let at_y = (oy * y.stride + ty * y.dilation) as f64 - y.pad as f64;
            let at_x = (ox * x.stride + tx * x.dilation) as f64 - x.pad as f64;
            let y = around(at_y + moved_y[index].wide(), y.input, self.border);
            let pair_x = around(at_x + moved_x[index].wide(), x.input, self.border);
            let (Some([top, bottom]), Some([left, right])) = (y, pair_x) else {
                return Place {
                    at: [0; 4],
                    weights: [T::default(); 4],
                };
            };
            let mask = self.mask.map(|mask| mask[row + index]);
            let corners = [(top, left), (top, right), (bottom, left), (bottom, right)];
            let weight = |((_, y), (_, x)): ((usize, f64), (usize, f64))| {
                let weight = T::of(y * x);
                mask.map_or(weight, |mask| mask.times(weight))
            };
            Place {
                at: corners.map(|((y, _), (left, _))| y * x.input + left),
                weights: corners.map(weight),
            }
        }));
    }
}
