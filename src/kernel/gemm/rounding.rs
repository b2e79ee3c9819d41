//! Numbers rounded to `f16`, a vector at a time.

use half::f16;
use pulp::Simd;

use super::lanes::Lanes;
use crate::kernel::simd::F16c;

/// Rounds to the nearest `f16`, as if converted and back.
#[inline(always)]
pub(super) fn to_half<S: Simd>(simd: S, f16c: Option<F16c>, x: S::f32s) -> S::f32s {
    #[cfg(target_arch = "x86_64")]
    if let Some(rounded) = x86::to_half(simd, f16c, x) {
        return rounded;
    }
    let _ = f16c;
    let bits = simd.transmute_u32s_f32s(x);
    let infinity = simd.splat_u32s(f32::INFINITY.to_bits());
    // Added to a number, 2^13 times the power of two below it leaves no place for what `f16` has no bits
    // for. Below its normal numbers these have as many places as the least of them.
    let power = simd.transmute_f32s_u32s(simd.and_u32s(bits, infinity));
    let power = simd.max_f32s(power, simd.splat_f32s(LEAST_NORMAL));
    let large = simd.mul_f32s(power, simd.splat_f32s(8192.0));
    let size = simd.and_u32s(bits, simd.splat_u32s(!SIGN));
    let size = simd.transmute_f32s_u32s(size);
    let rounded = simd.sub_f32s(simd.add_f32s(size, large), large);
    let above = simd.less_than_or_equal_f32s(simd.splat_f32s(ABOVE), size);
    let rounded = simd.select_f32s(above, simd.transmute_f32s_u32s(infinity), rounded);
    let sign = simd.and_u32s(bits, simd.splat_u32s(SIGN));
    simd.transmute_f32s_u32s(simd.or_u32s(simd.transmute_u32s_f32s(rounded), sign))
}

/// A scale of few bits, by which integers of few bits are multiplied in two ways.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split<V> {
    /// 2^13 + 1 times the scale,
    sum: V,
    /// and -2^13 times.
    large: V,
}

impl<V: Copy> Split<V> {
    /// Both are exact: of the first, eleven bits of a scale make 24.
    #[inline(always)]
    pub(super) fn new<S: Simd<f32s = V>>(simd: S, scale: V) -> Self {
        Self {
            sum: simd.mul_f32s(scale, simd.splat_f32s(8193.0)),
            large: simd.mul_f32s(scale, simd.splat_f32s(-8192.0)),
        }
    }
}

/// The product of an integer with a scale, rounded to `f16`, if it is zero or becomes a normal number, of at most
/// 23 bits.
///
/// The sum of such a number and 2^13 times itself keeps eleven bits of it at least as exactly as `f16` does
/// (Veltkamp's splitting), and ties go to even: the multiple, whose last bit is not set, does not change
/// which of two numbers is even.
#[inline(always)]
pub(super) fn to_normal_half<S: Simd>(simd: S, x: S::f32s, scale: Split<S::f32s>) -> S::f32s {
    let sum = simd.mul_f32s(x, scale.sum);
    <f32 as Lanes>::mul_add(simd, x, scale.large, sum)
}

/// How weights less zero points, times scales, are rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Not at all.
    Exact,
    /// To `f16`, after both: the differences are integers, and the products such as [`to_normal_half`] is for.
    Normal,
    /// To `f16`, after each.
    Each,
}

impl Rounding {
    /// How numbers that are integers of eight bits or not are rounded, if a model computes in `f16`.
    pub(super) fn of(
        half: bool,
        integers: bool,
        zero_points: Option<&[f32]>,
        scales: Option<&[f32]>,
    ) -> Self {
        let integer = |x: &f32| x.trunc() == *x && x.abs() <= 256.0;
        // A scale has eleven bits, a difference nine.
        let normal = |x: &f32| {
            f16::from_f32(*x).to_f32() == *x && (LEAST_NORMAL..=MOST_SCALE).contains(&x.abs())
        };
        let all = integers
            && zero_points.is_none_or(|zeros| zeros.iter().all(integer))
            && scales.is_none_or(|scales| scales.iter().all(normal));
        match (half, all) {
            (false, _) => Self::Exact,
            (true, true) => Self::Normal,
            (true, false) => Self::Each,
        }
    }
}

/// The greatest scale whose product with any difference of integers of eight bits is a number of `f16`.
const MOST_SCALE: f32 = 65_504.0 / 511.0;

/// The bit of the sign.
const SIGN: u32 = 1 << 31;

/// The least normal number of `f16`,
const LEAST_NORMAL: f32 = 6.103_515_6e-5;

