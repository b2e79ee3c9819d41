//! The innermost loops of a reduction.

use std::marker::PhantomData;

use pulp::NullaryFnOnce;

use super::coming::Coming;
use super::scalar::Scalar;
use crate::kernel::simd::{
    Far, Foreseen, Near, Stream, is_amd, is_first_zen, is_recent_amd, vectorize, wait_near,
    widen_near,
};

/// A reduction of elements `T` into accumulators `A`, slice by slice.
pub(crate) trait Fold<T, A>: Sync {
    /// An accumulator nothing was folded into.
    fn identity(&self) -> A;

    /// Folds runs of equal length, one after the other in `data`, each into its accumulator.
    fn runs(&self, acc: &mut [A], data: &[T]);

    /// Folds rows of `acc.len()` elements, which begin `stride` apart, element by element, into the
    /// accumulators. The data end with the last row, or one stride after its beginning; if they are `far`, no cache has
    /// them.
    fn rows(&self, acc: &mut [A], data: &[T], stride: usize, far: bool);

    /// Folds other accumulators in.
    fn merge(&self, acc: &mut [A], other: &[A]);

    /// Turns accumulators that `count` elements were folded into into results.
    fn finish(&self, acc: &mut [A], count: usize);
}

/// Elements that are about a line of the cache: with fewer at a time nothing is asked for.
const WHOLE: usize = 16;

/// Rows that are folded together, to spare loads and stores of accumulators, and how many columns of
/// them at a time, whose accumulators stay in the nearest cache.
const GROUP: usize = 8;
const COLUMNS: usize = 1024;

/// Bytes of rows that are folded together, up to which these are still one sequence to a processor.
const ONE: usize = 2048;

/// Rows shorter than this are folded several at a time, as one row of [`WIDE`] at most.
const NARROW: usize = 16;
const WIDE: usize = 256;

/// Bytes of an accumulator that a vector holds several of. Integers beyond that are folded one by one, however they are
/// arranged.
const WIDEST: usize = 8;

/// The fold that a [`Scalar`] describes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elementwise<S>(PhantomData<S>);

impl<S> Elementwise<S> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

/// Folds elements into lanes, one into each.
#[inline(always)]
fn push_each<const N: usize, T: Copy, A: Copy>(
    mut lanes: [A; N],
    block: &[T; N],
    push: impl Fn(A, T) -> A,
) -> [A; N] {
    for (lane, &x) in lanes.iter_mut().zip(block) {
        *lane = push(*lane, x);
    }
    lanes
}

/// Folds a run in four times `N` independent lanes, which the processor works on at the same time, and
/// begin with an accumulator nothing was folded into. One array of so many lanes would not always stay in
/// registers.
#[inline(always)]
pub(crate) fn fold_run<const N: usize, T: Copy, A: Copy>(
    accs: [A; 2],
    data: &[T],
    push: impl Fn(A, T) -> A + Copy,
    merge: impl Fn(A, A) -> A + Copy,
) -> A {
    // Others foresee a sequence that is worked on line by line.
    if 4 * N >= WHOLE && widen_near() {
        return fold_blocks::<N, Near, T, A>(accs, data, push, merge);
    }
    fold_blocks::<N, Foreseen, T, A>(accs, data, push, merge)
}

