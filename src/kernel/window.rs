//! Windows that slide over the last axes of a tensor.

use super::scratch::{or_refuse, try_resize};
use std::ops::Range;

/// How a window slides along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The elements slid over.
    pub(crate) input: usize,
    /// The elements a window takes, its taps.
    pub(crate) kernel: usize,
    /// The number of windows.
    pub(crate) output: usize,
    /// The distance between windows.
    pub(crate) stride: usize,
    /// The distance between the taps of a window.
    pub(crate) dilation: usize,
    /// How far before the first element the first window begins.
    pub(crate) pad: usize,
}

impl Axis {
    /// An axis that there is not.
    const NONE: Self = Self {
        input: 1,
        kernel: 1,
        output: 1,
        stride: 1,
        dilation: 1,
        pad: 0,
    };

    /// The windows whose tap `tap` is an element, and no padding.
    pub(crate) fn outputs(&self, tap: usize) -> Range<usize> {
        let shift = tap * self.dilation;
        let from = self.pad.saturating_sub(shift).div_ceil(self.stride);
        let last = (self.input + self.pad).checked_sub(shift + 1);
        let to = last.map_or(0, |last| last / self.stride + 1);
        let to = to.min(self.output);
        from.min(to)..to
    }

    /// The taps of window `output` that are elements, and no padding.
    pub(crate) fn taps(&self, output: usize) -> Range<usize> {
        let start = output * self.stride;
        let from = self.pad.saturating_sub(start).div_ceil(self.dilation);
        let last = (self.input + self.pad).checked_sub(start + 1);
        let to = last.map_or(0, |last| last / self.dilation + 1);
        let to = to.min(self.kernel);
        from.min(to)..to
    }

    /// The taps that are elements in one window or another.
    fn some_taps(&self) -> Range<usize> {
        match self.output.checked_sub(1) {
            Some(last) => self.taps(last).start..self.taps(0).end,
            None => 0..0,
        }
    }

    /// The elements under window `output`, tap after tap.
    pub(crate) fn under(&self, output: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        let (taps, dilation) = (self.taps(output), self.dilation);
        // There is none before the first element if there is any.
        let first = (output * self.stride + taps.start * dilation).wrapping_sub(self.pad);
        (0..taps.len()).map(move |i| first + i * dilation)
    }

    /// The element that tap `tap` of window `output` is, if it is one.
    pub(crate) fn element(&self, output: usize, tap: usize) -> Option<usize> {
        (output * self.stride + tap * self.dilation)
            .checked_sub(self.pad)
            .filter(|&i| i < self.input)
    }
}

/// How a window slides along the last one to three axes, outermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window([Axis; 3]);

impl Window {
    /// A window over these axes, at most three.
    pub(crate) fn new(axes: &[Axis]) -> Self {
        let mut all = [Axis::NONE; 3];
        let missing = all.len().saturating_sub(axes.len());
        for (to, from) in all.iter_mut().skip(missing).zip(axes) {
            *to = *from;
        }
        Self(all)
    }

    /// The axes; missing ones have one element.
    pub(crate) fn axes(&self) -> [Axis; 3] {
        self.0
    }

    /// The elements slid over.
    pub(crate) fn inputs(&self) -> usize {
        product(self.0.map(|a| a.input))
    }

    /// The number of windows.
    pub(crate) fn outputs(&self) -> usize {
        product(self.0.map(|a| a.output))
    }

    /// The taps of a window.
    pub(crate) fn taps(&self) -> usize {
        product(self.0.map(|a| a.kernel))
    }

    /// Whether there is one window, which is all elements in order.
    pub(crate) fn is_whole(&self) -> bool {
        let same = |a: &Axis| (a.output, a.pad, a.dilation, a.kernel) == (1, 0, 1, a.input);
        self.0.iter().all(same)
    }

    /// Whether every window is one element, in order.
    pub(crate) fn is_pointwise(&self) -> bool {
        let same = |a: &Axis| a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.output == a.input;
        self.0.iter().all(same)
    }
}

/// The product of three sizes. Those of a tensor without elements may be larger than any number.
fn product(sizes: [usize; 3]) -> usize {
    sizes.into_iter().fold(1, usize::saturating_mul)
}

/// Elements that stand at the same tap of windows that follow each other along the last axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taps<'a, T> {
    /// The first window, within its row.
    pub(crate) first: usize,
    /// The tap along each axis.
    pub(crate) tap: [usize; 3],
    /// Where in the plane the first element is; the others follow at the stride of the last axis.
    pub(crate) at: usize,
    /// The elements.
    pub(crate) values: &'a [T],
}

/// What is done with the elements of windows, a row of windows at a time.
pub(crate) trait Fold<T> {
    /// A row of windows begins.
    fn begin(&mut self, row: [usize; 2]);

