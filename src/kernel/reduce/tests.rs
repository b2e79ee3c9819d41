//! Reductions against their definition, for every way the work is divided.

use half::f16;
use proptest::prelude::*;

use super::*;
use crate::tensor::{Element, Shape};

/// The sum of `data` by its definition, one output after the other in `i128`.
fn naive(shape: &[usize], reduced: &[bool], data: &[i128]) -> Vec<i128> {
    let kept: usize = shape
        .iter()
        .zip(reduced)
        .map(|(&d, &r)| if r { 1 } else { d })
        .product();
    let mut out = vec![0; kept];
    for (i, x) in data.iter().enumerate() {
        let (mut rest, mut target, mut stride) = (i, 0, 1);
        for axis in (0..shape.len()).rev() {
            if !reduced[axis] {
                target += rest % shape[axis] * stride;
                stride *= shape[axis];
            }
            rest /= shape[axis];
        }
        out[target] += x;
    }
    out
}

fn sum<T: Element>(shape: &[usize], reduced: &[bool], data: &[T]) -> Vec<T> {
    reduced_by(&SUM, shape, reduced, data)
}

fn reduced_by<T: Element>(folds: &Folds, shape: &[usize], reduced: &[bool], data: &[T]) -> Vec<T> {
    let kept: Shape = shape
        .iter()
        .zip(reduced)
        .map(|(&d, &r)| if r { 1 } else { d })
        .collect();
    let input = Tensor::new(shape, data).expect("as many elements as the shape has");
    let poison = vec![
        0xa5u8;
        T::TYPE
            .storage_bytes(kept.elements().expect("small"))
            .expect("small")
    ];
    let mut output = Tensor::zeros(T::TYPE, kept).expect("memory");
    output.bytes_mut().copy_from_slice(&poison);
    reduce(&input, reduced, folds, &mut output);
    output.as_slice::<T>().expect("the same type").to_vec()
}

/// Numbers that look random, the same in every run.
fn noise(n: usize) -> impl Iterator<Item = i128> {
    (0..n as u64).map(|i| {
        let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        i128::from((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20)
    })
}

fn agrees(shape: &[usize], reduced: &[bool]) {
    let n = shape.iter().product();
    let small: Vec<i128> = noise(n).map(|x| x % 2001 - 1000).collect();
    let expected = naive(shape, reduced, &small);
    let floats: Vec<f32> = small.iter().map(|&x| x as f32).collect();
    let result = sum(shape, reduced, &floats);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == b as f32),
        "f32 {shape:?} {reduced:?}"
    );
    let floats: Vec<f64> = small.iter().map(|&x| x as f64).collect();
    let result = sum(shape, reduced, &floats);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == b as f64),
        "f64 {shape:?} {reduced:?}"
    );
    let floats: Vec<f16> = small.iter().map(|&x| f16::from_f32(x as f32)).collect();
    let result = sum(shape, reduced, &floats);
    let rounded = |x: i128| f16::from_f64(x as f64);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == rounded(b)),
        "f16 {shape:?} {reduced:?}"
    );

    let large: Vec<i128> = noise(n).map(|x| x << 20).collect();
    let expected = naive(shape, reduced, &large);
    let integers: Vec<i32> = large.iter().map(|&x| x as i32).collect();
    let result = sum(shape, reduced, &integers);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == b as i32),
        "i32 {shape:?} {reduced:?}"
    );
    let integers: Vec<i16> = large.iter().map(|&x| (x >> 18) as i16).collect();
    let narrow: Vec<i128> = integers.iter().map(|&x| x.into()).collect();
    let result = sum(shape, reduced, &integers);
    let narrow = naive(shape, reduced, &narrow);
    assert!(
        result.iter().zip(narrow).all(|(&a, b)| a == b as i16),
        "i16 {shape:?} {reduced:?}"
    );
    let integers: Vec<i64> = large.iter().map(|&x| x as i64).collect();
    let result = sum(shape, reduced, &integers);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == b as i64),
        "i64 {shape:?} {reduced:?}"
    );
    let integers: Vec<u64> = large.iter().map(|&x| x as u64).collect();
    let result = sum(shape, reduced, &integers);
    assert!(
        result.iter().zip(&expected).all(|(&a, &b)| a == b as u64),
        "u64 {shape:?} {reduced:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_rank_and_axes(axes in prop::collection::vec((0usize..6, any::<bool>()), 0..=8)) {
        let (shape, reduced): (Vec<usize>, Vec<bool>) = axes.into_iter().unzip();
        agrees(&shape, &reduced);
    }

    /// Sizes around those where the loops change.
    #[test]
    fn larger_axes(axes in prop::collection::vec((1usize..150, any::<bool>()), 1..=3)) {
        let (shape, reduced): (Vec<usize>, Vec<bool>) = axes.into_iter().unzip();
        prop_assume!(shape.iter().product::<usize>() <= 1 << 18);
        agrees(&shape, &reduced);
    }
}

