//! Functions of `f32`.
//!
//! Nothing branches, so that loops over them are vectorised: both sides are computed and one is
//! chosen. `tests.rs` holds each to its bound.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, LN_2, PI};

use super::Functions;
use super::parts::{
    ERF_NEAR, FRAC_PI_2_LO, LN, LN_2_HI, LN_2_LO, NONE, REDUCIBLE, TWO_TO_64, TWO_TO_MINUS_64,
    WHOLE, asin_poly, erf_far, erf_near, exp_raised, exp_raised_by, exp_shifted, half_acos,
    half_exp_m1, normal_tail, poly, reducible, sin_fast, sin_reduced,
};
use super::precise::{self, TAN_REDUCIBLE};
use crate::kernel::simd::vectorize_mut;

#[allow(clippy::cast_possible_truncation)] // rounds
fn wide(f: fn(f64) -> f64, x: f32) -> f32 {
    f(f64::from(x)) as f32
}

/// What a loop over `fast` gives, with `slow` in place of it for arguments that are not up to `most`.
#[inline(always)]
fn reduced_block(
    x: &[f32],
    out: &mut [f32],
    most: f32,
    fast: impl Fn(f32) -> f32,
    slow: impl Fn(f32) -> f32,
) {
    let all = vectorize_mut(
        #[inline(always)]
        || {
            let mut all = true;
            for (out, &x) in out.iter_mut().zip(x) {
                *out = fast(x);
                all &= x.abs() <= most;
            }
            all
        },
    );
    if !all {
        for (out, &x) in out
            .iter_mut()
            .zip(x)
            .filter(|(_, x)| x.is_nan() || x.abs() > most)
        {
            *out = slow(x);
        }
    }
}

impl Functions for f32 {
    #[inline(always)]
    fn exp(x: f32) -> f32 {
        exp_shifted(x, 0.0)
    }

    #[inline(always)]
    fn exp_m1(x: f32) -> f32 {
        let y = if x > 89.0 { 89.0 } else { x };
        let y = if y < -18.0 { -18.0 } else { y };
        let y = 2.0 * half_exp_m1(y);
        if x.abs() < 1e-8 { x } else { y }
    }

    #[inline(always)]
    fn ln(x: f32) -> f32 {
        let tiny = x < f32::MIN_POSITIVE;
        let scaled = if tiny { x * WHOLE } else { x };
        let bits = scaled.to_bits();
        let exponent = (bits.wrapping_sub(FRAC_1_SQRT_2.to_bits()) as i32) >> 23;
        let f = f32::from_bits(bits.wrapping_sub((exponent << 23) as u32)) - 1.0;
        let n = exponent as f32 - if tiny { 23.0 } else { 0.0 };
        let z = f * f;
        let tail = n.mul_add(LN_2_LO, z.mul_add(f * poly(f, LN), -0.5 * z));
        let y = n.mul_add(LN_2_HI, f + tail);
        // The logarithm of 0, NaN, infinity, and the negative.
        let other = if x == 0.0 { f32::NEG_INFINITY } else { x };
        let other = if x < 0.0 { f32::NAN } else { other };
        if x > 0.0 && x < f32::INFINITY {
            y
        } else {
            other
        }
    }

    #[inline(always)]
    fn ln_1p(x: f32) -> f32 {
        let u = 1.0 + x;
        // What rounding took from the sum.
        let lost = if x > 1.0 {
            1.0 - (u - x)
        } else {
            x - (u - 1.0)
        };
        let correction = lost / u;
        let finite = u > 0.0 && u < f32::INFINITY;
        let correction = if finite { correction } else { 0.0 };
        let y = <f32 as Functions>::ln(u) + correction;
        if x == 0.0 { x } else { y }
    }

    #[inline(always)]
    fn tanh(x: f32) -> f32 {
        let a = x.abs();
        let z = x * x;
        let near = poly(
            z,
            [
                -0.333_332_84,
                0.133_314_85,
                -0.053_743_005,
                0.020_649_103,
                -0.005_715_499,
            ],
        );
        let near = (a * z).mul_add(near, a);
        // From 9.02 on it is 1.
        let twice = a + a;
        let half = half_exp_m1(if twice > 20.0 { 20.0 } else { twice });
        let far = half / (half + 1.0);
        (if a < 0.625 { near } else { far }).copysign(x)
    }

