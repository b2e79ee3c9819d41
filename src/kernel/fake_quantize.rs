//! Quantises numbers to levels between two limits, and gives the numbers that the levels stand for.

use super::block::{Operand, runs};
use super::map;
use super::math;
use super::real::Real;
use super::simd::{adds_products, vectorize_mut};
use crate::tensor::Tensor;
use crate::tensor::convert::BLOCK;

/// The limits of the input and of the output, low and high.
#[derive(Debug, Clone, Copy)]
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
}

impl<T: Real> Many<T> {
    /// The most steps for which [`Many::share`] is exact.
    const MOST: f64 = 65_536.0;

    /// `None` where the arithmetic of these would not be exact, or no faster.
    #[inline(always)]
    fn new(limits: Limits<T>, steps: T) -> Option<Self> {
        let ([low, high], [out_low, out_high]) = (limits.input, limits.output);
        // A run may be short, so the limits are found from what their levels share: nothing, and all.
        let from_low = T::zero() * (out_high - out_low) + out_low;
        let few = steps >= T::one() && steps <= T::of(Self::MOST);
        let exact = low < high && few && same(from_low, out_low);
        (exact && adds_products()).then(|| Self {
            limits,
            range: high - low,
            steps,
            one_by_steps: steps.recip(),
        })
    }

    /// Whether the level of the upper limit stands for the upper limit of the output: rounded, it may stand for a
    /// neighbour.
    #[inline(always)]
    fn ends_high(&self) -> bool {
        let [out_low, out_high] = self.limits.output;
        self.range.is_finite() && same((out_high - out_low) + out_low, out_high)
    }

    /// As [`Limits::quantize`].
    #[inline(always)]
    fn quantize(&self, x: T) -> T {
        let inside = self.inside(x);
        if x > self.limits.input[1] {
            self.limits.output[1]
        } else {
            inside
        }
    }

    /// The same for what is not above the limits, and for all where [`Many::ends_high`]: numbers outside have the
    /// level of the limit.
    #[inline(always)]
    fn inside(&self, x: T) -> T {
        let ([low, high], [out_low, out_high]) = (self.limits.input, self.limits.output);
        // Written so that what is no number stays that.
        let x = if x > high { high } else { x };
        let x = if x < low { low } else { x };
        let level = ((x - low) / self.range * self.steps).round_ties_even();
        self.share(level) * (out_high - out_low) + out_low
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
                Some(many) if many.ends_high() => each(
                    x,
                    out,
                    #[inline(always)]
                    move |x| many.inside(x),
                ),
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

/// Whether two numbers are the same, zeros with their signs.
#[inline(always)]
fn same<T: Real>(a: T, b: T) -> bool {
    a == b && a.is_sign_negative() == b.is_sign_negative()
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
            let limits = Limits {
                input: [T::zero(), T::one()],
                output: [T::zero(), T::one()],
            };
            let many = Many {
                limits,
                range: T::one(),
                steps: steps_of,
                one_by_steps: steps_of.recip(),
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

    #[test]
    fn many_are_quantised_as_each_is() {
        // As many as make each of them meet all limits.
        const STEPS: [f64; 6] = [1.0, 3.0, 255.0, 65_535.0, 0.0, 15.0];
        fn check<T: Real>(wide: u32, scale: f64) {
            let number = |x: f64| T::of(x);
            let nothing = T::zero();
            let mut found = [0; 3];
            for (i, steps) in (0..2000).zip(STEPS.into_iter().cycle()) {
                let some = |k: u32| {
                    let bits = (4 * i + k).wrapping_mul(2_654_435_761) % wide;
                    number((f64::from(bits) / f64::from(wide / 8) - 4.0) * scale)
                };
                let input = match i % 7 {
                    0 => [some(1), some(1)],
                    1 => [nothing, some(1).abs()],
                    2 => [T::min_value(), T::max_value()],
                    _ => [some(0).min(some(1)), some(0).max(some(1))],
                };
                let output = match i % 5 {
                    0 => [-nothing, some(2)],
                    1 => [T::infinity(), some(2)],
                    2 => input,
                    _ => [some(2), some(3)],
                };
                let limits = Limits { input, output };
                let steps = number(steps);
                let Some(many) = Many::new(limits, steps) else {
                    found[0] += 1;
                    continue;
                };
                found[1 + usize::from(many.ends_high())] += 1;
                let [low, high] = input;
                // Found from less, but the same.
                assert!(same(many.inside(low), output[0]), "{limits:?} {steps:?}");
                let high_end = same(many.inside(high), output[1]);
                assert_eq!(many.ends_high(), high_end, "{limits:?} {steps:?}");
                let least = T::epsilon() * T::of(4.0);
                let range = high - low;
                let inside = (0..40u32).map(|k| low + range * number(f64::from(k) / 39.0));
                let halves = (0..8u32).map(|k| low + range * number(f64::from(k) + 0.5) / steps);
                let ends = [
                    low - least,
                    low,
                    low + least,
                    high - least,
                    high,
                    high + least,
                ];
                let others = [
                    nothing,
                    -nothing,
                    T::nan(),
                    T::infinity(),
                    T::neg_infinity(),
                ];
                for x in inside.chain(halves).chain(ends).chain(others) {
                    let expected = limits.quantize(x, steps);
                    let both = |y: T| same(y, expected) || (y.is_nan() && expected.is_nan());
                    assert!(both(many.quantize(x)), "{x:?} {limits:?} {steps:?}");
                    let inside = many.ends_high() || x <= high || x.is_nan();
                    assert!(
                        !inside || both(many.inside(x)),
                        "{x:?} {limits:?} {steps:?}"
                    );
                }
            }
            // Where products are not added, there is only one way. Sums of numbers of few bits are exact.
            if adds_products() && scale > 1.0 {
                assert!(found.iter().all(|&count| count > 100), "{found:?}");
            }
        }
        for (wide, scale) in [(64, 1.0), (1 << 20, 1.1)] {
            check::<f32>(wide, scale);
            check::<f64>(wide, scale);
        }
    }
}
