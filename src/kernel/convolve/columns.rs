//! The patches under a window as the columns of a matrix, written when a product needs them.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use smallvec::SmallVec;

use crate::kernel::gemm::Panels;
use crate::kernel::simd::{evens, prefetch};
use crate::kernel::window::{Axis, Window};
use crate::limits::refuse;

/// A matrix with a row for each tap of each channel, and a column for each window.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    pub(super) window: &'a Window,
    pub(super) channels: usize,
    /// The channels of an image's group.
    pub(super) data: &'a [f32],
}

/// Elements that are moved at a time. What is moved beyond the end of a row of windows is
/// overwritten by what comes next.
const LANES: usize = 16;

/// Elements moved to a place in a row of a panel.
#[derive(Debug, Clone, Copy)]
struct Move {
    /// Where the first is from, in the plane of a channel, if they are not zero.
    from: Option<isize>,
    to: usize,
}

/// What stands at one tap of some windows.
#[derive(Debug, Clone, Copy, Default)]
struct Tap {
    /// Where its moves end among those of all taps.
    moves: usize,
    /// As that, of the places that are zero afterwards.
    zeros: usize,
}

/// Windows that follow each other in a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) row: [usize; 2],
    pub(super) first: usize,
    pub(super) last: usize,
    /// Where in a row of the panel they begin.
    pub(super) to: usize,
}

/// How the rows of a panel are written.
#[derive(Debug, Default)]
struct Moves {
    taps: SmallVec<[Tap; 32]>,
    moves: SmallVec<[Move; 64]>,
    zeros: SmallVec<[usize; 64]>,
}

/// The parts of rows of windows that some windows are.
pub(super) fn runs(window: &Window, windows: Range<usize>) -> SmallVec<[Run; 8]> {
    let [_, y, x] = window.axes();
    let mut runs = SmallVec::new();
    let (mut row, mut first) = (windows.start / x.output, windows.start % x.output);
    let mut to = 0;
    while to < windows.len() {
        let last = x.output.min(first + windows.len() - to);
        runs.push(Run {
            row: [row / y.output, row % y.output],
            first,
            last,
            to,
        });
        to += last - first;
        (row, first) = (row + 1, 0);
    }
    runs
}

impl Moves {
    fn new(window: &Window, windows: Range<usize>) -> Self {
        let [z, y, x] = window.axes();
        let runs = runs(window, windows);
        let mut all = Self::default();
        let columns: SmallVec<[Range<usize>; 8]> = (0..x.kernel).map(|tx| x.outputs(tx)).collect();
        for (tz, ty) in (0..z.kernel).flat_map(|tz| (0..y.kernel).map(move |ty| (tz, ty))) {
            let lines: SmallVec<[Option<usize>; 8]> = runs
                .iter()
                .map(|run| {
                    let (iz, iy) = (z.element(run.row[0], tz)?, y.element(run.row[1], ty)?);
                    Some((iz * y.input + iy) * x.input)
                })
                .collect();
            for (tx, inside) in columns.iter().enumerate() {
                for (run, line) in runs.iter().zip(&lines) {
                    all.run(&x, run, *line, tx, inside);
                }
                all.taps.push(Tap {
                    moves: all.moves.len(),
                    zeros: all.zeros.len(),
                });
            }
        }
        all
    }

