//! Quantises numbers to levels between two limits, and gives the numbers that the levels stand for.

use super::block::{Operand, runs};
use super::map;
use super::math;
use super::real::Real;
use super::simd::vectorize_mut;
use crate::tensor::Tensor;
use crate::tensor::convert::BLOCK;

/// The limits of the input and of the output, low and high.
#[derive(Clone, Copy)]
struct Limits<T> {
    input: [T; 2],
    output: [T; 2],
}

impl<T: Real> Limits<T> {
    /// The number that stands for the level of `x`; `steps` is one less than the levels.
    #[inline(always)]
    fn quantize(&self, x: T, steps: T) -> T {
        let ([low, high], [out_low, out_high]) = (self.input, self.output);
        let level = math::round_half_even((x - low) / (high - low) * steps);
        let inside = level / steps * (out_high - out_low) + out_low;
        let (lower, upper) = if low < high { (low, high) } else { (high, low) };
        let y = if x > upper { out_high } else { inside };
        if x <= lower { out_low } else { y }
    }
}

/// Computes `out` from the data and four limits, each with the axis of the data where it begins:
/// those of the input, low and high, and those of the output.
pub(crate) fn fake_quantize<T: Real>(
    data: &Tensor,
    limits: [(&Tensor, usize); 4],
    levels: T,
    out: &mut Tensor,
) {
    let shape = out.shape().clone();
    let [a, b, c, d] = limits.map(|(limit, at)| Operand::new(limit, at, &shape));
    let operands = [Operand::new(data, 0, &shape), a, b, c, d];
    let steps = levels - T::one();
    runs::<T, T, 5>(&operands, out, &|[x, limits @ ..], out| match limits {
        [&[a], &[b], &[c], &[d]] => {
            let limits = Limits {
                input: [a, b],
                output: [c, d],
            };
            each(
                x,
                out,
                #[inline(always)]
                move |x| limits.quantize(x, steps),
            );
        }
        _ => each_its_own(x, limits, steps, out),
    });
}

#[inline(always)]
fn each<T: Real>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) {
    match *x {
        [x] => out.fill(f(x)),
        _ => map::each(x, out, f),
    }
}

/// For limits that change from element to element, at least one of them.
fn each_its_own<T: Real>(x: &[T], limits: [&[T]; 4], steps: T, out: &mut [T]) {
    let mut all = [[T::zero(); BLOCK]; 5];
    let len = out.len();
    for (all, some) in all
        .iter_mut()
        .zip([x, limits[0], limits[1], limits[2], limits[3]])
    {
        match *some {
            [one] => all[..len].fill(one),
            _ => all[..len].copy_from_slice(some),
        }
    }
    let [x, limits @ ..] = all.each_ref().map(|all| &all[..len]);
    elements(x, limits, steps, out);
}

/// Quantises elements, each within limits of its own.
pub(crate) fn elements<T: Real>(x: &[T], [a, b, c, d]: [&[T]; 4], steps: T, out: &mut [T]) {
    vectorize_mut(
        #[inline(always)]
        move || {
            let limits = a.iter().zip(b).zip(c.iter().zip(d));
            for ((out, &x), ((&a, &b), (&c, &d))) in out.iter_mut().zip(x).zip(limits) {
                let limits = Limits {
                    input: [a, b],
                    output: [c, d],
                };
                *out = limits.quantize(x, steps);
            }
        },
    );
}
