//! Elementwise loops in blocks: inputs read and widened under broadcasting, results narrowed.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::scratch::try_vec;
use crate::limits::Share;
use crate::tensor::convert::{BLOCK, Compute, Native};
use crate::tensor::{ElementType, Tensor};

/// Elements one thread computes at a time; whole bytes in every type. Smaller work stays on the
/// calling thread.
const PART: usize = 1 << 15;

/// An input of an elementwise loop, seen in the shape of the output.
pub(crate) struct Operand<'a> {
    ty: ElementType,
    bytes: &'a [u8],
    /// Number of steps and stride in elements, outermost first; the last stride is 0 or 1.
    axes: SmallVec<[(usize, usize); 4]>,
}

impl<'a> Operand<'a> {
    /// A tensor that has the shape of the output.
    pub(crate) fn flat(tensor: &'a Tensor) -> Self {
        Self {
            ty: tensor.element_type(),
            bytes: tensor.bytes(),
            axes: SmallVec::from_slice(&[(tensor.len(), 1)]),
        }
    }

    /// Its elements, where they lie as they are needed for so many elements of the output.
    fn straight<C: Compute>(&self, len: usize) -> Option<&'a [C]> {
        match (&self.axes[..], len) {
            (&[(n, 1)], _) if n == len => C::native(self.ty, self.bytes),
            (_, 1) => C::native(self.ty, self.bytes),
            _ => None,
        }
    }

    /// Its only element as it lies, if it has one.
    fn alone<C: Compute>(&self) -> Option<&'a [C]> {
        let one = self.axes.iter().all(|&(_, stride)| stride == 0);
        C::native(self.ty, self.bytes).and_then(|all| all.get(..1).filter(|_| one))
    }

    /// A tensor whose dimensions are those of `out` from axis `at` on, or 1. Dimensions of 1 beyond
    /// the last axis of `out` are ignored.
    pub(crate) fn new(tensor: &'a Tensor, at: usize, out: &[usize]) -> Self {
        let shape = tensor.shape();
        let strides = shape.strides();
        let mut axes: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (axis, &size) in out.iter().enumerate() {
            let stride = match axis.checked_sub(at).and_then(|i| Some((i, shape.get(i)?))) {
                Some((i, &own)) if own != 1 => strides[i],
                _ => 0,
            };
            match axes.last_mut() {
                _ if size == 1 => {}
                // One walk instead of two, where the outer goes on as the inner ends.
                Some((n, outer)) if *outer == stride.wrapping_mul(size) => {
                    *n = n.saturating_mul(size);
                    *outer = stride;
                }
                _ => axes.push((size, stride)),
            }
        }
        if axes.last().is_none_or(|&(_, stride)| stride > 1) {
            axes.push((1, 0));
        }
        Self {
            ty: tensor.element_type(),
            bytes: tensor.bytes(),
            axes,
        }
    }
}

/// Where in an operand a loop is.
struct Cursor<'a, C> {
    operand: &'a Operand<'a>,
    native: Option<&'a [C]>,
    /// Steps taken along each axis.
    steps: SmallVec<[usize; 4]>,
    /// The element where the run along the last axis begins.
    start: usize,
    /// The one element repeated along the last axis, if `start` is still the same.
    repeated: Option<(usize, C)>,
    /// How many elements of the block, from the first on, are the repeated one.
    filled: usize,
    /// A short run along the last axis that is repeated, written out as often as a block needs, and
    /// where it begins in the operand.
    pattern: Option<(usize, Vec<C>)>,
    block: [C; BLOCK],
}

/// Longer runs are not written out.
const LONGEST_PATTERN: usize = 2048;

impl<'a, C: Compute> Cursor<'a, C> {
    fn new(operand: &'a Operand<'a>, mut index: usize) -> Self {
        let mut steps = SmallVec::from_elem(0, operand.axes.len());
        let mut start = 0;
        for (axis, &(n, stride)) in operand.axes.iter().enumerate().rev() {
            steps[axis] = index % n;
            index /= n;
            if axis + 1 < operand.axes.len() {
                start += steps[axis] * stride;
            }
        }
        Self {
            operand,
            native: C::native(operand.ty, operand.bytes),
            steps,
            start,
            repeated: None,
            filled: 0,
            pattern: None,
            block: [C::default(); BLOCK],
        }
    }

