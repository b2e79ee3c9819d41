//! Functions of `f64`: those of the standard library, and what it lacks.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::Functions;

impl Functions for f64 {
    fn exp(x: f64) -> f64 {
        x.exp()
    }

    fn exp_m1(x: f64) -> f64 {
        x.exp_m1()
    }

    fn ln(x: f64) -> f64 {
        x.ln()
    }

    fn ln_1p(x: f64) -> f64 {
        x.ln_1p()
    }

    fn tanh(x: f64) -> f64 {
        x.tanh()
    }

    fn sigmoid(x: f64) -> f64 {
        let e = (-x.abs()).exp();
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
        let tail = (-a * a).ln_1p();
        let half = 2.0 / (PI * C) + tail / 2.0;
        let mut y = ((half * half - tail / C).sqrt() - half).sqrt();
        for _ in 0..3 {
            // Near 1 the complement has the digits.
            let off = if a < 0.5 {
                libm::erf(y) - a
            } else {
                (1.0 - a) - libm::erfc(y)
            };
            let step = off / (2.0 / PI.sqrt() * (-y * y).exp());
            y -= step / (1.0 + y * step);
        }
        y.copysign(x)
    }

    fn normal_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
    }

    fn sin(x: f64) -> f64 {
        x.sin()
    }

    fn cos(x: f64) -> f64 {
        x.cos()
    }

    fn sin_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x.sin());
    }

    fn cos_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x.cos());
    }

    fn tan_block(x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x.tan());
    }

    #[inline(always)]
    fn exp_share(x: f64) -> f64 {
        <f64 as Functions>::exp(x)
    }

    fn power(x: f64, y: f64) -> f64 {
        x.powf(y)
    }

    fn tan(x: f64) -> f64 {
        x.tan()
    }

    fn asin(x: f64) -> f64 {
        x.asin()
    }

    fn acos(x: f64) -> f64 {
        x.acos()
    }

    fn atan(x: f64) -> f64 {
        x.atan()
    }

    fn sinh(x: f64) -> f64 {
        x.sinh()
    }

    fn cosh(x: f64) -> f64 {
        x.cosh()
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