/// Runs of lengths around those where the loops change, each with the largest element somewhere else.
#[test]
fn largest_wherever_it_stands() {
    fn found<T: Element + PartialOrd>(data: &[T]) -> T {
        let [largest] = reduced_by(&MAX, &[data.len()], &[true], data)[..] else {
            panic!("one element is left");
        };
        largest
    }
    for len in [
        31, 32, 45, 47, 64, 127, 128, 129, 255, 256, 300, 511, 512, 777,
    ] {
        let step = if len < 128 { 1 } else { 13 };
        for at in (0..len).step_by(step).chain([len - 1]) {
            let data: Vec<i64> = (0..len as i64).map(|i| i % 50 - (1 << 40)).collect();
            let mut wide = data.clone();
            wide[at] = 7;
            assert_eq!(found(&wide), 7, "{at} of {len}");
            let mut narrow: Vec<i32> = data.iter().map(|&x| (x % 100) as i32 - 200).collect();
            narrow[at] = 7;
            assert_eq!(found(&narrow), 7, "{at} of {len}");
            let mut floats: Vec<f32> = narrow.iter().map(|&x| x as f32).collect();
            floats[at] = 7.5;
            assert_eq!(found(&floats), 7.5, "{at} of {len}");
        }
    }
}

/// Shapes that are divided along every kind of axis.
const LARGE: &[(&[usize], &[bool])] = &[
    (&[200_003], &[true]),
    (&[3, 70_001], &[false, true]),
    (&[3, 70_001], &[true, false]),
    (&[70_001, 3], &[true, false]),
    (&[70_001, 3], &[false, true]),
    (&[90, 1500, 2], &[true, false, true]),
    (&[50, 2000, 2], &[true, false, true]),
    (&[5, 300, 150], &[false, true, false]),
    (&[7, 11, 13, 17, 19], &[true, false, true, false, true]),
    (&[7, 11, 13, 17, 19], &[false, true, false, true, false]),
];

#[test]
fn divided_work() {
    for (shape, reduced) in LARGE {
        agrees(shape, reduced);
    }
}

#[test]
fn threads_do_not_matter() {
    let n = LARGE.iter().map(|(shape, _)| shape.iter().product()).max();
    let data: Vec<f32> = noise(n.unwrap_or(0))
        .map(|x| (x % 2_000_003) as f32 * 1e-3)
        .collect();
    let wide: Vec<f64> = data.iter().map(|&x| 0.1 / f64::from(x + 1.0)).collect();
    for (shape, reduced) in LARGE {
        let n: usize = shape.iter().product();
        let mut results = [1, 2, 7].into_iter().map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let (narrow, wide) = pool.expect("threads").install(|| {
                (
                    sum(shape, reduced, &data[..n]),
                    sum(shape, reduced, &wide[..n]),
                )
            });
            let bits = narrow.iter().map(|x| u64::from(x.to_bits()));
            bits.chain(wide.iter().map(|x| x.to_bits()))
                .collect::<Vec<_>>()
        });
        let first = results.next();
        assert!(results.all(|r| Some(r) == first), "{shape:?} {reduced:?}");
    }
}