/// and the least that rounds to its infinity.
const ABOVE: f32 = 65_520.0;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;

    use bytemuck::cast;
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use super::F16c;

    #[inline(always)]
    pub(super) fn to_half<S: Simd>(simd: S, f16c: Option<F16c>, x: S::f32s) -> Option<S::f32s> {
        let any: &dyn Any = &simd;
        if any.is::<V3>() {
            return Some(cast(f16c?.round(cast(x))));
        }
        let f = any.downcast_ref::<V4>()?.avx512f;
        let half = f._mm512_cvtps_ph::<0>(cast(x));
        Some(cast(f._mm512_cvtph_ps(half)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gemm::coded::{OnCodes, With};
    use crate::kernel::gemm::lanes::Lanes;
    use crate::kernel::gemm::widen::{Float16, Known};
    use crate::kernel::simd::Converting;
    use crate::tensor::simd::machines;

    /// Rounds numbers, or integers times a scale.
    struct Round<'a>(Option<f32>, &'a mut [f32]);

    impl OnCodes for Round<'_> {
        #[inline(always)]
        fn run<C: Known, S: Simd>(self, simd: S, code: C) {
            let Self(scale, all) = self;
            for numbers in all.chunks_mut(<f32 as Lanes>::lanes::<S>()) {
                let x = f32::load(simd, numbers);
                let rounded = match scale {
                    Some(scale) => {
                        to_normal_half(simd, x, Split::new(simd, simd.splat_f32s(scale)))
                    }
                    None => to_half(simd, code.f16c(), x),
                };
                f32::store(simd, numbers, rounded);
            }
        }
    }

    #[test]
    fn integers_times_scales_are_rounded_as_by_a_conversion() {
        let differences: Vec<f32> = (-511..=511i16).map(f32::from).collect();
        // All that a scale may be between two powers of two, with the least exponent and the greatest.
        let scales = [113 << 23, 133 << 23]
            .into_iter()
            .flat_map(|power| (0..1 << 10).map(move |bits| f32::from_bits(power | bits << 13)));
        let scales: Vec<f32> = scales.filter(|scale| *scale <= MOST_SCALE).collect();
        let rounding = Rounding::of(true, true, Some(&[-256.0, 256.0]), Some(&scales));
        assert!(scales.len() > 1024 && rounding == Rounding::Normal);
        for arch in machines() {
            for &scale in &scales {
                let mut found = differences.clone();
                With(Float16, Round(Some(scale), &mut found)).call(Converting::of(arch));
                for (&x, found) in differences.iter().zip(found) {
                    let expected = f16::from_f32(x * scale).to_f32();
                    assert!(
                        found == expected,
                        "{x} times {scale:e} with {arch:?}: {found:e} {expected:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_normal() {
        let rounding = |zero: f32, scale: f32| {
            Rounding::of(true, true, Some(&[0.0, zero]), Some(&[1.0, scale]))
        };
        for scale in [LEAST_NORMAL / 2.0, MOST_SCALE * 1.1, 1.0 / 3.0, f32::NAN] {
            assert_eq!(rounding(0.0, scale), Rounding::Each, "{scale}");
        }
        assert_eq!(rounding(1.5, 1.0), Rounding::Each);
        assert_eq!(rounding(257.0, 1.0), Rounding::Each);
        assert_eq!(rounding(-3.0, -0.25), Rounding::Normal);
        assert_eq!(Rounding::of(true, false, None, None), Rounding::Each);
        assert_eq!(Rounding::of(false, false, None, None), Rounding::Exact);
    }

    #[test]
    fn numbers_are_rounded_as_by_a_conversion() {
        // Every number of f16, those that lie in the middle between two, and their neighbours.
        let halves = (0..=u16::MAX).map(|bits| f32::from(f16::from_bits(bits)));
        let next = |x: f32| f32::from_bits(x.to_bits() + 1);
        let middle = |x: f32| f32::from_bits(x.to_bits() + 0x1000);
        let small = (0..2048u16).map(|i| (f32::from(i) + 0.5) * 2f32.powi(-24));
        let mut numbers: Vec<f32> = halves
            .flat_map(|x| {
                [
                    x,
                    middle(x),
                    next(middle(x)),
                    f32::from_bits(middle(x).to_bits() - 1),
                ]
            })
            .chain(small.flat_map(|x| [x, -x, next(x), -next(x)]))
            .chain([
                65_519.0,
                65_519.996,
                65_520.0,
                -65_520.0,
                1e30,
                f32::MIN_POSITIVE,
                1e-45,
            ])
            .filter(|x| !x.is_nan())
            .collect();
        let expected: Vec<f32> = numbers
            .iter()
            .map(|&x| f32::from(f16::from_f32(x)))
            .collect();
        let before = numbers.clone();
        for arch in machines() {
            numbers.copy_from_slice(&before);
            let round = Round(None, &mut numbers);
            With(Float16, round).call(Converting::of(arch));
            for ((x, found), expected) in before.iter().zip(&numbers).zip(&expected) {
                assert_eq!(found.to_bits(), expected.to_bits(), "{x:e} with {arch:?}");
            }
        }
    }
}
