//! The patches under a window as the columns of a matrix, taken from planes laid out by phase: for
//! few channels, whose elements meet many taps.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use smallvec::SmallVec;

use super::Sizes;
use super::columns::runs;
use crate::kernel::gemm::{MOST_VECTORS, Panels, Pieces, SHORT};
use crate::kernel::phases::{Layout, VECTOR};
use crate::kernel::scratch::with_scratch;
use crate::kernel::simd::arch;
use crate::kernel::window::Window;

/// Elements of all planes of an image, at most: the last cache holds them, 16 channels of 320 by 320 among them.
const MOST: usize = 1 << 21;

/// Elements of all planes that are worth several threads.
const SHARED: usize = 1 << 17;

/// Channels of a group up to which patches are taken from planes faster than from the data.
const FEW: usize = 64;

/// Filters of a group, and taps of each, from which products are faster than filters applied tap by
/// tap.
const FILTERS: usize = 24;
const TAPS: usize = 100;

/// The same where rows of windows are whole vectors and taps are few: products read them where they lie.
const FILTERS_IN_PLACE: usize = 12;
const TAPS_IN_PLACE: usize = 18;

/// How planes are laid out.
#[derive(Debug)]
pub(super) struct Laid {
    window: Window,
    channels: usize,
    layout: Layout,
}

impl Laid {
    /// `None` where this would not be fast.
    pub(super) fn new(sizes: Sizes, window: &Window) -> Option<Self> {
        let [z, y, x] = window.axes();
        let taps = sizes.channels.checked_mul(window.taps())?;
        let flat = z.kernel == 1 && z.output == 1 && z.input == 1 && z.pad == 0;
        let (filters, least) = match taps <= SHORT && x.output.is_multiple_of(VECTOR) {
            true => (FILTERS_IN_PLACE, TAPS_IN_PLACE),
            false => (FILTERS, TAPS),
        };
        if sizes.channels > FEW || sizes.filters < filters || taps < least || !flat {
            return None;
        }
        if window.is_pointwise() || window.inputs() == 0 {
            return None;
        }
        Some(Self {
            window: *window,
            channels: sizes.channels,
            layout: Layout::new(window, y.output, sizes.channels, MOST)?,
        })
    }

    /// Calls `f` with the columns of an image's group. Large planes are laid out by several threads unless this one
    /// is to be `alone`: each about what it multiplies, which comes from another's cache otherwise.
    pub(super) fn columns(&self, data: &[f32], alone: bool, f: impl FnOnce(&dyn Panels<f32>)) {
        let [_, y, x] = self.window.axes();
        let (inputs, taps, len) = (self.window.inputs(), self.window.taps(), self.layout.len());
        with_scratch(self.channels * taps, |offsets: &mut [usize]| {
            for (at, offset) in offsets.iter_mut().enumerate() {
                let (channel, tap) = (at / taps, at % taps);
                *offset = channel * len + self.layout.offset(tap / x.kernel, tap % x.kernel);
            }
            // Whole vectors are read.
            with_scratch(self.channels * len + VECTOR, |planes: &mut [f32]| {
                let large = self.channels * len >= SHARED;
                if large && !alone && rayon::current_num_threads() > 1 {
                    self.layout.fill_all(data, inputs, 0.0, planes);
                } else {
                    let channels = data.chunks_exact(inputs);
                    for (plane, laid) in channels.zip(planes.chunks_exact_mut(len)) {
                        self.layout.fill(plane, 0, y.output, Some(0.0), laid);
                    }
                }
                f(&LaidColumns {
                    laid: self,
                    offsets,
                    planes,
                });
            });
        });
    }
}

/// A matrix with a row for each tap of each channel, and a column for each window.
struct LaidColumns<'a> {
    laid: &'a Laid,
    /// Where the element at each tap of each channel is for the first window.
    offsets: &'a [usize],
    planes: &'a [f32],
}

impl Panels<f32> for LaidColumns<'_> {
    fn rows(&self) -> usize {
        self.offsets.len()
    }

    fn columns(&self) -> usize {
        self.laid.window.outputs()
    }

    fn pieces(&self, columns: Range<usize>, lanes: usize) -> Option<Pieces<'_, f32>> {
        let [_, _, x] = self.laid.window.axes();
        let mut vectors = [0; MOST_VECTORS];
        for (vector, window) in vectors.iter_mut().zip(columns.step_by(lanes)) {
            let (row, first) = (window / x.output, window % x.output);
            if first + lanes > x.output {
                return None;
            }
            *vector = row * self.laid.layout.pitch() + first;
        }
        Some(Pieces {
            data: self.planes,
            rows: self.offsets,
            vectors,
        })
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [f32]) {
        let mut moves = SmallVec::new();
        for run in runs(&self.laid.window, columns) {
            let from = run.row[1] * self.laid.layout.pitch() + run.first;
            for at in (0..run.last - run.first).step_by(VECTOR) {
                moves.push([from + at, run.to + at]);
            }
        }
        arch().dispatch(Write {
            planes: self.planes,
            offsets: &self.offsets[rows],
            moves,
            width,
            panel,
        });
    }
}