/// The same, of a stream.
#[inline(always)]
fn fold_blocks<const N: usize, F: Stream, T: Copy, A: Copy>(
    [identity, acc]: [A; 2],
    data: &[T],
    push: impl Fn(A, T) -> A + Copy,
    merge: impl Fn(A, A) -> A + Copy,
) -> A {
    let blocks = data.as_chunks::<N>().0.as_chunks::<4>().0;
    let rest = &data[blocks.len() * 4 * N..];
    if blocks.is_empty() {
        return rest.iter().fold(acc, |acc, &x| push(acc, x));
    }
    let (mut a, mut b) = ([identity; N], [identity; N]);
    let (mut c, mut d) = (a, b);
    let ahead = F::ahead();
    for block in blocks {
        F::ask(block, ahead);
        a = push_each(a, &block[0], push);
        b = push_each(b, &block[1], push);
        c = push_each(c, &block[2], push);
        d = push_each(d, &block[3], push);
    }
    for i in 0..N {
        a[i] = merge(merge(a[i], c[i]), merge(b[i], d[i]));
    }
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            a[i] = merge(a[i], a[i + width]);
        }
        width /= 2;
    }
    // Lanes that the rest were added to would not stay in registers.
    let acc = merge(acc, a[0]);
    if N > 2 {
        return fold_blocks::<2, Foreseen, T, A>([identity, acc], rest, push, merge);
    }
    rest.iter().fold(acc, |acc, &x| push(acc, x))
}

/// Folds a run in `N` lanes, which the compiler keeps in vectors whatever the type: those of a loop, where it
/// would take many that are written out one by one.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // so that lanes are loaded and stored once a group
fn run_in_lanes<const N: usize, F: Stream, T: Copy, A: Copy, S: Scalar<T, A>>(
    acc: A,
    data: &[T],
) -> A {
    let (rows, rest) = data.as_chunks::<N>();
    let (groups, rows) = rows.as_chunks::<4>();
    let mut lanes = [S::IDENTITY; N];
    let ahead = F::ahead();
    for group in groups {
        F::ask(group, ahead);
        for i in 0..N {
            let mut lane = lanes[i];
            for row in group {
                lane = S::push(lane, row[i]);
            }
            lanes[i] = lane;
        }
    }
    for row in rows {
        lanes = push_each(lanes, row, S::push);
    }
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = S::merge(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    let acc = S::merge(acc, lanes[0]);
    if const { S::CHOOSES } {
        return run_in_few_lanes::<T, A, S>(acc, rest);
    }
    rest.iter().fold(acc, |acc, &x| S::push(acc, x))
}

/// Folds a short run in eight lanes, and what is left in four of them. Where one of two is chosen, the compiler makes
/// vectors of these; of additions it makes better ones of [`fold_run`].
#[inline(always)]
fn run_in_few_lanes<T: Copy, A: Copy, S: Scalar<T, A>>(acc: A, data: &[T]) -> A {
    let (rows, mut rest) = data.as_chunks::<8>();
    let mut lanes = [S::IDENTITY; 8];
    for row in rows {
        lanes = push_each(lanes, row, S::push);
    }
    let [mut lanes, upper] = [
        [lanes[0], lanes[1], lanes[2], lanes[3]],
        [lanes[4], lanes[5], lanes[6], lanes[7]],
    ];
    if let Some((row, more)) = rest.split_first_chunk() {
        lanes = push_each(lanes, row, S::push);
        rest = more;
    }
    for (lane, upper) in lanes.iter_mut().zip(upper) {
        *lane = S::merge(*lane, upper);
    }
    let [a, b, c, d] = lanes;
    let all = S::merge(S::merge(a, c), S::merge(b, d));
    rest.iter()
        .fold(S::merge(acc, all), |acc, &x| S::push(acc, x))
}

/// Runs of a length the compiler knows.
#[inline(always)]
fn short_runs<const N: usize, T: Copy, A: Copy, S: Scalar<T, A>>(acc: &mut [A], data: &[T]) {
    for (acc, run) in acc.iter_mut().zip(data.as_chunks::<N>().0) {
        *acc = run.iter().fold(*acc, |acc, &x| S::push(acc, x));
    }
}

#[inline(always)]
fn long_runs<const N: usize, T: Copy, A: Copy, S: Scalar<T, A>>(acc: &mut [A], data: &[T]) {
    let len = data.len() / acc.len();
    for (acc, data) in acc.iter_mut().zip(data.chunks_exact(len)) {
        *acc = fold_run::<N, T, A>([S::IDENTITY, *acc], data, S::push, S::merge);
    }
}

#[inline(always)]
fn runs_in_few_lanes<T: Copy, A: Copy, S: Scalar<T, A>>(acc: &mut [A], data: &[T]) {
    let len = data.len() / acc.len();
    for (acc, data) in acc.iter_mut().zip(data.chunks_exact(len)) {
        *acc = run_in_few_lanes::<T, A, S>(*acc, data);
    }
}

#[inline(always)]
fn runs_in_lanes<const N: usize, T: Copy, A: Copy, S: Scalar<T, A>>(acc: &mut [A], data: &[T]) {
    let (len, near) = (data.len() / acc.len(), wait_near());
    for (acc, data) in acc.iter_mut().zip(data.chunks_exact(len)) {
        *acc = if near {
            run_in_lanes::<N, Near, T, A, S>(*acc, data)
        } else {
            run_in_lanes::<N, Far, T, A, S>(*acc, data)
        };
    }
}

/// How many bytes ahead is asked for while rows are folded together, up to a column and from it on.
#[derive(Clone, Copy)]
struct Ahead {
    column: usize,
    before: usize,
    after: usize,
}

impl Ahead {
    #[inline(always)]
    fn at(self, column: usize) -> usize {
        if column < self.column {
            self.before
        } else {
            self.after
        }
    }
}

/// Folds rows into their accumulators, `N` columns at a time; the columns that are left. (What the rows to come
/// need takes registers from a loop that does not ask for them, if it might.)
#[inline(always)]
fn columns<'a, const N: usize, const COMING: bool, F: Stream, T: Copy, A: Copy, S: Scalar<T, A>>(
    acc: &'a mut [A],
    rows: [&'a [T]; GROUP],
    ahead: Ahead,
    mut coming: Option<&mut Coming<'_, T>>,
) -> (&'a mut [A], [&'a [T]; GROUP]) {
    let (whole, rest) = acc.as_chunks_mut::<N>();
    // Mapped arrays would be calls.
    let mut pieces = [&[] as &[[T; N]]; GROUP];
    let mut rest_of_rows = [&[] as &[T]; GROUP];
    for (i, row) in rows.into_iter().enumerate() {
        let (piece, rest) = row.as_chunks::<N>();
        (pieces[i], rest_of_rows[i]) = (&piece[..whole.len()], rest);
    }
    for (i, acc) in whole.iter_mut().enumerate() {
        let mut sums = *acc;
        let bytes = ahead.at(i * N);
        if COMING && let Some(coming) = &mut coming {
            coming.ask(GROUP * N);
        }
        for row in pieces {
            if N >= WHOLE && !COMING {
                F::ask(&row[i], bytes);
            }
            for (sum, &x) in sums.iter_mut().zip(&row[i]) {
                *sum = S::push(*sum, x);
            }
        }
        *acc = sums;
    }
    (rest, rest_of_rows)
}

