//! Copies between a tensor and a part of another: along each axis, elements in equal steps.

use smallvec::SmallVec;

use super::moving::{Mover, Odometer, Word, copy, copy_run, for_rows};
use crate::op::OpError;

type Sizes = SmallVec<[usize; 6]>;

/// The elements taken along one axis: `len` of them, from `first` on, `step` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) first: usize,
    pub(crate) step: i64,
    pub(crate) len: usize,
}

impl Cut {
    /// All elements of an axis, in order.
    pub(crate) fn whole(size: usize) -> Self {
        Self {
            first: 0,
            step: 1,
            len: size,
        }
    }

    /// Which of the elements taken is at `index`, if it is one of them.
    fn find(self, index: usize) -> Option<usize> {
        // Sizes fit in `i64`.
        let distance = index.cast_signed() as i64 - self.first.cast_signed() as i64;
        if distance % self.step != 0 {
            return None;
        }
        let taken = usize::try_from(distance / self.step).ok()?;
        (taken < self.len).then_some(taken)
    }
}

/// The part of a tensor that cuts along all its axes leave, with axes that are walked as one
/// merged.
#[derive(Debug)]
pub(crate) struct View {
    offset: usize,
    dims: Sizes,
    /// Strides wrap: those of axes walked backwards are negative.
    strides: Sizes,
}

impl View {
    /// The part of a tensor of shape `shape`; every cut lies inside its axis.
    pub(crate) fn new(shape: &[usize], cuts: &[Cut]) -> Self {
        let full = crate::tensor::Shape::from(shape).strides();
        let mut view = Self {
            offset: 0,
            dims: Sizes::new(),
            strides: Sizes::new(),
        };
        for (cut, &stride) in cuts.iter().zip(&full) {
            view.offset = view.offset.wrapping_add(cut.first.wrapping_mul(stride));
            let stride = stride.wrapping_mul((cut.step as isize).cast_unsigned());
            match (view.dims.last_mut(), view.strides.last_mut()) {
                _ if cut.len == 1 => {}
                (Some(dim), Some(outer)) if *outer == cut.len.wrapping_mul(stride) => {
                    *dim *= cut.len;
                    *outer = stride;
                }
                _ => {
                    view.dims.push(cut.len);
                    view.strides.push(stride);
                }
            }
        }
        if view.dims.is_empty() {
            view.dims.push(1);
            view.strides.push(1);
        }
        view
    }

    /// The first element, if the part is one piece.
    pub(crate) fn piece(&self) -> Option<usize> {
        (self.dims.len() == 1 && self.strides[0] == 1).then_some(self.offset)
    }

    /// The innermost axis and its step, and the others.
    fn line(&self) -> (usize, isize, &[usize], &[usize]) {
        let outer = self.dims.len() - 1;
        let step = self.strides[outer].cast_signed();
        (
            self.dims[outer],
            step,
            &self.dims[..outer],
            &self.strides[..outer],
        )
    }

    /// Writes the part of `data` to all of `out`.
    pub(crate) fn read<T: Word>(&self, data: &[T], out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        let (line, step, dims, strides) = self.line();
        if dims.is_empty() && step == 1 {
            return copy(&data[self.offset..][..line], out);
        }
        for_rows(out, 1, 1, |first, mut out| {
            let mut place = Odometer::at(first / line, dims, strides);
            let mut i = first % line;
            while !out.is_empty() {
                let n = (line - i).min(out.len());
                let (now, later) = out.split_at_mut(n);
                let start = self.offset.wrapping_add(place.offset());
                let start = start.wrapping_add(i.wrapping_mul(step.cast_unsigned()));
                read_run(data, start, step, now);
                out = later;
                place.step();
                i = 0;
            }
        });
    }

    /// Writes all of `part` to the part of `out`.
    fn write<T: Word>(&self, part: &[T], out: &mut [T]) {
        if part.is_empty() {
            return;
        }
        let (line, step, dims, strides) = self.line();
        let mut place = Odometer::at(0, dims, strides);
        for part in part.chunks_exact(line) {
            write_run(part, self.offset.wrapping_add(place.offset()), step, out);
            place.step();
        }
    }
}

fn read_run<T: Word>(data: &[T], start: usize, step: isize, out: &mut [T]) {
    let elements = out.iter_mut();
    if step == 1 {
        copy_run(&data[start..][..out.len()], out);
    } else if step > 0 {
        let data = data[start..].iter().step_by(step.unsigned_abs());
        elements.zip(data).for_each(|(out, x)| *out = x.clone());
    } else {
        let data = data[..=start].iter().rev().step_by(step.unsigned_abs());
        elements.zip(data).for_each(|(out, x)| *out = x.clone());
    }
}

fn write_run<T: Word>(part: &[T], start: usize, step: isize, out: &mut [T]) {
    if step == 1 {
        copy_run(part, &mut out[start..][..part.len()]);
    } else if step > 0 {
        let out = out[start..].iter_mut().step_by(step.unsigned_abs());
        out.zip(part).for_each(|(out, x)| *out = x.clone());
    } else {
        let out = out[..=start].iter_mut().rev();
        let out = out.step_by(step.unsigned_abs());
        out.zip(part).for_each(|(out, x)| *out = x.clone());
    }
}

/// Parts of the one input, each for an output.
#[derive(Debug)]
pub(crate) struct Views(pub(crate) SmallVec<[View; 2]>);

impl Mover for Views {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        for (view, out) in self.0.iter().zip(outputs) {
            view.read(inputs[0], out);
        }
        Ok(())
    }
}

/// The first input with a part of it overwritten by the second.
#[derive(Debug)]
pub(crate) struct Overwrite<'a> {
    shape: &'a [usize],
    cuts: &'a [Cut],
    /// How many of the outer axes are gone through one by one: below them are slabs.
    outer: usize,
    inner: View,
}

/// Slabs enough to share the work among threads.
const SLABS: usize = 64;

impl<'a> Overwrite<'a> {
    /// Overwrites the part of a tensor of shape `shape` that the cuts leave.
    pub(crate) fn new(shape: &'a [usize], cuts: &'a [Cut]) -> Self {
        let mut outer = 0;
        let mut slabs = 1usize;
        while outer + 1 < shape.len() && slabs < SLABS {
            slabs = slabs.saturating_mul(shape[outer]);
            outer += 1;
        }
        Self {
            shape,
            cuts,
            outer,
            inner: View::new(&shape[outer..], &cuts[outer..]),
        }
    }

    /// Which of the part's slabs belongs to a slab of the whole.
    fn updates_of(&self, slab: usize) -> Option<usize> {
        let mut rest = slab;
        let mut index = 0;
        let mut stride = 1;
        let axes = self.shape.iter().zip(self.cuts);
        for (&dim, cut) in axes.take(self.outer).rev() {
            index += cut.find(rest % dim)? * stride;
            stride *= cut.len;
            rest /= dim;
        }
        Some(index)
    }
}

impl Mover for Overwrite<'_> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, updates, out) = (inputs[0], inputs[1], &mut *outputs[0]);
        let slab: usize = self.shape[self.outer..].iter().product();
        let part: usize = self.cuts[self.outer..].iter().map(|cut| cut.len).product();
        for_rows(out, slab, 1, |first, out| {
            out.clone_from_slice(&data[first * slab..][..out.len()]);
            for (i, out) in out.chunks_exact_mut(slab).enumerate() {
                if let Some(index) = self.updates_of(first + i) {
                    self.inner.write(&updates[index * part..][..part], out);
                }
            }
        });
        Ok(())
    }
}
