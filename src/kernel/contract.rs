//! Sums of products over labelled axes (Einstein's convention).
//!
//! Operands are brought together two at a time, as batches of products of matrices; a label that
//! nobody asks for later is summed over as soon as possible.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::gemm::{Matrix, Product, batches};
use super::moving::Odometer;
use super::scratch::{try_collect, try_vec};
use crate::op::OpError;

type Sizes = SmallVec<[usize; 6]>;

/// Accumulators of a sum.
const LANES: usize = 16;

/// One axis of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// What the axis is called: axes of one name are walked together.
    pub(crate) label: usize,
    /// The number of elements along it.
    pub(crate) size: usize,
    stride: usize,
}

type Axes = SmallVec<[Axis; 6]>;

/// Elements and how they are walked.
#[derive(Debug, Clone)]
pub(crate) struct Operand<'a, T: Clone> {
    data: Cow<'a, [T]>,
    axes: Axes,
}

/// As many zeros.
fn zeros<T: Product>(axes: &[Axis]) -> Result<Vec<T>, OpError> {
    let too_large = || OpError::limit("an intermediate result is too large for memory");
    let len = axes
        .iter()
        .try_fold(1usize, |n, axis| n.checked_mul(axis.size))
        .ok_or_else(too_large)?;
    try_vec(T::ZERO, len)
}

/// The axes as they are when their elements follow each other.
fn packed(axes: impl IntoIterator<Item = Axis>) -> Axes {
    let mut axes: Axes = axes.into_iter().collect();
    let mut stride = 1usize;
    for axis in axes.iter_mut().rev() {
        axis.stride = stride;
        stride = stride.saturating_mul(axis.size);
    }
    axes
}

fn find(axes: &[Axis], label: usize) -> Option<Axis> {
    axes.iter().copied().find(|axis| axis.label == label)
}

/// The strides of an operand along axes of other operands; 0 along those it lacks.
fn strides(own: &[Axis], axes: &[Axis]) -> Sizes {
    axes.iter()
        .map(|axis| find(own, axis.label).map_or(0, |own| own.stride))
        .collect()
}

fn sizes(axes: &[Axis]) -> Sizes {
    axes.iter().map(|axis| axis.size).collect()
}

impl<'a, T: Product> Operand<'a, T> {
    /// Elements that follow each other, with the labels and the sizes of their axes. Axes of one
    /// label are of one size, and walked together: the diagonal.
    pub(crate) fn new(data: &'a [T], axes: &[(usize, usize)]) -> Self {
        let mut walked = Axes::new();
        let packed = packed(axes.iter().map(|&(label, size)| Axis {
            label,
            size,
            stride: 0,
        }));
        for axis in packed {
            // What has one element is the same everywhere.
            if axis.size == 1 {
                continue;
            }
            match walked.iter_mut().find(|other| other.label == axis.label) {
                Some(other) => other.stride = other.stride.saturating_add(axis.stride),
                None => walked.push(axis),
            }
        }
        Self {
            data: Cow::Borrowed(data),
            axes: walked,
        }
    }

    /// The sums over all labels that are not kept.
    fn keep(self, keep: impl Fn(usize) -> bool) -> Result<Self, OpError> {
        if self.axes.iter().all(|axis| keep(axis.label)) {
            return Ok(self);
        }
        let mut walk = self.axes.clone();
        walk.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
        let kept = packed(walk.iter().copied().filter(|axis| keep(axis.label)));
        let mut out: Vec<T> = zeros(&kept)?;
        let to = strides(&kept, &walk);
        let Some((&last, outer)) = walk.split_last() else {
            return Ok(self);
        };
        let (dims, from) = (sizes(outer), strides(&walk, outer));
        let mut source = Odometer::at(0, &dims, &from);
        let mut target = Odometer::at(0, &dims, &to[..outer.len()]);
        for _ in 0..dims.iter().product() {
            let line = &self.data[source.offset()..];
            let out = &mut out[target.offset()..];
            if keep(last.label) {
                let line = line.iter().step_by(last.stride);
                for (out, &x) in out[..last.size].iter_mut().zip(line) {
                    *out = out.plus(x);
                }
            } else {
                out[0] = out[0].plus(sum(line, last));
            }
            source.step();
            target.step();
        }
        Ok(Self {
            data: Cow::Owned(out),
            axes: kept,
        })
    }

    /// The elements in the order of these axes, which are the operand's.
    fn arranged(self, axes: &[Axis]) -> Result<Self, OpError> {
        let to = packed(axes.iter().copied());
        let mut out = zeros(&to)?;
        self.arrange(axes, &mut out);
        Ok(Self {
            data: Cow::Owned(out),
            axes: to,
        })
    }