/// More ones than an `f32` can count, over every pattern of axes.
#[test]
fn ones_are_counted_exactly() {
    let n = (1 << 24) + 8;
    let ones = vec![1f32; n];
    for (shape, reduced) in [
        (&[n][..], &[true][..]),
        (&[n / 8, 8], &[true, true]),
        (&[8, n / 8], &[true, true]),
    ] {
        assert_eq!(sum(shape, reduced, &ones), [n as f32], "{shape:?}");
    }
    // From here on one more is lost in `f32`.
    let mut data = vec![1f32; 2000];
    data[0] = 16_777_216.0;
    assert_eq!(sum(&[2000], &[true], &data), [16_779_215.0f64 as f32]);
    assert_eq!(
        sum(&[1000, 2], &[true, false], &data),
        [16_778_215.0f64 as f32, 1000.0]
    );
}

#[test]
fn f64_is_compensated() {
    let n = 300_000;
    // 0.1 is not exact: a plain sum of these is off by thousands of units in the last place.
    let expected = 30_000.0;
    for (shape, reduced) in [
        (&[n][..], &[true][..]),
        (&[n, 1], &[true, true]),
        (&[n / 3, 3], &[true, true]),
    ] {
        assert_eq!(
            sum(shape, reduced, &vec![0.1f64; n]),
            [expected],
            "{shape:?}"
        );
    }
    for width in [1, 3, 17, 40] {
        assert_eq!(
            sum(&[n, width], &[true, false], &vec![0.1f64; n * width]),
            vec![expected; width]
        );
        assert_eq!(
            sum(&[width, n], &[false, true], &vec![0.1f64; n * width]),
            vec![expected; width]
        );
    }
    assert_eq!(sum(&[3], &[true], &[1e100, 1.0, -1e100]), [1.0]);
}

#[test]
fn not_finite() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (data, expected) in [
        (&[inf, 1.0][..], inf),
        (&[1.0, -inf, 3.0], -inf),
        (&[inf, -inf], nan),
        (&[inf, inf], inf),
        (&[nan, inf], nan),
        (&[f64::MAX, f64::MAX], inf),
        (&[f64::MAX, f64::MAX, 1.0, 1e300], inf),
        (&[f64::MAX, -f64::MAX], 0.0),
        (&[-0.0, -0.0], -0.0),
        (&[-0.0, 0.0], 0.0),
    ] {
        for repeat in [1, 40] {
            let data: Vec<f64> = data.iter().flat_map(|&x| vec![x; repeat]).collect();
            if repeat > 1 && expected == 0.0 && data[0] != -0.0 {
                continue;
            }
            let n = data.len();
            let same =
                |x: f64| x.to_bits() == expected.to_bits() || (x.is_nan() && expected.is_nan());
            assert!(same(sum(&[n], &[true], &data)[0]), "{data:?}");
            let twice: Vec<f64> = data.iter().flat_map(|&x| [x; 20]).collect();
            assert!(
                sum(&[n, 20], &[true, false], &twice).into_iter().all(same),
                "{data:?}"
            );
            if expected.is_infinite() && data.contains(&f64::MAX) {
                continue;
            }
            let narrow: Vec<f32> = data.iter().map(|&x| x as f32).collect();
            let same = |x: f32| same(f64::from(x));
            assert!(
                data.contains(&f64::MAX) || same(sum(&[n], &[true], &narrow)[0]),
                "{data:?}"
            );
        }
    }
    assert_eq!(sum(&[2], &[true], &[f32::MAX, f32::MAX]), [f32::INFINITY]);
}