    /// Adds what stands at a tap of one run.
    fn run(&mut self, x: &Axis, run: &Run, line: Option<usize>, tx: usize, inside: &Range<usize>) {
        let len = run.last - run.first;
        if self.moves.try_reserve(len.div_ceil(LANES)).is_err()
            || self.zeros.try_reserve(len).is_err()
        {
            return refuse();
        }
        let Some(line) = line else {
            for to in (run.to..run.to + run.last - run.first).step_by(LANES) {
                self.moves.push(Move { from: None, to });
            }
            return;
        };
        let from = inside.start.clamp(run.first, run.last);
        let to = inside.end.clamp(from, run.last);
        let place = |window: usize| run.to + window - run.first;
        let start = (line + from * x.stride + tx * x.dilation).wrapping_sub(x.pad);
        for at in (0..to - from).step_by(LANES) {
            self.moves.push(Move {
                from: Some(start.cast_signed() + (at * x.stride).cast_signed()),
                to: place(from + at),
            });
        }
        self.zeros.extend(place(run.first)..place(from));
        self.zeros.extend(place(to)..place(run.last));
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
        let moves = Moves::new(self.window, columns);
        let write = Write {
            columns: self,
            moves: &moves,
            first: rows.start,
            width,
            panel,
        };
        let [.., x] = self.window.axes();
        match x.stride {
            1 => crate::kernel::simd::arch().dispatch(Strided::<1>(write)),
            2 => crate::kernel::simd::arch().dispatch(Strided::<2>(write)),
            // Of any stride.
            _ => crate::kernel::simd::arch().dispatch(Strided::<0>(write)),
        }
    }
}

struct Write<'a> {
    columns: &'a Columns<'a>,
    moves: &'a Moves,
    /// The first row of the panel.
    first: usize,
    width: usize,
    panel: &'a mut [f32],
}

/// Windows `N` elements from each other, or any number if it is zero.
struct Strided<'a, const N: usize>(Write<'a>);

impl<const N: usize> WithSimd for Strided<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Write {
            columns,
            moves,
            first,
            width,
            panel,
        } = self.0;
        let (inputs, [.., x]) = (columns.window.inputs(), columns.window.axes());
        let taps = &moves.taps[..];
        let (mut channel, mut tap) = (first / taps.len(), first % taps.len());
        let mut done = match tap.checked_sub(1) {
            Some(before) => taps[before],
            None => Tap::default(),
        };
        let data = columns.data;
        let mut start = 0;
        while start < panel.len() {
            let Tap { moves: end, zeros } = taps[tap];
            let plane = (channel * inputs).cast_signed();
            for step in &moves.moves[done.moves..end] {
                let rest = &mut panel[start + step.to..];
                match step.from {
                    None => match rest.first_chunk_mut::<LANES>() {
                        Some(to) => *to = [0.0; LANES],
                        None => rest.fill(0.0),
                    },
                    Some(from) => {
                        let from = plane.wrapping_add(from);
                        // The same place of the next channel.
                        let next = from.wrapping_add(inputs.cast_signed());
                        prefetch(data.as_ptr(), next.cast_unsigned());
                        fetch::<N, S>(simd, data, from, x.stride, rest);
                    }
                }
            }
            for &zero in &moves.zeros[done.zeros..zeros] {
                panel[start + zero] = 0.0;
            }
            done = taps[tap];
            tap += 1;
            if tap == taps.len() {
                (channel, tap, done) = (channel + 1, 0, Tap::default());
            }
            start += width;
        }
    }
}

/// Fetches elements at a stride of `N`. What is read or written beyond the ends does not matter.
#[inline(always)]
fn fetch<const N: usize, S: Simd>(
    simd: S,
    data: &[f32],
    from: isize,
    stride: usize,
    to: &mut [f32],
) {
    let first = from.cast_unsigned();
    let rest = data.get(first..).unwrap_or(&[]);
    if let Some(to) = to.first_chunk_mut::<LANES>() {
        if let (1, Some(from)) = (N, rest.first_chunk::<LANES>()) {
            *to = *from;
            return;
        }
        if let (2, Some(from)) = (N, rest.first_chunk::<{ 2 * LANES }>()) {
            *to = evens(simd, from);
            return;
        }
    }
    one_by_one(data, from, stride, to);
}

/// Fetches what there is.
#[inline(never)]
fn one_by_one(data: &[f32], from: isize, stride: usize, to: &mut [f32]) {
    for (i, to) in to.iter_mut().take(LANES).enumerate() {
        let at = from
            .wrapping_add((i * stride).cast_signed())
            .cast_unsigned();
        *to = data.get(at).copied().unwrap_or(0.0);
    }
}
