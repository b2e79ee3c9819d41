//! An input of a chain, seen in the shape of the chain's output.

use smallvec::SmallVec;

use crate::op::{OpError, Repeated};
use crate::tensor::{Shape, Tensor};

/// Elements broadcast to the shape of an output as NumPy does.
#[derive(Debug)]
pub(super) struct Operand<'a> {
    data: &'a [f32],
    /// Size and stride in elements, outermost first; the last stride is 0 or 1.
    axes: SmallVec<[(usize, usize); 4]>,
}

impl<'a> Operand<'a> {
    /// A tensor of which each dimension is that of `out`, counted from the last, or 1.
    ///
    /// # Errors
    /// When the elements are not `f32`.
    pub(super) fn new(tensor: &'a Tensor, out: &Shape) -> Result<Self, OpError> {
        let (own, strides) = (tensor.shape(), tensor.shape().strides());
        let missing = out.rank().saturating_sub(own.rank());
        let mut axes: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for (axis, &size) in out.iter().enumerate() {
            let stride = match axis.checked_sub(missing) {
                Some(i) if own[i] != 1 => strides[i],
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
        if axes.is_empty() {
            axes.push((1, 0));
        }
        Ok(Self {
            data: tensor.as_slice()?,
            axes,
        })
    }

    /// The elements at `at` and after it, if they lie in one piece.
    pub(super) fn slice(&self, at: usize, len: usize) -> Option<&'a [f32]> {
        let &(n, stride) = self.axes.last()?;
        if stride != 1 {
            return None;
        }
        if self.axes.len() == 1 {
            return self.data.get(at..)?.get(..len);
        }
        let mut start = 0;
        let mut rest = at / n;
        if at % n + len > n {
            return None;
        }
        for &(size, stride) in self.axes[..self.axes.len() - 1].iter().rev() {
            start += rest % size * stride;
            rest /= size;
        }
        self.data.get(start + at % n..)?.get(..len)
    }

    /// How many elements from `at` on lie in one piece, or are repeated all along the last axis.
    pub(super) fn run(&self, at: usize) -> usize {
        let all = match self.axes[..] {
            [(_, 0), (count, 1), (times, 0)] => count * times,
            [_, .., (n, 1)] => n,
            _ => return usize::MAX,
        };
        all - at % all
    }

    /// The elements at `at` and after it, if each is repeated all along the last axis.
    pub(super) fn repeated(&self, at: usize, len: usize) -> Option<Repeated<'a>> {
        let (times, count, first) = match self.axes[..] {
            [(_, 0)] => {
                return Some(Repeated {
                    values: self.data.get(..1)?,
                    times: usize::MAX,
                    skip: 0,
                });
            }
            [(count, 1), (times, 0)] => (times, count, at),
            [(_, 0), (count, 1), (times, 0)] => (times, count, at % (count * times)),
            _ => return None,
        };
        let last = (first + len).div_ceil(times);
        let values = self.data.get(first / times..last.min(count))?;
        (last <= count).then_some(Repeated {
            values,
            times,
            skip: first % times,
        })
    }

    /// The elements at pieces of one size, each `stride` behind the one before, if each piece has one.
    pub(super) fn each(
        &self,
        at: usize,
        stride: usize,
        [pieces, len]: [usize; 2],
    ) -> Option<&'a [f32]> {
        let (times, count) = match self.axes[..] {
            [(count, 1), (times, 0)] | [(_, 0), (count, 1), (times, 0)] => (times, count),
            _ => return None,
        };
        if stride != times || at % times + len > times {
            return None;
        }
        self.data[..count].get(at / times % count..)?.get(..pieces)
    }

    /// The elements at such pieces, if there is one to each of theirs: those of the first and all behind them, and how
    /// far behind each other those of pieces are.
    pub(super) fn beside(
        &self,
        at: usize,
        stride: usize,
        [pieces, len]: [usize; 2],
    ) -> Option<(&'a [f32], usize)> {
        let (first, step) = match self.axes[..] {
            [(_, 1)] => (at, stride),
            [(_, 0), (n, 1)] if stride == n && at % n + len <= n => (at % n, 0),
            _ => return None,
        };
        let rest = self.data.get(first..)?;
        (pieces.saturating_sub(1) * step + len <= rest.len()).then_some((rest, step))
    }

    /// Writes the elements from `at` on.
    pub(super) fn fill(&self, at: usize, out: &mut [f32]) {
        let last = self.axes.len() - 1;
        let (n, stride) = self.axes[last];
        let mut steps: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.axes.len());
        let (mut rest, mut start) = (at, 0);
        for (step, &(size, stride)) in steps.iter_mut().zip(&self.axes).rev() {
            *step = rest % size;
            rest /= size;
            start += *step * stride;
        }
        let mut out = out;
        while !out.is_empty() {
            let run = (n - steps[last]).min(out.len());
            let (now, later) = out.split_at_mut(run);
            if stride == 1 {
                now.copy_from_slice(&self.data[start..start + run]);
            } else {
                now.fill(self.data[start]);
            }
            out = later;
            // The run has ended, or all is written.
            start -= steps[last] * stride;
            steps[last] = 0;
            for axis in (0..last).rev() {
                let (size, stride) = self.axes[axis];
                steps[axis] += 1;
                start += stride;
                if steps[axis] < size {
                    break;
                }
                start -= size * stride;
                steps[axis] = 0;
            }
        }
    }
}
