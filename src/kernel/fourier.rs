//! Discrete Fourier transforms of lines: complex along any axis, and real ones of which only the
//! half that is not a mirror of the other is kept.

use std::sync::Arc;

use pulp::Arch;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner, FftPlannerScalar};

use super::moving::Odometer;
use super::real::Real;
use super::scratch::{or_refuse, try_collect, try_room, try_vec};
use super::simd::arch;
use crate::limits::Share;
use crate::op::OpError;

/// Numbers below which a transform stays on the calling thread.
const SMALL: usize = 1 << 14;

/// Numbers that one thread transforms at a time, so that what it needs beside them is made seldom.
const PIECE: usize = 1 << 13;

/// The side of the squares in which lines are gathered.
const SIDE: usize = 8;

/// The complex numbers whose parts follow each other.
///
/// # Errors
/// When there is no memory for them.
pub(crate) fn complex<T: Real>(data: &[T]) -> Result<Vec<Complex<T>>, OpError> {
    let pairs = data.chunks_exact(2);
    try_collect(pairs.map(|x| Complex { re: x[0], im: x[1] }))
}

/// Writes complex numbers, part after part.
pub(crate) fn parts<T: Real>(data: &[Complex<T>], out: &mut [T]) {
    for (out, x) in out.chunks_exact_mut(2).zip(data) {
        out[0] = x.re;
        out[1] = x.im;
    }
}

/// Applies `f` to pieces of `lines` lines, and to what it says of each line in both slices: on all
/// threads if there is much to do.
fn for_lines<A: Send, B: Send>(
    a: (&mut [A], usize),
    b: (&mut [B], usize),
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    let ((a, a_line), (b, b_line)) = (a, b);
    if a.is_empty() || b.is_empty() {
        return;
    }
    let most = (PIECE / a_line.max(b_line)).max(1);
    if a.len().max(b.len()) < SMALL {
        let pieces = a.chunks_mut(most * a_line).zip(b.chunks_mut(most * b_line));
        pieces.enumerate().for_each(|(i, (a, b))| f(i * most, a, b));
    } else {
        let pieces = a.par_chunks_mut(most * a_line);
        let pieces = pieces.zip(b.par_chunks_mut(most * b_line));
        pieces.enumerate().share(|(i, (a, b))| f(i * most, a, b));
    }
}

/// As [`for_lines`], for one slice.
fn for_pieces<A: Send>(a: &mut [A], line: usize, f: impl Fn(usize, &mut [A]) + Sync) {
    let mut nothing = vec![(); a.len().checked_div(line).unwrap_or(0)];
    for_lines((a, line), (&mut nothing, 1), |first, a, _| f(first, a));
}

/// Copies the part that two boxes of different sizes have in common.
pub(crate) fn copy_common<A: Copy, B>(
    from: &[A],
    from_dims: &[usize],
    to: &mut [B],
    to_dims: &[usize],
    convert: impl Fn(A) -> B,
) {
    let common: Vec<usize> = from_dims
        .iter()
        .zip(to_dims)
        .map(|(&a, &b)| a.min(b))
        .collect();
    if common.contains(&0) {
        return;
    }
    let (outer, run) = match common.split_last() {
        Some((&run, outer)) => (outer, run),
        None => (&common[..], 1),
    };
    let strides = |dims: &[usize]| crate::tensor::Shape::from(dims).strides();
    let mut source = Odometer::at(0, outer, &strides(from_dims));
    let mut target = Odometer::at(0, outer, &strides(to_dims));
    for _ in 0..outer.iter().product() {
        let from = &from[source.offset()..][..run];
        for (to, &from) in to[target.offset()..][..run].iter_mut().zip(from) {
            *to = convert(from);
        }
        source.step();
        target.step();
    }
}

