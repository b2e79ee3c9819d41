//! Planes with their padding, laid out so that what stands at one tap of windows that follow each
//! other lies in one piece, whatever the strides.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::window::{Axis, Window};
use crate::limits::Share;

/// Elements that stay in the nearest cache.
const NEAR: usize = 5 << 10;

/// Elements along an axis, at most.
const LONGEST: usize = 1 << 17;

/// Rows whose distance is a multiple of so many elements push each other out of the cache.
const CLASH: usize = 512;

/// Elements of a vector, at most.
pub(crate) const VECTOR: usize = 16;

/// An axis whose elements of one phase stand together: those whose distance is a multiple of the
/// stride.
#[derive(Debug)]
struct Phases {
    axis: Axis,
    /// The phases that some tap is in.
    used: SmallVec<[usize; 4]>,
}

impl Phases {
    /// `None` if windows reach too far.
    fn new(axis: Axis) -> Option<Self> {
        let reach = axis.kernel.checked_mul(axis.dilation)?;
        if reach == 0 || reach.max(axis.output).max(axis.pad) > LONGEST {
            return None;
        }
        let mut used: SmallVec<[usize; 4]> = SmallVec::new();
        for tap in 0..axis.kernel {
            let phase = tap * axis.dilation % axis.stride;
            if !used.contains(&phase) {
                used.push(phase);
            }
        }
        Some(Self { axis, used })
    }

    /// Which of the used phases a tap is in, and how far from the window's first element.
    fn tap(&self, tap: usize) -> (usize, usize) {
        let at = tap * self.axis.dilation;
        let phase = self.used.iter().position(|&p| p == at % self.axis.stride);
        (phase.unwrap_or(0), at / self.axis.stride)
    }

    /// The elements of a phase that so many windows take.
    fn reach(&self, windows: usize) -> usize {
        windows + (self.axis.kernel - 1) * self.axis.dilation / self.axis.stride
    }
}

/// How bands of a plane's rows are laid out: by phase along the columns and along the rows, then
/// row, then element.
#[derive(Debug)]
pub(crate) struct Layout {
    y: Phases,
    x: Phases,
    /// From one row of a phase to the next.
    pitch: usize,
    /// The rows of windows of a band; the last one may have fewer.
    band: usize,
}

impl Layout {
    /// The layout for the last two axes of a window, in bands of a multiple of `block` rows of
    /// windows. `planes` of them are used together.
    /// `None` if those with the fewest rows have more than so many elements.
    pub(crate) fn new(window: &Window, block: usize, planes: usize, most: usize) -> Option<Self> {
        let [_, y, x] = window.axes().map(Phases::new);
        let (y, x) = (y?, x?);
        let mut pitch = x.reach(x.axis.output);
        if x.axis.output > 2 * VECTOR {
            // Every row begins where loads are fastest.
            pitch = pitch.next_multiple_of(VECTOR);
        }
        if pitch.is_multiple_of(CLASH) {
            pitch += VECTOR;
        }
        let line = pitch.checked_mul(x.used.len() * y.used.len())?;
        let lines = y.reach(block).checked_mul(planes)?;
        if line.checked_mul(lines)? > most {
            return None;
        }
        let near = NEAR / planes.max(1) / line;
        let rows = near.saturating_sub(y.reach(0)) / block * block;
        let band = rows.max(block).min(y.axis.output).max(1);
        Some(Self { y, x, pitch, band })
    }

    /// From one row of windows to the next.
    pub(crate) fn pitch(&self) -> usize {
        self.pitch
    }

    /// The rows of windows of each band but the last.
    pub(crate) fn band(&self) -> usize {
        self.band
    }

    /// The elements of a band.
    pub(crate) fn len(&self) -> usize {
        self.y.used.len() * self.x.used.len() * self.y.reach(self.band) * self.pitch
    }

    /// Where the element at a tap of the first window is; that of another window is as far from
    /// there as the window from the first.
    pub(crate) fn offset(&self, ty: usize, tx: usize) -> usize {
        let ((py, row), (px, at)) = (self.y.tap(ty), self.x.tap(tx));
        let part = py * self.x.used.len() + px;
        (part * self.y.reach(self.band) + row) * self.pitch + at
    }

    /// Fills a band with what is under `windows` rows of windows from `first` on. Without `pad`,
    /// what is padded is left as it is.
    #[inline(always)]
    pub(crate) fn fill<T: Copy>(
        &self,
        plane: &[T],
        first: usize,
        windows: usize,
        pad: Option<T>,
        band: &mut [T],
    ) {
        let rows = self.y.reach(windows);
        let mut parts = band.chunks_exact_mut(self.part());
        for phases in self.phases() {
            let Some(part) = parts.next() else { return };
            let lines = &mut part[..rows * self.pitch];
            self.fill_part(plane, first, phases, pad, lines);
        }
    }

