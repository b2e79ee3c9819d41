//! The functions against `f64`, over all exponents and densely where they bend.

use super::Functions;

type Pair = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);

macro_rules! pairs {
    ($($name:ident: $ulps:expr,)+) => {
        [$((
            stringify!($name),
            <f32 as Functions>::$name as fn(f32) -> f32,
            <f64 as Functions>::$name as fn(f64) -> f64,
            $ulps,
        ),)+]
    };
}

/// The functions, and how many units in the last place they may be off.
const PAIRS: [Pair; 24] = pairs![
    exp: 1.05,
    exp_m1: 2.0,
    ln: 1.0,
    ln_1p: 1.5,
    tanh: 1.5,
    sigmoid: 2.0,
    erf: 1.5,
    erf_inv: 0.51,
    normal_cdf: 5.5,
    sin: 1.0,
    cos: 1.0,
    tan: 0.51,
    asin: 2.5,
    acos: 2.0,
    atan: 2.0,
    sinh: 2.0,
    cosh: 2.0,
    asinh: 2.0,
    acosh: 2.25,
    atanh: 1.5,
    floor: 0.0,
    ceil: 0.0,
    round_half_even: 0.0,
    round_half_away: 0.0,
];

/// How far off a result is, in units in the last place of the true value.
fn ulps(got: f32, truth: f64) -> f64 {
    let nearest = truth as f32;
    if got == nearest || got.is_nan() && truth.is_nan() {
        return if got == nearest && nearest.is_finite() {
            (f64::from(got) - truth).abs() / unit(nearest)
        } else {
            0.0
        };
    }
    (f64::from(got) - truth).abs() / unit(nearest)
}

fn unit(x: f32) -> f64 {
    let exponent = (x.to_bits() >> 23 & 255).max(1) as i32 - 127 - 23;
    2f64.powi(exponent.min(104))
}

fn worst((_, f, g, _): &Pair, arguments: impl Iterator<Item = f32>) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    for x in arguments {
        let off = ulps(f(x), g(f64::from(x)));
        if off.is_nan() || off > worst.0 {
            worst = (off, x);
        }
    }
    worst
}

#[test]
fn close_to_the_truth() {
    for pair in &PAIRS {
        let everywhere = (0..1 << 14).map(|i: u32| f32::from_bits(i.wrapping_mul(262_147)));
        let near = (-6000..6000).map(|i| i as f32 * 0.0021);
        let far = (-2000..2000).map(|i| i as f32 * 0.0553);
        let (off, x) = worst(pair, everywhere.chain(near).chain(far));
        let (name, .., bound) = *pair;
        assert!(off <= bound, "{name} is {off} units off at {x:e}");
    }
}

/// What no bound speaks of: signs of zeros, ends of the range, arguments that cannot be reduced.
#[test]
fn special() {
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    for (name, f, g, _) in &PAIRS {
        let arguments = [0.0, 1.0, f32::INFINITY, f32::NAN];
        for x in arguments.into_iter().flat_map(|x| [x, -x]) {
            let (got, truth) = (f(x), g(f64::from(x)) as f32);
            assert!(
                same(got, truth) || truth.is_finite() && truth != 0.0 && got != 0.0,
                "{name}({x}) is {got}, not {truth}"
            );
        }
    }
    let x = [0.5, f32::INFINITY, f32::MAX, -1e5, 12_000.5, f32::NAN, 1.0];
    let mut blocks = [[0.0; 7]; 3];
    super::sin_block(&x, &mut blocks[0]);
    super::cos_block(&x, &mut blocks[1]);
    super::tan_block(&x, &mut blocks[2]);
    for (i, &x) in x.iter().enumerate() {
        assert!(same(blocks[0][i], super::sin(x)) && same(blocks[1][i], super::cos(x)));
        assert!(same(blocks[2][i], super::tan(x)));
        assert!(ulps(super::sin(x), f64::from(x).sin()) <= 1.0);
    }
}

/// Exponentials for shares are those of numbers down to -104, times the same power of 2.
#[test]
fn shares() {
    let share = |x: f32| f64::from(super::exp_share(x)) / 2f64.powi(64);
    for i in 0..120_000 {
        let x = i as f32 * -0.001;
        let truth = f64::from(x.max(-104.0)).exp();
        assert!((share(x) / truth - 1.0).abs() < 1.3e-7, "{x}");
    }
    assert_eq!(share(f32::NEG_INFINITY), share(-104.0));
    assert!(share(f32::NAN).is_nan());
    assert_eq!(super::exp_share(-3.0), (-3f64).exp());
}

/// Powers against `f64`, and the corner cases of C.
#[test]
fn powers() {
    let special = [
        0.0f32,
        0.5,
        1.0,
        2.0,
        3.0,
        1.5,
        16_777_216.0,
        3e38,
        1e-40,
        f32::INFINITY,
        f32::NAN,
    ];
    let special = || special.into_iter().flat_map(|x| [x, -x]);
    for (x, y) in special().flat_map(|x| special().map(move |y| (x, y))) {
        let (got, expected) = (super::pow(x, y), x.powf(y));
        assert!(
            got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
            "{x}^{y} is {got}, not {expected}"
        );
    }
    let mut worst = 0f64;
    for i in 0..200_000u32 {
        let x = f32::from_bits(i.wrapping_mul(0x9e37_79b1) >> 1);
        let y = (i.wrapping_mul(40_503) % 20_011) as f32 / 500.0 - 20.0;
        for x in [x, (i % 1999) as f32 / 300.0] {
            let off = ulps(super::pow(x, y), f64::from(x).powf(f64::from(y)));
            worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
        }
    }
    assert!(worst <= 0.51, "{worst} units off");
}
