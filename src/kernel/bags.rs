//! Folds of rows picked from a table, bag by bag.

use rayon::prelude::*;

use super::reduce::{Accumulator, Fold, Folds, Number, Visitor};
use super::scratch::{Reused, or_refuse, reused, reused_any, reused_room, reused_wide, try_resize};
use crate::limits::Share;
use crate::op::OpError;
use crate::tensor::Tensor;
use crate::tensor::convert::{BLOCK, narrow, widen};

/// What one thread folds at a time, in elements. Smaller work stays on the calling thread.
const TASK: usize = 1 << 17;

/// Which rows of a table are folded.
#[derive(Debug)]
pub(crate) struct Bags<'a> {
    /// The rows, bag after bag.
    pub(crate) rows: &'a [usize],
    /// Where each bag begins among the rows, and where the last one ends.
    pub(crate) bounds: &'a [usize],
    /// What each row is multiplied by: elements of the table's type, as many as rows.
    pub(crate) weights: Option<&'a Tensor>,
    /// The weight of each row, if the weights are in another order than the rows.
    pub(crate) samples: Option<&'a [usize]>,
    /// What a bag without rows gives.
    pub(crate) empty: Empty<'a>,
}

/// What a bag without rows gives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Empty<'a> {
    /// The fold of no elements.
    Fold,
    /// A row of the table.
    Row(usize),
    /// The one element of a tensor of the table's type.
    Value(&'a Tensor),
}

/// Writes the fold of each bag to a row of `out`; `table` has rows of as many elements.
pub(crate) fn fold_bags(table: &Tensor, bags: &Bags<'_>, folds: &Folds, out: &mut Tensor) {
    let count = bags.bounds.len().saturating_sub(1);
    if out.is_empty() || count == 0 {
        return;
    }
    let inner = out.len() / count;
    let ty = table.element_type();
    folds.visit(
        ty,
        Job {
            table,
            inner,
            bags,
            out,
        },
    );
}

/// Where each of `count` bags begins, and where the last ends, when element `i` is in bag `ids[i]`
/// and the ids are sorted.
///
/// # Errors
/// When there is no memory for that many.
pub(crate) fn bounds(ids: &[usize], count: usize) -> Result<Reused<usize>, OpError> {
    let all = count.saturating_add(1);
    let mut bounds = reused_room(all)?;
    for (i, &id) in ids.iter().enumerate() {
        while bounds.len() <= id {
            bounds.push(i);
        }
    }
    bounds.resize(all, ids.len());
    Ok(bounds)
}

struct Job<'a> {
    table: &'a Tensor,
    inner: usize,
    bags: &'a Bags<'a>,
    out: &'a mut Tensor,
}

impl Visitor for Job<'_> {
    fn visit<T: Number, A: Accumulator<T>>(self, fold: &dyn Fold<T, A>) {
        let ty = self.table.element_type();
        let Self {
            table,
            inner,
            bags,
            out,
        } = self;
        let memory = bags.weights.map(reused_wide).transpose();
        let Some(weights) = or_refuse(memory) else {
            return;
        };
        let mut typed = Typed {
            table,
            native: T::native(ty, table.bytes()),
            inner,
            weights,
            bags,
            fold,
            value: A::round,
        };
        if let Some(out) = T::native_mut(ty, out.bytes_mut()) {
            return typed.run(out);
        }
        typed.value = A::round_again;
        let Some(mut wide) = or_refuse(reused_any(T::default(), out.len())) else {
            return;
        };
        typed.run(&mut wide);
        narrow(&wide, out, 0);
    }
}

struct Typed<'a, T: 'static, A> {
    table: &'a Tensor,
    native: Option<&'a [T]>,
    inner: usize,
    weights: Option<Reused<T>>,
    bags: &'a Bags<'a>,
    fold: &'a dyn Fold<T, A>,
    value: fn(A) -> T,
}

impl<T: Number, A: Accumulator<T>> Typed<'_, T, A> {
    fn run(&self, out: &mut [T]) {
        let count = self.bags.bounds.len() - 1;
        let work = self.bags.rows.len().saturating_mul(self.inner);
        let each = count.saturating_mul(TASK) / work.max(out.len()).max(1);
        let each = each.clamp(1, count);
        let part = |(i, out): (usize, &mut [T])| {
            let Some(mut acc) = or_refuse(reused(self.fold.identity(), self.inner)) else {
                return;
            };
            let mut scratch = Reused::default();
            for (bag, out) in out.chunks_exact_mut(self.inner).enumerate() {
                self.bag(i * each + bag, &mut acc, &mut scratch, out);
            }
        };
        if each == count {
            part((0, out));
        } else {
            out.par_chunks_mut(each * self.inner)
                .enumerate()
                .share(part);
        }
    }

    fn bag(&self, bag: usize, acc: &mut [A], scratch: &mut Vec<T>, out: &mut [T]) {
        let range = self.bags.bounds[bag]..self.bags.bounds[bag + 1];
        match self.bags.empty {
            Empty::Row(row) if range.is_empty() => {
                return widen(self.table, row * self.inner, out);
            }
            Empty::Value(value) if range.is_empty() => {
                let mut one = [T::default()];
                widen(value, 0, &mut one);
                return out.fill(one[0]);
            }
            _ => {}
        }
        acc.fill(self.fold.identity());
        let mut at = range.start;
        while at < range.end {
            let rows = self.together(&self.bags.rows[at..range.end]);
            self.rows(at, rows, acc, scratch);
            at += rows;
        }
        self.fold.finish(acc, range.len());
        for (out, &acc) in out.iter_mut().zip(&*acc) {
            *out = (self.value)(acc);
        }
    }

    /// How many of the first rows lie next to each other and can be folded together.
    fn together(&self, rows: &[usize]) -> usize {
        let most = match self.native {
            _ if self.weights.is_some() => 1,
            Some(_) => rows.len(),
            None => (BLOCK / self.inner).clamp(1, rows.len()),
        };
        let pairs = rows[..most].windows(2);
        1 + pairs.take_while(|pair| pair[0] + 1 == pair[1]).count()
    }

    /// Folds `count` rows that lie next to each other.
    fn rows(&self, at: usize, count: usize, acc: &mut [A], scratch: &mut Vec<T>) {
        let start = self.bags.rows[at] * self.inner;
        let len = count * self.inner;
        if let (Some(native), None) = (self.native, &self.weights) {
            let rows = &native[start..start + len];
            return self.fold.rows(acc, rows, self.inner, false);
        }
        if or_refuse(try_resize(scratch, len, T::default())).is_none() {
            return;
        }
        widen(self.table, start, scratch);
        if let Some(weights) = &self.weights {
            let weight = weights[self.bags.samples.map_or(at, |samples| samples[at])];
            for x in scratch.iter_mut() {
                *x = x.times(weight);
            }
        }
        self.fold.rows(acc, scratch, self.inner, false);
    }
}
