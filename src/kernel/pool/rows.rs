//! Rows of windows folded a row at a time: first the rows of the data one upon the other, then the
//! columns of what that gives.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use smallvec::SmallVec;

use super::{Pooled, plane};
use crate::kernel::phases::every;
use crate::kernel::scratch::{Reused, or_refuse, try_resize};
use crate::kernel::window::{Axis, Window};
use crate::limits;

/// Elements that a row may have with its padding.
const LONGEST: usize = 1 << 20;

/// Elements that a sum of `f32` may have.
const TERMS: usize = 1 << 10;

/// Elements that are added up side by side.
const LANES: usize = 16;

/// What a thread computes in.
#[derive(Debug, Default)]
pub(super) struct Scratch<T: 'static> {
    /// A row with its padding, phase after phase; or a plane with its padding.
    pub(super) padded: Reused<T>,
    /// A row of folded columns; or all of them.
    pub(super) row: Reused<T>,
    indices: Reused<i32>,
}

/// Whether rows of these windows are folded here: not those that are mostly padding.
pub(super) fn suits(window: &Window) -> bool {
    let [.., x] = window.axes();
    let reach = x.kernel.saturating_mul(x.dilation);
    reach.saturating_add(x.output.saturating_mul(x.stride)) <= LONGEST && x.pad <= LONGEST
}

/// Whether means of these windows may be summed up in their own type.
pub(super) fn sums_suit(window: &Window) -> bool {
    let most = |axis: Axis| axis.kernel.min(axis.input);
    suits(window) && window.axes().map(most).iter().product::<usize>() <= TERMS
}

/// The places where rows of data begin.
type Rows = SmallVec<[usize; 8]>;

/// The rows of data under a row of windows, tap after tap, in place of those that were found before.
fn rows_under(window: &Window, [oz, oy]: [usize; 2], rows: &mut Rows) {
    let [z, y, x] = window.axes();
    let (planes, lines) = (z.under(oz), y.under(oy));
    rows.clear();
    if rows.try_reserve(planes.len() * lines.len()).is_err() {
        return limits::refuse();
    }
    for iz in planes {
        for iy in lines.clone() {
            rows.push((iz * y.input + iy) * x.input);
        }
    }
}

/// `out = f(out, x)` for each of them.
#[inline(always)]
fn combine<T: Copy>(out: &mut [T], line: &[T], f: impl Fn(T, T) -> T) {
    for (out, &x) in out.iter_mut().zip(line) {
        *out = f(*out, x);
    }
}

/// Folds the rows of data that begin at some places into one.
#[inline(always)]
pub(super) fn fold_rows<T: Copy>(
    plane: &[T],
    starts: &[usize],
    out: &mut [T],
    nothing: T,
    f: impl Fn(T, T) -> T + Copy,
) {
    let width = out.len();
    let line = |start: usize| &plane[start..][..width];
    let rest = match starts {
        [] => return out.fill(nothing),
        [a] => {
            for (out, &a) in out.iter_mut().zip(line(*a)) {
                *out = f(nothing, a);
            }
            return;
        }
        [a, b, c, rest @ ..] if rest.len() % 2 == 0 => {
            let lines = line(*a).iter().zip(line(*b)).zip(line(*c));
            for (out, ((&a, &b), &c)) in out.iter_mut().zip(lines) {
                *out = f(f(f(nothing, a), b), c);
            }
            rest
        }
        [a, b, rest @ ..] => {
            for ((out, &a), &b) in out.iter_mut().zip(line(*a)).zip(line(*b)) {
                *out = f(f(nothing, a), b);
            }
            rest
        }
    };
    for pair in rest.chunks_exact(2) {
        for ((out, &a), &b) in out.iter_mut().zip(line(pair[0])).zip(line(pair[1])) {
            *out = f(f(*out, a), b);
        }
    }
}

/// Folds every window of a plane, and shows each row of results to `end`.
#[inline(always)]
fn fold<T: Copy + Default>(
    window: &Window,
    data: &[T],
    scratch: &mut Scratch<T>,
    out: &mut [T],
    nothing: T,
    f: impl Fn(T, T) -> T + Copy,
    mut end: impl FnMut([usize; 2], &mut [T], &mut Scratch<T>),
) {
    if plane::suits(window) {
        return plane::fold(window, data, scratch, out, nothing, f, end);
    }
    let [z, y, x] = window.axes();
    let reach = (x.kernel - 1) * x.dilation;
    // Elements of a row with its padding, and of one of its phases.
    let width = (x.output - 1) * x.stride + reach + 1;
    let phase = width.div_ceil(x.stride);
    let phases = if x.stride == 1 {
        0
    } else {
        x.stride.min(reach + 1)
    };
    let inside = x.pad..width.min(x.pad + x.input);
    scratch.row.clear();
    let room = try_resize(&mut scratch.row, width, nothing)
        .and_then(|()| try_resize(&mut scratch.padded, phases * phase, nothing));
    if or_refuse(room).is_none() {
        return;
    }
    let rows = (0..z.output).flat_map(|oz| (0..y.output).map(move |oy| [oz, oy]));
    let mut starts = Rows::new();
    for (at, out) in rows.zip(out.chunks_exact_mut(x.output)) {
        rows_under(window, at, &mut starts);
        if !inside.is_empty() {
            let row = &mut scratch.row[inside.clone()];
            fold_rows(data, &starts, row, nothing, f);
        }
        let row = &scratch.row[..width];
        for (first, part) in scratch.padded.chunks_exact_mut(phase).enumerate() {
            let len = (width - first).div_ceil(x.stride);
            every(&row[first..], x.stride, &mut part[..len]);
        }
        let line = |tx: usize| {
            let at = tx * x.dilation;
            match x.stride {
                1 => &row[at..][..x.output],
                stride => &scratch.padded[at % stride * phase + at / stride..][..x.output],
            }
        };
        match x.kernel {
            2 => {
                for ((out, &a), &b) in out.iter_mut().zip(line(0)).zip(line(1)) {
                    *out = f(a, b);
                }
            }
            3 => {
                let lines = line(0).iter().zip(line(1)).zip(line(2));
                for (out, ((&a, &b), &c)) in out.iter_mut().zip(lines) {
                    *out = f(f(a, b), c);
                }
            }
            taps => {
                out.copy_from_slice(line(0));
                for tap in 1..taps {
                    combine(out, line(tap), f);
                }
            }
        }
        end(at, out, scratch);
    }
}