    /// Fills the bands of several planes of so many elements with what is under all of their rows of windows, of which
    /// each thread takes as many. `bands` follow each other, and are whole planes.
    pub(crate) fn fill_all<T: Copy + Send + Sync>(
        &self,
        planes: &[T],
        size: usize,
        pad: T,
        bands: &mut [T],
    ) {
        debug_assert_eq!(self.band, self.y.axis.output, "one band is all of a plane");
        let threads = rayon::current_num_threads();
        let rows = self.y.reach(self.y.axis.output).div_ceil(threads);
        // The first rows of all planes, the rows after these, ...
        let mut portions: SmallVec<[Portion<'_, T>; 8]> =
            (0..threads).map(|_| Portion::new()).collect();
        for (plane, band) in planes
            .chunks_exact(size)
            .zip(bands.chunks_exact_mut(self.len()))
        {
            let parts = band.chunks_exact_mut(self.part());
            for (part, phases) in parts.zip(self.phases()) {
                for (portion, lines) in portions.iter_mut().zip(part.chunks_mut(rows * self.pitch))
                {
                    portion.push((plane, phases, lines));
                }
            }
        }
        let all = portions.par_iter_mut().enumerate();
        all.with_max_len(1).share(|(i, portion)| {
            for (plane, phases, lines) in portion {
                self.fill_part(plane, i * rows, *phases, Some(pad), lines);
            }
        });
    }

    /// The elements of a band that are in the same phases.
    fn part(&self) -> usize {
        self.y.reach(self.band) * self.pitch
    }

    /// The phases along rows and columns, in the order of their parts.
    fn phases(&self) -> impl Iterator<Item = [usize; 2]> {
        let along = |&py| self.x.used.iter().map(move |&px| [py, px]);
        self.y.used.iter().flat_map(along)
    }

    /// Fills some lines of a part, of which `first` is the number of the first one in the whole plane.
    #[inline(always)]
    fn fill_part<T: Copy>(
        &self,
        plane: &[T],
        first: usize,
        [py, px]: [usize; 2],
        pad: Option<T>,
        lines: &mut [T],
    ) {
        let (y, x) = (self.y.axis, self.x.axis);
        let before = x.pad.saturating_sub(px).div_ceil(x.stride).min(self.pitch);
        let start = (before * x.stride + px).saturating_sub(x.pad).min(x.input);
        let len = (x.input - start)
            .div_ceil(x.stride)
            .min(self.pitch - before);
        for (row, line) in lines.chunks_exact_mut(self.pitch).enumerate() {
            let at = ((first + row) * y.stride + py).checked_sub(y.pad);
            let Some(at) = at.filter(|&at| at < y.input) else {
                if let Some(pad) = pad {
                    line.fill(pad);
                }
                continue;
            };
            if let Some(pad) = pad {
                line[..before].fill(pad);
                line[before + len..].fill(pad);
            }
            let from = &plane[at * x.input..][start..x.input];
            every(from, x.stride, &mut line[before..before + len]);
        }
    }
}

/// Lines that one thread fills, each with its plane and its phases.
type Portion<'a, T> = SmallVec<[(&'a [T], [usize; 2], &'a mut [T]); 16]>;

/// Every `stride`th element of a line, the first included.
#[inline(always)]
pub(crate) fn every<T: Copy>(line: &[T], stride: usize, out: &mut [T]) {
    match stride {
        1 => out.copy_from_slice(&line[..out.len()]),
        2 => {
            let (pairs, rest) = line.as_chunks::<2>();
            let len = pairs.len().min(out.len());
            let (out, last) = out.split_at_mut(len);
            for (out, pair) in out.iter_mut().zip(&pairs[..len]) {
                *out = pair[0];
            }
            if let ([x], [last]) = (rest, last) {
                *last = *x;
            }
        }
        stride => {
            for (out, &x) in out.iter_mut().zip(line.iter().step_by(stride)) {
                *out = x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_bands_as_one_does() {
        for (kernel, stride, dilation, pad) in [
            (7, 2, 1, 3),
            (3, 2, 1, 1),
            (3, 1, 2, 2),
            (2, 3, 1, 0),
            (5, 4, 1, 7),
        ] {
            let axis = |input: usize| Axis {
                input,
                kernel,
                output: (input + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1,
                stride,
                dilation,
                pad,
            };
            let (y, x) = (axis(23), axis(40));
            let layout = Layout::new(&Window::new(&[y, x]), y.output, 3, 1 << 20).expect("small");
            let (size, len) = (y.input * x.input, layout.len());
            let data: Vec<u32> = (1..).take(3 * size).collect();
            let mut expected = vec![u32::MAX; 3 * len];
            for (plane, band) in data.chunks(size).zip(expected.chunks_mut(len)) {
                layout.fill(plane, 0, y.output, Some(0), band);
            }
            for threads in [1, 2, 3, 40] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let mut bands = vec![u32::MAX; 3 * len];
                let fill = || layout.fill_all(&data, size, 0, &mut bands);
                pool.expect("threads").install(fill);
                assert_eq!(bands, expected, "{kernel} {stride} {threads}");
            }
        }
    }
}