    /// The next `len` elements, which are no more than a block unless the run goes on natively.
    fn next(&mut self, len: usize) -> &[C] {
        let last = self.operand.axes.len() - 1;
        let (n, stride) = self.operand.axes[last];
        if let (Some(native), 1) = (self.native, stride) {
            let step = self.steps[last];
            if n - step >= len {
                let from = self.start + step;
                self.advance(len);
                return &native[from..from + len];
            }
        }
        if self.follow_pattern(len) {
            let step = self.steps[last];
            self.advance_runs(len);
            return match &self.pattern {
                Some((_, elements)) => &elements[step..step + len],
                None => &[],
            };
        }
        let mut done = 0;
        while done < len {
            let step = self.steps[last];
            let run = (n - step).min(len - done);
            self.fill(self.start + step * stride, stride, done, run);
            self.advance(run);
            done += run;
        }
        &self.block[..len]
    }

    /// Writes out the run along the last axis, if the next `len` elements are of that run again and
    /// again.
    fn follow_pattern(&mut self, len: usize) -> bool {
        let &[.., (times, 0), (n, 1)] = &self.operand.axes[..] else {
            return false;
        };
        let last = self.operand.axes.len() - 1;
        let left = (times - self.steps[last - 1]) * n - self.steps[last];
        // Where runs begin anew after a few blocks, they would be written out for nothing.
        if n > LONGEST_PATTERN || left < len || times.saturating_mul(n) < 8 * (n + BLOCK) {
            return false;
        }
        match &self.pattern {
            Some((start, _)) if *start == self.start => {}
            _ => {
                // Without it elements are widened one by one.
                let Ok(mut elements) = try_vec(C::default(), n + BLOCK) else {
                    return false;
                };
                let (run, more) = elements.split_at_mut(n);
                C::widen_bytes(self.operand.ty, self.operand.bytes, self.start, run);
                more.iter_mut()
                    .zip(run.iter().cycle())
                    .for_each(|(x, &y)| *x = y);
                self.pattern = Some((self.start, elements));
            }
        }
        true
    }

    /// Goes on by `len` elements, not beyond the end of the run along the last axis but one.
    fn advance_runs(&mut self, len: usize) {
        let axes = &self.operand.axes;
        let last = axes.len() - 1;
        let (n, to) = (axes[last].0, self.steps[last] + len);
        self.steps[last - 1] += to / n;
        self.steps[last] = to % n;
        if self.steps[last - 1] == axes[last - 1].0 {
            self.steps[last - 1] -= 1;
            self.advance(n);
        }
    }

    /// Whether [`Cursor::next_or_one`] need not write out so many elements.
    fn lies(&self, len: usize) -> bool {
        let last = self.operand.axes.len() - 1;
        let repeated = self.operand.axes[last].1 == 0;
        self.left() >= len && (repeated || self.native.is_some())
    }

    /// How many elements are left of the run along the last axis.
    fn left(&self) -> usize {
        let last = self.operand.axes.len() - 1;
        self.operand.axes[last].0 - self.steps[last]
    }

    /// The next `len` elements, or the one they are if they are all the same.
    fn next_or_one(&mut self, len: usize) -> &[C] {
        let last = self.operand.axes.len() - 1;
        if self.operand.axes[last].1 == 1 || self.left() < len {
            return self.next(len);
        }
        self.fill(self.start, 0, 0, 1);
        self.advance(len);
        &self.block[..1]
    }

    /// Puts a run of elements into the block.
    fn fill(&mut self, from: usize, stride: usize, at: usize, len: usize) {
        let Operand { ty, bytes, .. } = *self.operand;
        let out = &mut self.block[at..at + len];
        if stride == 1 {
            self.filled = 0;
            match self.native {
                Some(native) => out.copy_from_slice(&native[from..from + len]),
                None => C::widen_bytes(ty, bytes, from, out),
            }
            return;
        }
        let x = match self.repeated {
            Some((index, x)) if index == from => x,
            _ => {
                self.filled = 0;
                let mut one = [C::default()];
                C::widen_bytes(ty, bytes, from, &mut one);
                one[0]
            }
        };
        self.repeated = Some((from, x));
        if at + len > self.filled {
            out.fill(x);
            self.filled = if at <= self.filled { at + len } else { 0 };
        }
    }

    /// Goes on by `len` elements, not beyond the end of the run.
    fn advance(&mut self, len: usize) {
        let axes = &self.operand.axes;
        let mut axis = axes.len() - 1;
        self.steps[axis] += len;
        while self.steps[axis] == axes[axis].0 && axis > 0 {
            if axis + 1 < axes.len() {
                self.start -= axes[axis].1 * self.steps[axis];
            }
            self.steps[axis] = 0;
            axis -= 1;
            self.steps[axis] += 1;
            self.start += axes[axis].1;
        }
    }
}

/// Computes a block of the output from a block of each operand.
type Blocks<'a, C, O, const N: usize> = &'a (dyn Fn([&[C]; N], &mut [O]) + Sync);