    /// Writes the elements in the order of these axes, along which they are repeated where the
    /// operand lacks one.
    fn arrange(&self, axes: &[Axis], out: &mut [T]) {
        let from = strides(&self.axes, axes);
        let (line, stride) = match (axes.last(), from.last()) {
            (Some(axis), Some(&stride)) => (axis.size, stride),
            _ => (1, 0),
        };
        let outer = axes.len().saturating_sub(1);
        let mut source = Odometer::at(0, &sizes(&axes[..outer]), &from[..outer]);
        for out in out.chunks_exact_mut(line) {
            let data = &self.data[source.offset()..];
            match stride {
                0 => out.fill(data[0]),
                1 => out.copy_from_slice(&data[..line]),
                _ => {
                    for (out, &x) in out.iter_mut().zip(data.iter().step_by(stride)) {
                        *out = x;
                    }
                }
            }
            source.step();
        }
    }

    /// One stride for the walk along all these axes, if there is one.
    fn merged(&self, axes: &[Axis]) -> Option<usize> {
        let own = strides(&self.axes, axes);
        let follow = own
            .windows(2)
            .zip(&axes[1.min(axes.len())..])
            .all(|(pair, inner)| pair[0] == pair[1].saturating_mul(inner.size));
        follow.then(|| own.last().copied().unwrap_or(1))
    }
}

/// The sum along an axis.
fn sum<T: Product>(line: &[T], axis: Axis) -> T {
    if axis.stride != 1 {
        let line = line.iter().step_by(axis.stride).take(axis.size);
        return line.fold(T::ZERO, |sum, &x| sum.plus(x));
    }
    let (blocks, rest) = line[..axis.size].as_chunks::<LANES>();
    let mut lanes = [T::ZERO; LANES];
    for block in blocks {
        for (sum, &x) in lanes.iter_mut().zip(block) {
            *sum = sum.plus(x);
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(T::ZERO, |sum, &x| sum.plus(x))
}

/// Fills `out`, whose axes have these labels, with the sums of the products of the operands.
///
/// # Errors
/// When an intermediate result is too large.
pub(crate) fn contract<T: Product>(
    mut operands: Vec<Operand<'_, T>>,
    labels: &[usize],
    out: &mut [T],
) -> Result<(), OpError> {
    let empty = |operand: &Operand<'_, T>| operand.axes.iter().any(|axis| axis.size == 0);
    if operands.is_empty() || operands.iter().any(empty) {
        out.fill(T::ZERO);
        return Ok(());
    }
    let mut result = operands.remove(0);
    loop {
        let wanted = |label: usize| {
            labels.contains(&label)
                || operands
                    .iter()
                    .any(|other| find(&other.axes, label).is_some())
        };
        result = result.keep(wanted)?;
        let Some(next) = cheapest(&result, &operands, labels) else {
            break;
        };
        let next = operands.swap_remove(next);
        let wanted = |label: usize| {
            labels.contains(&label)
                || operands
                    .iter()
                    .any(|other| find(&other.axes, label).is_some())
        };
        let next = next.keep(|label| wanted(label) || find(&result.axes, label).is_some())?;
        let pair = Pair::new(result, next, wanted);
        let axes = pair.axes.clone();
        let given = labels.iter().filter_map(|&label| find(&axes, label));
        if operands.is_empty() && given.eq(axes.iter().copied()) {
            return pair.multiply(out);
        }
        let mut product = zeros(&axes)?;
        pair.multiply(&mut product)?;
        result = Operand {
            data: Cow::Owned(product),
            axes,
        };
    }
    let axes: Axes = labels
        .iter()
        .filter_map(|&label| find(&result.axes, label))
        .collect();
    result.arrange(&axes, out);
    Ok(())
}

/// The operand whose product with `result` has the fewest elements.
fn cheapest<T: Product>(
    result: &Operand<'_, T>,
    operands: &[Operand<'_, T>],
    labels: &[usize],
) -> Option<usize> {
    let cost = |index: usize| {
        let wanted = |label: usize| {
            let mut others = operands
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != index);
            labels.contains(&label) || others.any(|(_, other)| find(&other.axes, label).is_some())
        };
        let new = operands[index].axes.iter();
        let new = new.filter(|axis| find(&result.axes, axis.label).is_none());
        let axes = result.axes.iter().chain(new);
        axes.filter(|axis| wanted(axis.label))
            .fold(1usize, |n, axis| n.saturating_mul(axis.size))
    };
    (0..operands.len()).min_by_key(|&index| cost(index))
}

/// Two operands, and their axes by what becomes of them in the product.
struct Pair<'a, T: Clone> {
    a: Operand<'a, T>,
    b: Operand<'a, T>,
    /// Axes of both that the product keeps.
    batch: Axes,
    of_a: Axes,
    of_b: Axes,
    summed: Axes,
    /// The axes of the product.
    axes: Axes,
}

impl<'a, T: Product> Pair<'a, T> {
    /// Labels of both that are not wanted are summed over.
    fn new(a: Operand<'a, T>, b: Operand<'a, T>, wanted: impl Fn(usize) -> bool) -> Self {
        let shared = |axis: &Axis| find(&b.axes, axis.label).is_some();
        let by_stride = |mut axes: Axes| {
            axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
            axes
        };
        let (both, of_a): (Axes, Axes) = a.axes.iter().copied().partition(shared);
        let of_b: Axes = b
            .axes
            .iter()
            .copied()
            .filter(|axis| find(&a.axes, axis.label).is_none())
            .collect();
        let (batch, summed): (Axes, Axes) =
            both.into_iter().partition(|axis: &Axis| wanted(axis.label));
        let [batch, summed, of_a, of_b] = [batch, summed, of_a, of_b].map(by_stride);
        let axes = packed(batch.iter().chain(&of_a).chain(&of_b).copied());
        Self {
            a,
            b,
            batch,
            of_a,
            of_b,
            summed,
            axes,
        }
    }

    /// Writes the product, whose elements are in the order of its axes.
    fn multiply(self, out: &mut [T]) -> Result<(), OpError> {
        if self.summed.is_empty() {
            multiply_elements(&self.a, &self.b, &self.axes, out);
            return Ok(());
        }
        let a = lay_out(self.a, &self.batch, &self.of_a, &self.summed)?;
        let b = lay_out(self.b, &self.batch, &self.of_b, &self.summed)?;
        let axes = [&self.batch, &self.of_a, &self.of_b, &self.summed];
        multiply_matrices(&a, &b, axes.map(|axes| &axes[..]), out)
    }
}

/// The operand such that its own axes have one stride, and the summed ones too.
fn lay_out<'a, T: Product>(
    operand: Operand<'a, T>,
    batch: &[Axis],
    own: &[Axis],
    summed: &[Axis],
) -> Result<Operand<'a, T>, OpError> {
    if operand.merged(own).is_some() && operand.merged(summed).is_some() {
        return Ok(operand);
    }
    let axes: Axes = batch.iter().chain(own).chain(summed).copied().collect();
    operand.arranged(&axes)
}

