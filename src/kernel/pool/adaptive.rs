//! Windows whose size follows from those of the data and the output.

use std::ops::Range;

use num_traits::NumCast;

use super::{Pooled, planes, zero};
use crate::kernel::scratch::try_collect;
use crate::op::OpError;

/// The windows that divide an axis of `input` elements into `output` parts that may overlap.
fn parts(input: usize, output: usize) -> Result<Vec<Range<usize>>, OpError> {
    let (input, output) = (input as u128, output as u128);
    let part = |i: u128| {
        let from = i * input / output;
        let to = ((i + 1) * input).div_ceil(output);
        // Neither is more than the input.
        usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0)
    };
    try_collect((0..output).map(part))
}

/// Windows whose size follows from those of the data and the output.
pub(crate) struct Adaptive {
    inputs: [usize; 3],
    parts: [Vec<Range<usize>>; 3],
}

impl Adaptive {
    /// Windows over the last axes, at most three, from and to these sizes.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn new(from: &[usize], to: &[usize]) -> Result<Self, OpError> {
        let mut inputs = [1; 3];
        let mut sizes = [1; 3];
        let missing = inputs.len().saturating_sub(from.len());
        inputs
            .iter_mut()
            .skip(missing)
            .zip(from)
            .for_each(|(to, x)| *to = *x);
        sizes
            .iter_mut()
            .skip(missing)
            .zip(to)
            .for_each(|(to, x)| *to = *x);
        let [z, y, x] = [0, 1, 2].map(|i| parts(inputs[i], sizes[i]));
        let parts = [z?, y?, x?];
        Ok(Self { inputs, parts })
    }

    fn outputs(&self) -> usize {
        self.parts.iter().map(Vec::len).product()
    }

    fn work(&self) -> usize {
        let elements = |parts: &Vec<Range<usize>>| parts.iter().map(Range::len).sum::<usize>();
        self.parts
            .iter()
            .map(elements)
            .fold(1, usize::saturating_mul)
    }

    /// Calls `f` with the index of every window, and those of its rows.
    fn each(&self, mut f: impl FnMut(usize, &mut dyn FnMut(&mut dyn FnMut(Range<usize>)))) {
        let [_, height, width] = self.inputs;
        let mut window = 0;
        for z in &self.parts[0] {
            for y in &self.parts[1] {
                for x in &self.parts[2] {
                    f(window, &mut |row| {
                        for (iz, iy) in z.clone().flat_map(|iz| y.clone().map(move |iy| (iz, iy))) {
                            let start = (iz * height + iy) * width;
                            row(start + x.start..start + x.end);
                        }
                    });
                    window += 1;
                }
            }
        }
    }

    /// The mean of every window.
    pub(crate) fn mean<T: Pooled>(&self, data: &[T], out: &mut [T]) {
        let (inputs, outputs) = (self.inputs.iter().product::<usize>(), self.outputs());
        let work = self.work().saturating_mul(out.len() / outputs.max(1));
        let mut nothing = vec![(); out.len()];
        planes(
            [outputs; 2],
            work,
            out,
            &mut nothing,
            |(): &mut (), plane, out, _| {
                let data = &data[plane * inputs..][..inputs];
                self.each(|window, rows| {
                    let (mut sum, mut count) = (T::NOTHING, 0);
                    rows(&mut |row| {
                        count += row.len();
                        sum = data[row].iter().fold(sum, |sum, &x| T::add(sum, x));
                    });
                    out[window] = T::mean(sum, count);
                });
            },
        );
    }

    /// The largest element of every window, and its index in the plane, the first of equal ones.
    pub(crate) fn max<T: Pooled, O: Send + NumCast>(
        &self,
        data: &[T],
        out: &mut [T],
        indices: &mut [O],
    ) {
        let (inputs, outputs) = (self.inputs.iter().product::<usize>(), self.outputs());
        let work = self.work().saturating_mul(out.len() / outputs.max(1));
        planes(
            [outputs; 2],
            work,
            out,
            indices,
            |(): &mut (), plane, out, indices| {
                let data = &data[plane * inputs..][..inputs];
                self.each(|window, rows| {
                    let (mut largest, mut found) = (T::LOWEST, None);
                    rows(&mut |row| {
                        for (at, &x) in row.clone().zip(&data[row]) {
                            if x > largest || found.is_none() {
                                found = Some(at);
                            }
                            largest = if x > largest { x } else { largest };
                        }
                    });
                    out[window] = largest;
                    let index = NumCast::from(found.unwrap_or(0));
                    indices[window] = index.unwrap_or_else(zero);
                });
            },
        );
    }
}
