//! What the functions of `f32` are made of: polynomials on a short interval, and exact arithmetic
//! that leads there.
//!
//! The polynomials were fitted to the least greatest error, coefficient by coefficient as each was
//! rounded.

use std::f32::consts::{FRAC_2_PI, LOG2_E};

/// Added and taken away again, it leaves the nearest whole number, which also stands in the low bits
/// of the sum.
pub(super) const ROUND: f32 = 12_582_912.0;

/// The floats from here on are whole numbers.
pub(super) const WHOLE: f32 = 8_388_608.0;

/// The logarithm of 2 in two parts; products of the first with exponents are exact.
pub(super) const LN_2_HI: f32 = 0.693_145_75;
pub(super) const LN_2_LO: f32 = 1.428_606_8e-6;

/// Half of pi in four parts; products of the first three with whole numbers below 2^13 are exact.
pub(super) const HALF_PI: [f32; 4] = [1.570_312_5, 4.837_513e-4, 7.549_533_6e-8, 2.563_344e-12];

/// What half of pi has beyond an `f32`.
pub(super) const FRAC_PI_2_LO: f32 = -4.371_139e-8;

/// Up to here the parts of [`HALF_PI`] reduce exactly enough.
pub(super) const REDUCIBLE: f32 = 12_000.0;

/// The polynomial with these coefficients, the constant one first.
#[inline(always)]
pub(super) fn poly<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for i in 1..N {
        sum = sum * x + coefficients[N - 1 - i];
    }
    sum
}

