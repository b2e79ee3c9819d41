//! Depthwise convolutions against the definition.

use super::*;
use crate::kernel::convolve::padded::Padded;

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    #[allow(clippy::cast_precision_loss)] // small numbers, whose sums are exact
    (0..count)
        .map(|i| ((i * 37 + seed) % 23) as f32 - 11.0)
        .collect()
}

/// The definition, with one added to each sum.
fn defined(channels: usize, [y, x]: [Axis; 2], data: &[f32], filters: &[f32]) -> Vec<f32> {
    let mut out = Vec::new();
    for (channel, plane) in data.chunks(y.input * x.input).enumerate() {
        let filter = &filters[channel % channels * y.kernel * x.kernel..];
        for (oy, ox) in (0..y.output).flat_map(|oy| (0..x.output).map(move |ox| (oy, ox))) {
            let mut sum = 1.0;
            for (ty, tx) in (0..y.kernel).flat_map(|t| (0..x.kernel).map(move |u| (t, u))) {
                if let (Some(iy), Some(ix)) = (y.element(oy, ty), x.element(ox, tx)) {
                    sum += plane[iy * x.input + ix] * filter[ty * x.kernel + tx];
                }
            }
            out.push(sum);
        }
    }
    out
}

#[test]
fn definition() {
    let finish = |_: usize, part: &mut [f32]| part.iter_mut().for_each(|x| *x += 1.0);
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads")
    };
    let pools = [pool(1), pool(2)];
    let (mut padded, mut same) = (0, 0);
    for (batch, channels, [height, width], [kernel, stride], pads) in [
        (1, 1, [4, 4], [3, 1], [1, 1]),
        (2, 5, [7, 7], [5, 1], [2, 2]),
        (1, 33, [7, 9], [3, 1], [0, 1]),
        (1, 16, [14, 13], [5, 2], [2, 1]),
        (3, 24, [9, 14], [3, 2], [1, 0]),
        (1, 20, [3, 10], [7, 1], [3, 3]),
        (1, 3, [60, 130], [3, 1], [1, 1]),
        (1, 3, [61, 131], [5, 2], [2, 3]),
        (1, 18, [2, 12], [5, 1], [6, 4]),
        (1, 90, [40, 33], [3, 2], [1, 1]),
        (1, 9, [7, 16], [3, 1], [1, 1]),
        (2, 4, [15, 30], [5, 1], [2, 2]),
        (1, 8, [23, 40], [5, 1], [0, 3]),
        (1, 8, [9, 14], [3, 1], [3, 2]),
        (3, 5, [60, 126], [3, 1], [1, 1]),
        (1, 8, [20, 65], [5, 1], [4, 0]),
        (1, 85, [14, 14], [3, 1], [1, 1]),
        (3, 85, [7, 7], [5, 1], [2, 2]),
        (1, 9, [8, 9], [5, 1], [2, 0]),
        (2, 21, [28, 28], [3, 2], [1, 1]),
        (1, 85, [14, 14], [5, 2], [2, 2]),
        (1, 9, [17, 43], [5, 2], [0, 3]),
        (1, 9, [112, 112], [3, 2], [1, 0]),
        (2, 9, [28, 28], [3, 1], [1, 1]),
        (1, 9, [21, 28], [5, 1], [2, 2]),
        (2, 9, [28, 28], [5, 1], [2, 2]),
        (1, 85, [7, 7], [3, 1], [1, 1]),
        (1, 40, [14, 14], [5, 1], [2, 2]),
        (3, 5, [24, 40], [3, 1], [1, 1]),
        (1, 9, [8, 40], [5, 1], [2, 2]),
        (1, 11, [56, 56], [3, 1], [1, 1]),
        (1, 8, [16, 56], [5, 1], [2, 2]),
        (1, 9, [32, 80], [3, 1], [1, 1]),
        (1, 9, [24, 80], [5, 1], [2, 2]),
        (1, 17, [112, 112], [3, 1], [1, 1]),
        (1, 8, [16, 112], [5, 1], [2, 2]),
        (1, 8, [31, 119], [3, 2], [2, 2]),
        (2, 9, [20, 20], [3, 1], [1, 1]),
        (1, 9, [10, 10], [5, 1], [2, 2]),
        (1, 9, [13, 20], [5, 1], [2, 2]),
        (1, 8, [30, 40], [3, 1], [1, 1]),
        (1, 8, [15, 112], [5, 1], [2, 2]),
        (1, 8, [57, 28], [5, 1], [2, 2]),
        (1, 8, [57, 7], [5, 1], [2, 2]),
        (2, 9, [28, 14], [3, 1], [1, 1]),
        (1, 9, [42, 28], [5, 1], [2, 2]),
        (1, 9, [30, 40], [5, 1], [2, 2]),
        (1, 9, [56, 56], [5, 1], [2, 2]),
        (1, 9, [56, 112], [5, 1], [2, 2]),
        (2, 9, [56, 40], [5, 2], [2, 2]),
    ] {
        let axis = |input: usize, pad: usize| Axis {
            input,
            kernel,
            output: (input + 2 * pad - kernel) / stride + 1,
            stride,
            dilation: 1,
            pad,
        };
        let axes = [axis(height, pads[0]), axis(width, pads[1])];
        let sizes = Sizes {
            batch,
            groups: channels,
            channels: 1,
            filters: 1,
        };
        let window = Window::new(&axes);
        let depthwise = Depthwise::new(sizes, &window).expect("made for it");
        let by_rows = Padded::new(sizes, &window);
        padded += usize::from(by_rows.is_some());
        same += usize::from(by_rows.as_ref().is_some_and(Padded::same));
        let data = numbers(batch * channels * height * width, 5);
        let filters = numbers(channels * kernel * kernel, 2);
        let expected = defined(channels, axes, &data, &filters);
        for pool in &pools {
            let mut out = vec![f32::NAN; expected.len()];
            pool.install(|| depthwise.run(&data, &filters, &mut out, Some(&finish)));
            assert!(out == expected, "{sizes:?} {axes:?}");
            if let Some(by_rows) = &by_rows {
                out.fill(f32::NAN);
                pool.install(|| by_rows.run(&data, &filters, &mut out, Some(&finish)));
                assert!(out == expected, "padded: {sizes:?} {axes:?}");
            }
        }
    }
    assert_eq!((padded, same), (44, 28));
}