/// Exchanges rows and columns of each of many matrices `[rows, columns]`.
pub(crate) fn exchange<A: Copy + Send + Sync>(
    from: &[A],
    rows: usize,
    columns: usize,
    to: &mut [A],
) {
    for_pieces(to, rows, |first, to| {
        // Column `first + i` of all matrices is row `i` of the piece.
        for (side, to) in to.chunks_mut(SIDE * rows).enumerate() {
            let first = first + side * SIDE;
            for low in (0..rows).step_by(SIDE) {
                for (i, to) in to.chunks_exact_mut(rows).enumerate() {
                    let (matrix, column) = ((first + i) / columns, (first + i) % columns);
                    let from = &from[matrix * rows * columns + column..];
                    let high = (low + SIDE).min(rows);
                    for (row, to) in (low..high).zip(&mut to[low..high]) {
                        *to = from[row * columns];
                    }
                }
            }
        }
    });
}

/// Transforms all lines of the middle axis of `[outer, length, inner]`, in place. Nothing is
/// divided by the length.
///
/// # Errors
/// When there is no memory for as many numbers again.
pub(crate) fn transform<T: Real + FftNum>(
    data: &mut [Complex<T>],
    [length, inner]: [usize; 2],
    inverse: bool,
) -> Result<(), OpError> {
    if length < 2 || data.is_empty() {
        return Ok(());
    }
    let fft = plan::<T>(length, inverse)?;
    let run = |lines: &mut [Complex<T>]| {
        for_pieces(lines, length, |_, lines| {
            let memory = try_vec(zero(), fft.get_inplace_scratch_len());
            let Some(mut scratch) = or_refuse(memory) else {
                return;
            };
            fft.process_with_scratch(lines, &mut scratch);
        });
    };
    if inner == 1 {
        run(data);
        return Ok(());
    }
    let mut lines = try_vec(zero(), data.len())?;
    exchange(data, length, inner, &mut lines);
    run(&mut lines);
    exchange(&lines, inner, length, data);
    Ok(())
}

/// The planner takes memory as it comes, about as much as eight lines: that there is so much is
/// asked first.
fn plan<T: FftNum>(length: usize, inverse: bool) -> Result<Arc<dyn Fft<T>>, OpError> {
    try_room::<Complex<T>>(length.saturating_mul(8))?;
    let direction = if inverse {
        FftDirection::Inverse
    } else {
        FftDirection::Forward
    };
    Ok(match arch() {
        Arch::Scalar => FftPlannerScalar::new().plan_fft(length, direction),
        _ => FftPlanner::new().plan_fft(length, direction),
    })
}

fn zero<T: Real>() -> Complex<T> {
    Complex {
        re: T::zero(),
        im: T::zero(),
    }
}

/// How many numbers of the transform of a real line are kept.
pub(crate) fn bins(length: usize) -> usize {
    length / 2 + 1
}

/// Transforms of real lines of one length, forward or back. An even line is transformed as one
/// of half the length, of which even and odd numbers are the parts.
pub(crate) struct Lines<T: FftNum> {
    length: usize,
    inverse: bool,
    fft: Arc<dyn Fft<T>>,
    /// `exp(-2πik / length)`, if the length is even.
    turns: Vec<Complex<T>>,
}

impl<T: Real + FftNum> Lines<T> {
    /// Lines of a length that is not 0.
    ///
    /// # Errors
    /// When there is no memory for what they are multiplied with.
    pub(crate) fn new(length: usize, inverse: bool) -> Result<Self, OpError> {
        let even = length.is_multiple_of(2);
        let half = if even { length / 2 } else { length };
        let step = -std::f64::consts::TAU / length as f64;
        let turn = |k: usize| {
            let (sin, cos) = libm::sincos(step * k as f64);
            Complex {
                re: T::of(cos),
                im: T::of(sin),
            }
        };
        Ok(Self {
            length,
            inverse,
            fft: plan(half, inverse)?,
            turns: if even {
                try_collect((0..=half).map(turn))?
            } else {
                Vec::new()
            },
        })
    }