    #[inline(always)]
    fn sigmoid(x: f32) -> f32 {
        let below = -x.abs();
        // Rounding to zero would take a processor as long as a hundred other steps. What the exponential is below
        // its bounds is not used.
        let gone = below < -104.0;
        let e = if gone {
            0.0
        } else {
            exp_raised_by(below, NONE)
        };
        let sum = TWO_TO_64 + e;
        let y = (if x < 0.0 { e } else { TWO_TO_64 }) / sum;
        // What rounding took from the sum.
        let lost = (e - (sum - TWO_TO_64)) * TWO_TO_MINUS_64;
        (-y).mul_add(lost, y)
    }

    #[inline(always)]
    fn erf(x: f32) -> f32 {
        let a = x.abs();
        let (near, far) = (erf_near(x), erf_far(a).copysign(x));
        if a < ERF_NEAR { near } else { far }
    }

    #[inline(always)]
    fn erf_inv(x: f32) -> f32 {
        precise::erf_inv(x)
    }

    #[inline(always)]
    fn exp_share(x: f32) -> f32 {
        exp_raised(x)
    }

    #[inline(always)]
    fn power(x: f32, y: f32) -> f32 {
        precise::pow(x, y)
    }

    #[inline(always)]
    fn normal_cdf(x: f32) -> f32 {
        let a = x.abs();
        // Beyond 14.3 what is below is less than any float. Rounding to zero would take a processor as long
        // as a hundred other steps.
        let gone = a > 14.5;
        let a = if gone { 0.0 } else { a };
        let half = -0.5 * a;
        let hi = half * a;
        let lo = half.mul_add(a, -hi);
        let below = exp_raised_by(hi, lo) * normal_tail(a) * TWO_TO_MINUS_64;
        let below = if gone { 0.0 } else { below };
        if x < 0.0 { below } else { 1.0 - below }
    }

    #[inline(always)]
    fn sin(x: f32) -> f32 {
        if reducible(x) {
            sin_fast(x)
        } else {
            wide(f64::sin, x)
        }
    }

    #[inline(always)]
    fn cos(x: f32) -> f32 {
        if reducible(x) {
            sin_reduced(x, 1)
        } else {
            wide(f64::cos, x)
        }
    }

    fn sin_block(x: &[f32], out: &mut [f32]) {
        reduced_block(
            x,
            out,
            REDUCIBLE,
            #[inline(always)]
            |x| sin_fast(x),
            |x| wide(f64::sin, x),
        );
    }

    fn cos_block(x: &[f32], out: &mut [f32]) {
        reduced_block(
            x,
            out,
            REDUCIBLE,
            #[inline(always)]
            |x| sin_reduced(x, 1),
            |x| wide(f64::cos, x),
        );
    }

    fn tan_block(x: &[f32], out: &mut [f32]) {
        reduced_block(
            x,
            out,
            TAN_REDUCIBLE,
            #[inline(always)]
            |x| precise::tan(x),
            |x| wide(f64::tan, x),
        );
    }

    #[inline(always)]
    fn tan(x: f32) -> f32 {
        if x.abs() <= TAN_REDUCIBLE {
            precise::tan(x)
        } else {
            wide(f64::tan, x)
        }
    }

    #[inline(always)]
    fn asin(x: f32) -> f32 {
        let a = x.abs();
        let far = FRAC_PI_2 - (2.0 * half_acos(a) - FRAC_PI_2_LO);
        let near = asin_poly(x, x * x);
        if a <= 0.5 { near } else { far.copysign(x) }
    }

    #[inline(always)]
    fn acos(x: f32) -> f32 {
        let a = x.abs();
        let far = 2.0 * half_acos(a);
        let far = if x < 0.0 { PI - far } else { far };
        let near = FRAC_PI_2 - asin_poly(x, x * x);
        if a <= 0.5 { near } else { far }
    }