#[test]
fn what_is_read_of_neighbouring_planes_counts_for_nothing() {
    let channels = 9;
    let all = [7, 10, 14, 20, 28, 40, 56, 80, 112];
    for (size, kernel) in all.into_iter().flat_map(|size| [(size, 3), (size, 5)]) {
        let axis = Axis {
            input: size,
            kernel,
            output: size,
            stride: 1,
            dilation: 1,
            pad: kernel / 2,
        };
        let sizes = Sizes {
            batch: 1,
            groups: channels,
            channels: 1,
            filters: 1,
        };
        let padded = Padded::new(sizes, &Window::new(&[axis, axis])).expect("made for it");
        assert!(padded.same(), "{size}");
        let mut data = numbers(channels * size * size, 5);
        let filters = numbers(channels * kernel * kernel, 2);
        let expected = defined(channels, [axis, axis], &data, &filters);
        let planes = data.chunks_exact_mut(size * size);
        planes
            .skip(1)
            .step_by(2)
            .for_each(|plane| plane.fill(f32::NAN));
        let mut out = vec![f32::NAN; expected.len()];
        padded.run(&data, &filters, &mut out, None);
        let planes = expected.chunks(size * size).zip(out.chunks(size * size));
        for (number, (expected, out)) in planes.enumerate().step_by(2) {
            let same = expected.iter().zip(out).all(|(x, y)| *x == y + 1.0);
            assert!(same, "plane {number}, {size}, windows of {kernel}");
        }
    }
}
