//! Functions of `f32`.

use super::Functions;

#[allow(clippy::cast_possible_truncation)] // rounds
fn wide(f: fn(f64) -> f64, x: f32) -> f32 {
    f(f64::from(x)) as f32
}

impl Functions for f32 {
    fn exp(x: f32) -> f32 {
        wide(<f64 as Functions>::exp, x)
    }

    fn exp_m1(x: f32) -> f32 {
        wide(<f64 as Functions>::exp_m1, x)
    }

    fn ln(x: f32) -> f32 {
        wide(<f64 as Functions>::ln, x)
    }

    fn ln_1p(x: f32) -> f32 {
        wide(<f64 as Functions>::ln_1p, x)
    }

    fn tanh(x: f32) -> f32 {
        wide(<f64 as Functions>::tanh, x)
    }

    fn sigmoid(x: f32) -> f32 {
        wide(<f64 as Functions>::sigmoid, x)
    }

    fn erf(x: f32) -> f32 {
        wide(<f64 as Functions>::erf, x)
    }

    fn erfc(x: f32) -> f32 {
        wide(<f64 as Functions>::erfc, x)
    }

    fn erf_inv(x: f32) -> f32 {
        wide(<f64 as Functions>::erf_inv, x)
    }

    fn normal_cdf(x: f32) -> f32 {
        wide(<f64 as Functions>::normal_cdf, x)
    }

    fn sin(x: f32) -> f32 {
        wide(<f64 as Functions>::sin, x)
    }

    fn cos(x: f32) -> f32 {
        wide(<f64 as Functions>::cos, x)
    }

    fn tan(x: f32) -> f32 {
        wide(<f64 as Functions>::tan, x)
    }

    fn asin(x: f32) -> f32 {
        wide(<f64 as Functions>::asin, x)
    }

    fn acos(x: f32) -> f32 {
        wide(<f64 as Functions>::acos, x)
    }

    fn atan(x: f32) -> f32 {
        wide(<f64 as Functions>::atan, x)
    }

    fn sinh(x: f32) -> f32 {
        wide(<f64 as Functions>::sinh, x)
    }

    fn cosh(x: f32) -> f32 {
        wide(<f64 as Functions>::cosh, x)
    }

    fn asinh(x: f32) -> f32 {
        wide(<f64 as Functions>::asinh, x)
    }

    fn acosh(x: f32) -> f32 {
        wide(<f64 as Functions>::acosh, x)
    }

    fn atanh(x: f32) -> f32 {
        wide(<f64 as Functions>::atanh, x)
    }

    fn floor(x: f32) -> f32 {
        wide(<f64 as Functions>::floor, x)
    }

    fn ceil(x: f32) -> f32 {
        wide(<f64 as Functions>::ceil, x)
    }

    fn round_half_even(x: f32) -> f32 {
        wide(<f64 as Functions>::round_half_even, x)
    }

    fn round_half_away(x: f32) -> f32 {
        wide(<f64 as Functions>::round_half_away, x)
    }
}