#[inline(always)]
pub(super) fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// The nearest whole number of a small one, as float and as integer.
#[inline(always)]
pub(super) fn nearest(x: f32) -> (f32, i32) {
    let sum = x + ROUND;
    let n = (sum.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    (sum - ROUND, n)
}

/// `exp(hi + lo) * 2^shift`, for an exact `hi` and a small `lo`; `hi` between -170 and 90.
#[inline(always)]
pub(super) fn exp_parts(hi: f32, lo: f32, shift: i32) -> f32 {
    let (n, exponent) = nearest((hi + lo) * LOG2_E);
    let (first, second) = (hi - n * LN_2_HI, lo - n * LN_2_LO);
    let r = first + second;
    let lost = (first - r) + second;
    let sum = 1.0 + r;
    let lost = lost + ((1.0 - sum) + r);
    let p = sum + (r * r * poly(r, EXP) + lost);
    // In two steps, since the power alone may be too small or large for an f32.
    let exponent = exponent.wrapping_add(shift);
    let half = exponent >> 1;
    p * pow2(half) * pow2(exponent.wrapping_sub(half))
}

/// `(exp(r) - 1 - r) / r^2`, up to half the logarithm of 2.
pub(super) const EXP: [f32; 5] = [
    0.5,
    0.166_665_2,
    0.041_666_385,
    0.008_368_849,
    0.001_394_221_6,
];

/// `exp(x) * 2^shift`.
#[inline(always)]
pub(super) fn exp_shifted(x: f32, shift: i32) -> f32 {
    // NaN stays.
    let x = if x > 90.0 { 90.0 } else { x };
    let x = if x < -110.0 { -110.0 } else { x };
    exp_parts(x, 0.0, shift)
}

/// `(ln(1 + f) - f + f^2 / 2) / f^3`, for `1 + f` between the roots of 1/2 and 2.
pub(super) const LN: [f32; 8] = [
    0.333_333_16,
    -0.250_008_1,
    0.200_023_01,
    -0.166_245_56,
    0.141_809_66,
    -0.131_285_58,
    0.128_827_4,
    -0.078_611_59,
];

/// The sine of `r + lost`, `r` up to a quarter of pi and `lost` below its last place.
#[inline(always)]
pub(super) fn sin_poly(r: f32, lost: f32) -> f32 {
    let z = r * r;
    let p = poly(z, [-0.166_666_55, 0.008_332_189, -0.000_195_181_88]);
    r + (r * z * p + lost)
}

/// The cosine of the same.
#[inline(always)]
pub(super) fn cos_poly(r: f32, lost: f32) -> f32 {
    let z = r * r;
    let p = poly(z, [0.041_666_646, -0.001_388_730_1, 2.443_066_8e-5]);
    let half = 0.5 * z;
    let sum = 1.0 - half;
    sum + (((1.0 - sum) - half) + (z * z * p - r * lost))
}

/// The sine of a number and `quarters` of a turn more; for numbers up to [`REDUCIBLE`].
#[inline(always)]
pub(super) fn sin_reduced(x: f32, quarters: i32) -> f32 {
    let (n, multiple) = nearest(x * FRAC_2_PI);
    // Exact up to here: what is left has few bits.
    let left = x - n * HALF_PI[0] - n * HALF_PI[1];
    let third = n * HALF_PI[2];
    let sum = left - third;
    let tail = ((left - sum) - third) - n * HALF_PI[3];
    let r = sum + tail;
    let lost = (sum - r) + tail;
    let n = multiple.wrapping_add(quarters);
    let y = if n & 1 == 0 {
        sin_poly(r, lost)
    } else {
        cos_poly(r, lost)
    };
    f32::from_bits(y.to_bits() ^ (((n & 2) as u32) << 30))
}

/// The sine up to [`REDUCIBLE`].
#[inline(always)]
pub(super) fn sin_fast(x: f32) -> f32 {
    let y = sin_reduced(x, 0);
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub(super) fn reducible(x: f32) -> bool {
    x.abs() <= REDUCIBLE
}

/// `erf(x)` up to 0.9.
#[inline(always)]
pub(super) fn erf_poly(x: f32) -> f32 {
    x + x * poly(
        x * x,
        [
            0.128_379_15,
            -0.376_125_07,
            0.112_819_89,
            -0.026_773_974,
            0.005_005_347,
            -0.000_605_901_3,
        ],
    )
}

/// Up to here [`erf_poly`] is used, from here on [`erfc_tail`].
pub(super) const ERF_NEAR: f32 = 0.875;

/// `erfc(z) * 2^shift` from [`ERF_NEAR`] on, given `z^2` as `hi + lo` with an exact `hi`.
#[inline(always)]
pub(super) fn erfc_tail(z: f32, hi: f32, lo: f32, shift: i32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * z);
    let p = poly(
        t,
        [
            -1.265_491_6,
            0.999_507_25,
            0.379_790_46,
            0.059_736_107,
            -0.029_688_958,
            -0.161_958_89,
            -0.321_398_94,
            0.549_159_05,
            -0.210_536_45,
        ],
    );
    t * exp_parts(-hi, p - lo, shift)
}

/// `a^2` in two parts, the first of them exact.
#[inline(always)]
pub(super) fn square(a: f32) -> (f32, f32) {
    let hi = f32::from_bits(a.to_bits() & 0xffff_f000);
    (hi * hi, (a - hi) * (a + hi))
}

/// `erfc(a)` for a number that is not negative, from [`ERF_NEAR`] on.
#[inline(always)]
pub(super) fn erfc_far(a: f32) -> f32 {
    // Beyond 10.1 it is less than any float.
    let a = if a > 10.5 { 10.5 } else { a };
    let (hi, lo) = square(a);
    erfc_tail(a, hi, lo, 0)
}

/// `asin(x)` up to 1/2, given its square.
#[inline(always)]
pub(super) fn asin_poly(x: f32, z: f32) -> f32 {
    x + x
        * z
        * poly(
            z,
            [
                0.166_667_54,
                0.074_952_5,
                0.045_476_53,
                0.024_148_85,
                0.042_218_52,
            ],
        )
}

/// `asin(sqrt((1 - a) / 2))`, half of `acos(a)`; `a` is not below 1/2.
#[inline(always)]
pub(super) fn half_acos(a: f32) -> f32 {
    let z = 0.5 * (1.0 - a);
    asin_poly(z.sqrt(), z)
}
