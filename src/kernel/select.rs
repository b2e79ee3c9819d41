//! Picks each element from one of two inputs, all broadcast to the shape of the output.

use smallvec::SmallVec;

use super::moving::{Mover, Odometer, Word, copy_run, for_rows};
use crate::op::OpError;
use crate::tensor::Shape;

type Sizes = SmallVec<[usize; 6]>;

/// Where `condition` is true, elements of the first input, elsewhere of the second.
#[derive(Debug)]
pub(crate) struct Select<'a> {
    condition: &'a [bool],
    dims: Sizes,
    /// The strides of the condition and of the two inputs.
    strides: [Sizes; 3],
}

impl<'a> Select<'a> {
    /// `operands` are the shapes of the condition and of the two inputs, each with the axis of the
    /// output where its dimensions begin: they are the output's, or 1.
    pub(crate) fn new(
        condition: &'a [bool],
        operands: [(&Shape, usize); 3],
        output: &[usize],
    ) -> Self {
        let all = operands.map(|(shape, at)| strides(shape, at, output));
        let mut select = Self {
            condition,
            dims: Sizes::new(),
            strides: Default::default(),
        };
        for (axis, &size) in output.iter().enumerate() {
            let now = all.each_ref().map(|strides| strides[axis]);
            let last = select.dims.len().wrapping_sub(1);
            if size == 1 {
                continue;
            }
            // One walk instead of two, where the outer goes on as the inner ends.
            let merges = !select.dims.is_empty()
                && (0..3).all(|i| select.strides[i][last] == now[i].wrapping_mul(size));
            if merges {
                select.dims[last] *= size;
                for (strides, now) in select.strides.iter_mut().zip(now) {
                    strides[last] = now;
                }
            } else {
                select.dims.push(size);
                for (strides, now) in select.strides.iter_mut().zip(now) {
                    strides.push(now);
                }
            }
        }
        select
    }
}

/// The strides of an input along the axes of the output.
fn strides(shape: &Shape, at: usize, output: &[usize]) -> Sizes {
    let own = shape.strides();
    let stride = |axis: usize| match axis.checked_sub(at).and_then(|i| Some((i, shape.get(i)?))) {
        Some((i, &size)) if size != 1 => own[i],
        _ => 0,
    };
    (0..output.len()).map(stride).collect()
}

/// A line of an input: as long as the output's, or one element for all of it.
enum Line<'a, T> {
    Many(&'a [T]),
    One(&'a T),
}

impl<'a, T> Line<'a, T> {
    fn new(data: &'a [T], offset: usize, stride: usize, len: usize) -> Self {
        if stride == 0 {
            Self::One(&data[offset])
        } else {
            Self::Many(&data[offset..][..len])
        }
    }
}

fn pick<T: Word>(condition: &[bool], then: &Line<T>, other: &Line<T>, out: &mut [T]) {
    let lines = out.iter_mut().zip(condition);
    match (then, other) {
        (Line::Many(a), Line::Many(b)) => {
            for (((out, &c), a), b) in lines.zip(*a).zip(*b) {
                *out = if c { T::clone(a) } else { T::clone(b) };
            }
        }
        (Line::Many(a), Line::One(b)) => {
            for ((out, &c), a) in lines.zip(*a) {
                *out = if c { T::clone(a) } else { T::clone(b) };
            }
        }
        (Line::One(a), Line::Many(b)) => {
            for ((out, &c), b) in lines.zip(*b) {
                *out = if c { T::clone(a) } else { T::clone(b) };
            }
        }
        (Line::One(a), Line::One(b)) => {
            for (out, &c) in lines {
                *out = if c { T::clone(a) } else { T::clone(b) };
            }
        }
    }
}

impl Mover for Select<'_> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let outer = self.dims.len().saturating_sub(1);
        let line = self.dims.last().copied().unwrap_or(1);
        let last = self
            .strides
            .each_ref()
            .map(|s| s.last().copied().unwrap_or(0));
        for_rows(outputs[0], line, 1, |first, out| {
            let mut at = self
                .strides
                .each_ref()
                .map(|strides| Odometer::at(first, &self.dims[..outer], &strides[..outer]));
            for out in out.chunks_exact_mut(line) {
                let [c, a, b] = at.each_ref().map(Odometer::offset);
                let then = Line::new(inputs[0], a, last[1], line);
                let other = Line::new(inputs[1], b, last[2], line);
                match Line::new(self.condition, c, last[0], line) {
                    Line::Many(condition) => pick(condition, &then, &other, out),
                    Line::One(&condition) => match if condition { then } else { other } {
                        Line::Many(data) => copy_run(data, out),
                        Line::One(element) => out.fill(element.clone()),
                    },
                }
                at.iter_mut().for_each(Odometer::step);
            }
        });
        Ok(())
    }
}
