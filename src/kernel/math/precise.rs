//! Functions of `f32` computed in `f64`, in loops the compiler vectorises: their polynomials are good to
//! 33 bits and more, so that rounding to `f32` is nearly all that is lost.

use std::f64::consts::{FRAC_2_PI, LN_2, SQRT_2};

/// The polynomial with these coefficients, the constant one first.
#[inline(always)]
fn poly<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in 1..N {
        sum = sum.mul_add(x, coefficients[N - 1 - i]);
    }
    sum
}

/// Added and taken away again, it leaves the nearest whole number, which also stands in the low bits of
/// the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The binary logarithm of a normal, positive number.
#[inline(always)]
fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    // The exponent of what is between the roots of 1/2 and 2 is 0.
    let above = bits.wrapping_sub((0.5 * SQRT_2).to_bits());
    let exponent = above.cast_signed() >> 52;
    let m = f64::from_bits(bits.wrapping_sub((exponent << 52).cast_unsigned()));
    // As a float: the whole number is added to the low bits of one that has none.
    let n = f64::from_bits(ROUND.to_bits().wrapping_add(exponent.cast_unsigned())) - ROUND;
    let s = (m - 1.0) / (m + 1.0);
    let series = poly(
        s * s,
        [
            1.0,
            1.0 / 3.0,
            1.0 / 5.0,
            1.0 / 7.0,
            1.0 / 9.0,
            1.0 / 11.0,
            1.0 / 13.0,
        ],
    );
    (s * (2.0 / LN_2)).mul_add(series, n)
}

/// 2 to a power between -1000 and 1000.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let sum = x + ROUND;
    let r = (x - (sum - ROUND)) * LN_2;
    let p = poly(
        r,
        [
            1.0,
            1.0,
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5040.0,
            1.0 / 40320.0,
            1.0 / 362_880.0,
        ],
    );
    p * f64::from_bits((sum.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// `x` to the power `y`, as `pow` of C.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // rounds
pub(super) fn pow(x: f32, y: f32) -> f32 {
    let a = f64::from(x.abs());
    let logarithm = log2(a);
    let logarithm = if a == 0.0 {
        f64::NEG_INFINITY
    } else {
        logarithm
    };
    let logarithm = if a < f64::INFINITY { logarithm } else { a };
    let t = f64::from(y) * logarithm;
    // NaN stays.
    let t = if t > 200.0 { 200.0 } else { t };
    let t = if t < -200.0 { -200.0 } else { t };
    let size = exp2(t) as f32;
    // A negative number has powers to whole exponents only, of its own sign to the odd ones.
    let half = 0.5 * y;
    let whole = y.floor() == y;
    let odd = whole & (half.floor() != half);
    let negative = if odd { -size } else { size };
    let negative = if whole | (x == 0.0) | (x == f32::NEG_INFINITY) {
        negative
    } else {
        f32::NAN
    };
    let power = if x.is_sign_negative() { negative } else { size };
    let power = if y.is_nan() | x.is_nan() {
        f32::NAN
    } else {
        power
    };
    // Whatever the other is, even NaN or infinite.
    let one = (y == 0.0) | (x == 1.0) | (x == -1.0) & (y.abs() == f32::INFINITY);
    if one { 1.0 } else { power }
}

/// Half of pi in two parts; products of the first with whole numbers below 2^20 are exact.
const HALF_PI: [f64; 2] = [1.570_796_326_734_125_6, 6.077_100_506_506_192e-11];

/// Up to here [`tan`] is exact enough.
pub(super) const TAN_REDUCIBLE: f32 = 1e6;

/// The tangent of numbers up to [`TAN_REDUCIBLE`].
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // rounds
pub(super) fn tan(x: f32) -> f32 {
    let wide = f64::from(x);
    let sum = wide.mul_add(FRAC_2_PI, ROUND);
    let n = sum - ROUND;
    let r = n.mul_add(-HALF_PI[1], n.mul_add(-HALF_PI[0], wide));
    let z = r * r;
    let sine = poly(
        z,
        [
            1.0,
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
        ],
    ) * r;
    let cosine = poly(
        z,
        [
            1.0,
            -1.0 / 2.0,
            1.0 / 24.0,
            -1.0 / 720.0,
            1.0 / 40320.0,
            -1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
        ],
    );
    let odd = sum.to_bits() & 1 == 1;
    let (over, under) = (
        if odd { -cosine } else { sine },
        if odd { sine } else { cosine },
    );
    let y = (over / under) as f32;
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}

/// The inverse of the error function; NaN beyond -1 and 1.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // rounds
pub(super) fn erf_inv(x: f32) -> f32 {
    let wide = f64::from(x);
    let left = (1.0 - wide) * (1.0 + wide);
    // Never 0 or less where the result is used.
    let w = -LN_2 * log2(if left > 1e-9 { left } else { 1e-9 });
    let near = poly(
        w - 3.125,
        [
            1.653_654_562_751_338_4,
            0.240_158_181_973_699_8,
            -0.006_033_671_549_578_858,
            -0.000_740_700_993_224_680_3,
            0.000_186_735_290_000_271_3,
            -1.388_407_258_623_718_5e-5,
            -1.366_100_408_483_111_5e-6,
            4.241_770_196_687_703e-7,
            -2.890_338_579_838_706_4e-8,
            -4.276_839_732_067_648_5e-9,
            1.031_290_890_756_535e-9,
            -3.307_485_401_193_486_5e-11,
            -1.239_575_793_927_339_2e-11,
            1.215_550_522_065_319_4e-12,
        ],
    );
    let far = poly(w.sqrt() - 3.3, FAR);
    let y = (wide * if w < 6.25 { near } else { far }) as f32;
    let a = x.abs();
    let edge = f32::INFINITY.copysign(x);
    let y = if a == 1.0 { edge } else { y };
    let y = if a > 1.0 { f32::NAN } else { y };
    if x == 0.0 { x } else { y }
}

/// For roots of the logarithm about 3.3.
const FAR: [f64; 11] = [
    3.134_161_532_365_593,
    1.005_769_128_573_935_4,
    0.004_843_581_507_485_122,
    -0.003_293_104_772_172_350_6,
    0.002_103_522_027_194_909,
    -0.001_418_108_296_962_021,
    0.000_832_036_696_729_266,
    -0.000_349_931_554_647_345_14,
    4.719_817_047_539_217_6e-5,
    6.405_709_649_320_394e-5,
    -3.665_579_200_015_780_6e-5,
];