fn multiply_matrices<T: Product>(
    a: &Operand<'_, T>,
    b: &Operand<'_, T>,
    [batch, of_a, of_b, summed]: [&[Axis]; 4],
    out: &mut [T],
) -> Result<(), OpError> {
    let len = |axes: &[Axis]| axes.iter().map(|axis| axis.size).product::<usize>();
    let (m, k, n) = (len(of_a), len(summed), len(of_b));
    let starts = |operand: &Operand<'_, T>| {
        let mut walk = Odometer::at(0, &sizes(batch), &strides(&operand.axes, batch));
        let step = |_| {
            let start = walk.offset();
            walk.step();
            start
        };
        try_collect((0..len(batch)).map(step))
    };
    let (a_starts, b_starts) = (starts(a)?, starts(b)?);
    let stride = |operand: &Operand<'_, T>, axes: &[Axis]| operand.merged(axes).unwrap_or(1);
    let a_strides = [stride(a, of_a), stride(a, summed)];
    let b_strides = [stride(b, summed), stride(b, of_b)];
    batches(
        &|i| Matrix::with_strides(&a.data[a_starts[i]..], m, k, a_strides),
        &|i| Matrix::with_strides(&b.data[b_starts[i]..], k, n, b_strides),
        out,
        m * n,
        None,
    );
    Ok(())
}

/// The product of each pair of elements, in the order of the axes.
fn multiply_elements<T: Product>(
    a: &Operand<'_, T>,
    b: &Operand<'_, T>,
    axes: &[Axis],
    out: &mut [T],
) {
    let (from_a, from_b) = (strides(&a.axes, axes), strides(&b.axes, axes));
    let outer = axes.len().saturating_sub(1);
    let line = axes.last().map_or(1, |axis| axis.size);
    let last = |strides: &[usize]| strides.last().copied().unwrap_or(0);
    let dims = sizes(&axes[..outer]);
    let mut a_walk = Odometer::at(0, &dims, &from_a[..outer]);
    let mut b_walk = Odometer::at(0, &dims, &from_b[..outer]);
    for out in out.chunks_exact_mut(line) {
        let (a, b) = (&a.data[a_walk.offset()..], &b.data[b_walk.offset()..]);
        match (last(&from_a), last(&from_b)) {
            (1, 1) => {
                for ((out, &x), &y) in out.iter_mut().zip(a).zip(b) {
                    *out = x.times(y);
                }
            }
            (1, 0) => out
                .iter_mut()
                .zip(a)
                .for_each(|(out, &x)| *out = x.times(b[0])),
            (0, 1) => out
                .iter_mut()
                .zip(b)
                .for_each(|(out, &y)| *out = a[0].times(y)),
            (a_step, b_step) => {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = a[i * a_step].times(b[i * b_step]);
                }
            }
        }
        a_walk.step();
        b_walk.step();
    }
}