    /// What the transform needs beside its numbers, and these.
    fn memory(&self) -> Result<[Vec<Complex<T>>; 2], OpError> {
        let scratch = try_vec(zero(), self.fft.get_inplace_scratch_len())?;
        Ok([scratch, try_vec(zero(), self.fft.len())?])
    }

    /// Transforms lines forward: `fill` writes each, `out` is `[lines, bins]`.
    pub(crate) fn forward(&self, fill: impl Fn(usize, &mut [T]) + Sync, out: &mut [Complex<T>]) {
        debug_assert!(!self.inverse);
        let bins = bins(self.length);
        for_pieces(out, bins, |first, out| {
            let Some([mut scratch, mut numbers]) = or_refuse(self.memory()) else {
                return;
            };
            let Some(mut line) = or_refuse(try_vec(T::zero(), self.length)) else {
                return;
            };
            for (i, out) in out.chunks_exact_mut(bins).enumerate() {
                fill(first + i, &mut line);
                if self.turns.is_empty() {
                    for (number, &x) in numbers.iter_mut().zip(&line) {
                        *number = Complex {
                            re: x,
                            im: T::zero(),
                        };
                    }
                    self.fft.process_with_scratch(&mut numbers, &mut scratch);
                    out.copy_from_slice(&numbers[..bins]);
                    continue;
                }
                for (number, x) in numbers.iter_mut().zip(line.chunks_exact(2)) {
                    *number = Complex { re: x[0], im: x[1] };
                }
                self.fft.process_with_scratch(&mut numbers, &mut scratch);
                let half = T::of(0.5);
                for (k, (out, turn)) in out.iter_mut().zip(&self.turns).enumerate() {
                    let a = numbers[k % numbers.len()];
                    let b = numbers[(numbers.len() - k) % numbers.len()].conj();
                    let odd = (a - b) * turn;
                    // The sum, and the difference turned by -i.
                    *out = Complex {
                        re: (a.re + b.re + odd.im) * half,
                        im: (a.im + b.im - odd.re) * half,
                    };
                }
            }
        });
    }