struct Write<'a> {
    planes: &'a [f32],
    /// Those of the rows of the panel.
    offsets: &'a [usize],
    /// From where vectors are moved, for the first offset, and to where in a row of the panel. What is
    /// moved beyond the end of a row of windows is overwritten by what comes next.
    moves: SmallVec<[[usize; 2]; 16]>,
    width: usize,
    panel: &'a mut [f32],
}

impl WithSimd for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut start = 0;
        for &offset in self.offsets {
            for &[from, to] in &self.moves {
                let from = &self.planes[offset + from..];
                let to = &mut self.panel[start + to..];
                if let (Some(from), Some(to)) = (from.first_chunk::<VECTOR>(), to.first_chunk_mut())
                {
                    *to = *from;
                } else {
                    to.copy_from_slice(&from[..to.len()]);
                }
            }
            start += self.width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::window::Axis;

    fn axis([input, kernel, stride, dilation]: [usize; 4], [pad, after]: [usize; 2]) -> Axis {
        Axis {
            input,
            kernel,
            output: (input + pad + after - (kernel - 1) * dilation - 1) / stride + 1,
            stride,
            dilation,
            pad,
        }
    }

    #[test]
    fn columns_are_what_stands_at_taps() {
        for (y, x, pads) in [
            ([9, 7, 2, 1], [40, 7, 2, 1], [3, 3]),
            ([6, 3, 1, 1], [7, 3, 1, 1], [1, 1]),
            ([5, 2, 3, 2], [50, 4, 3, 1], [0, 4]),
            ([1, 1, 1, 1], [90, 5, 1, 3], [0, 6]),
            ([12, 3, 2, 1], [5, 3, 4, 2], [2, 7]),
            ([7, 3, 2, 1], [64, 3, 2, 1], [1, 1]),
        ] {
            let (y, x) = (axis(y, pads), axis(x, pads));
            let window = Window::new(&[y, x]);
            let sizes = Sizes {
                batch: 1,
                groups: 1,
                channels: TAPS.div_ceil(y.kernel * x.kernel),
                filters: FILTERS,
            };
            let data: Vec<f32> = (1u8..=250)
                .cycle()
                .map(f32::from)
                .take(sizes.channels * y.input * x.input)
                .collect();
            let at = |row: usize, window: usize| {
                let (channel, tap) = (row / (y.kernel * x.kernel), row % (y.kernel * x.kernel));
                let row = y.element(window / x.output, tap / x.kernel);
                let column = x.element(window % x.output, tap % x.kernel);
                let place = row.zip(column).map(|(row, column)| row * x.input + column);
                place.map_or(0.0, |place| data[channel * y.input * x.input + place])
            };
            let laid = Laid::new(sizes, &window).expect("few channels");
            laid.columns(&data, false, |panels| {
                assert_eq!(panels.rows(), sizes.channels * y.kernel * x.kernel);
                for width in [16, 48] {
                    for start in (0..panels.columns()).step_by(width) {
                        let columns = start..panels.columns().min(start + width);
                        let rows = 1..panels.rows();
                        let mut panel = vec![f32::NAN; rows.len() * width];
                        panels.write(rows.clone(), columns.clone(), width, &mut panel);
                        for (row, line) in rows.zip(panel.chunks(width)) {
                            for (found, window) in line.iter().zip(columns.clone()) {
                                assert_eq!(*found, at(row, window), "{row} {window}");
                            }
                        }
                    }
                }
                for start in (0..panels.columns()).step_by(16) {
                    let columns = start..panels.columns().min(start + 32);
                    let pieces = panels.pieces(columns.clone(), 16);
                    let mut vectors = columns.clone().step_by(16);
                    let inside = vectors.all(|first| first % x.output + 16 <= x.output);
                    assert_eq!(pieces.is_some(), inside, "{columns:?}");
                    let Some(pieces) = pieces else { continue };
                    for (row, &from) in pieces.rows.iter().enumerate() {
                        for (i, window) in columns.clone().enumerate() {
                            let found = pieces.data[from + pieces.vectors[i / 16] + i % 16];
                            assert_eq!(found, at(row, window), "{row} {window}");
                        }
                    }
                }
            });
        }
    }
}
