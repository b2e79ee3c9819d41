//! Winograd's algorithm against sums term by term.

use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::kernel::window::Axis;

impl<T: AsRef<[f32]> + Sync> Lying for T {
    fn elements(&self) -> Option<&[f32]> {
        Some(self.as_ref())
    }
}

fn window(sizes: [usize; 2], pads: [[usize; 2]; 2]) -> Window {
    let axis = |input: usize, [before, after]: [usize; 2]| Axis {
        input,
        kernel: 3,
        output: input + before + after - 2,
        stride: 1,
        dilation: 1,
        pad: before,
    };
    Window::new(&[axis(sizes[0], pads[0]), axis(sizes[1], pads[1])])
}

fn sizes(batch: usize, channels: usize, filters: usize) -> Sizes {
    Sizes {
        batch,
        groups: 1,
        channels,
        filters,
    }
}

/// Numbers that are about normally distributed.
fn numbers(count: usize, mut seed: u64) -> Vec<f32> {
    let mut uniform = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count)
        .map(|_| (0..6).map(|_| uniform()).sum())
        .collect()
}

/// The sums in `f64`.
fn expected(sizes: Sizes, window: &Window, data: &[f32], filters: &[f32]) -> Vec<f64> {
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let mut out = vec![0.0; sizes.batch * sizes.filters * window.outputs()];
    super::super::convolve(sizes, window, &wide(data), &wide(filters), 0.0, &mut out);
    out
}

fn computed(side: Side, sizes: Sizes, window: &Window, [data, filters]: [&[f32]; 2]) -> Vec<f32> {
    let size = [sizes.filters, sizes.channels];
    let transformed = Transformed::new(side, filters, size).expect("filters are finite");
    let mut out = vec![f32::NAN; sizes.batch * sizes.filters * window.outputs()];
    convolve(
        sizes,
        window,
        data,
        (&transformed, &filters),
        &mut out,
        None,
    );
    out
}

/// The largest error, as a part of the largest output.
fn error(found: &[f32], expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    let pairs = found.iter().zip(expected);
    let error = pairs.fold(0.0, |a: f64, (x, y)| a.max((f64::from(*x) - y).abs()));
    assert!(found.iter().all(|x| x.is_finite()));
    error / largest.max(f64::MIN_POSITIVE)
}

fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads start").install(f)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn as_sums_term_by_term(
        (batch, channels, filters) in (1usize..3, 1usize..20, 1usize..30),
        height in 3usize..30, width in 3usize..70,
        pads in [[0usize..3, 0usize..3], [0usize..3, 0usize..3]],
        seed in any::<u64>(),
    ) {
        let (sizes, window) = (sizes(batch, channels, filters), window([height, width], pads));
        let data = numbers(batch * channels * height * width, seed);
        let weights = numbers(filters * channels * 9, !seed);
        let expected = expected(sizes, &window, &data, &weights);
        for (side, bound) in [(Side::Two, 2e-6), (Side::Four, 8e-6)] {
            let found = computed(side, sizes, &window, [&data, &weights]);
            let error = error(&found, &expected);
            prop_assert!(error < bound, "{side:?}: {error:e}");
        }
    }
}