    /// Transforms lines back, without dividing by the length: `data` is `[lines, given]` where
    /// what is missing of the bins is zero, `out` is `[lines, length]`.
    pub(crate) fn back(&self, data: &[Complex<T>], given: usize, out: &mut [T]) {
        debug_assert!(self.inverse);
        let bins = bins(self.length);
        for_pieces(out, self.length, |first, out| {
            let Some([mut scratch, mut numbers]) = or_refuse(self.memory()) else {
                return;
            };
            let Some(mut line) = or_refuse(try_vec(zero(), bins)) else {
                return;
            };
            for (i, out) in out.chunks_exact_mut(self.length).enumerate() {
                let kept = given.min(bins);
                line[..kept].copy_from_slice(&data[(first + i) * given..][..kept]);
                // What a real line has nothing of.
                line[0].im = T::zero();
                if self.turns.is_empty() {
                    numbers[..bins].copy_from_slice(&line);
                    for (mirror, x) in numbers[bins..].iter_mut().rev().zip(&line[1..]) {
                        *mirror = x.conj();
                    }
                    self.fft.process_with_scratch(&mut numbers, &mut scratch);
                    out.iter_mut()
                        .zip(&numbers)
                        .for_each(|(out, x)| *out = x.re);
                    continue;
                }
                line[bins - 1].im = T::zero();
                let mirrors = line.iter().rev();
                let terms = line.iter().zip(mirrors).zip(&self.turns);
                for (number, ((a, b), turn)) in numbers.iter_mut().zip(terms) {
                    let b = b.conj();
                    let odd = (a - b) * turn.conj();
                    // The sum, and the difference turned by i.
                    *number = Complex {
                        re: a.re + b.re - odd.im,
                        im: a.im + b.im + odd.re,
                    };
                }
                self.fft.process_with_scratch(&mut numbers, &mut scratch);
                parts(&numbers, out);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(length: usize, seed: usize) -> Vec<f64> {
        (0..length)
            .map(|i| (((i + seed) * 37 + 11) % 101) as f64 / 50.0 - 1.0)
            .collect()
    }

    /// The sum that defines a transform.
    fn sum(x: &[Complex<f64>], k: usize, sign: f64) -> Complex<f64> {
        let n = x.len() as f64;
        x.iter().enumerate().fold(zero(), |sum, (j, x)| {
            let angle = sign * std::f64::consts::TAU * ((j * k) % x_len(n)) as f64 / n;
            sum + x * Complex::from_polar(1.0, angle)
        })
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn x_len(n: f64) -> usize {
        n as usize
    }

    fn close(a: Complex<f64>, b: Complex<f64>) {
        assert!((a - b).norm() < 1e-10, "{a} {b}");
    }

    #[test]
    fn real_lines_of_every_length() {
        for length in 1..24 {
            let bins = bins(length);
            let mut out = vec![zero(); 3 * bins];
            let fill = |i: usize, out: &mut [f64]| out.copy_from_slice(&line(length, i * 5));
            let lines = Lines::new(length, false).expect("memory");
            lines.forward(fill, &mut out);
            for (i, out) in out.chunks_exact(bins).enumerate() {
                let x: Vec<_> = line(length, i * 5).iter().map(|&x| x.into()).collect();
                for (k, &out) in out.iter().enumerate() {
                    close(out, sum(&x, k, -1.0));
                }
            }
            let mut back = vec![f64::NAN; 3 * length];
            let lines = Lines::new(length, true).expect("memory");
            lines.back(&out, bins, &mut back);
            for (i, back) in back.chunks_exact(length).enumerate() {
                for (back, x) in back.iter().zip(line(length, i * 5)) {
                    assert!((back / length as f64 - x).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn parts_that_no_real_line_has_are_left_out() {
        for (length, given) in [(4, 3), (5, 3), (6, 2), (3, 4), (2, 5)] {
            let data = complex(&line(2 * given, 3)).expect("memory");
            let mut full = vec![zero(); length];
            for k in 0..bins(length).min(given) {
                full[k] = data[k];
                if k > 0 && 2 * k != length {
                    full[length - k] = data[k].conj();
                }
            }
            let mut back = vec![f64::NAN; length];
            let lines = Lines::new(length, true).expect("memory");
            lines.back(&data, given, &mut back);
            for (k, back) in back.iter().enumerate() {
                assert!((sum(&full, k, 1.0).re - back).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn lines_along_every_axis() {
        let dims = [3, 4, 5];
        let data = complex(&line(2 * 60, 0)).expect("memory");
        for (axis, length) in dims.into_iter().enumerate() {
            let inner: usize = dims[axis + 1..].iter().product();
            for inverse in [false, true] {
                let mut out = data.clone();
                transform(&mut out, [length, inner], inverse).expect("memory");
                for (i, &out) in out.iter().enumerate() {
                    let (k, start) = (
                        i / inner % length,
                        i / inner / length * length * inner + i % inner,
                    );
                    let x: Vec<_> = (0..length).map(|j| data[start + j * inner]).collect();
                    close(out, sum(&x, k, if inverse { 1.0 } else { -1.0 }));
                }
            }
        }
    }

    #[test]
    fn much_to_do() {
        let (length, inner) = (64, 600);
        let data = complex(&line(2 * length * inner, 1)).expect("memory");
        let mut out = data.clone();
        transform(&mut out, [length, inner], false).expect("memory");
        for column in [0, 311, 599] {
            let x: Vec<_> = (0..length).map(|j| data[column + j * inner]).collect();
            close(out[5 * inner + column], sum(&x, 5, -1.0));
        }
    }
}