/// Bytes from the end of a row to what is read after it, where so many rows of some width and stride are folded together,
/// the first of the `rest` of `data`: the row as far on in the next of these, or, after the last, the columns that probably
/// come next of the first. (Beyond the data there may be no memory, which takes long to look for.)
#[inline(always)]
pub(super) fn after_rows<T>(data: &[T], rest: &[T], [count, width, stride]: [usize; 3]) -> usize {
    let next = count * stride;
    let elements = match rest.len() > next || stride == width {
        true => next.wrapping_sub(width),
        false => rest.len().wrapping_sub(data.len()),
    };
    elements.wrapping_mul(size_of::<T>())
}

/// Folds rows `stride` apart into accumulators, two at a time, and asks for what comes of each: after a row that is the
/// one of the next pair. Rows that a cache has take up to 1.7 times as long as in groups, for accumulators are read and
/// written more often.
#[inline(always)]
pub(super) fn pairs_of_rows<T: Copy, A: Copy, S: Scalar<T, A>>(
    acc: &mut [A],
    data: &[T],
    stride: usize,
) {
    let (width, mut rest) = (acc.len(), data);
    let before = Near::ahead();
    while rest.len() >= stride + width {
        let ahead = Ahead {
            column: width.saturating_sub(before / size_of::<T>()),
            before,
            after: before.wrapping_add(after_rows(data, rest, [2, width, stride])),
        };
        let (first, x) = rest[..width].as_chunks::<WHOLE>();
        let (second, y) = rest[stride..][..width].as_chunks::<WHOLE>();
        let (whole, last) = acc.as_chunks_mut::<WHOLE>();
        let rows = whole.iter_mut().zip(first).zip(second);
        for (i, ((acc, first), second)) in rows.enumerate() {
            let bytes = ahead.at(i * WHOLE);
            Near::ask(first, bytes);
            Near::ask(second, bytes);
            for ((acc, &x), &y) in acc.iter_mut().zip(first).zip(second) {
                *acc = S::push(S::push(*acc, x), y);
            }
        }
        for ((acc, &x), &y) in last.iter_mut().zip(x).zip(y) {
            *acc = S::push(S::push(*acc, x), y);
        }
        rest = rest.get(2 * stride..).unwrap_or_default();
    }
    if rest.len() >= width {
        for (acc, &x) in acc.iter_mut().zip(rest) {
            *acc = S::push(*acc, x);
        }
    }
}