#[test]
fn errors_are_small_for_many_channels() {
    for (channels, positive) in [(64, false), (256, true), (512, false)] {
        let (sizes, window) = (sizes(1, channels, 16), window([14, 14], [[1, 1]; 2]));
        let mut data = numbers(channels * 14 * 14, 3);
        if positive {
            data.iter_mut().for_each(|x| *x = x.max(0.0));
        }
        let weights = numbers(16 * channels * 9, 4);
        let expected = expected(sizes, &window, &data, &weights);
        for (side, bound) in [(Side::Two, 2e-6), (Side::Four, 8e-6)] {
            let found = computed(side, sizes, &window, [&data, &weights]);
            let error = error(&found, &expected);
            assert!(error < bound, "{channels} channels, {side:?}: {error:e}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    // Of the last rows and columns in turn, tiles lie at the end of what a thread multiplies or amid that.
    for (size, channels) in [([40, 44], 33), ([13, 11], 64), ([56, 56], 64)] {
        let (sizes, window) = (sizes(1, channels, 40), window(size, [[1, 1]; 2]));
        let data = numbers(channels * size[0] * size[1], 5);
        let weights = numbers(40 * channels * 9, 6);
        for side in [Side::Two, Side::Four] {
            let [one, two, three] = [1, 2, 3].map(|threads| {
                let work = || computed(side, sizes, &window, [&data, &weights]);
                on_threads(threads, work)
            });
            assert!(one == two && one == three);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_stay_under_their_filters() {
    for (size, channels) in [([40, 44], 33), ([13, 11], 64)] {
        let (sizes, window) = (sizes(1, channels, 20), window(size, [[1, 1]; 2]));
        let plane = size[0] * size[1];
        let mut data = numbers(channels * plane, 7);
        let weights = numbers(20 * channels * 9, 8);
        data[plane + size[1] + 5] = f32::NAN;
        data[3 * plane - 1] = f32::INFINITY;
        data[7] = f32::NEG_INFINITY;
        // Sums before the products would be too large.
        data[5 * plane + 70] = 3e38;
        let expected = expected(sizes, &window, &data, &weights);
        for (side, threads) in [
            (Side::Two, 1),
            (Side::Two, 2),
            (Side::Four, 1),
            (Side::Four, 2),
        ] {
            let work = || computed(side, sizes, &window, [&data, &weights]);
            let found = on_threads(threads, work);
            for (x, y) in found.iter().zip(&expected) {
                assert_eq!(x.is_nan(), y.is_nan(), "{x} {y}");
                let large = y.abs() > f64::from(f32::MAX);
                assert!(x.is_nan() || x.is_infinite() == large, "{x} {y}");
                assert!(!x.is_infinite() || f64::from(x.signum()) == y.signum());
            }
        }
    }
}

#[test]
fn every_output_is_finished_once() {
    for (batch, size) in [(1, [40, 44]), (2, [13, 11]), (1, [8, 9])] {
        let (sizes, window) = (sizes(batch, 40, 40), window(size, [[1, 1]; 2]));
        let data = numbers(batch * 40 * size[0] * size[1], 9);
        let weights = numbers(40 * 40 * 9, 10);
        for side in [Side::Two, Side::Four] {
            let transformed =
                Transformed::new(side, &weights, [40, 40]).expect("filters are finite");
            let plain = computed(side, sizes, &window, [&data, &weights]);
            for threads in [1, 2] {
                let seen = Mutex::new(vec![0; plain.len()]);
                let mut out = vec![0.0; plain.len()];
                let finish = |at: usize, part: &mut [f32]| {
                    for (i, x) in part.iter_mut().enumerate() {
                        seen.lock().expect("no thread panics")[at + i] += 1;
                        *x += (at + i) as f32;
                    }
                };
                on_threads(threads, || {
                    let filters = (&transformed, &weights as &dyn Lying);
                    convolve(sizes, &window, &data, filters, &mut out, Some(&finish));
                });
                assert!(
                    seen.into_inner()
                        .expect("no thread panics")
                        .iter()
                        .all(|&n| n == 1)
                );
                let same = out.iter().zip(&plain).enumerate();
                assert!(same.into_iter().all(|(i, (x, y))| *x == y + i as f32));
            }
        }
    }
}

#[test]
fn filters_that_are_not_finite_are_not_transformed() {
    let mut weights = numbers(40 * 32 * 9, 11);
    weights[1000] = f32::NAN;
    let (sizes, window) = (sizes(1, 32, 40), window([16, 16], [[1, 1]; 2]));
    assert!(Kept::default().get(sizes, &window, &weights).is_none());
    weights[1000] = f32::MAX;
    assert!(Kept::default().get(sizes, &window, &weights).is_some());
    let strided = Axis {
        stride: 2,
        output: 8,
        ..window.axes()[1]
    };
    assert!(
        Kept::default()
            .get(sizes, &Window::new(&[strided; 2]), &weights)
            .is_none()
    );
}
