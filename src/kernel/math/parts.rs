//! What the functions of `f32` are made of: polynomials on a short interval, and exact arithmetic
//! that leads there.
//!
//! The polynomials were fitted to the least greatest error, coefficient by coefficient as each was
//! rounded. Products are added with one rounding (`mul_add`): that is faster where loops are compiled for
//! the machine, more exact, and gives the same bits everywhere.

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
        sum = sum.mul_add(x, coefficients[N - 1 - i]);
    }
    sum
}

/// The nearest whole number of a small one, as float and as integer.
#[inline(always)]
pub(super) fn nearest(x: f32) -> (f32, i32) {
    let sum = x + ROUND;
    let n = (sum.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    (sum - ROUND, n)
}

/// What stands for 1 among the exponents of floats.
const ONE: f32 = 127.0;

/// No `lo`: a sum with it is the other number, also if that is zero.
pub(super) const NONE: f32 = -0.0;

/// `exp(hi + lo)`, for a small `lo`, as a number less 1 and the power of 2 that is its factor, plus `raised`: the
/// lowest bits of an integer.
#[inline(always)]
fn exp_split(hi: f32, lo: f32, raised: f32) -> (f32, u32) {
    let round = ROUND + raised;
    let sum = hi.mul_add(LOG2_E, round);
    let n = sum - round;
    // Exact up to the last step.
    let r = n.mul_add(-LN_2_HI, hi) + lo;
    let r = n.mul_add(-LN_2_LO, r);
    let rest = (r * r).mul_add(poly(r, EXP), r);
    (rest, sum.to_bits())
}

/// What [`exp_raised`] multiplies by, and its reciprocal.
pub(super) const TWO_TO_64: f32 = 18_446_744_073_709_551_616.0;
pub(super) const TWO_TO_MINUS_64: f32 = 1.0 / TWO_TO_64;

/// `(exp(r) - 1 - r) / r^2`, up to half the logarithm of 2.
const EXP: [f32; 5] = [
    0.499_999_94,
    0.166_665_21,
    0.041_668_255,
    0.008_368_663,
    0.001_382_145_9,
];

/// `exp(x) * 2^shift`, for a shift of 0 or -1.
#[inline(always)]
pub(super) fn exp_shifted(x: f32, shift: f32) -> f32 {
    let most = if shift == 0.0 { 89.0 } else { 89.5 };
    let gone = x < -104.0;
    // NaN stays.
    let x = if x > most { most } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (rest, power) = exp_split(x, NONE, 2.0 * ONE + shift);
    // In two steps, since the power alone may be too small or large for an f32.
    let half = power >> 1;
    let (first, second) = (power_of_two(half), power_of_two(power - half));
    // Rounding to zero would take a processor as long as a hundred other steps.
    let second = if gone { 0.0 } else { second };
    first.mul_add(rest, first) * second
}

/// `exp(x) * 2^64` for numbers that are not positive: so none of them is too small for one
/// multiplication. Below -104, where `exp` is zero, it is that of -104.
#[inline(always)]
pub(super) fn exp_raised(x: f32) -> f32 {
    // NaN stays.
    exp_raised_by(if x < -104.0 { -104.0 } else { x }, NONE)
}

/// 2 to the power of what [`exp_split`] gives, less [`ONE`].
#[inline(always)]
fn power_of_two(power: u32) -> f32 {
    f32::from_bits(power << 23)
}

/// `exp(hi + lo) * 2^64` for a small `lo` and a `hi` between -130 and 43.
#[inline(always)]
pub(super) fn exp_raised_by(hi: f32, lo: f32) -> f32 {
    let (rest, power) = exp_split(hi, lo, ONE + 64.0);
    let scale = power_of_two(power);
    scale.mul_add(rest, scale)
}

/// `exp(x)` for numbers between -80 and 80.
#[inline(always)]
pub(super) fn exp_inside(x: f32) -> f32 {
    let (rest, power) = exp_split(x, NONE, ONE);
    let scale = power_of_two(power);
    scale.mul_add(rest, scale)
}

/// `(exp(x) - 1) / 2` for numbers between -80 and 89.
#[inline(always)]
pub(super) fn half_exp_m1(x: f32) -> f32 {
    let (rest, power) = exp_split(x, NONE, ONE - 1.0);
    let scale = power_of_two(power);
    scale.mul_add(rest, scale - 0.5)
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
    r + (r * z).mul_add(p, lost)
}

/// The cosine of the same.
#[inline(always)]
pub(super) fn cos_poly(r: f32, lost: f32) -> f32 {
    let z = r * r;
    let p = poly(z, [0.041_666_646, -0.001_388_730_1, 2.443_066_8e-5]);
    let half = 0.5 * z;
    let sum = 1.0 - half;
    sum + (((1.0 - sum) - half) + (z * z).mul_add(p, -(r * lost)))
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
    // Both, since a loop with branches is not vectorised.
    let (sine, cosine) = (sin_poly(r, lost), cos_poly(r, lost));
    let y = if n & 1 == 0 { sine } else { cosine };
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

/// Up to here [`erf_near`] is used, from here on [`erf_far`].
pub(super) const ERF_NEAR: f32 = 0.93;

/// `erf(x)` up to [`ERF_NEAR`].
#[inline(always)]
pub(super) fn erf_near(x: f32) -> f32 {
    x.mul_add(
        poly(
            x * x,
            [
                0.128_379_15,
                -0.376_124_9,
                0.112_817_31,
                -0.026_762_966,
                0.004_987_352_5,
                -0.000_595_958_4,
            ],
        ),
        x,
    )
}

/// `erf(a)` from [`ERF_NEAR`] on: what is left to 1 is the exponential of a polynomial.
#[inline(always)]
pub(super) fn erf_far(a: f32) -> f32 {
    // From 3.92 on it is 1.
    let a = if a > 4.0 { 4.0 } else { a };
    let p = poly(
        a,
        [
            0.128_654_21,
            0.635_128_14,
            0.106_275_11,
            -0.023_794_917,
            0.003_657_958_2,
            -0.000_326_607_84,
            1.161_062_8e-5,
        ],
    );
    1.0 - exp_inside(-a.mul_add(p, a))
}

/// The part of a standard normal distribution below `-a`, times `exp(a^2 / 2)`; for `a` from 0 to 14.6.
#[inline(always)]
pub(super) fn normal_tail(a: f32) -> f32 {
    let over = poly(
        a,
        [
            0.5,
            0.438_497_5,
            0.183_385_49,
            0.040_683_96,
            0.004_123_858_6,
        ],
    );
    let under = poly(
        a,
        [
            1.0,
            1.674_88,
            1.203_127,
            0.469_867_53,
            0.101_985_954,
            0.010_336_862,
        ],
    );
    over / under
}

/// `asin(x)` up to 1/2, given its square.
#[inline(always)]
pub(super) fn asin_poly(x: f32, z: f32) -> f32 {
    (x * z).mul_add(
        poly(
            z,
            [
                0.166_667_54,
                0.074_952_5,
                0.045_476_53,
                0.024_148_85,
                0.042_218_52,
            ],
        ),
        x,
    )
}

/// `asin(sqrt((1 - a) / 2))`, half of `acos(a)`; `a` is not below 1/2.
#[inline(always)]
pub(super) fn half_acos(a: f32) -> f32 {
    let z = 0.5 * (1.0 - a);
    asin_poly(z.sqrt(), z)
}
