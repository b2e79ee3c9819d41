//! Functions of `f64`: those of `libm`, which are the same on every machine. The standard library's are
//! the system's.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::Functions;

impl Functions for f64 {
    fn exp(x: f64) -> f64 {
        libm::exp(x)
    }

    fn exp_m1(x: f64) -> f64 {
        libm::expm1(x)
    }

    fn ln(x: f64) -> f64 {
        libm::log(x)
    }

    fn ln_1p(x: f64) -> f64 {
        libm::log1p(x)
    }

    fn tanh(x: f64) -> f64 {
        libm::tanh(x)
    }

    fn sigmoid(x: f64) -> f64 {
        let e = libm::exp(-x.abs());
        (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
    }

    fn erf(x: f64) -> f64 {
        libm::erf(x)
    }

    fn erf_inv(x: f64) -> f64 {
        let a = x.abs();
        if a >= 1.0 {
            return if a == 1.0 { x / 0.0 } else { f64::NAN };
        }
        if a == 0.0 {
            return x;
        }
        // The logarithm of the tail gives a start that a few steps of Halley's method refine.
        const C: f64 = 0.147;
        let tail = libm::log1p(-a * a);
        let half = 2.0 / (PI * C) + tail / 2.0;
        let mut y = ((half * half - tail / C).sqrt() - half).sqrt();
        for _ in 0..3 {
            // Near 1 the complement has the digits.
            let off = if a < 0.5 {
                libm::erf(y) - a
            } else {
                (1.0 - a) - libm::erfc(y)
            };
            let step = off / (2.0 / PI.sqrt() * libm::exp(-y * y));
            y -= step / (1.0 + y * step);
        }
        y.copysign(x)
    }

    fn normal_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
    }

    fn sin(x: f64) -> f64 {
        libm::sin(x)
    }

    fn cos(x: f64) -> f64 {
        libm::cos(x)
    }

    fn sin_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut()
            .zip(x)
            .for_each(|(out, x)| *out = libm::sin(*x));
    }

    fn cos_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut()
            .zip(x)
            .for_each(|(out, x)| *out = libm::cos(*x));
    }

    fn tan_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut()
            .zip(x)
            .for_each(|(out, x)| *out = libm::tan(*x));
    }

    #[inline(always)]
    fn exp_share(x: f64) -> f64 {
        <f64 as Functions>::exp(x)
    }

    fn power(x: f64, y: f64) -> f64 {
        libm::pow(x, y)
    }

    fn tan(x: f64) -> f64 {
        libm::tan(x)
    }

    fn asin(x: f64) -> f64 {
        libm::asin(x)
    }

    fn acos(x: f64) -> f64 {
        libm::acos(x)
    }

    fn atan(x: f64) -> f64 {
        libm::atan(x)
    }

    fn sinh(x: f64) -> f64 {
        libm::sinh(x)
    }

    fn cosh(x: f64) -> f64 {
        libm::cosh(x)
    }

    fn asinh(x: f64) -> f64 {
        libm::asinh(x)
    }

    fn acosh(x: f64) -> f64 {
        // For some numbers below 1 libm gives more than NaN.
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }

    fn atanh(x: f64) -> f64 {
        libm::atanh(x)
    }

    fn floor(x: f64) -> f64 {
        x.floor()
    }

    fn ceil(x: f64) -> f64 {
        x.ceil()
    }

    fn round_half_even(x: f64) -> f64 {
        x.round_ties_even()
    }

    fn round_half_away(x: f64) -> f64 {
        x.round()
    }
}