/// The largest elements of a plane's windows.
pub(super) struct Largest<'a, T: 'static> {
    pub(super) window: &'a Window,
    pub(super) plane: &'a [T],
    pub(super) out: &'a mut [T],
    pub(super) scratch: &'a mut Scratch<T>,
}

#[inline(always)]
fn larger<T: Pooled>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

impl<T: Pooled> WithSimd for Largest<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            window,
            plane,
            out,
            scratch,
        } = self;
        fold(window, plane, scratch, out, T::LOWEST, larger, |_, _, _| ());
    }
}

/// An index that is given out.
pub(crate) trait Index: Copy + Send + num_traits::NumCast {
    /// The sum with a small number.
    fn plus(self, other: i32) -> Self;
}

impl Index for i32 {
    fn plus(self, other: i32) -> Self {
        self.wrapping_add(other)
    }
}

impl Index for i64 {
    fn plus(self, other: i32) -> Self {
        self.wrapping_add(i64::from(other))
    }
}

/// As [`Largest`], with their places in the plane. No window has only padding.
pub(super) struct Found<'a, T: 'static> {
    pub(super) largest: Largest<'a, T>,
    /// Is called with the places of each row.
    pub(super) put: &'a mut dyn FnMut(&[i32]),
}

impl<T: Pooled> WithSimd for Found<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Largest {
            window,
            plane,
            out,
            scratch,
        } = self.largest;
        let [.., x] = window.axes();
        let mut starts = Rows::new();
        fold(
            window,
            plane,
            scratch,
            out,
            T::LOWEST,
            larger,
            |at, out, scratch| {
                if or_refuse(try_resize(&mut scratch.indices, x.output, 0)).is_none() {
                    return;
                }
                let found = &mut scratch.indices[..];
                let apart = &mut scratch.padded[..];
                // The first of equal ones stays: it is written last.
                rows_under(window, at, &mut starts);
                for &start in starts.iter().rev() {
                    let line = &plane[start..][..x.input];
                    for tx in (0..x.kernel).rev() {
                        mark(&x, (line, start), tx, out, found, apart);
                    }
                }
                (self.put)(found);
            },
        );
    }
}

/// Notes the places of elements at one tap that are the largest of their windows.
#[inline(always)]
fn mark<T: Pooled>(
    x: &Axis,
    (line, start): (&[T], usize),
    tx: usize,
    out: &[T],
    found: &mut [i32],
    apart: &mut [T],
) {
    let outputs: Range<usize> = x.outputs(tx);
    let Some(at) = x.element(outputs.start, tx).filter(|_| !outputs.is_empty()) else {
        return;
    };
    let (Ok(mut place), Ok(stride)) = (i32::try_from(start + at), i32::try_from(x.stride)) else {
        return;
    };
    let elements = if x.stride == 1 {
        &line[at..]
    } else {
        let apart = &mut apart[..outputs.len()];
        every(&line[at..], x.stride, apart);
        apart
    };
    let found = found[outputs.clone()].iter_mut().zip(&out[outputs]);
    for ((found, &largest), &x) in found.zip(elements) {
        *found = if x == largest { place } else { *found };
        place = place.wrapping_add(stride);
    }
}

/// The means of a plane's windows.
pub(super) struct Means<'a> {
    pub(super) window: &'a Window,
    /// The elements that windows have, if not only those of the data count.
    pub(super) all: Option<usize>,
    /// How many elements of a row are under each window of a row.
    pub(super) counts: &'a [f32],
    pub(super) plane: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) scratch: &'a mut Scratch<f32>,
}

impl WithSimd for Means<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            window,
            all,
            counts,
            plane,
            out,
            scratch,
        } = self;
        let [z, y, _] = window.axes();
        let add = |a, b| a + b;
        fold(window, plane, scratch, out, 0.0, add, |[oz, oy], out, _| {
            if let Some(all) = all {
                let all = all as f32;
                return out.iter_mut().for_each(|x| *x /= all);
            }
            let rows = (z.taps(oz).len() * y.taps(oy).len()) as f32;
            for (out, &count) in out.iter_mut().zip(counts) {
                *out /= rows * count;
            }
        });
    }
}

/// The sum of elements that follow each other.
pub(super) struct Sum<'a>(pub(super) &'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut total = 0.0;
        for part in self.0.chunks(LANES * TERMS) {
            let (vectors, rest) = part.as_chunks::<LANES>();
            let mut sums = [0f32; LANES];
            for vector in vectors {
                for (sum, &x) in sums.iter_mut().zip(vector) {
                    *sum += x;
                }
            }
            let sums = sums.iter().chain(rest);
            total += sums.fold(0.0, |sum, &x| sum + f64::from(x));
        }
        total
    }
}

/// Computes with the vectors of the machine.
pub(super) fn compute<W: WithSimd>(work: W) -> W::Output {
    crate::kernel::simd::arch().dispatch(work)
}