/// Folds rows `stride` apart into accumulators.
#[inline(always)]
fn wide_rows<F: Stream, T: Copy, A: Copy, S: Scalar<T, A>>(
    acc: &mut [A],
    data: &[T],
    stride: usize,
) {
    let (width, mut rest) = (acc.len(), data);
    // What comes after a row is the next of the same group, which is read at the same time: after the last
    // columns come the first of the rows of the next group. A small group is gone through at once.
    let several = GROUP * stride * size_of::<T>() > ONE;
    let (before, column, in_order) = match F::ahead_of_several() {
        _ if !several => (F::ahead(), width, false),
        Some(ahead) => (ahead, width.saturating_sub(ahead / size_of::<T>()), false),
        None => (0, width, true),
    };
    let whole = (GROUP - 1) * stride + width;
    let rows = [GROUP, width, stride];
    let by_groups = several || !F::foresees_pairs();
    while by_groups && rest.len() >= whole {
        let after = before.wrapping_add(after_rows(data, rest, [GROUP, width, stride]));
        let mut coming = in_order.then(
            #[inline(always)]
            || match rest.len() >= GROUP * stride + whole || stride == width {
                true => Coming::new(rest, GROUP * stride, rows),
                // The columns that probably come next.
                false => Coming::new(data, width, rows),
            },
        );
        for (k, acc) in acc.chunks_mut(COLUMNS).enumerate() {
            let ahead = Ahead {
                column: column.saturating_sub(k * COLUMNS),
                before,
                after,
            };
            let mut rows = [rest; GROUP];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = &rest[i * stride + k * COLUMNS..][..acc.len()];
            }
            let (acc, rows) = match coming.as_mut() {
                _ if const { size_of::<A>() > WIDEST } => (acc, rows),
                None => columns::<16, false, F, T, A, S>(acc, rows, ahead, None),
                coming => columns::<16, true, F, T, A, S>(acc, rows, ahead, coming),
            };
            let (acc, rows) = match const { size_of::<A>() > WIDEST } {
                true => (acc, rows),
                false => columns::<4, false, F, T, A, S>(acc, rows, ahead, None),
            };
            columns::<1, false, F, T, A, S>(acc, rows, ahead, None);
        }
        rest = rest.get(GROUP * stride..).unwrap_or_default();
    }
    while rest.len() >= stride + width {
        let both = rest[..width].iter().zip(&rest[stride..]);
        for (acc, (&x, &y)) in acc.iter_mut().zip(both) {
            *acc = S::push(S::push(*acc, x), y);
        }
        rest = rest.get(2 * stride..).unwrap_or_default();
    }
    if rest.len() >= width {
        for (acc, &x) in acc.iter_mut().zip(rest) {
            *acc = S::push(*acc, x);
        }
    }
}