/// Computes `out` from as many elements of each operand, in blocks of any length: `f` is given the
/// blocks of the operands and writes the block of the output.
pub(crate) fn blocks<C: Compute, O: Native, const N: usize>(
    operands: &[Operand<'_>; N],
    out: &mut Tensor,
    f: Blocks<'_, C, O, N>,
) {
    if straight(operands, out, false, f) {
        return;
    }
    parts(operands, out, &|cursors, out| {
        let len = out.len().min(BLOCK);
        f(cursors.each_mut().map(|c| c.next(len)), &mut out[..len]);
        len
    });
}

/// Computes `out` if it and all operands can be read and written as they lie, or are `repeated` single
/// elements where that is allowed; otherwise nothing.
fn straight<C: Compute, O: Native, const N: usize>(
    operands: &[Operand<'_>; N],
    out: &mut Tensor,
    repeated: bool,
    f: Blocks<'_, C, O, N>,
) -> bool {
    let (ty, len) = (out.element_type(), out.len());
    let mut sources: [&[C]; N] = [&[]; N];
    for (source, operand) in sources.iter_mut().zip(operands) {
        let alone = || repeated.then(|| operand.alone()).flatten();
        match operand.straight(len).or_else(alone) {
            Some(straight) => *source = straight,
            None => return false,
        }
    }
    let Some(out) = O::native_mut(ty, out.bytes_mut()) else {
        return false;
    };
    let compute = |(i, out): (usize, &mut [O])| {
        let mut start = i * PART;
        for out in out.chunks_mut(if repeated { LONG_BLOCK } else { BLOCK }) {
            let blocks = sources.map(|source| match source {
                [_] => source,
                _ => &source[start..start + out.len()],
            });
            f(blocks, out);
            start += out.len();
        }
    };
    if len <= PART {
        compute((0, out));
    } else {
        out.par_chunks_mut(PART).enumerate().share(compute);
    }
    true
}

/// A run of an operand that is repeated less often is not worth a call.
const SHORTEST_RUN: usize = 16;

/// Elements of a block where nothing is written out, so many that finding the next is nothing beside them.
const LONG_BLOCK: usize = 4096;

/// Like [`blocks`], but the block of an operand has a single element where all of its elements are
/// the same. Blocks are cut so that this holds wherever an operand is repeated in long runs.
pub(crate) fn runs<C: Compute, O: Native, const N: usize>(
    operands: &[Operand<'_>; N],
    out: &mut Tensor,
    f: Blocks<'_, C, O, N>,
) {
    if straight(operands, out, true, f) {
        return;
    }
    parts(operands, out, &|cursors, out| {
        let mut len = out.len().min(LONG_BLOCK);
        for cursor in &*cursors {
            if cursor.left() >= SHORTEST_RUN {
                len = len.min(cursor.left());
            }
            if !cursor.lies(len) {
                len = len.min(BLOCK);
            }
        }
        let out = &mut out[..len];
        f(cursors.each_mut().map(|c| c.next_or_one(len)), out);
        len
    });
}

/// Computes elements from the next of each operand into a part of a block, from its beginning on,
/// and answers how many.
type Step<'a, C, O, const N: usize> =
    &'a (dyn for<'b> Fn(&mut [Cursor<'b, C>; N], &mut [O]) -> usize + Sync);

fn parts<C: Compute, O: Native, const N: usize>(
    operands: &[Operand<'_>; N],
    out: &mut Tensor,
    step: Step<'_, C, O, N>,
) {
    let (ty, len) = (out.element_type(), out.len());
    let Some(part) = ty.storage_bytes(PART) else {
        return;
    };
    let compute = |(i, bytes): (usize, &mut [u8])| {
        let start = i * PART;
        compute_part(operands, start, PART.min(len - start), ty, bytes, step);
    };
    let parts = out.bytes_mut();
    if len <= PART {
        parts.chunks_mut(part).enumerate().for_each(compute);
    } else {
        parts.par_chunks_mut(part).enumerate().share(compute);
    }
}

fn compute_part<C: Compute, O: Native, const N: usize>(
    operands: &[Operand<'_>; N],
    start: usize,
    len: usize,
    ty: ElementType,
    bytes: &mut [u8],
    step: Step<'_, C, O, N>,
) {
    let mut cursors = operands.each_ref().map(|o| Cursor::<C>::new(o, start));
    let mut compute = |mut out: &mut [O]| {
        while !out.is_empty() {
            let done = step(&mut cursors, out);
            out = &mut std::mem::take(&mut out)[done..];
        }
    };
    if let Some(out) = O::native_mut(ty, bytes) {
        compute(out);
        return;
    }
    let mut block = [O::default(); BLOCK];
    for at in (0..len).step_by(BLOCK) {
        let out = &mut block[..BLOCK.min(len - at)];
        compute(out);
        O::narrow_bytes(out, ty, bytes, at);
    }
}
