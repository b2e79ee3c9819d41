//! Quantises numbers to levels between two limits, and gives the numbers that the levels stand for.

use super::block::{Operand, runs};
use super::map;
use super::math;
use super::real::Real;
use super::simd::{adds_products, vectorize_mut};
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

/// Quantises many elements within the same limits, to the same bits as [`Limits::quantize`].
#[derive(Clone, Copy)]
struct Many<T> {
    limits: Limits<T>,
    range: T,
    steps: T,
    one_by_steps: T,
    /// From here on all numbers are whole.
    whole: T,
}

impl<T: Real> Many<T> {
    /// The most steps for which [`Many::share`] is exact.
    const MOST: f64 = 65_536.0;

    /// `None` where the arithmetic of these would not be exact, or no faster.
    #[inline(always)]
    fn new(limits: Limits<T>, steps: T) -> Option<Self> {
        let [low, high] = limits.input;
        let exact = low < high && steps <= T::of(Self::MOST);
        (exact && adds_products()).then(|| Self {
            limits,
            range: high - low,
            steps,
            one_by_steps: steps.recip(),
            whole: T::one() / T::epsilon(),
        })
    }

    /// As [`Limits::quantize`].
    #[inline(always)]
    fn quantize(&self, x: T) -> T {
        let ([low, high], [out_low, out_high]) = (self.limits.input, self.limits.output);
        // Not negative, and small; what lies outside the limits, and may be anything, is not taken.
        let level = (x - low) / self.range * self.steps;
        let level = (level + self.whole) - self.whole;
        let inside = self.share(level) * (out_high - out_low) + out_low;
        let y = if x > high { out_high } else { inside };
        if x <= low { out_low } else { y }
    }

    /// The quotient of a level and all steps, rounded as a division rounds it, in less time: a quotient from
    /// the reciprocal is corrected by its remainder, as in P. Markstein, "Computation of elementary functions
    /// on the IBM RISC System/6000 processor" (1990).
    ///
    /// With numbers of `p` bits what is rounded last is off by at most 4 / 2^(2 p) of itself. The quotient of
    /// two whole numbers up to 2^16 is no middle of two such numbers, and no nearer to one than
    /// 1 / 2^(p + 17) of itself.
    #[inline(always)]
    fn share(&self, level: T) -> T {
        let quotient = level * self.one_by_steps;
        let remainder = (-quotient).mul_add(self.steps, level);
        remainder.mul_add(self.one_by_steps, quotient)
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
            match Many::new(limits, steps) {
                Some(many) => each(
                    x,
                    out,
                    #[inline(always)]
                    move |x| many.quantize(x),
                ),
                None => each(
                    x,
                    out,
                    #[inline(always)]
                    move |x| limits.quantize(x, steps),
                ),
            }
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
    let [a, b, c, d] = limits;
    for (i, out) in out.chunks_mut(BLOCK).enumerate() {
        let len = out.len();
        for (all, some) in all.iter_mut().zip([x, a, b, c, d]) {
            match *some {
                [one] => all[..len].fill(one),
                _ => all[..len].copy_from_slice(&some[i * BLOCK..][..len]),
            }
        }
        let [x, limits @ ..] = all.each_ref().map(|all| &all[..len]);
        elements(x, limits, steps, out);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_quotients() {
        fn check<T: Real>(steps: u32) {
            let number = |x| T::of(f64::from(x));
            let steps_of = number(steps);
            let many = Many {
                limits: Limits {
                    input: [T::zero(), T::one()],
                    output: [T::zero(), T::one()],
                },
                range: T::one(),
                steps: steps_of,
                one_by_steps: steps_of.recip(),
                whole: T::one() / T::epsilon(),
            };
            for level in (0..=steps).map(number) {
                assert!(many.share(level) == level / steps_of, "{steps}");
            }
        }
        for steps in (1..300).chain([1023, 4095, 32_767, 65_521, 65_535, 65_536]) {
            check::<f32>(steps);
            check::<f64>(steps);
        }
    }
}
