//! Sums of `f16` against those of integers, in each way that there is.

use proptest::prelude::*;

use super::super::sums::Sum;
use super::*;
use crate::tensor::simd::machines;

/// The bits of numbers with exponents of a range.
fn bits(range: std::ops::RangeInclusive<u16>) -> impl Strategy<Value = u16> {
    let number = (range, 0u16..1024, 0u16..2)
        .prop_map(|(exponent, mantissa, sign)| sign << 15 | exponent << 10 | mantissa);
    prop_oneof![9 => number, 1 => Just(0), 1 => Just(1 << 15)]
}

/// Numbers whose exponents are up to some difference apart: around eleven the way to add them changes.
fn numbers(least: usize, most: usize) -> impl Strategy<Value = Vec<f16>> {
    (0u16..31, 0u16..31)
        .prop_map(|(a, b)| a.min(b)..=a.max(b))
        .prop_flat_map(move |range| prop::collection::vec(bits(range), least..=most))
        .prop_map(|bits| bits.into_iter().map(f16::from_bits).collect())
}

/// A number in units of the least.
fn units(half: f16) -> i64 {
    (half.to_f64() * f64::powi(2.0, 24)) as i64
}

/// What each way that this machine knows adds to the accumulators.
fn ways(acc: &[f64], data: &[f16], stride: Option<usize>) -> Vec<Vec<f64>> {
    let way = |arch: Arch| {
        let mut acc = acc.to_vec();
        work_on::<{ u16::MAX }>(arch, &mut acc, data, stride);
        acc
    };
    machines().into_iter().map(way).collect()
}

fn exactly(sums: &[f64], expected: &[i64]) -> bool {
    let units = sums.iter().map(|sum| sum * f64::powi(2.0, 24));
    units.eq(expected.iter().map(|&units| units as f64))
}

proptest! {
    #[test]
    fn runs(data in numbers(1, 700), runs in 1usize..4) {
        let len = data.len() / runs;
        prop_assume!(len > 0);
        let data = &data[..runs * len];
        let expected: Vec<i64> = data
            .chunks(len)
            .map(|run| run.iter().map(|&x| units(x)).sum::<i64>() + (1 << 24))
            .collect();
        for sums in ways(&vec![1.0; runs], data, None) {
            prop_assert!(exactly(&sums, &expected), "{sums:?} {expected:?}");
        }
    }

    #[test]
    fn rows(data in numbers(900, 1500), width in 1usize..100, gap in 0usize..50, cut: bool) {
        let stride = width + gap;
        let rows = data.len() / stride;
        let end = if cut { (rows - 1) * stride + width } else { rows * stride };
        let mut expected = vec![1i64 << 24; width];
        for row in data[..end].chunks(stride) {
            for (sum, &x) in expected.iter_mut().zip(row) {
                *sum += units(x);
            }
        }
        for sums in ways(&vec![1.0; width], &data[..end], Some(stride)) {
            prop_assert!(exactly(&sums, &expected), "{sums:?} {expected:?}");
        }
    }

    /// Four numbers with every difference of exponents, of which the last bits count.
    #[test]
    fn last_bits(high in 1u16..31, apart in 9u16..14, mantissas in [0u16..1024, 0..1024, 0..1024, 0..1024]) {
        let low = high.saturating_sub(apart);
        let [a, b, c, d] = mantissas;
        let bits = [high << 10 | a, low << 10 | b | 1, high << 10 | c, high << 10 | d];
        let mut data = [NOTHING; 4 * LANES];
        for (i, bits) in bits.into_iter().enumerate() {
            data[i * LANES + 5] = f16::from_bits(bits);
        }
        let expected = data.iter().map(|&x| units(x)).sum();
        for sums in ways(&[EMPTY], &data, None) {
            prop_assert!(exactly(&sums, &[expected]), "{sums:?} {expected}");
        }
    }
}

#[test]
fn not_finite() {
    let (inf, nan) = (f16::INFINITY, f16::NAN);
    for (some, expected) in [
        (&[inf][..], f64::INFINITY),
        (&[-inf, f16::MAX], -f64::INFINITY),
        (&[inf, -inf], f64::NAN),
        (&[nan, inf], f64::NAN),
        (&[f16::ZERO], 0.0),
        (&[NOTHING], -0.0),
    ] {
        for len in [1, 40, 300] {
            let mut data = vec![NOTHING; len.max(some.len())];
            data[..some.len()].copy_from_slice(some);
            // As a run, and as rows of one number.
            for stride in [None, Some(1)] {
                for sum in ways(&[EMPTY], &data, stride).into_iter().flatten() {
                    let same = sum.to_bits() == expected.to_bits();
                    assert!(same || sum.is_nan() && expected.is_nan(), "{some:?} {sum}");
                }
            }
        }
    }
}

#[test]
fn absolute_values_and_means() {
    let data: Vec<f16> = (0..200)
        .map(|i| f16::from_f32(f32::from(i as i16 - 100) / 8.0))
        .collect();
    let mut acc = [EMPTY];
    Halves::<Sum, 0x7fff>::NEW.runs(&mut acc, &data);
    assert_eq!(acc, [1250.0]);
    assert_eq!(
        Accumulator::<f16>::round(1250.0 + 0.5),
        f16::from_f32(1250.0)
    );
}