#[test]
fn no_elements() {
    assert_eq!(sum::<f32>(&[2, 0, 3], &[false, true, false], &[]).len(), 6);
    assert_eq!(sum::<i32>(&[2, 0, 3], &[false, true, true], &[]), [0, 0]);
    assert_eq!(sum::<i64>(&[0], &[true], &[]), [0]);
    assert!(sum::<u64>(&[0, 3], &[false, true], &[]).is_empty());
    assert!(sum::<f64>(&[2, 0], &[true, false], &[]).is_empty());
}

/// Rounding twice, to odd first, is rounding once.
#[test]
fn rounding_to_odd() {
    // Just above and just below the middle between two neighbours of `f16`.
    let middle = 1.0 + f64::powi(2.0, -11);
    for (x, expected) in [
        (middle, 1.0),
        (middle + 1e-15, 1.0 + 1.0 / 1024.0),
        (middle - 1e-15, 1.0),
        (-middle - 1e-15, -1.0 - 1.0 / 1024.0),
    ] {
        assert_eq!(f16::from_f32(x.round_again()).to_f64(), expected, "{x}");
    }
    for x in [
        0.0,
        -0.0,
        1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e-300,
        -1e-300,
        1e300,
    ] {
        let odd: f32 = x.round_again();
        assert_eq!(odd.is_infinite(), x.is_infinite());
        assert_eq!(odd.is_sign_negative(), x.is_sign_negative());
        assert_eq!(odd == 0.0, x == 0.0);
    }
    assert!(Accumulator::<f32>::round_again(f64::NAN).is_nan());
}

#[test]
fn ends_when_cancelled() {
    use crate::limits::{CancelToken, Limits, under};
    let token = CancelToken::new();
    let limits = Limits {
        cancel: Some(token.clone()),
        ..Limits::default()
    };
    let (rows, columns) = (8, 2 * TASK);
    let ones = Tensor::new([rows, columns], &vec![1f32; rows * columns]).expect("its length");
    let sums = || {
        let mut out = Tensor::zeros(f32::TYPE, [rows]).expect("a few");
        under(&limits, || reduce(&ones, &[false, true], &SUM, &mut out));
        out.as_slice::<f32>().expect("f32").to_vec()
    };
    assert_eq!(sums(), vec![columns as f32; rows]);
    token.cancel();
    assert!(sums().iter().all(|&sum| sum < columns as f32));
}

/// Few processors take this way.
#[test]
fn pairs_of_rows_are_folded_in_order() {
    for (rows, width, stride) in [
        (0, 5, 5),
        (1, 7, 9),
        (2, 16, 16),
        (5, 37, 40),
        (8, 2100, 3000),
    ] {
        let data: Vec<f32> = (0..rows * stride).map(|i| (i as f32).sin()).collect();
        for data in [
            &data[..],
            &data[..data.len().saturating_sub(stride - width)],
        ] {
            let mut expected = vec![0.5; width];
            for row in data.chunks(stride) {
                for (sum, &x) in expected.iter_mut().zip(row) {
                    *sum += f64::from(x);
                }
            }
            let mut found = vec![0.5; width];
            fold::pairs_of_rows::<f32, f64, sums::Mapped<sums::Sum>>(&mut found, data, stride);
            assert_eq!(found, expected, "{rows} {width} {stride}");
        }
    }
}

/// What is asked for beyond the data may be no memory, which takes some processors long to look for.
#[test]
fn columns_of_the_first_rows_come_after_the_last_rows() {
    let [count, width, stride] = [8, 10, 100];
    let data = vec![0_f32; 3 * count * stride - (stride - width)];
    let after = |row: usize, width| {
        let bytes = fold::after_rows(&data, &data[row * stride..], [count, width, stride]);
        bytes.cast_signed() / 4
    };
    assert_eq!(after(0, width), 790);
    assert_eq!(after(8, width), 790);
    assert_eq!(after(16, width), -1600);
    // Whole rows lie in the order in which they are read.
    assert_eq!(after(16, stride), 700);
}