    #[inline(always)]
    fn atan(x: f32) -> f32 {
        let a = x.abs();
        // The tangents of one and three eighths of pi.
        let middle = a > 0.414_213_57;
        let far = a > 2.414_213_7;
        let (from, less, over, under) = if far {
            (FRAC_PI_2, FRAC_PI_2_LO, -1.0, a)
        } else if middle {
            (FRAC_PI_4, 0.5 * FRAC_PI_2_LO, a - 1.0, a + 1.0)
        } else {
            (0.0, 0.0, a, 1.0)
        };
        let r = over / under;
        let z = r * r;
        let tail = r
            * z
            * poly(
                z,
                [
                    -0.333_333_16,
                    0.199_985_28,
                    -0.142_443_78,
                    0.105_989_434,
                    -0.060_891_517,
                ],
            );
        (from + (r + (tail + less))).copysign(x)
    }

    #[inline(always)]
    fn sinh(x: f32) -> f32 {
        let a = x.abs();
        let z = x * x;
        let near = x + x
            * z
            * poly(
                z,
                [
                    0.166_666_67,
                    0.008_333_311,
                    0.000_198_426_28,
                    2.784_016_3e-6,
                ],
            );
        let half = exp_shifted(a, -1.0);
        let far = half - 0.25 / half;
        if a < 1.0 { near } else { far.copysign(x) }
    }

    #[inline(always)]
    fn cosh(x: f32) -> f32 {
        let half = exp_shifted(x.abs(), -1.0);
        half + 0.25 / half
    }

    #[inline(always)]
    fn asinh(x: f32) -> f32 {
        let a = x.abs();
        let z = x * x;
        let near = x + x
            * z
            * poly(
                z,
                [
                    -0.166_666_43,
                    0.074_986_406,
                    -0.044_383_05,
                    0.028_161_95,
                    -0.013_225_524,
                ],
            );
        // The square of a large number may be too large.
        let large = a > 1e10;
        let y = a + z / (1.0 + (z + 1.0).sqrt());
        let y = if large { a } else { y };
        let far = <f32 as Functions>::ln_1p(y) + if large { LN_2 } else { 0.0 };
        (if a < 0.5 { near } else { far }).copysign(x)
    }

    #[inline(always)]
    fn acosh(x: f32) -> f32 {
        let t = x - 1.0;
        let large = x > 1e10;
        let y = t + (t * (t + 2.0)).sqrt();
        let y = if large { t } else { y };
        let y = <f32 as Functions>::ln_1p(y) + if large { LN_2 } else { 0.0 };
        if x < 1.0 { f32::NAN } else { y }
    }

    #[inline(always)]
    fn atanh(x: f32) -> f32 {
        let a = x.abs();
        let z = x * x;
        let near = x + x
            * z
            * poly(
                z,
                [
                    0.333_333,
                    0.200_026_02,
                    0.142_212_45,
                    0.118_357_934,
                    0.050_920_81,
                    0.177_283_17,
                ],
            );
        let far = 0.5 * <f32 as Functions>::ln_1p(2.0 * a / (1.0 - a));
        if a < 0.5 { near } else { far.copysign(x) }
    }

    #[inline(always)]
    fn floor(x: f32) -> f32 {
        let y = <f32 as Functions>::round_half_even(x);
        (if y > x { y - 1.0 } else { y }).copysign(x)
    }

    #[inline(always)]
    fn ceil(x: f32) -> f32 {
        let y = <f32 as Functions>::round_half_even(x);
        (if y < x { y + 1.0 } else { y }).copysign(x)
    }

    #[inline(always)]
    fn round_half_even(x: f32) -> f32 {
        let a = x.abs();
        let y = (a + WHOLE) - WHOLE;
        if a < WHOLE { y.copysign(x) } else { x }
    }

    #[inline(always)]
    fn round_half_away(x: f32) -> f32 {
        let a = x.abs();
        let y = (a + WHOLE) - WHOLE;
        let y = if a - y == 0.5 { y + 1.0 } else { y };
        if a < WHOLE { y.copysign(x) } else { x }
    }
}