    /// Elements of one tap; taps come in order.
    fn take(&mut self, taps: Taps<'_, T>);

    /// All elements of the row's windows were taken.
    fn end(&mut self, row: [usize; 2]);
}

/// Shows every element of every window of a plane to `fold`; padding is left out.
pub(crate) fn sweep<T: Copy>(
    window: &Window,
    plane: &[T],
    scratch: &mut Vec<T>,
    fold: &mut impl Fold<T>,
) {
    let [z, y, x] = window.axes();
    let columns = x.some_taps();
    // With several strides to a row, the elements of a tap are brought together first.
    let split = x.stride > 1 && x.stride < x.input;
    let width = x.input.div_ceil(x.stride);
    for oz in 0..z.output {
        for oy in 0..y.output {
            fold.begin([oz, oy]);
            for tz in z.taps(oz) {
                let Some(iz) = z.element(oz, tz) else {
                    continue;
                };
                for ty in y.taps(oy) {
                    let Some(iy) = y.element(oy, ty) else {
                        continue;
                    };
                    let start = (iz * y.input + iy) * x.input;
                    let line = &plane[start..start + x.input];
                    if split {
                        if or_refuse(try_resize(scratch, width * x.stride, line[0])).is_none() {
                            return;
                        }
                        bring_together(line, x.stride, scratch.chunks_exact_mut(width));
                    }
                    for tx in columns.clone() {
                        let outputs = x.outputs(tx);
                        let Some(at) = x.element(outputs.start, tx) else {
                            continue;
                        };
                        let len = outputs.len();
                        let values = if split {
                            let from = at % x.stride * width + at / x.stride;
                            &scratch[from..from + len]
                        } else {
                            &line[at..at + len]
                        };
                        fold.take(Taps {
                            first: outputs.start,
                            tap: [tz, ty, tx],
                            at: start + at,
                            values,
                        });
                    }
                }
            }
            fold.end([oz, oy]);
        }
    }
}

/// Copies every `stride`th element of a line into a part of its own, from each of the first on.
fn bring_together<'a, T: Copy + 'a>(
    line: &[T],
    stride: usize,
    mut parts: impl Iterator<Item = &'a mut [T]>,
) {
    if stride == 2 {
        let (Some(even), Some(odd)) = (parts.next(), parts.next()) else {
            return;
        };
        let (pairs, rest) = line.as_chunks::<2>();
        for ((pair, even), odd) in pairs.iter().zip(&mut *even).zip(odd) {
            [*even, *odd] = *pair;
        }
        if let ([x], Some(last)) = (rest, even.last_mut()) {
            *last = *x;
        }
        return;
    }
    for (first, part) in parts.enumerate() {
        for (out, &x) in part.iter_mut().zip(line[first..].iter().step_by(stride)) {
            *out = x;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn taps_and_outputs_agree(
            input in 0usize..9, kernel in 1usize..5, output in 0usize..7,
            stride in 1usize..12, dilation in 1usize..4, pad in 0usize..7,
        ) {
            let axis = Axis { input, kernel, output, stride, dilation, pad };
            for o in 0..output {
                for t in 0..kernel {
                    let i = (o * stride + t * dilation) as isize - pad as isize;
                    let inside = (0..input as isize).contains(&i);
                    prop_assert_eq!(axis.outputs(t).contains(&o), inside);
                    prop_assert_eq!(axis.taps(o).contains(&t), inside);
                    prop_assert_eq!(axis.element(o, t), inside.then_some(i.unsigned_abs()));
                    prop_assert!(!inside || axis.some_taps().contains(&t));
                }
            }
        }

        #[test]
        fn every_element_of_every_window(
            x in (1usize..9, 1usize..4, 0usize..6, 1usize..5, 1usize..3, 0usize..4),
            y in (1usize..4, 1usize..3, 0usize..4, 1usize..3, 1usize..3, 0usize..2),
        ) {
            struct Seen(Vec<(usize, [usize; 3], usize)>, usize, [usize; 2]);
            impl Fold<usize> for Seen {
                fn begin(&mut self, row: [usize; 2]) { self.2 = row; }
                fn take(&mut self, t: Taps<'_, usize>) {
                    assert_eq!(t.values[0], t.at);
                    for (i, &value) in t.values.iter().enumerate() {
                        self.0.push((self.2[1] * self.1 + t.first + i, t.tap, value));
                    }
                }
                fn end(&mut self, row: [usize; 2]) { assert_eq!(row, self.2); }
            }
            let axis = |(input, kernel, output, stride, dilation, pad)| Axis {
                input, kernel, output, stride, dilation, pad,
            };
            let (x, y) = (axis(x), axis(y));
            let window = Window::new(&[y, x]);
            let plane: Vec<usize> = (0..window.inputs()).collect();
            let mut seen = Seen(Vec::new(), x.output, [0; 2]);
            sweep(&window, &plane, &mut Vec::new(), &mut seen);
            let mut expected = Vec::new();
            for (oy, ox) in (0..y.output).flat_map(|oy| (0..x.output).map(move |ox| (oy, ox))) {
                for (ty, tx) in (0..y.kernel).flat_map(|t| (0..x.kernel).map(move |u| (t, u))) {
                    if let (Some(iy), Some(ix)) = (y.element(oy, ty), x.element(ox, tx)) {
                        expected.push((oy * x.output + ox, [0, ty, tx], iy * x.input + ix));
                    }
                }
            }
            let mut found = seen.0;
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