struct Runs<'a, T, A, S>(&'a mut [A], &'a [T], PhantomData<S>);

impl<T: Copy, A: Copy, S: Scalar<T, A>> NullaryFnOnce for Runs<'_, T, A, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(acc, data, _) = self;
        match data.len() / acc.len() {
            0 => {}
            1 => short_runs::<1, T, A, S>(acc, data),
            2 => short_runs::<2, T, A, S>(acc, data),
            3 => short_runs::<3, T, A, S>(acc, data),
            4 => short_runs::<4, T, A, S>(acc, data),
            // No vector holds these.
            _ if const { size_of::<A>() > WIDEST } => long_runs::<1, T, A, S>(acc, data),
            5..32 => long_runs::<1, T, A, S>(acc, data),
            32..128 if const { S::CHOOSES } => runs_in_few_lanes::<T, A, S>(acc, data),
            32..128 => long_runs::<4, T, A, S>(acc, data),
            // Accumulators of eight bytes: four vectors of 64.
            _ if size_of::<A>() > size_of::<T>() => long_runs::<8, T, A, S>(acc, data),
            _ if size_of::<T>() == 8 => runs_in_lanes::<32, T, A, S>(acc, data),
            _ => runs_in_lanes::<64, T, A, S>(acc, data),
        }
    }
}

struct Rows<'a, T, A, S>(&'a mut [A], &'a [T], usize, bool, PhantomData<S>);

impl<T: Copy, A: Copy, S: Scalar<T, A>> NullaryFnOnce for Rows<'_, T, A, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(acc, data, stride, far, _) = self;
        if const { size_of::<A>() > WIDEST } {
            wide_rows::<Foreseen, T, A, S>(acc, data, stride);
        } else if far && is_recent_amd() && size_of::<T>() * acc.len() >= Near::ahead() {
            pairs_of_rows::<T, A, S>(acc, data, stride);
        } else if is_amd() && !is_first_zen() {
            wide_rows::<Far, T, A, S>(acc, data, stride);
        } else {
            wide_rows::<Near, T, A, S>(acc, data, stride);
        }
    }
}

impl<T: Copy, A: Copy + Send + Sync, S: Scalar<T, A>> Fold<T, A> for Elementwise<S>
where
    Self: Sync,
{
    fn identity(&self) -> A {
        S::IDENTITY
    }

    fn runs(&self, acc: &mut [A], data: &[T]) {
        vectorize(Runs::<T, A, S>(acc, data, PhantomData));
    }

    fn rows(&self, acc: &mut [A], data: &[T], stride: usize, far: bool) {
        let width = acc.len();
        if width >= NARROW || stride > width || data.len() < 4 * WIDE {
            return vectorize(Rows::<T, A, S>(acc, data, stride, far, PhantomData));
        }
        let mut wide = [S::IDENTITY; WIDE];
        let wide = &mut wide[..WIDE / width * width];
        let (whole, rest) = data.split_at(data.len() / wide.len() * wide.len());
        let stride = wide.len();
        vectorize(Rows::<T, A, S>(wide, whole, stride, far, PhantomData));
        wide.chunks_exact(width)
            .for_each(|row| self.merge(acc, row));
        for row in rest.chunks_exact(width) {
            for (acc, &x) in acc.iter_mut().zip(row) {
                *acc = S::push(*acc, x);
            }
        }
    }

    fn merge(&self, acc: &mut [A], other: &[A]) {
        for (acc, &other) in acc.iter_mut().zip(other) {
            *acc = S::merge(*acc, other);
        }
    }

    fn finish(&self, acc: &mut [A], count: usize) {
        for acc in acc {
            *acc = S::finish(*acc, count);
        }
    }
}
