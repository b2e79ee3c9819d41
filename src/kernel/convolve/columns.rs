//! The patches under a window as the columns of a matrix, written when a product needs them.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use smallvec::SmallVec;

use crate::kernel::gemm::Panels;
use crate::kernel::phases::every;
use crate::kernel::window::Window;

/// A matrix with a row for each tap of each channel, and a column for each window.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    pub(super) window: &'a Window,
    pub(super) channels: usize,
    /// The channels of an image's group.
    pub(super) data: &'a [f32],
}

/// What stands at one tap of some windows that follow each other in a row.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where in a row of the panel it begins.
    at: usize,
    /// How many windows have padding at the tap, before and behind the others.
    pads: [usize; 2],
    /// The first element of the others in the plane of a channel, and their number.
    from: usize,
    len: usize,
}

/// The pieces of each tap of each part of a row of windows.
type Pieces = SmallVec<[Piece; 32]>;

impl Columns<'_> {
    fn pieces(&self, windows: Range<usize>) -> Pieces {
        let [z, y, x] = self.window.axes();
        let mut pieces = Pieces::new();
        for tap in 0..self.window.taps() {
            let (tz, ty, tx) = (
                tap / (y.kernel * x.kernel),
                tap / x.kernel % y.kernel,
                tap % x.kernel,
            );
            let inside = x.outputs(tx);
            let mut window = windows.start;
            while window < windows.end {
                let (row, first) = (window / x.output, window % x.output);
                let last = x.output.min(first + windows.end - window);
                let at = window - windows.start;
                window += last - first;
                let line = z
                    .element(row / y.output, tz)
                    .zip(y.element(row % y.output, ty));
                let (from, to) = match line {
                    Some(_) => (
                        inside.start.clamp(first, last),
                        inside.end.clamp(first, last),
                    ),
                    None => (last, last),
                };
                let to = to.max(from);
                let start = line.zip(x.element(from, tx).filter(|_| from < to));
                let start = start.map_or(0, |((iz, iy), ix)| (iz * y.input + iy) * x.input + ix);
                pieces.push(Piece {
                    at,
                    pads: [from - first, last - to],
                    from: start,
                    len: to - from,
                });
            }
        }
        pieces
    }
}

impl Panels<f32> for Columns<'_> {
    fn rows(&self) -> usize {
        self.channels * self.window.taps()
    }

    fn columns(&self) -> usize {
        self.window.outputs()
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [f32]) {
        let pieces = self.pieces(columns);
        Arch::new().dispatch(Write {
            columns: self,
            pieces: &pieces,
            first: rows.start,
            width,
            panel,
        });
    }
}

struct Write<'a> {
    columns: &'a Columns<'a>,
    pieces: &'a [Piece],
    /// The first row of the panel.
    first: usize,
    width: usize,
    panel: &'a mut [f32],
}

impl WithSimd for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let window = self.columns.window;
        let (taps, inputs, [.., x]) = (window.taps(), window.inputs(), window.axes());
        let each = self.pieces.len() / taps;
        let (mut channel, mut tap) = (self.first / taps, self.first % taps);
        let mut pieces = self.pieces[tap * each..].chunks_exact(each);
        let mut plane = &self.columns.data[channel * inputs..][..inputs];
        for line in self.panel.chunks_exact_mut(self.width) {
            if tap == taps {
                (channel, tap) = (channel + 1, 0);
                pieces = self.pieces.chunks_exact(each);
                plane = &self.columns.data[channel * inputs..][..inputs];
            }
            tap += 1;
            for piece in pieces.next().unwrap_or(&[]) {
                let line = &mut line[piece.at..];
                let (before, line) = line.split_at_mut(piece.pads[0]);
                let (out, line) = line.split_at_mut(piece.len);
                for x in before {
                    *x = 0.0;
                }
                for x in &mut line[..piece.pads[1]] {
                    *x = 0.0;
                }
                if out.is_empty() {
                    continue;
                }
                if x.stride == 1 {
                    copy(&plane[piece.from..][..piece.len], out);
                } else {
                    every(&plane[piece.from..], x.stride, out);
                }
            }
        }
    }
}

/// Copies a few elements without a call: as two halves that overlap.
#[inline(always)]
fn copy(from: &[f32], out: &mut [f32]) {
    let copied = halves::<16>(from, out) || halves::<8>(from, out) || halves::<4>(from, out);
    if !copied {
        for (out, &x) in out.iter_mut().zip(from) {
            *out = x;
        }
    }
}

/// Copies `N` to `2 * N` elements; fewer, or more, are left.
#[inline(always)]
fn halves<const N: usize>(from: &[f32], out: &mut [f32]) -> bool {
    if from.len() < N || from.len() > 2 * N || from.len() != out.len() {
        return false;
    }
    let (Some(low), Some(high)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
        return false;
    };
    if let Some(out) = out.first_chunk_mut::<N>() {
        *out = *low;
    }
    if let Some(out) = out.last_chunk_mut::<N>() {
        *out = *high;
    }
    true
}
